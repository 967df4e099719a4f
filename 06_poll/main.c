/*
 * 06 poll - one process, one loop, all clients at once.
 *
 * Nothing here waits for one client. poll(2) is given the descriptors of all of
 * them and sleeps until some are ready; the loop then does for each of those
 * what can be done without waiting, and asks again. A client that waits costs a
 * small struct, not a process or a thread.
 *
 * The price is in the interface: the kernel keeps nothing between two calls, so
 * each call hands over the whole array, the kernel asks every descriptor in it,
 * and we look through the whole array for those that are ready. With ten
 * thousand clients of which ten are busy, that is ten thousand questions for
 * ten answers. 07 does away with that.
 *
 *   .--> poll(all descriptors) --> each that is ready: read, serve, write --.
 *   '-----------------------------------------------------------------------'
 */
#define HASH_NONFATAL_OOM 1 /* uthash: report want of memory, do not exit */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <uthash.h>

#include "../common/fatal.h"
#include "../common/net.h"
#include "../common/event_loop.h"
#include "../common/server.h"
#include "../common/signals.h"
#include "../common/worker.h"

static const struct architecture architecture = {
    .folder = "06_poll", .name = "poll", .takes = TAKES_MAX_CONNECTIONS,
    .is_event_loop = true};

enum { LISTENER, REDIS, FIRST_CLIENT, ACCEPTS_PER_TURN = 64 };

struct poll_client {
    struct client client; /* first: one pointer is good for both */
    nfds_t slot;          /* its place in the array; 0: none yet */
    UT_hash_handle hh;    /* found by client.fd */
};

struct poll_loop {
    struct event_loop base; /* first, too */
    struct worker worker;
    struct pollfd *slots;
    nfds_t used, allocated;
    struct poll_client *clients; /* hash table: descriptor -> client */
};

static bool grow_slots(struct poll_loop *loop)
{
    nfds_t allocated = loop->allocated > 0 ? loop->allocated * 2 : 64;
    struct pollfd *slots =
        realloc(loop->slots, (size_t)allocated * sizeof *slots);
    if (slots == NULL)
        return false;
    loop->slots = slots;
    loop->allocated = allocated;
    return true;
}

/* Puts a new client behind the others, and into the table. Returns false when
 * there is no memory. */
static bool add_slot(struct poll_loop *loop, struct poll_client *pc)
{
    if (loop->used == loop->allocated && !grow_slots(loop))
        return false;
    HASH_ADD_INT(loop->clients, client.fd, pc);
    if (pc->hh.tbl == NULL)
        return false;
    pc->slot = loop->used++;
    loop->slots[pc->slot] = (struct pollfd){.fd = pc->client.fd};
    return true;
}

/* What poll is to wait for on behalf of a client; while it waits for Redis, for
 * nothing (errors are reported all the same). A new client gets a slot when it
 * has to wait for its own socket, which most never do; one that leaves without
 * a slot is noticed when we write. */
static bool watch_client(struct event_loop *base, struct client *client,
                         enum http_want want, bool again)
{
    struct poll_loop *loop = (struct poll_loop *)base;
    struct poll_client *pc = (struct poll_client *)client;
    if (pc->slot == 0 && want == HTTP_WANT_REDIS)
        return true;
    if (pc->slot == 0 && !add_slot(loop, pc))
        return false;
    (void)again; /* poll tells of what is still there in the next turn, too */
    loop->slots[pc->slot].events = want == HTTP_WANT_READ    ? POLLIN
                                   : want == HTTP_WANT_WRITE ? POLLOUT
                                                             : 0;
    return true;
}

/* Takes a client out: the last in the array moves into its place. Which client
 * that is, its descriptor tells, through the hash table. */
static void forget_client(struct event_loop *base, struct client *client)
{
    struct poll_loop *loop = (struct poll_loop *)base;
    struct poll_client *pc = (struct poll_client *)client, *moved;
    if (pc->slot == 0)
        return;
    HASH_DEL(loop->clients, pc);
    nfds_t last = --loop->used;
    if (pc->slot != last) {
        loop->slots[pc->slot] = loop->slots[last];
        HASH_FIND_INT(loop->clients, &loop->slots[last].fd, moved);
        if (moved != NULL) /* it always is */
            moved->slot = pc->slot;
    }
    pc->slot = 0;
}

static void release_client(struct client *client)
{
    free((struct poll_client *)client);
}

static void watch_redis(void *base, int fd, bool read, bool write)
{
    struct poll_loop *loop = base;
    loop->slots[REDIS] = (struct pollfd){
        .fd = read || write ? fd : -1, /* poll skips negative ones */
        .events = (short)((read ? POLLIN : 0) | (write ? POLLOUT : 0))};
}

/* Accepts who waits, and serves each of them at once. */
static void accept_clients(struct poll_loop *loop, int listener)
{
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        struct poll_client *pc = calloc(1, sizeof *pc);
        if (!event_loop_accept(&loop->base, listener,
                               pc != NULL ? &pc->client : NULL)) {
            free(pc);
            return;
        }
    }
}

/* Goes through the array and serves the clients that poll has marked. From the
 * end to the beginning: a client that ends is replaced by the last one, which
 * has had its turn already. */
static void serve_ready(struct poll_loop *loop, int ready)
{
    for (nfds_t i = loop->used; ready > 0 && i-- > FIRST_CLIENT;) {
        struct poll_client *pc;
        short events = loop->slots[i].revents;
        if (events == 0)
            continue;
        ready--;
        HASH_FIND_INT(loop->clients, &loop->slots[i].fd, pc);
        event_loop_event(&loop->base, &pc->client, (events & POLLIN) != 0,
                         (events & POLLOUT) != 0, (events & POLLHUP) != 0,
                         (events & (POLLERR | POLLHUP)) != 0);
    }
}

/* One turn: wait, then serve whoever is ready. */
static void turn(struct poll_loop *loop, int listener, const sigset_t *mask)
{
    struct timespec time, *timeout = NULL;
    int ms = event_loop_timeout(&loop->base);
    if (ms >= 0) {
        time = (struct timespec){ms / 1000, (ms % 1000) * 1000000L};
        timeout = &time;
    }
    loop->slots[LISTENER] = (struct pollfd){
        .fd = event_loop_may_accept(&loop->base) ? listener : -1,
        .events = POLLIN};
    /* ppoll, not poll: it lets signals in and goes to sleep in one step, so
     * none can come between looking at its flag and going to sleep. */
    int ready = ppoll(loop->slots, loop->used, timeout, mask);
    worker_tick(&loop->worker);
    event_loop_see_to_signals(&loop->base, mask, ready < 0);
    if (ready > 0) {
        short listening = loop->slots[LISTENER].revents;
        short redis = loop->slots[REDIS].revents;
        serve_ready(loop, ready - (listening != 0) - (redis != 0));
        if (redis != 0)
            redis_async_event(&loop->base.store, loop->worker.clock.now_ms,
                              (redis & (POLLIN | POLLERR | POLLHUP)) != 0,
                              (redis & (POLLOUT | POLLERR | POLLHUP)) != 0);
        if (listening & POLLIN)
            accept_clients(loop, listener);
        loop->base.somebody_waits = false; /* poll will say so again */
    }
    event_loop_finish_turn(&loop->base);
}

/* Serves all clients until the server stops. */
static void serve_clients(const struct server *server)
{
    static struct poll_loop loop = {
        .base = {.watch = watch_client, .forget = forget_client,
                 .release = release_client, .watch_store = watch_redis}};
    sigset_t set, mask;

    /* Before worker_init(), which sees to what has come until now. */
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &mask);
    worker_init(&loop.worker, server, &server->shared->stats[0]);
    if (!grow_slots(&loop))
        die("out of memory");
    loop.used = FIRST_CLIENT;
    loop.slots[REDIS].fd = -1;
    event_loop_init(&loop.base, &loop.worker);
    net_set_nonblocking(server->listeners[0]);

    while (!event_loop_is_over(&loop.base))
        turn(&loop, server->listeners[0], &mask);

    event_loop_free(&loop.base);
    worker_free(&loop.worker);
    free(loop.slots);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers look at it */

    server_start(&server, &architecture, argc, argv, 1, 1);
    server_ready(&server, "1 loop");
    serve_clients(&server);
    return server_finish(&server);
}
