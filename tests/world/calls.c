/* calls - system calls on sockets and other descriptors; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { SENDFILE_PIECE = 65536 }; /* 16 pages: a pipe, see splice(2) */

/* -------------------------------------------------------------- descriptors */

int fd_new(enum fd_kind kind, struct socket *socket, int file)
{
    int limit = plan_has(&sim.plan, FEW_DESCRIPTORS) ? FIRST_FD + 6 : FDS_MAX;
    for (int fd = FIRST_FD; fd < limit; fd++)
        if (sim.fds[fd].kind == FD_FREE) {
            sim.fds[fd] = (struct fd){kind, socket, file};
            if (socket != NULL)
                socket->fd = fd;
            return fd;
        }
    rules_fault("out of descriptors");
    errno = EMFILE;
    return -1;
}

struct fd *fd_get(int fd)
{
    if (fd < 0 || fd >= FDS_MAX || sim.fds[fd].kind == FD_FREE)
        fail("a call on descriptor %d, which is not open", fd);
    return &sim.fds[fd];
}

struct socket *fd_socket(int fd)
{
    struct fd *f = fd_get(fd);
    if (f->kind != FD_SOCKET)
        fail("a call for sockets on descriptor %d, which is none", fd);
    return f->socket;
}

const char *socket_name(const struct socket *s)
{
    static char name[32];
    snprintf(name, sizeof name,
             s->peer == PEER_REDIS ? "Redis" : "client %d", s->number);
    return name;
}

/* ------------------------------------------------------- receiving, sending */

ssize_t __wrap_recv(int fd, void *room, size_t n, int flags);
ssize_t __wrap_read(int fd, void *room, size_t n);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_sendfile64(int to, int from, off_t *offset, size_t n);
ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t n);

static bool is_readable(const void *data)
{
    const struct socket *s = data;
    return tcp_unread(s) > 0 || s->in.fin_arrived || s->reset;
}

static bool has_room(const void *data)
{
    const struct socket *s = data;
    return s->reset || tcp_room(s) > 0;
}

/* Waits as a blocking call on a socket does. Returns false with errno. */
static bool wait_for(struct socket *s, bool (*done)(const void *data),
                     int64_t timeout_us, bool nonblocking)
{
    if (done(s))
        return true;
    if (nonblocking) {
        errno = EAGAIN;
        return false;
    }
    if (sim.plan.server->event_loop)
        fail("an event loop waits for the socket of %s", socket_name(s));
    rules_step();
    int result = time_wait(done, s, timeout_us > 0 ? timeout_us : -1);
    rules_waited(result == 0, timeout_us > 0 ? timeout_us : -1);
    if (result == 0)
        errno = EAGAIN;
    return result > 0;
}

ssize_t socket_error(struct socket *s)
{
    errno = s->error;
    s->error = 0;
    return -1;
}

static ssize_t receive(int fd, void *room, size_t n, int flags)
{
    struct socket *s = fd_socket(fd);
    time_call();
    if (n == 0)
        fail("a call that receives without room");
    if (!wait_for(s, is_readable, s->receive_timeout_us,
                  s->nonblocking || (flags & MSG_DONTWAIT)))
        return -1;
    size_t unread = tcp_unread(s);
    if (unread == 0)
        return s->error != 0 ? socket_error(s) : 0;
    n = n < unread ? n : unread;
    if (!(flags & MSG_TRUNC)) /* tcp(7): the kernel drops the bytes */
        memcpy(room, s->in.bytes + s->in.read, n);
    if (!(flags & MSG_PEEK)) {
        s->in.read += n;
        rules_progress();
        rules_read(s);
    }
    return (ssize_t)n;
}

ssize_t socket_traced(const char *call, const struct socket *s, ssize_t result)
{
    int saved = errno;
    if (result < 0)
        trace("%s %s = %s", call, socket_name(s), strerrorname_np(errno));
    else
        trace("%s %s = %zd", call, socket_name(s), result);
    errno = saved;
    return result;
}

ssize_t __wrap_recv(int fd, void *room, size_t n, int flags)
{
    struct socket *s = fd_socket(fd);
    return socket_traced("recv     ", s, receive(fd, room, n, flags));
}

ssize_t __wrap_read(int fd, void *room, size_t n)
{
    struct socket *s = fd_socket(fd);
    return socket_traced("read     ", s, receive(fd, room, n, 0));
}

/* How long a call may still wait. The kernel sends a file in pieces, and each
 * has SO_SNDTIMEO for itself. */
static int64_t send_time_left(const struct socket *s, int file, size_t sent,
                              int64_t *end_us)
{
    if (*end_us == 0 || (file >= 0 && sent % SENDFILE_PIECE == 0))
        *end_us = sim.now_us + s->send_timeout_us;
    return *end_us > sim.now_us ? *end_us - sim.now_us : 1;
}

/* Sends bytes, or part of a file. A blocking socket takes all of it, or what it
 * could take until its timeout. */
static ssize_t transmit(struct socket *s, const char *bytes, int file,
                        size_t offset, size_t n, bool more)
{
    size_t sent = 0;
    int64_t end_us = 0;
    time_call();
    if (s->shut)
        fail("the server sends to client %d after its FIN", s->number);
    do {
        if (!wait_for(s, has_room, send_time_left(s, file, sent, &end_us),
                      s->nonblocking))
            break;
        if (s->error != 0)
            return sent > 0 ? (ssize_t)sent : socket_error(s);
        if (s->reset) {
            errno = EPIPE;
            return -1;
        }
        size_t room = tcp_room(s), part = n - sent < room ? n - sent : room;
        size_t piece = SENDFILE_PIECE - sent % SENDFILE_PIECE;
        if (file >= 0 && part > piece)
            part = piece;
        tcp_send(s, bytes != NULL ? bytes + sent : NULL, file, offset + sent,
                 part, more && part == n - sent);
        sent += part;
        s->io_us = s->sent_us = sim.now_us;
    } while (sent < n);
    s->no_space |= sent < n;
    return sent > 0 || n == 0 ? (ssize_t)sent : -1;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
    struct socket *s = fd_socket(fd);
    return socket_traced("send     ", s, transmit(s, bytes, -1, 0, n,
                                           flags & MSG_MORE));
}

ssize_t __wrap_sendfile64(int to, int from, off_t *offset, size_t n)
{
    struct socket *s = fd_socket(to);
    int file = fd_get(from)->file;
    size_t size = site_files[file].size, at = (size_t)*offset;
    if (plan_has(&sim.plan, OPEN_ERRORS) && chance_percent(2)) {
        rules_fault("a file has been truncated");
        return socket_traced("sendfile ", s, 0);
    }
    if (chance_percent(2)) { /* a signal: Linux does so even if nothing waits */
        errno = EINTR;
        return socket_traced("sendfile ", s, -1);
    }
    n = n < size - at ? n : size - at;
    ssize_t sent = transmit(s, NULL, file, at, n, false);
    if (sent > 0)
        *offset += sent;
    return socket_traced("sendfile ", s, sent);
}

ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t n)
{
    return __wrap_sendfile64(to, from, offset, n);
}

ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);

/* A line of the log, behind the line end of one that was cut. */
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
    time_call();
    if (fd_get(fd)->kind != FD_LOG || count != 2 || parts[0].iov_len > 0)
        fail("writev() of %d parts to descriptor %d", count, fd);
    rules_log(parts[1].iov_base, parts[1].iov_len);
    return (ssize_t)parts[1].iov_len;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    if (fd_get(fd)->kind == FD_LOG) {
        time_call();
        rules_log(bytes, n);
        return (ssize_t)n;
    }
    struct socket *s = fd_socket(fd);
    return socket_traced("write    ", s, transmit(s, bytes, -1, 0, n, false));
}

/* ------------------------------------------------------ the end of a socket */

int __wrap_shutdown(int fd, int how);
int __wrap_close(int fd);

/* Clients that wait in the accept queue get RST. */
static void shut_listener(void)
{
    sim.listener_shut = true;
    while (sim.queue_length > 0)
        tcp_close(sim.queue[--sim.queue_length]);
    ready_wake_listener();
}

int __wrap_shutdown(int fd, int how)
{
    if (fd_get(fd)->kind == FD_LISTENER) { /* in a signal handler */
        trace("shutdown(listener)");
        shut_listener();
        return 0;
    }
    struct socket *s = fd_socket(fd);
    time_call();
    trace("shutdown  %s", socket_name(s));
    rules_close(s);
    if (how != SHUT_WR)
        fail("shutdown(%d) of a client", how);
    if (s->reset) {
        errno = ENOTCONN;
        return -1;
    }
    tcp_shutdown(s);
    return 0;
}

int __wrap_close(int fd)
{
    struct fd *f = fd_get(fd);
    time_call();
    if (f->kind == FD_SOCKET) {
        struct socket *s = f->socket;
        trace("close     %s", socket_name(s));
        if (!s->shut)
            rules_close(s);
        rules_closed(s);
        tcp_close(s);
        s->fd = -1;
    } else if (f->kind != FD_FILE) {
        fail("close(%d), which is not a client's", fd);
    }
    *f = (struct fd){FD_FREE, NULL, 0};
    return 0;
}
