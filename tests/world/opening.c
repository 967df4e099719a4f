/* opening - new sockets, and what is known of a socket; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* ------------------------------------------------------------------- accept */

int __wrap_accept4(int fd, void *address, socklen_t *length, int flags);

static int accept_error(void)
{
    static const int errors[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS, ECONNABORTED,
                                 EPERM, EPROTO};
    if (!plan_has(&sim.plan, ACCEPT_ERRORS) || !chance_percent(30))
        return 0;
    int error = CHANCE_OF(errors);
    if (error == EMFILE || error == ENFILE || error == ENOMEM ||
        error == ENOBUFS)
        sim.exhausted_us = sim.now_us;
    return error;
}

static bool may_accept(const void *data)
{
    (void)data;
    return sim.queue_length > 0 || sim.listener_shut;
}

static int accept_now(bool nonblocking, bool client_nonblocking)
{
    if (!may_accept(NULL)) {
        if (nonblocking) {
            errno = EAGAIN;
            return -1;
        }
        rules_step();
        int result = time_wait(may_accept, NULL, 5 * (int64_t)SECOND);
        if (result == 0)
            errno = EAGAIN; /* SO_RCVTIMEO of the listener */
        if (result <= 0)
            return -1;
    }
    int error = sim.listener_shut ? EINVAL : accept_error();
    if (error != 0) {
        errno = error;
        return -1;
    }
    struct socket *s = sim.queue[0];
    int fd = fd_new(FD_SOCKET, s, 0);
    if (fd < 0) {
        sim.exhausted_us = sim.now_us;
        return -1;
    }
    memmove(sim.queue, sim.queue + 1,
            (size_t)--sim.queue_length * sizeof sim.queue[0]);
    s->accepted = true;
    s->accepted_us = s->acked_us = sim.now_us;
    s->nonblocking = client_nonblocking;
    s->send_timeout_us = 500 * MS; /* inherited from the listener */
    rules_progress();
    return fd;
}

int __wrap_accept4(int fd, void *address, socklen_t *length, int flags)
{
    (void)address;
    (void)length;
    time_call();
    if (fd_get(fd)->kind != FD_LISTENER)
        fail("accept on descriptor %d", fd);
    int result = accept_now(sim.plan.server->event_loop,
                            flags & SOCK_NONBLOCK);
    int saved = errno;
    if (result < 0)
        trace("accept4 = %s", strerrorname_np(errno));
    else
        trace("accept4 = %d, client %d", result, fd_socket(result)->number);
    errno = saved;
    return result;
}

/* ------------------------------------------------------------ Redis' socket */

int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);

int __wrap_socket(int domain, int type, int protocol)
{
    (void)domain;
    (void)type;
    (void)protocol;
    time_call();
    int fd = fd_new(FD_SOCKET, NULL, 0);
    if (fd < 0) {
        redis_sim_trouble();
        return -1;
    }
    struct socket *s = tcp_new(PEER_REDIS, 0);
    s->fd = fd;
    s->accepted = true;
    sim.fds[fd].socket = s;
    return fd;
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    struct socket *s = fd_socket(fd);
    (void)address;
    (void)length;
    time_call();
    if (!s->nonblocking && !sim.plan.unix_redis)
        fail("connect() may block for minutes");
    redis_sim_connect(s);
    if (s->connecting)
        errno = EINPROGRESS;
    else if (s->error != 0)
        socket_error(s);
    return (int)socket_traced("connect  ", s, s->connected ? 0 : -1);
}

/* ------------------------------------------------------------ what is known */

int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_getsockopt(int fd, int level, int name, void *value,
                      socklen_t *length);
int __wrap_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t length);

int __real_fcntl(int fd, int command, ...);

int __wrap_fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    int flags = command == F_SETFL ? va_arg(args, int) : 0;
    void *lock = command != F_SETFL ? va_arg(args, void *) : NULL;
    va_end(args);
    if (sim.over) /* gcov locks its files */
        return __real_fcntl(fd, command, lock);
    struct socket *s = fd_socket(fd);
    time_call();
    if (command == F_SETFL)
        s->nonblocking = flags & O_NONBLOCK;
    return command == F_GETFL && s->nonblocking ? O_RDWR | O_NONBLOCK : O_RDWR;
}

int __wrap_fcntl64(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    int flags = command == F_SETFL ? va_arg(args, int) : 0;
    va_end(args);
    return __wrap_fcntl(fd, command, flags);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    int *n = va_arg(args, int *);
    va_end(args);
    time_call();
    const struct socket *s = fd_socket(fd);
    if (request == FIONREAD)
        *n = (int)tcp_unread(s);
    else if (request == SIOCOUTQ)
        *n = s->reset ? 0 : (int)(s->out.end - s->out.arrived) +
                                (s->out.fin && !s->out.fin_arrived);
    else
        fail("ioctl(%#lx)", request);
    return 0;
}

int __wrap_getsockopt(int fd, int level, int name, void *value,
                      socklen_t *length)
{
    struct tcp_info info = {0};
    time_call();
    if (level == SOL_SOCKET && name == SO_ERROR) {
        struct socket *s = fd_socket(fd);
        *(int *)value = s->error;
        s->error = 0;
        return 0;
    }
    if (level != IPPROTO_TCP || name != TCP_INFO)
        fail("getsockopt(%d, %d)", level, name);
    if (fd_get(fd)->kind == FD_LISTENER)
        info.tcpi_unacked = (uint32_t)sim.queue_length;
    else
        info.tcpi_last_data_recv =
            (uint32_t)((sim.now_us - fd_socket(fd)->last_data_us) / MS);
    memcpy(value, &info, *length);
    return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t length)
{
    struct socket *s = fd_socket(fd);
    (void)length;
    time_call();
    if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO)) {
        const struct timeval *t = value;
        *(name == SO_RCVTIMEO ? &s->receive_timeout_us : &s->send_timeout_us) =
            t->tv_sec * (int64_t)SECOND + t->tv_usec;
    }
    return 0;
}
