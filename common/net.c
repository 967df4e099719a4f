/* net - the socket calls that all seven servers make; see net.h. */
#include "net.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>

/* A worker that waits in accept(2) looks up this often, and closes the files
 * that it has kept open for the next client. */
enum { ACCEPT_TIMEOUT_SECONDS = 5 };

/* How often a blocked send returns, so that its caller can look at the time. */
enum { SEND_TIMEOUT_MS = 500 };

/* How long the kernel keeps a client that sends nothing. It counts in repeated
 * SYN-ACKs, so it rounds up to 1, 3, 7, 15 ... seconds. */
enum { DEFER_SECONDS = 7 };

/* The most that one call sends of a file: for a slow client, a blocking
 * sendfile(2) returns only after the whole count. */
enum { SENDFILE_MAX = 256 * 1024 };

/* The most that one call discards. */
enum { DISCARD_MAX = 16 * 1024 };

/* Each option improves the server, none is necessary: when a kernel lacks one,
 * the server works without it. */
static void set_option(int fd, int level, int name, int value)
{
    setsockopt(fd, level, name, &value, sizeof value);
}

/* Without this one, however, several loops cannot listen. */
static void share_port(int fd)
{
    const int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0)
        die("cannot share the port between several loops (SO_REUSEPORT): %s; "
            "start one with --workers 1", strerror(errno));
}

static void set_listener_options(int fd, bool event_loop)
{
    /* Otherwise a restart fails while an old connection is in TIME_WAIT, which
     * lasts a minute. */
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    /* Accepted sockets inherit what follows. Nagle's algorithm would hold back
     * the last short piece of an answer until the client has acknowledged the
     * rest. */
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* A blocked send looks up, so that a client that takes nothing of its
     * answer can be closed. */
    struct timeval wait = {.tv_usec = SEND_TIMEOUT_MS * 1000L};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    /* TCP_DEFER_ACCEPT: accept(2) returns a client only when it has sent
     * something, or after DEFER_SECONDS. So an event loop can mostly read
     * immediately. The blocking designs do without: their accept queue is often
     * full, and then deferred clients also fill the SYN queue, the kernel's
     * list of connections whose handshake is not complete. */
    if (event_loop)
        set_option(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, DEFER_SECONDS);
}

/* Lets accept(2) end with EAGAIN after some seconds. Not where it is not
 * needed: with SO_RCVTIMEO, a signal handler always interrupts the call
 * (signal(7)), in 02 once for each child that ends. */
static void limit_accept(int fd)
{
    const struct timeval wait = {.tv_sec = ACCEPT_TIMEOUT_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

int net_listen(struct server *server, int number)
{
    const struct options *options = &server->options;
    bool event_loop = server->architecture->kind == EVENT_LOOP;
    int type = SOCK_STREAM | SOCK_CLOEXEC | (event_loop ? SOCK_NONBLOCK : 0);
    struct sockaddr_in6 bound; /* sockaddr_in has its port in the same place */
    socklen_t length = sizeof bound;
    char service[16];
    snprintf(service, sizeof service, "%d", server->port);
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM}, *address;
    int error = getaddrinfo(options->host, service, &hints, &address);
    if (error != 0)
        die("cannot listen on '%s': %s; give --host an address of this machine",
            options->host, gai_strerror(error));
    int fd = socket(address->ai_family, type, 0);
    if (fd < 0)
        die("cannot make a socket: %s", strerror(errno));
    set_listener_options(fd, event_loop);
    if (server->architecture->keeps_files)
        limit_accept(fd);
    /* SO_REUSEPORT lets several sockets listen on one port, each with an accept
     * queue of its own; the kernel spreads connections over them. The first
     * socket sets it only after bind(2): before, bind would succeed even on a
     * port that another server with SO_REUSEPORT uses. */
    if (number > 0)
        share_port(fd);
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 ||
        listen(fd, options->backlog) < 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &length) < 0)
        die("cannot listen on %s:%d: %s; %s", options->host, server->port,
            strerror(errno),
            errno == EADDRINUSE
                ? "stop the other server or choose another port with --port"
            : errno == EACCES ? "only root may use ports below 1024"
                              : "give --host an address of this machine");
    if (server->listener_count > 1)
        share_port(fd);
    freeaddrinfo(address);
    server->port = ntohs(bound.sin6_port);
    return fd;
}

/* accept(2), ERRORS and "Error handling": besides its own errors it returns
 * those that the network has reported for the new socket. */
enum net_verdict net_accept_verdict(int error)
{
    switch (error) {
    case EAGAIN: case EINVAL:
        return NET_NOBODY;
    case EINTR: case ECONNABORTED: case EPROTO: case ENETDOWN:
    case ENETUNREACH: case EHOSTDOWN: case EHOSTUNREACH: case ENONET:
    case ENOPROTOOPT: case EOPNOTSUPP: case ETIMEDOUT:
        return NET_NEXT;
    case EMFILE: case ENFILE: case ENOBUFS: case ENOMEM:
        return NET_NEEDS_ROOM;
    default: /* EPERM: a firewall or a security module refuses this call */
        return NET_LATER;
    }
}

/* Reports an errno that a pause follows; keeps it. */
static void warn_accept_failed(const struct server *server)
{
    int saved = errno;
    bool more_would_help = net_accept_verdict(saved) == NET_NEEDS_ROOM;
    server_warn_exhausted(
        server, "cannot accept more clients now: %s; new clients wait in the "
        "accept queue%s", strerror(saved),
        more_would_help ? ". A higher descriptor limit (ulimit -n) or more "
                          "memory would help" : "");
    errno = saved;
}

int net_accept(const struct server *server, void (*spare)(void *data),
               void *data)
{
    for (;;) {
        /* A signal may have come while no system call was waiting. */
        server_housekeeping(server);
        if (signals_stopping())
            return -1;
        int fd = accept4(server->listeners[0], NULL, NULL, SOCK_CLOEXEC);
        /* EINVAL: the signal handler has shut the listening socket down. */
        if (fd >= 0 || errno == EINVAL)
            return fd;
        enum net_verdict verdict = net_accept_verdict(errno);
        if (verdict == NET_NEXT)
            continue;
        if (verdict != NET_NOBODY) { /* else SO_RCVTIMEO has passed */
            warn_accept_failed(server);
            poll(NULL, 0, 50); /* a pause, instead of spinning */
        }
        if (spare != NULL)
            spare(data);
    }
}

int net_accept_nonblocking(const struct server *server, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && net_accept_verdict(errno) >= NET_NEEDS_ROOM)
        warn_accept_failed(server);
    return fd;
}

/* Returns what the kernel knows of a connection; all 0 when it does not say.
 * There is no page tcp_info(7): for a listening socket tcpi_unacked and
 * tcpi_sacked are the length and the limit of the accept queue, as `ss -lt`
 * shows them. */
static struct tcp_info tcp_info(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    return info;
}

unsigned net_accept_queue_length(int listener)
{
    return tcp_info(listener).tcpi_unacked;
}

int net_accept_queue_limit(int listener)
{
    return (int)tcp_info(listener).tcpi_sacked;
}

int net_silent_ms(int fd)
{
    return (int)tcp_info(fd).tcpi_last_data_recv;
}

enum http_delivery net_delivery(int fd, struct net_delivery *d, int64_t now_ms,
                                int stall_ms)
{
    int left = 0;
    /* SIOCOUTQ: "not sent + not acked" (linux/sockios.h; tcp(7) names only the
     * first). Linux counts the FIN as one byte, the last one. TCP_USER_TIMEOUT
     * would not do: its clock goes on while a client makes room in small steps
     * (tcp_ack_probe() in net/ipv4/tcp_input.c). */
    if (ioctl(fd, SIOCOUTQ, &left) < 0 || left <= 1)
        return HTTP_DELIVERED;
    if (left < d->left)
        d->progress_ms = now_ms;
    d->left = left;
    return now_ms - d->progress_ms >= stall_ms ? HTTP_STALLED : HTTP_UNDER_WAY;
}

ssize_t net_discard(int fd, int flags)
{
    char discarded[DISCARD_MAX];
    return recv(fd, discarded, sizeof discarded, flags);
}

ssize_t net_send(int fd, const struct http_output *output)
{
    /* MSG_MORE holds back a packet that is not full until more follows, a file
     * or the FIN of shutdown(2). That saves one packet to send, to receive and
     * to acknowledge, and one wake-up of the client. */
    if (output->data != NULL)
        return send(fd, output->data, output->count,
                    output->more ? MSG_MORE : 0);
    /* From the page cache to the socket, without a copy through user space. */
    off_t offset = output->offset;
    size_t count = output->count < SENDFILE_MAX ? output->count : SENDFILE_MAX;
    ssize_t n = sendfile(fd, output->file, &offset, count);
    if (n == 0) { /* the file has been truncated */
        errno = EIO;
        return -1;
    }
    return n;
}

char *net_peer_name(const struct server *server, int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char text[NI_MAXHOST];
    if (server->log.fd < 0 ||
        getpeername(fd, (struct sockaddr *)&address, &length) < 0 ||
        getnameinfo((struct sockaddr *)&address, length, text, sizeof text,
                    NULL, 0, NI_NUMERICHOST) != 0)
        return NULL;
    return strdup(text);
}
