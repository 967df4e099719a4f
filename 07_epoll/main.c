/*
 * 07 epoll - one loop, all clients at once, and the kernel remembers them.
 *
 * As 06, but the set of descriptors lives in the kernel: a client is put into it
 * once, and epoll_wait(2) returns those that are ready, and only those. What a
 * turn costs depends on how many clients are busy, not on how many there are.
 *
 * The clients are edge-triggered (EPOLLET): an event tells that something has
 * changed, once, so we go on until the kernel says EAGAIN (or has given us less
 * than we asked for). In return a client is registered once, for reading and
 * writing, and never touched again. data.ptr is the client: no table to look
 * through. And a client that sends its request, gets its answer and is gone
 * never enters the set at all.
 *
 * --workers N runs N such loops, a process each, each with a listening socket of
 * its own on the same port (SO_REUSEPORT).
 *
 *   .--> epoll_wait --> each that is ready: read, serve, write --.
 *   '------------------------------------------------------------'
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../common/fatal.h"
#include "../common/net.h"
#include "../common/event_loop.h"
#include "../common/server.h"
#include "../common/signals.h"
#include "../common/worker.h"
#include "../common/workers.h"

static const struct architecture architecture = {
    .folder = "07_epoll", .name = "epoll",
    .takes = TAKES_WORKERS | TAKES_MAX_CONNECTIONS, .workers = 1,
    .is_event_loop = true};

enum { EVENTS_PER_TURN = 256, ACCEPTS_PER_TURN = 64 };

struct epoll_client {
    struct client client; /* first: one pointer is good for both */
    bool registered;
};

struct epoll_loop {
    struct event_loop base; /* first, too */
    struct worker worker;
    int epoll;
    bool redis_registered;
};

/* Called whenever a client has to wait. The first time, it is put into the set,
 * for everything at once; being told of what was ready already is part of
 * EPOLL_CTL_ADD, so nothing that came in the meantime is missed. */
static bool watch_client(struct event_loop *base, struct client *client,
                         enum http_want want, bool again)
{
    struct epoll_loop *loop = (struct epoll_loop *)base;
    struct epoll_client *ec = (struct epoll_client *)client;
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.ptr = client};
    /* Redis' reply brings it back, not its socket: so a page needs no place in
     * the set either. Who has left by then is noticed when we write. */
    if (want == HTTP_WANT_REDIS)
        return true;
    /* It had more to do when its turn was over, and no edge will come for what
     * is already there. EPOLL_CTL_MOD looks again, and reports it. */
    if (ec->registered && again)
        epoll_ctl(loop->epoll, EPOLL_CTL_MOD, client->fd, &event);
    if (!ec->registered)
        ec->registered = epoll_ctl(loop->epoll, EPOLL_CTL_ADD, client->fd,
                                   &event) == 0;
    return ec->registered; /* not for want of memory */
}

/* Closing the last descriptor of a socket takes it out of the set. */
static void forget_client(struct event_loop *base, struct client *client)
{
    (void)base;
    (void)client;
}

static void release_client(struct client *client)
{
    free((struct epoll_client *)client);
}

/* Redis' socket is level-triggered: hiredis reads once per event and does not
 * promise to empty the socket. Its data.ptr is the loop's store. */
static void watch_redis(void *base, int fd, bool read, bool write)
{
    struct epoll_loop *loop = base;
    struct epoll_event event = {
        .events = (read ? EPOLLIN : 0u) | (write ? EPOLLOUT : 0u),
        .data.ptr = &loop->base.store};
    int operation = !read && !write          ? EPOLL_CTL_DEL
                    : loop->redis_registered ? EPOLL_CTL_MOD
                                             : EPOLL_CTL_ADD;
    if (epoll_ctl(loop->epoll, operation, fd, &event) == 0)
        loop->redis_registered = operation != EPOLL_CTL_DEL;
}

/* Accepts who waits, and serves each of them at once. The listening socket is
 * edge-triggered, too: one pass until EAGAIN, but not more than so many at a
 * time; somebody_waits remembers that there are more. */
static void accept_clients(struct epoll_loop *loop, int listener)
{
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        struct epoll_client *ec = calloc(1, sizeof *ec);
        if (!event_loop_accept(&loop->base, listener,
                               ec != NULL ? &ec->client : NULL)) {
            free(ec);
            return;
        }
    }
}

static void serve_ready(struct epoll_loop *loop,
                        const struct epoll_event *ready, int count)
{
    for (int i = 0; i < count; i++) {
        uint32_t events = ready[i].events;
        if (ready[i].data.ptr == NULL)
            loop->base.somebody_waits = true;
        else if (ready[i].data.ptr == &loop->base.store)
            redis_async_event(&loop->base.store, loop->worker.clock.now_ms,
                              (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0,
                              (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0);
        else
            event_loop_event(&loop->base, ready[i].data.ptr,
                             (events & EPOLLIN) != 0, (events & EPOLLOUT) != 0,
                             (events & (EPOLLRDHUP | EPOLLHUP)) != 0,
                             (events & (EPOLLERR | EPOLLHUP)) != 0);
    }
}

/* One turn: wait, then serve whoever is ready. */
static void turn(struct epoll_loop *loop, int listener, const sigset_t *mask)
{
    struct epoll_event ready[EVENTS_PER_TURN];
    /* epoll_pwait, not epoll_wait: it lets signals in and goes to sleep in one
     * step, so none can come between looking at its flag and going to sleep. */
    int count = epoll_pwait(loop->epoll, ready, EVENTS_PER_TURN,
                            event_loop_timeout(&loop->base), mask);
    worker_tick(&loop->worker);
    event_loop_see_to_signals(&loop->base, mask, count < 0);
    serve_ready(loop, ready, count);
    if (loop->base.somebody_waits)
        accept_clients(loop, listener);
    event_loop_finish_turn(&loop->base);
}

static void register_listener(struct epoll_loop *loop, int listener)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
    net_set_nonblocking(listener);
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, listener, &event) < 0)
        die("cannot watch the listening socket: %s", strerror(errno));
}

/* One loop: serves its clients until the server stops. */
static void serve_clients(const struct server *server, int number)
{
    static struct epoll_loop loop = {
        .base = {.watch = watch_client, .forget = forget_client,
                 .release = release_client, .watch_store = watch_redis}};
    int listener = server->listeners[number];
    sigset_t set, mask;

    /* Before worker_init(), which sees to what has come until now. */
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &mask);
    worker_init(&loop.worker, server, &server->shared->stats[number]);
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop.epoll < 0)
        die("cannot make an epoll set: %s", strerror(errno));
    event_loop_init(&loop.base, &loop.worker);
    register_listener(&loop, listener);

    while (!event_loop_is_over(&loop.base))
        turn(&loop, listener, &mask);

    event_loop_free(&loop.base);
    worker_free(&loop.worker);
    close(loop.epoll);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* By default a loop that is woken interrupts the one that runs on its core, and
 * takes its place in the middle of a turn. Under SCHED_BATCH (sched(7)) it waits
 * until that one sleeps - and, which is the price, for the end of the slice of
 * any other program on that core. The loops, being made by fork(2), inherit the
 * policy; one that somebody chose (chrt(1)) is left alone. */
static void let_each_other_finish(void)
{
    static const struct sched_param none = {0};
    if (sched_getscheduler(0) == SCHED_OTHER &&
        sched_setscheduler(0, SCHED_BATCH, &none) < 0)
        warn_user("the loops will preempt each other: sched_setscheduler: %s",
                  strerror(errno));
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers look at it */

    server_start(&server, &architecture, argc, argv, 0, 0);
    server_ready(&server, "%d worker%s", server.options.workers,
                 server.options.workers == 1 ? "" : "s");
    if (server.options.workers == 1) {
        serve_clients(&server, 0);
    } else {
        let_each_other_finish();
        workers_run(&server, server.options.workers, serve_clients);
    }
    return server_finish(&server);
}
