/* sockets - descriptors, the accept queue and the clock; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

/* SO_RCVTIMEO of a listening socket (net.c). With it, a handler interrupts
 * accept(2) even if it has SA_RESTART (signal(7)). */
#define ACCEPT_TIMEOUT (5 * SECOND)

static bool a_client_waits(void *data)
{
    (void)data;
    return sim.queue > 0 || sim.listener_shut;
}

static int new_fd(void)
{
    int fd = sim.next_fd++;
    if (fd >= FDS_MAX)
        sim_fail("the world is too small: %d descriptors", fd);
    sim.fds[fd] = (struct fd_state){.open = true, .accepted = true};
    return fd;
}

static int refuse_accept(void)
{
    static const int errors[] = {EMFILE, ENFILE, ENOMEM, ECONNABORTED, EPERM};
    errno = errors[sim_below(sizeof errors / sizeof errors[0])];
    say("accept4() fails: %s", strerror(errno));
    return -1;
}

int __wrap_accept4(int listener, struct sockaddr *address, socklen_t *length,
                   int flags)
{
    (void)address;
    (void)length;
    (void)flags;
    sim_step("accept4");
    if (listener != sim.server->listeners[0])
        sim_fail("accepts from %d, which does not listen", listener);
    if (!sim.listener_shut && sim_percent(sim.plan.accept_fails))
        return refuse_accept();
    bool limited = sim.server->architecture->keeps_files;
    enum woken woken = thread_wait(
        WAIT_ACCEPT, a_client_waits, NULL,
        limited ? sim.now + ACCEPT_TIMEOUT : NEVER, true, limited);
    if (woken != WOKEN_READY) {
        errno = woken == WOKEN_SIGNAL ? EINTR : EAGAIN;
        return -1;
    }
    if (sim.listener_shut) {
        errno = EINVAL;
        return -1;
    }
    sim.queue--;
    sim_progress();
    int fd = new_fd();
    say("accept4() = %d", fd);
    return fd;
}

int __wrap_close(int fd)
{
    sim_step("close");
    if (fd < 0 || fd >= FDS_MAX || !sim.fds[fd].open)
        sim_fail("closes descriptor %d, which is not open", fd);
    if (!sim.fds[fd].accepted)
        sim_fail("closes descriptor %d, which listens", fd);
    sim.fds[fd].open = false;
    sim.fds[fd].closed++;
    say("close(%d)", fd);
    sim_progress();
    return 0;
}

int __wrap_shutdown(int fd, int how)
{
    if (fd < FIRST_FD || fd >= FIRST_FD + LIMIT_MAX || how != SHUT_RDWR)
        sim_fail("shutdown(%d, %d)", fd, how);
    if (fd == sim.server->listeners[0])
        sim.listener_shut = true;
    sim.queue = 0; /* their connections are reset */
    return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    (void)fds;
    (void)n;
    sim_step("poll");
    int64_t until = timeout < 0 ? NEVER : sim.now + timeout * (int64_t)MS;
    errno = EINTR;
    return thread_wait(WAIT_PAUSE, NULL, NULL, until, true, true) ==
           WOKEN_SIGNAL ? -1 : 0;
}

/* The coarse clocks tick every 4 ms. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int64_t now = sim.now;
    if (sim.server != NULL && sim.in_handler == 0)
        sim_step("clock_gettime");
    if (clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_REALTIME_COARSE)
        now -= now % (4 * MS);
    t->tv_sec = now / SECOND;
    t->tv_nsec = now % SECOND * 1000;
    return 0;
}

/* --------------------------------------------- what a child of 07 waits in */

int __wrap_epoll_create1(int flags)
{
    (void)flags;
    return 5;
}

int __wrap_epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    (void)set;
    (void)operation;
    (void)event;
    return fd == sim.server->listeners[sim.child_number] ? 0 : -1;
}

int __wrap_epoll_wait(int set, struct epoll_event *events, int most,
                      int timeout)
{
    (void)set;
    (void)events;
    (void)most;
    sim_step("epoll_wait");
    int64_t until = timeout < 0 ? NEVER : sim.now + timeout * (int64_t)MS;
    errno = EINTR;
    return thread_wait(WAIT_EVENTS, NULL, NULL, until, true, true) ==
           WOKEN_SIGNAL ? -1 : 0;
}
