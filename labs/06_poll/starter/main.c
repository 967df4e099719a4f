/*
 * Lab 06 - one process, one loop, all clients together.
 *
 * No call here may wait for a single client. poll(2) gets the descriptors of
 * all and sleeps until some are ready.
 *
 *   .--> wait for events --> each ready client: read, serve, write --.
 *   '----------------------------------------------------------------'
 *
 * TO WRITE here: watch, unwatch, wait_for_events, serve_ready. In event_loop.c:
 * how a ready client is served. In event_loop_accept.c: how one is accepted.
 */
#include <poll.h>
#include <stdlib.h>

#include "event_loop.h"
#include "server.h"

static const struct architecture architecture = {
    .folder = "06_poll", .name = "poll", .kind = EVENT_LOOP};

enum { LISTENER, REDIS, FIRST_CLIENT }; /* so 0 can mean "not watched" */

struct loop {
    struct event_loop base; /* first: one pointer serves for both */
    struct pollfd *fds;
    void **sources;         /* sources[i] is what fds[i] belongs to */
    int used;
};

/* TO WRITE. Called whenever a client has to wait for its socket, or for Redis.
 * The first time (client->watched is 0), gives it the next free place in the
 * two arrays and stores the index in client->watched. Every time, sets what
 * poll(2) shall look for at that place: POLLIN if it wants to READ or LINGER,
 * POLLOUT if it wants to WRITE, nothing if it wants REDIS. Returns true. */
static bool watch(struct event_loop *base, struct client *client,
                  enum http_want want, bool again)
{
    (void)base;
    (void)client;
    (void)want;
    (void)again; /* for epoll: poll reports again what is left unread */
    return false;
}

/* TO WRITE. Called before a client's descriptor is closed; the client may never
 * have been watched. Takes its place out of the two arrays without leaving a
 * hole, in a time that does not depend on the number of clients. Mind the
 * client that moves: its index changes. */
static void unwatch(struct event_loop *base, struct client *client)
{
    (void)base;
    client->watched = 0;
}

static void watch_redis(void *base, int fd, short events)
{
    struct loop *loop = base;
    /* poll skips negative descriptors. */
    loop->fds[REDIS] = (struct pollfd){events != 0 ? fd : -1, events, 0};
}

/* TO WRITE. Calls poll(2) with all descriptors in use, for at most
 * event_loop_timeout_ms() milliseconds. Before that, sets up the place of the
 * listener: POLLIN if event_loop_may_accept(), otherwise nothing. When the
 * server is stopping (base.worker.draining), its descriptor is -1 (poll skips
 * it).
 * Returns what poll returns. EINTR only means that a signal has come: -1 is
 * then passed on, and serve_ready() does nothing. */
static int wait_for_events(struct loop *loop)
{
    (void)loop;
    return poll(NULL, 0, 10);
}

/* TO WRITE. Calls event_loop_ready() for each place with `revents`; stops when
 * `ready` of them have been found. A client that ends takes its place out of
 * the arrays while you search them: choose the direction of the search so
 * that none is missed and none is served twice. */
static void serve_ready(struct loop *loop, int ready)
{
    (void)loop;
    (void)ready;
}

/* Makes room for all clients: pages that are never touched cost no memory. */
static void loop_init(struct loop *loop)
{
    int clients = loop->base.worker.server->options.max_connections;
    size_t n = FIRST_CLIENT + (size_t)clients;
    loop->fds = calloc(n, sizeof *loop->fds);
    loop->sources = calloc(n, sizeof *loop->sources);
    if (loop->fds == NULL || loop->sources == NULL)
        die("out of memory; ask for fewer clients with --max-connections");
    loop->used = FIRST_CLIENT;
    loop->fds[REDIS].fd = -1;
    loop->sources[LISTENER] = &loop->base.listener;
    loop->sources[REDIS] = &loop->base.redis;
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
    static struct server server; /* static: signal handlers use it */

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "1 loop");
    serve_clients(&server, 0);
    return server_finish(&server);
}
