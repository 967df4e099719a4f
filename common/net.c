/* net - the socket calls that all seven make; see net.h. */
#include "net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fatal.h"
#include "signals.h"

/* How often a blocked send looks up, to see whether it has become too late. */
enum { SEND_TICK_MS = 500 };

enum { DEFER_SECONDS = 30 };

/* Most that one call sends of a file. As long as a client takes something, a
 * blocking sendfile() does not come back before it has sent all that it was
 * asked to: a slow client of a huge file would keep us in it for minutes. */
enum { SENDFILE_MAX = 256 * 1024 };

static void set_option(int fd, int level, int name, int value)
{
    /* Each of these makes the server better, none makes it possible: a failure
     * (an option that this kernel lacks) is no reason not to serve. */
    setsockopt(fd, level, name, &value, sizeof value);
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

    /* Without SO_REUSEADDR a restart fails with EADDRINUSE as long as one old
     * connection is in TIME_WAIT, which is a minute. */
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    /* Several sockets on one port, each with its own accept queue; the kernel
     * spreads new connections over them by a hash of the addresses. The first
     * one asks for that only when it has been bound: so a port on which another
     * server shares likewise counts as in use, as it should. */
    if (number > 0)
        set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);

    /* The rest is set once, here, as an accepted socket inherits it: no system
     * call per connection. TCP_NODELAY: Nagle's algorithm would hold back the
     * last short piece of an answer until the client acknowledged the rest. */
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* An event loop need not hear of a client before its request is here: it
     * then reads at once and need not be told that it can. Not for the others:
     * while their accept queue is full, as it often is, deferred connections
     * fill the SYN queue as well, the kernel answers with SYN cookies (which
     * cannot be deferred), and requests get lost on the way. */
    if (defer)
        set_option(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, DEFER_SECONDS);
    struct timeval tick = {.tv_usec = SEND_TICK_MS * 1000L};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tick, sizeof tick);

    int failed = bind(fd, address->ai_addr, address->ai_addrlen);
    if (failed == 0 && number == 0 && count > 1)
        set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (failed < 0 || listen(fd, options->backlog) < 0)
        die("cannot listen on %s:%d: %s; %s", options->host, *port,
            strerror(errno),
            errno == EADDRINUSE
                ? "stop the other server or choose another port with --port"
            : errno == EACCES ? "ports below 1024 are for root"
                              : "give --host an address of this machine");
    freeaddrinfo(address);

    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {0};
    socklen_t length = sizeof bound;
    if (getsockname(fd, &bound.any, &length) < 0)
        die("getsockname: %s", strerror(errno));
    *port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port
                                                  : bound.v4.sin_port);
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

/* Is this the failure of one client, gone between connecting and accept(2)? A
 * network error that is already pending shows up here too (accept(2)). */
static bool is_clients_own(int error)
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

static void say_exhausted(const struct server *server, int error)
{
    server_say_shortage(server, "cannot accept more clients now: %s; those "
                        "that wait stay in the accept queue. A higher "
                        "descriptor limit (ulimit -n) or more memory would "
                        "help", strerror(error));
}

int net_try_accept(const struct server *server)
{
    int fd = accept4(server->listeners[0], NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0 && server->shared->no_more)
        server->shared->no_more = false;
    if (fd >= 0 || errno == EAGAIN || errno == EINVAL)
        return fd;
    int error = errno;
    if (error == EINTR || is_clients_own(error)) {
        error = EAGAIN;
    } else {
        say_exhausted(server, error);
        server->shared->full = true; /* who is idle makes room */
        server->shared->no_more = true;
    }
    errno = error;
    return -1;
}

int net_accept(const struct server *server)
{
    for (;;) {
        /* A signal may have come while no call waited to be interrupted. */
        server_housekeeping(server);
        if (signals_stopping())
            return -1;
        int fd = net_try_accept(server);
        if (fd >= 0 || errno == EINVAL) /* EINVAL: shut down, see signals.h */
            return fd;
        if (errno != EAGAIN)
            poll(NULL, 0, 50); /* rather than spin: something has to be freed */
    }
}

int net_accept_nonblocking(const struct server *server, int listener)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0 || errno == EAGAIN || errno == EINVAL)
            return fd;
        if (errno == EINTR || is_clients_own(errno))
            continue;
        int error = errno;
        say_exhausted(server, error);
        errno = error;
        return -1;
    }
}

void net_refuse(int fd)
{
    static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
                                 "Retry-After: 1\r\nContent-Length: 0\r\n"
                                 "Connection: close\r\n\r\n";
    char unread[4096];
    /* Closing with bytes unread resets the connection, and the answer may be
     * lost with it. Most requests are shorter than this. */
    if (recv(fd, unread, sizeof unread, MSG_DONTWAIT) > 0)
        send(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
}

void net_set_nonblocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

bool net_somebody_waits(int listener)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

unsigned net_waiting(int listener)
{
    struct tcp_info info; /* the same two numbers as in ss -lt: Recv-Q, Send-Q */
    socklen_t size = sizeof info;
    return getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size) == 0
               ? info.tcpi_unacked
               : 0;
}

bool net_close_may_reset(int fd)
{
    char byte;
    int waiting = 0;
    /* What is on its way is left out: it will arrive before a RST does. */
    ioctl(fd, SIOCOUTQNSD, &waiting);
    return waiting > 0 || recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

int net_unsent(int fd)
{
    int unsent = 0;
    ioctl(fd, SIOCOUTQ, &unsent);
    return unsent;
}

ssize_t net_send(int fd, const struct http_output *output, bool may_wait)
{
    /* MSG_MORE holds back a packet that is not full until more comes: a file, so
     * that its head needs no packet of its own, or the FIN of shutdown(2), which
     * then travels with the answer - one packet less to send, to receive and to
     * acknowledge, and one wake-up less of the client. close(2) alone would do
     * that too, but where the client has sent more than was read it sends RST,
     * and throws away what was held back. */
    int flags = (output->more ? MSG_MORE : 0) | (may_wait ? 0 : MSG_DONTWAIT);
    if (output->iov_count == 1)
        return send(fd, output->iov[0].iov_base, output->iov[0].iov_len, flags);
    if (output->iov_count > 0) {
        struct msghdr message = {
            .msg_iov = (struct iovec *)(uintptr_t)output->iov,
            .msg_iovlen = (size_t)output->iov_count,
        };
        return sendmsg(fd, &message, flags);
    }
    /* From the page cache to the socket without passing through us. */
    off_t offset = output->offset;
    size_t count = output->count < SENDFILE_MAX ? output->count : SENDFILE_MAX;
    ssize_t n = sendfile(fd, output->file, &offset, count);
    if (n == 0) { /* the file has been cut short: the promised length is lost */
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
