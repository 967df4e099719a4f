/* ready - poll and epoll; see sim.h.
 *
 * As fs/eventpoll.c does it: an event puts the descriptor on a list; epoll_wait
 * asks each of them what it is ready for now, and reports that. One that is
 * level-triggered stays on the list. Adding or modifying one asks it, too. */
#include "sim.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

static uint64_t order;

static struct {
    bool watched, ready;
    void *data;
    uint64_t number;
} listener;

void ready_reset(void)
{
    memset(&listener, 0, sizeof listener);
    order = 0;
}

void ready_wake(struct socket *s)
{
    if (s->watched && !s->ready) {
        s->ready = true;
        s->ready_number = order++;
    }
}

void ready_wake_listener(void)
{
    if (listener.watched && !listener.ready) {
        listener.ready = true;
        listener.number = order++;
    }
}

void ready_forget(struct socket *s)
{
    s->watched = s->ready = false;
}

/* Whoever asks whether there is room, and hears no, is told when there is. */
static unsigned socket_events(struct socket *s)
{
    unsigned events = tcp_events(s);
    s->no_space |= !(events & POLLOUT) && !s->connecting;
    return events;
}

static unsigned listener_events(void)
{
    return sim.listener_shut ? POLLHUP : sim.queue_length > 0 ? POLLIN : 0;
}

/* -------------------------------------------------------------------- epoll */

int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epoll, int operation, int fd,
                     struct epoll_event *event);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int room,
                      int timeout_ms);

int __wrap_epoll_create1(int flags)
{
    (void)flags;
    return fd_new(FD_EPOLL, NULL, 0);
}

static int control_listener(struct epoll_event *event)
{
    listener.watched = true;
    listener.data = event->data.ptr;
    if (listener_events() != 0)
        ready_wake_listener();
    return 0;
}

static int control(struct socket *s, int operation, struct epoll_event *event)
{
    const bool add = operation == EPOLL_CTL_ADD;
    if (s->watched == add) {
        errno = add ? EEXIST : ENOENT;
        return -1;
    }
    if (add && s->peer == PEER_CLIENT && plan_has(&sim.plan, ADD_FAILS) &&
        chance_percent(20)) {
        rules_fault("EPOLL_CTL_ADD failed");
        errno = ENOMEM;
        return -1;
    }
    s->watched = true;
    s->events = event->events | EPOLLERR | EPOLLHUP;
    s->data = event->data.ptr;
    if ((socket_events(s) & s->events) != 0)
        ready_wake(s);
    return 0;
}

int __wrap_epoll_ctl(int epoll, int operation, int fd,
                     struct epoll_event *event)
{
    time_call();
    fd_get(epoll);
    struct fd *f = fd_get(fd);
    int result = f->kind == FD_LISTENER
                     ? control_listener(event)
                     : control(fd_socket(fd), operation, event);
    trace("epoll_ctl(%s, %d, %#x) = %s",
          operation == EPOLL_CTL_ADD ? "ADD" : "MOD", fd, event->events,
          result < 0 ? strerrorname_np(errno) : "0");
    return result;
}

static bool is_reportable(struct socket *s)
{
    return s->in_use && s->watched && s->ready &&
           (socket_events(s) & s->events) != 0;
}

static bool any_is_ready(const void *data)
{
    (void)data;
    if (listener.ready && listener_events() != 0)
        return true;
    for (int i = 0; i < SOCKETS_MAX; i++)
        if (is_reportable(&sim.sockets[i]))
            return true;
    return false;
}

/* Returns the socket that has been on the list longest, or NULL. */
static struct socket *next_ready(void)
{
    struct socket *first = NULL;
    for (int i = 0; i < SOCKETS_MAX; i++) {
        struct socket *s = &sim.sockets[i];
        if (s->in_use && s->ready &&
            (first == NULL || s->ready_number < first->ready_number))
            first = s;
    }
    return first;
}

static int collect(struct epoll_event *events, int room)
{
    struct socket *s, *again[SOCKETS_MAX];
    int n = 0, level = 0;
    if (listener.ready && listener_events() != 0)
        events[n++] = (struct epoll_event){listener_events(),
                                           {.ptr = listener.data}};
    listener.ready = false;
    while (n < room && (s = next_ready()) != NULL) {
        s->ready = false;
        unsigned now = socket_events(s) & s->events;
        if (now == 0)
            continue;
        events[n++] = (struct epoll_event){now, {.ptr = s->data}};
        trace("          fd %d: %#x", s->fd, now);
        if (!(s->events & EPOLLET))
            again[level++] = s;
    }
    while (level > 0)
        ready_wake(again[--level]);
    return n;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int room,
                      int timeout_ms)
{
    time_call();
    fd_get(epoll);
    rules_step();
    trace("epoll_wait(%d ms)", timeout_ms);
    int64_t timeout_us = timeout_ms < 0 ? -1 : timeout_ms * (int64_t)MS;
    int n = time_wait(any_is_ready, NULL, timeout_us);
    rules_waited(n == 0, timeout_us);
    if (n > 0)
        n = collect(events, room);
    trace("epoll_wait = %d", n);
    return n;
}

/* --------------------------------------------------------------------- poll */

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *t,
                 const sigset_t *set);

struct set {
    struct pollfd *fds;
    nfds_t count;
};

static bool look(struct pollfd *p)
{
    p->revents = 0;
    if (p->fd < 0)
        return false;
    unsigned events = fd_get(p->fd)->kind == FD_LISTENER
                          ? listener_events()
                          : socket_events(fd_socket(p->fd));
    p->revents = (short)(events & ((unsigned)p->events | POLLERR | POLLHUP));
    return p->revents != 0;
}

static bool some_are_ready(const void *data)
{
    const struct set *set = data;
    bool any = false;
    for (nfds_t i = 0; i < set->count; i++)
        any |= look(&set->fds[i]);
    return any;
}

/* The loop of 06; hiredis, which waits for one socket; a pause, of none. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct set set = {fds, count};
    time_call();
    if (sim.plan.server->event_loop && (sim.plan.server->epoll || count < 2) &&
        timeout_ms != 0)
        fail("an event loop waits in poll(%lu descriptors, %d ms)", count,
             timeout_ms);
    if (sim.plan.server->event_loop)
        rules_step();
    trace("poll(%lu descriptors, %d ms)", count, timeout_ms);
    int64_t timeout_us = timeout_ms < 0 ? -1 : timeout_ms * (int64_t)MS;
    int n = time_wait(some_are_ready, &set, timeout_us);
    if (count != 1)
        rules_waited(n == 0, timeout_us);
    if (n > 0)
        n = 0;
    for (nfds_t i = 0; n >= 0 && i < count; i++)
        if (fds[i].revents != 0) {
            n++;
            trace("          fd %d: %#x", fds[i].fd, (unsigned)fds[i].revents);
        }
    trace("poll = %d", n);
    return n;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *t,
                 const sigset_t *set)
{
    (void)set;
    int ms = t == NULL ? -1 : (int)(t->tv_sec * 1000 + t->tv_nsec / 1000000);
    return __wrap_poll(fds, count, ms);
}
