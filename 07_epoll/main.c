/*
 * 07 epoll - one loop, all clients together, and the kernel remembers them.
 *
 * Like 06, but the kernel keeps the set of descriptors: a client is added
 * once, and epoll_wait(2) returns only those that are ready. What an
 * iteration costs depends on how many are busy, not on how many there are.
 *
 * The price: with edge-triggered events (EPOLLET) the kernel reports a
 * socket when something changes, and not again because data is left. So the
 * loop must go on until the socket has nothing more to give or to take.
 *
 * --workers N starts N processes, each with a loop and a listening socket
 * of its own on the same port (SO_REUSEPORT).
 *
 *   .--> wait for events --> each ready client: read, serve, write --.
 *   '----------------------------------------------------------------'
 */
#include <sys/epoll.h>
#include <unistd.h>

#include "../common/event_loop.h"
#include "../common/server.h"
#include "../common/worker_processes.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "07_epoll", .name = "epoll", .kind = EVENT_LOOP,
    .workers = 1};

enum { EVENTS_PER_WAIT = 256 };

struct loop {
    struct event_loop base; /* first, for the casts; its base is a worker */
    struct epoll_event events[EVENTS_PER_WAIT];
    int epoll;
};

/* Called whenever a client has to wait, for Redis too. The first time, it
 * is added, and stays. Adding reports what is ready already; after that
 * EPOLLET reports a change once, and client->readable remembers it until
 * recv() finds no more. After `share_used`, EPOLL_CTL_MOD reports it again.
 * EPOLLOUT is asked for only when a client first has to wait to write: a
 * new socket is writable, and would wake the loop up for nothing. */
static bool watch(struct event_loop *base, struct client *client,
                  enum http_want want, bool share_used)
{
    struct loop *loop = (struct loop *)base;
    struct epoll_event event = {.data.ptr = client,
                                .events = EPOLLIN | EPOLLRDHUP | EPOLLET};
    int operation = client->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    bool to_write = client->to_write || want == HTTP_WANT_WRITE;
    if (client->watched && to_write == client->to_write && !share_used)
        return true;
    if (to_write)
        event.events |= EPOLLOUT;
    if (epoll_ctl(loop->epoll, operation, client->fd, &event) < 0)
        return false; /* no memory, or max_user_watches: see epoll(7) */
    client->watched = true;
    client->to_write = to_write;
    return true;
}

/* Called before a client's descriptor is closed. */
static void unwatch(struct event_loop *base, struct client *client)
{
    (void)base; /* close(2) takes it out of the set: epoll(7) */
    client->watched = false;
}

static void watch_redis(void *base, int fd, short events)
{
    struct loop *loop = base;
    /* Level-triggered: hiredis does not promise to read until EAGAIN. */
    struct epoll_event event = {(uint32_t)events, {.ptr = &loop->base.redis}};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &event) < 0)
        epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event); /* a new one */
}

/* Waits until a descriptor is ready, a deadline passes or a signal arrives.
 * Returns how many are ready; -1: a signal came (EINTR). */
static int wait_for_events(struct loop *loop)
{
    return epoll_wait(loop->epoll, loop->events, EVENTS_PER_WAIT,
                      event_loop_timeout_ms(&loop->base));
}

/* Serves what is ready. */
static void serve_ready(struct loop *loop, int ready)
{
    for (int i = 0; i < ready; i++)
        event_loop_ready(&loop->base, loop->events[i].data.ptr,
                         loop->events[i].events);
}

/* The listener is edge-triggered, too: base.accept_pending remembers that
 * more may wait. event_loop_ready() tells sources apart by address. */
static void loop_init(struct loop *loop)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET,
                                .data.ptr = &loop->base.listener};
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0 || epoll_ctl(loop->epoll, EPOLL_CTL_ADD,
                                     loop->base.listener, &event) < 0)
        die("cannot make an epoll set: out of descriptors or memory");
}

/* The loop: serves all clients until the server stops. */
static void serve_clients(const struct server *server, int number)
{
    static struct loop loop = {.base = {
        .watch = watch, .unwatch = unwatch, .watch_redis = watch_redis}};

    event_loop_init(&loop.base, server, number);
    loop_init(&loop);
    while (!event_loop_is_over(&loop.base)) {
        int ready = wait_for_events(&loop);
        event_loop_begin_iteration(&loop.base);
        serve_ready(&loop, ready);
        event_loop_accept(&loop.base);
        event_loop_end_iteration(&loop.base);
    }
    event_loop_free(&loop.base);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */
    static struct worker_processes workers; /* likewise */
    int number;

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "%d worker%s", server.options.workers,
                 server.options.workers == 1 ? "" : "s");
    if (server.options.workers == 1) {
        serve_clients(&server, 0);
        return server_finish(&server);
    }
    worker_processes_init(&workers, &server); /* none runs yet */
    while ((number = wait_for_missing_worker(&workers)) >= 0) {
        pid_t pid = fork();
        if (record_fork(&workers, number, pid)) { /* in the child */
            serve_clients(&server, number);
            return 0;
        }
    }
    wait_for_workers_to_end(&workers);
    return server_finish(&server);
}
