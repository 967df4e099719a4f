/*
 * 06 poll - one process, one loop, all clients together.
 *
 * No call here waits for a single client. poll(2) gets the descriptors of
 * all and sleeps until some are ready; the loop serves those as far as it
 * can without waiting. A client that waits costs a struct, not a process.
 *
 * The price: the kernel keeps nothing between two calls. Each call passes
 * all descriptors, the kernel checks them all, and we search them all.
 *
 *   .--> wait for events --> each ready client: read, serve, write --.
 *   '----------------------------------------------------------------'
 */
#include <poll.h>
#include <stdlib.h>

#include "../common/event_loop.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "06_poll", .name = "poll", .kind = EVENT_LOOP};

/* The entries of poll's array: clients follow the first two. */
enum { LISTENER, REDIS, FIRST_CLIENT };

struct loop {
    struct event_loop base; /* first, for the casts; its base is a worker */
    struct pollfd *fds;
    void **sources;         /* sources[i]: whose descriptor is in fds[i] */
    int used;
};

/* Called whenever a client has to wait, for Redis too. The first time, it
 * is added. poll is level-triggered: what is left unread comes again. */
static bool watch(struct event_loop *base, struct client *client,
                  enum http_want want, bool share_used)
{
    struct loop *loop = (struct loop *)base;
    struct pollfd event = {.fd = client->fd, .events = POLLIN};
    (void)share_used;
    if (want == HTTP_WANT_WRITE)
        event.events = POLLOUT;
    else if (want == HTTP_WANT_REDIS)
        event.events = 0;
    if (!client->watched)
        client->index = loop->used++;
    client->watched = true;
    loop->fds[client->index] = event;
    loop->sources[client->index] = client;
    return true;
}

/* Called before a client's descriptor is closed. */
static void unwatch(struct event_loop *base, struct client *client)
{
    struct loop *loop = (struct loop *)base;
    if (client->watched) {
        /* The last one moves into its place. */
        struct client *last = loop->sources[--loop->used];
        loop->fds[client->index] = loop->fds[loop->used];
        loop->sources[client->index] = last;
        last->index = client->index;
    }
    client->watched = false;
}

static void watch_redis(void *base, int fd, short events)
{
    struct loop *loop = base;
    /* poll skips negative descriptors. */
    loop->fds[REDIS] = (struct pollfd){events != 0 ? fd : -1, events, 0};
}

/* Waits until a descriptor is ready, a deadline passes or a signal arrives.
 * Returns how many are ready; -1: a signal came (EINTR). */
static int wait_for_events(struct loop *loop)
{
    loop->fds[LISTENER] = (struct pollfd){
        loop->base.listener, event_loop_may_accept(&loop->base) ? POLLIN : 0, 0};
    return poll(loop->fds, (nfds_t)loop->used,
                event_loop_timeout_ms(&loop->base));
}

/* Serves what is ready, from the front of the array to its end. */
static void serve_ready(struct loop *loop, int ready)
{
    for (int i = 0; ready > 0 && i < loop->used; i++) {
        void *source = loop->sources[i];
        short events = loop->fds[i].revents;
        if (events != 0 && ready-- > 0)
            event_loop_ready(&loop->base, source, (uint32_t)events);
        if (loop->sources[i] != source)
            i--; /* it has ended, and the last one has its place */
    }
}

/* Makes room for all clients. Memory that is never touched costs nothing. */
static void loop_init(struct loop *loop)
{
    size_t n = FIRST_CLIENT + (size_t)loop->base.max_clients;
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
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "1 loop");
    serve_clients(&server, 0);
    return server_finish(&server);
}
