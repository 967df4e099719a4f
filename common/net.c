/* net - the socket calls that all seven servers make; see net.h. */
#include "net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fatal.h"
#include "signals.h"

/* How often a blocked send returns, so that its deadline can be checked. */
enum { SEND_TICK_MS = 500 };

/* How long the kernel holds a client that sends nothing (TCP_DEFER_ACCEPT)
 * before it passes the client on all the same. It counts in repeated SYN-ACKs,
 * so it rounds up to 1, 3, 7, 15 ... seconds. */
enum { DEFER_SECONDS = 7 };

/* How long to wait when no client can be accepted for lack of descriptors. */
enum { EXHAUSTED_PAUSE_MS = 50 };

/* The most that one call sends of a file. While a client takes bytes, however
 * slowly, a blocking sendfile(2) returns only after the whole count: without
 * this limit a slow client of a huge file would keep us in it for minutes. */
enum { SENDFILE_MAX = 256 * 1024 };

static void set_option(int fd, int level, int name, int value)
{
    /* Each of these improves the server, none is necessary: when a kernel lacks
     * an option, the server works without it. */
    setsockopt(fd, level, name, &value, sizeof value);
}

static void set_listener_options(int fd, bool defer)
{
    /* Without SO_REUSEADDR a restart fails with EADDRINUSE while an old
     * connection is in TIME_WAIT, which lasts a minute. */
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    /* An accepted socket inherits the options below, so they cost no system
     * call for each connection. TCP_NODELAY: Nagle's algorithm would hold back
     * the last short piece of an answer until the client has acknowledged the
     * rest. */
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    struct timeval tick = {.tv_usec = SEND_TICK_MS * 1000L};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tick, sizeof tick);
    /* An event loop gets a client together with its request, and reads at once.
     * The blocking designs do without: their accept queue is often full, and
     * then deferred connections fill the SYN queue too. */
    if (defer)
        set_option(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, DEFER_SECONDS);
}

static int bound_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        die("getsockname: %s", strerror(errno));
    return ntohs(address.ss_family == AF_INET6
                     ? ((struct sockaddr_in6 *)&address)->sin6_port
                     : ((struct sockaddr_in *)&address)->sin_port);
}

int net_listen(const struct options *options, int *port, int number, int count,
               bool defer)
{
    char service[16];
    snprintf(service, sizeof service, "%d", *port);
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *address;
    int error = getaddrinfo(options->host, service, &hints, &address);
    if (error != 0)
        die("cannot listen on '%s': %s; give --host an address of this machine",
            options->host, gai_strerror(error));
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        die("cannot make a socket: %s", strerror(errno));
    set_listener_options(fd, defer);
    /* SO_REUSEPORT: several sockets on one port, each with an accept queue of
     * its own; the kernel spreads connections over them by a hash of the
     * addresses. The first socket asks for it only after bind(2), so that a
     * port which another server shares still counts as in use. */
    if (number > 0)
        set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    int failed = bind(fd, address->ai_addr, address->ai_addrlen);
    if (failed == 0 && number == 0 && count > 1)
        set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (failed < 0 || listen(fd, options->backlog) < 0)
        die("cannot listen on %s:%d: %s; %s", options->host, *port,
            strerror(errno),
            errno == EADDRINUSE
                ? "stop the other server or choose another port with --port"
            : errno == EACCES ? "only root may use ports below 1024"
                              : "give --host an address of this machine");
    freeaddrinfo(address);
    *port = bound_port(fd);
    return fd;
}

int net_effective_backlog(int backlog)
{
    int limit = backlog;
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &limit) != 1)
            limit = backlog;
        fclose(file);
    }
    return limit < backlog ? limit : backlog;
}

/* Has accept(2) failed because of one client, which left between connecting and
 * accept(2)? Pending network errors are reported there too (accept(2)). */
static bool is_client_error(int error)
{
    switch (error) {
    case ECONNABORTED: case ENETDOWN: case EPROTO: case ENOPROTOOPT:
    case EHOSTDOWN: case ENONET: case EHOSTUNREACH: case EOPNOTSUPP:
    case ENETUNREACH: case EPERM:
        return true;
    default:
        return false;
    }
}

static void warn_accept_failed(const struct server *server, int error)
{
    server_warn_exhausted(
        server, "cannot accept more clients now: %s; new clients wait in the "
        "accept queue. A higher descriptor limit (ulimit -n) or more memory "
        "would help", strerror(error));
}

int net_accept(const struct server *server)
{
    atomic_bool *exhausted = &server->shared->accept_exhausted;
    for (;;) {
        /* A signal may have come while no system call was waiting. */
        server_housekeeping(server);
        if (signals_stopping())
            return -1;
        int fd = accept4(server->listeners[0], NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            if (atomic_load_explicit(exhausted, memory_order_relaxed))
                atomic_store(exhausted, false);
            return fd;
        }
        if (errno == EINVAL) /* shut down, see signals.h */
            return -1;
        if (errno != EINTR && !is_client_error(errno)) {
            warn_accept_failed(server, errno);
            atomic_store(exhausted, true); /* idle clients are closed */
            poll(NULL, 0, EXHAUSTED_PAUSE_MS); /* instead of spinning */
        }
    }
}

int net_accept_nonblocking(const struct server *server, int listener)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0 || errno == EAGAIN || errno == EINVAL)
            return fd;
        if (errno == EINTR || is_client_error(errno))
            continue;
        int error = errno;
        warn_accept_failed(server, error);
        errno = error;
        return -1;
    }
}

void net_set_nonblocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* tcp_info(7) has no page: for a listening socket tcpi_unacked is the length of
 * the accept queue, the Recv-Q of `ss -lt`. */
static bool get_tcp_info(int fd, struct tcp_info *info)
{
    socklen_t size = sizeof *info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0;
}

unsigned net_accept_queue_length(int listener)
{
    struct tcp_info info;
    return get_tcp_info(listener, &info) ? info.tcpi_unacked : 0;
}

int net_silent_ms(int fd)
{
    struct tcp_info info;
    return get_tcp_info(fd, &info) ? (int)info.tcpi_last_data_recv : 0;
}

void net_refuse(const struct server *server, int fd)
{
    static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
                                 "Retry-After: 1\r\nContent-Length: 0\r\n"
                                 "Connection: close\r\n\r\n";
    char unread[4096]; /* closing with unread bytes would reset the connection */
    if (recv(fd, unread, sizeof unread, MSG_DONTWAIT) > 0)
        send(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
    server_warn_exhausted(server, "out of memory; some clients are asked to "
                          "come back later");
}

bool net_close_may_reset(int fd)
{
    char byte;
    int unsent = 0;
    /* Bytes that have left do not count: they arrive before a RST does. */
    ioctl(fd, SIOCOUTQNSD, &unsent);
    return unsent > 0 || recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

int net_unacknowledged(int fd)
{
    int bytes = 0;
    ioctl(fd, SIOCOUTQ, &bytes);
    return bytes;
}

ssize_t net_send(int fd, const struct http_output *output)
{
    /* MSG_MORE holds back a packet that is not full until more follows: a file,
     * so that its head needs no packet of its own, or the FIN of shutdown(2),
     * which then leaves with the answer. That saves one packet to send, to
     * receive and to acknowledge, and one wake-up of the client. */
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
