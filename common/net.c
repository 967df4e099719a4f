/* net - how a server listens and sends; see net.h. */
#include "net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "fatal.h"

/* After this time accept(2) returns without a client. */
enum { ACCEPT_TIMEOUT_SECONDS = 5 };

/* How often a blocked send returns, so that its caller can look at the
 * time. */
enum { SEND_TIMEOUT_MS = 500 };

/* The most that one call sends of a file: for a slow client, a blocking
 * sendfile(2) goes on until the whole count is taken, or nothing for
 * SEND_TIMEOUT_MS. */
enum { SENDFILE_MAX = 256 * 1024 };

/* The most that one call discards. */
enum { DISCARD_MAX = 16 * 1024 };

/* Each option improves the server, none is necessary: when a kernel lacks
 * one, the server works without it. */
static void set_option(int fd, int level, int name, int value)
{
    setsockopt(fd, level, name, &value, sizeof value);
}

/* What accepted sockets inherit. */
static void set_client_options(int fd)
{
    /* Nagle's algorithm would hold back the last short piece of an answer
     * until the client has acknowledged the rest. */
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* A send that blocks returns now and then: a client that takes nothing
     * of its answer for too long can be closed. */
    struct timeval wait = {.tv_usec = SEND_TIMEOUT_MS * 1000L};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
}

static void die_cannot_listen(const char *host, int port)
{
    const char *advice = "give --host an address of this machine";
    if (errno == EADDRINUSE)
        advice = "stop the other server or choose another port with --port";
    else if (errno == EACCES)
        advice = "only root may use ports below 1024";
    die("cannot listen on %s:%d: %s; %s", host, port, strerror(errno), advice);
}

int net_listen(const char *host, int port, int backlog, enum net_port shared)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *address;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    int error = getaddrinfo(host, service, &hints, &address);
    if (error != 0)
        die("cannot listen on '%s': %s; give --host an address of this machine",
            host, gai_strerror(error));
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        die("cannot make a socket: %s", strerror(errno));
    /* Otherwise a restart fails while an old connection is in TIME_WAIT,
     * which lasts a minute. */
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    set_client_options(fd);
    if (shared == NET_PORT_JOINED)
        net_share_port(fd);
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 ||
        listen(fd, backlog) < 0)
        die_cannot_listen(host, port);
    freeaddrinfo(address);
    return fd;
}

int net_port(int fd)
{
    struct sockaddr_in6 bound; /* sockaddr_in has its port in the same place */
    socklen_t length = sizeof bound;
    if (getsockname(fd, (struct sockaddr *)&bound, &length) < 0)
        die("cannot ask for the port: %s", strerror(errno));
    return ntohs(bound.sin6_port);
}

void net_share_port(int fd)
{
    const int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0)
        die("cannot share the port between several loops (SO_REUSEPORT): %s; "
            "start one with --workers 1", strerror(errno));
}

void net_never_wait(int fd)
{
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        die("cannot make a socket non-blocking: %s", strerror(errno));
}

void net_limit_wait(int fd)
{
    const struct timeval wait = {.tv_sec = ACCEPT_TIMEOUT_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
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

/* Returns what the kernel knows of a connection: of every socket of TCP. For
 * others all is 0. There is no page tcp_info(7): for a listening socket
 * tcpi_unacked and tcpi_sacked are the length and the limit of the accept
 * queue, as `ss -lt` shows them. */
static struct tcp_info tcp_info(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        info = (struct tcp_info){0};
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

bool net_has_input(int fd)
{
    int unread = 0;
    return ioctl(fd, SIOCINQ, &unread) == 0 && unread > 0; /* tcp(7) */
}

enum http_delivery net_delivery(int fd, struct net_delivery *d, int64_t now_ms,
                                int stall_ms)
{
    int left = 0;
    /* SIOCOUTQ: "not sent + not acked" (linux/sockios.h; tcp(7) names only
     * the first). Linux counts the FIN as one byte, the last one.
     * TCP_USER_TIMEOUT would not do: its clock goes on while a client opens
     * its window in small steps (tcp_ack_probe() in net/ipv4/tcp_input.c). */
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
    /* MSG_MORE holds back a packet that is not full until more follows, a
     * file or the FIN of shutdown(2), or 200 ms have passed. That saves one
     * packet to send, to receive and to acknowledge, and one wake-up of the
     * client. */
    if (output->data != NULL)
        return send(fd, output->data, output->count,
                    output->more ? MSG_MORE : 0);
    /* From the page cache to the socket, without a copy through user
     * space. */
    off_t offset = output->offset;
    size_t count = output->count < SENDFILE_MAX ? output->count : SENDFILE_MAX;
    ssize_t n = sendfile(fd, output->file, &offset, count);
    if (n == 0) { /* the file has been truncated */
        errno = EIO;
        return -1;
    }
    return n;
}

char *net_peer_name(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char text[NI_MAXHOST];
    if (getpeername(fd, (struct sockaddr *)&address, &length) < 0 ||
        getnameinfo((struct sockaddr *)&address, length, text, sizeof text,
                    NULL, 0, NI_NUMERICHOST) != 0)
        return NULL;
    return strdup(text);
}
