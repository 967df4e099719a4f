/*
 * 09 coroutines - code that waits, in a loop that does not.
 *
 * serve_client() below reads like the code of 05: read the request, answer it,
 * ask Redis, write, close. Yet there is one process with one thread, and the
 * loop is that of 07. Where 05 would wait in a system call, this code calls
 * wait_for_socket(): it notes what it waits for, and leaves its stack for the
 * loop's. The loop waits for all clients together, in epoll_wait(2), and goes
 * back to the stack of each whose socket is ready. There the code goes on in
 * the next line, with all its variables as they were.
 *
 * What a client costs is a stack. What it saves is the work of 06 and 07 to
 * remember by hand, in a struct, how far each client has come.
 *
 *   .--> wait for events --> resume each client that is ready --.
 *   '-----------------------------------------------------------'
 *         each: read, answer, write; where it would wait: yield
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "accept.h"
#include "coroutine.h"
#include "net.h"
#include "redis_async.h"
#include "room.h"
#include "worker.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "09_coroutines", .name = "coroutines", .kind = EVENT_LOOP};

enum { EVENTS_PER_WAIT = 256, ACCEPTS_PER_TURN = 64 };

/* How many steps a client may take in a row. Nobody takes the processor from a
 * coroutine: one whose socket is always ready would keep it from all others. */
enum { STEPS_PER_TURN = 6 };

/* How often a loop that may not accept looks again. */
enum { RECHECK_MS = 50 };

/* What a client waits for while others run. */
enum wait { FOR_NOTHING, FOR_SOCKET, FOR_REDIS, FOR_ITS_TURN };

struct client {
    struct loop *loop;
    struct coroutine *coroutine; /* runs serve_client() */
    enum wait wait;
    struct http_conn conn;
    int fd;
    uint32_t watched;          /* for what epoll watches fd; 0: not yet */
    bool readable;             /* recv() may find data */
    bool hangup;               /* the client has closed its side */
    bool late;                 /* its deadline has passed while it waited */
    int steps;                 /* since it last waited */
    const redisReply *reply;   /* what it was resumed for */
    char *peer;                /* its address for the log, or NULL */
    struct net_delivery delivery; /* of its answer */
    enum http_phase phase;     /* of its deadline, and the queue it is in */
    int64_t deadline_ms;
    struct client *prev, *next; /* in that queue if prev is not NULL */
    struct client *next_turn;  /* in loop->turns or loop->ended */
};

struct loop {
    struct worker base;
    struct redis_async redis;  /* one connection for all clients */
    struct epoll_event events[EVENTS_PER_WAIT];
    int epoll, listener;
    struct client *deadlines[HTTP_PHASES]; /* a queue for each phase */
    struct client *turns;      /* those that wait FOR_ITS_TURN, newest first */
    struct client *ended;      /* freed at the end of this turn of the loop */
    struct client *prepared;   /* for the next accept(2) */
    int clients;
    bool accept_pending;       /* the accept queue may not be empty */
    int64_t accept_again_ms;   /* after a lack of descriptors: not before */
};

/* ---------------------------------------------- what a client may wait for */

/* A client that waits for its socket has a deadline. It starts with a phase:
 * bytes that the client sends do not extend it. All clients of a phase have the
 * same timeout, so a queue in the order of arrival is in that of deadlines. */
static void remove_deadline(struct client *client)
{
    if (client->prev != NULL)
        DL_DELETE(client->loop->deadlines[client->phase], client);
    client->prev = NULL;
}

static void set_deadline(struct client *client)
{
    const struct worker *w = &client->loop->base;
    const enum http_phase now = http_conn_phase(&client->conn);
    if (client->phase == now && client->prev != NULL)
        return;
    remove_deadline(client);
    if (client->phase != now)
        net_delivery_begin(&client->delivery, w->http.clock.now_ms);
    client->phase = now;
    client->deadline_ms = w->http.clock.now_ms +
                          http_phase_timeout_ms(&w->server->site, now);
    DL_APPEND(client->loop->deadlines[now], client);
}

/* Looks how far the client's answer has come. */
static enum http_delivery look(struct client *client)
{
    const struct worker *w = &client->loop->base;
    return net_delivery(client->fd, &client->delivery, w->http.clock.now_ms,
                        http_stall_timeout_ms(&w->server->site));
}

/* Adds the socket to the set, or asks for writing, too: as in 07. Each change
 * is reported once (EPOLLET), so all who wait have found nothing before. */
static bool watch(struct client *client, uint32_t events)
{
    struct epoll_event event = {.data.ptr = client,
                                .events = client->watched | EPOLLIN |
                                          EPOLLRDHUP | EPOLLET | events};
    if (event.events == client->watched)
        return true;
    if (epoll_ctl(client->loop->epoll,
                  client->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, client->fd,
                  &event) < 0)
        return false;
    client->watched = event.events;
    return true;
}

/* Waits: for all that others have to do, this coroutine stands here. */
static void yield_for(struct client *client, enum wait wait)
{
    client->wait = wait;
    coroutine_yield();
    client->wait = FOR_NOTHING;
    client->steps = 0;
}

/* Waits until the socket may be read or written (EPOLLIN, EPOLLOUT), or until
 * the deadline has passed. It returns too often rather than too seldom, so the
 * caller tries its call again. */
static void wait_for_socket(struct client *client, uint32_t events)
{
    if (!watch(client, events)) { /* out of memory, or max_user_watches */
        server_warn_rarely(client->loop->base.server,
                           "cannot watch a client: %s", strerror(errno));
        http_conn_abort(&client->conn);
        return;
    }
    set_deadline(client);
    yield_for(client, FOR_SOCKET);
    if (client->late)
        http_conn_on_timeout(&client->conn, look(client));
    client->late = false;
}

/* Waits for a reply of Redis, which is hiredis' and gone when this client
 * yields again. NULL: there will be none. */
static const redisReply *wait_for_reply(struct client *client)
{
    yield_for(client, FOR_REDIS);
    return client->reply;
}

/* Waits until each other client that is ready has had its turn. */
static void wait_for_turn(struct client *client)
{
    LL_PREPEND2(client->loop->turns, client, next_turn);
    yield_for(client, FOR_ITS_TURN);
}

/* Lets a client go on until it waits again. */
static void resume(struct client *client)
{
    if (coroutine_resume(client->coroutine))
        return;
    /* Events of this turn may still name it: it is freed after them. */
    LL_PREPEND2(client->loop->ended, client, next_turn);
}

/* ---------------------------------------------------- serving one client */

static void read_request(struct client *client)
{
    size_t space;
    if (!client->readable) {
        wait_for_socket(client, EPOLLIN);
        return;
    }
    char *input = http_conn_input(&client->conn, &space);
    if (input == NULL) {
        server_warn_rarely(client->loop->base.server,
                           "out of memory; clients are closed");
        http_conn_finish(&client->conn);
        return;
    }
    ssize_t n = recv(client->fd, input, space, 0);
    /* A short read has emptied the socket: epoll(7), question 9. */
    client->readable = n == (ssize_t)space || (n > 0 && client->hangup);
    if (n > 0 || (n < 0 && errno == EAGAIN))
        http_conn_received(&client->conn, n > 0 ? (size_t)n : 0);
    else
        http_conn_abort(&client->conn); /* end of file, or ECONNRESET */
}

static void log_answer(struct client *client)
{
    worker_log_answer(&client->loop->base, &client->conn, client->peer);
}

static void answer_request(struct client *client)
{
    bool may_keep = worker_may_keep(&client->loop->base, &client->conn);
    client->conn.x->peer = client->peer;
    if (http_conn_answer(&client->conn, may_keep))
        log_answer(client);
}

/* All clients share a connection, so a command is only queued here: at the end
 * of this turn all go in one write. Then this client waits for each reply, and
 * others run. One that cannot be queued gets none: NULL, now. */
static void ask_redis(struct client *client)
{
    struct http_conn *conn = &client->conn;
    const struct redis_command *command;
    int due = 0;
    bool complete = false;
    while (!complete && (command = http_conn_next_command(conn)) != NULL) {
        if (redis_async_queue(&client->loop->redis, command, client) ||
            (http_context_relieve(&client->loop->base.http, errno) &&
             redis_async_queue(&client->loop->redis, command, client)))
            due++;
        else
            complete = http_conn_reply(conn, NULL);
    }
    for (; due > 0; due--)
        complete = http_conn_reply(conn, wait_for_reply(client));
    if (complete)
        log_answer(client);
}

static void write_response(struct client *client)
{
    struct http_output output;
    http_conn_output(&client->conn, &output);
    ssize_t n = net_send(client->fd, &output);
    if (n >= 0) {
        /* What follows has a deadline of its own, but not the request behind a
         * "100 Continue". */
        if (http_conn_phase(&client->conn) == HTTP_PHASE_DELIVER)
            remove_deadline(client);
        net_delivery_begin(&client->delivery,
                           client->loop->base.http.clock.now_ms);
        http_conn_sent(&client->conn, (size_t)n);
    } else if (errno == EAGAIN) {
        wait_for_socket(client, EPOLLOUT);
    } else if (errno != EINTR) { /* EPIPE, ECONNRESET, EIO */
        http_conn_finish(&client->conn);
    }
}

static void send_fin(struct client *client)
{
    shutdown(client->fd, SHUT_WR);
    http_conn_fin_sent(&client->conn);
    client->readable = true; /* look once more before the close */
}

/* Waits until the client has acknowledged its last answer, or closes. */
static void linger(struct client *client)
{
    ssize_t n = -1;
    if (client->readable && ((n = net_discard(client->fd, 0)) == 0 ||
                             (n < 0 && errno != EAGAIN))) {
        http_conn_abort(&client->conn);
        return;
    }
    client->readable = n > 0;
    http_conn_lingered(&client->conn, n > 0, look(client));
    if (n < 0 && http_conn_want(&client->conn) == HTTP_WANT_LINGER)
        wait_for_socket(client, EPOLLIN);
}

static void step(struct client *client, enum http_want want)
{
    switch (want) {
    case HTTP_WANT_READ: read_request(client); break;
    case HTTP_WANT_ANSWER: answer_request(client); break;
    case HTTP_WANT_REDIS: ask_redis(client); break;
    case HTTP_WANT_WRITE: write_response(client); break;
    case HTTP_WANT_FIN: send_fin(client); break;
    case HTTP_WANT_LINGER: linger(client); break;
    case HTTP_WANT_CLOSE: break;
    }
}

/* Serves a client from its first byte to its last. This is the function of its
 * coroutine: many of these calls are under way at a time, each on a stack of
 * its own, and at most one of them runs. */
static void serve_client(void *data)
{
    struct client *client = data;
    enum http_want want;
    while ((want = http_conn_want(&client->conn)) != HTTP_WANT_CLOSE) {
        step(client, want);
        if (++client->steps >= STEPS_PER_TURN)
            wait_for_turn(client);
    }
    remove_deadline(client);
    close(client->fd); /* which takes it out of the set, too */
    http_conn_abort(&client->conn);
    client->loop->clients--;
}

/* ------------------------------------------------------- accepting clients */

/* Returns the first of a queue that waits for its socket. One that waits for
 * Redis or its turn stays in the queue until it waits for its socket again. */
static struct client *first_at_rest(struct client *client)
{
    while (client != NULL && client->wait != FOR_SOCKET)
        client = client->next;
    return client;
}

/* Makes room for another client when others wait: ends the one that has been
 * idle longest, or if none is, one that has been silent since it came. Not
 * while another is closing: that one makes room. */
static void make_room(struct loop *loop)
{
    struct client *client = first_at_rest(loop->deadlines[HTTP_PHASE_IDLE]);
    struct client *silent = first_at_rest(loop->deadlines[HTTP_PHASE_NEW]);
    if (loop->deadlines[HTTP_PHASE_LINGER] != NULL)
        return;
    if (client == NULL && silent != NULL && !net_has_input(silent->fd) &&
        net_silent_ms(silent->fd) >= FIRST_BYTE_GRACE_MS)
        client = silent;
    if (client == NULL)
        return;
    http_conn_finish(&client->conn);
    resume(client);
}

static bool has_room(const struct loop *loop)
{
    return loop->clients < loop->base.server->options.max_connections;
}

static bool may_accept(struct loop *loop)
{
    int64_t now = loop->base.http.clock.now_ms;
    if (!loop->accept_pending || loop->base.draining ||
        now < loop->accept_again_ms)
        return false;
    if (has_room(loop))
        return true;
    loop->accept_pending = net_accept_queue_length(loop->listener) > 0;
    if (loop->accept_pending)
        make_room(loop);
    if (!has_room(loop))
        loop->accept_again_ms = now + RECHECK_MS;
    return has_room(loop) && loop->accept_pending;
}

/* Makes a client and its stack before there is a socket for it: if memory runs
 * out, the client waits in the accept queue, and is not lost. */
static bool prepare_client(struct loop *loop)
{
    if (loop->prepared != NULL)
        return true;
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return false;
    client->loop = loop;
    client->phase = HTTP_PHASES;
    client->coroutine = coroutine_new(serve_client, client);
    if (client->coroutine == NULL) {
        free(client);
        return false;
    }
    loop->prepared = client;
    return true;
}

static void accept_failed(struct loop *loop, enum net_verdict verdict)
{
    loop->accept_pending = verdict != NET_NOBODY;
    if (verdict < NET_NEEDS_ROOM)
        return; /* none is there, or one has left early */
    loop->accept_again_ms = loop->base.http.clock.now_ms + RECHECK_MS;
    if (verdict == NET_NEEDS_ROOM) {
        http_context_trim(&loop->base.http);
        make_room(loop);
    }
}

static void accept_clients(struct loop *loop)
{
    for (int i = 0; i < ACCEPTS_PER_TURN && may_accept(loop); i++) {
        int fd = prepare_client(loop) ? accept_nonblocking(loop->base.server,
                                                           loop->listener)
                                      : -1;
        if (fd < 0) {
            accept_failed(loop, net_accept_verdict(errno));
            continue;
        }
        struct client *client = loop->prepared;
        loop->prepared = NULL;
        client->fd = fd;
        client->peer = worker_peer_name(&loop->base, fd);
        http_conn_open(&client->conn, &loop->base.http);
        stats_add(&loop->base.slot->connections, 1);
        loop->clients++;
        resume(client);
    }
}

/* ------------------------------------------------------------------ Redis */

static void watch_redis(void *data, int fd, short events)
{
    struct loop *loop = data;
    /* Level-triggered: hiredis does not promise to read until EAGAIN. */
    struct epoll_event event = {(uint32_t)events, {.ptr = &loop->redis}};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &event) < 0)
        epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event); /* a new one */
}

static void replied(void *loop, void *data, const redisReply *reply)
{
    struct client *client = data;
    (void)loop;
    client->reply = reply;
    resume(client);
}

/* --------------------------------------------------------------- the loop */

static void client_ready(struct client *client, uint32_t events)
{
    client->hangup |= (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
    client->readable |= client->hangup || (events & EPOLLIN);
    /* One that waits for Redis or for its turn finds it when it gets there. */
    if (client->wait == FOR_SOCKET)
        resume(client);
}

static void serve_ready(struct loop *loop, int ready)
{
    for (int i = 0; i < ready; i++) {
        void *source = loop->events[i].data.ptr;
        if (source == &loop->listener)
            loop->accept_pending = true;
        else if (source == &loop->redis)
            redis_async_ready(&loop->redis, loop->events[i].events);
        else
            client_ready(source, loop->events[i].events);
    }
}

/* Those that had to let others run. They were prepended: the oldest is last. */
static void give_turns(struct loop *loop)
{
    struct client *turns = loop->turns, *client, *next, *oldest = NULL;
    loop->turns = NULL;
    LL_FOREACH_SAFE2(turns, client, next, next_turn) {
        client->next_turn = oldest;
        oldest = client;
    }
    LL_FOREACH_SAFE2(oldest, client, next, next_turn)
        resume(client);
}

/* Wakes what has waited too long, and when the server is stopping, what has
 * not begun a request. Redis has a deadline of its own. */
static void expire(struct loop *loop, enum http_phase phase)
{
    bool all = loop->base.draining &&
               (phase == HTTP_PHASE_NEW || phase == HTTP_PHASE_IDLE);
    int64_t now = loop->base.http.clock.now_ms;
    struct client *client;
    while ((client = loop->deadlines[phase]) != NULL &&
           (all || client->deadline_ms <= now)) {
        remove_deadline(client);
        if (client->wait != FOR_SOCKET)
            continue; /* the next wait for its socket sets one again */
        client->late = true;
        resume(client);
    }
}

static void free_ended(struct loop *loop)
{
    struct client *client, *next;
    LL_FOREACH_SAFE2(loop->ended, client, next, next_turn) {
        coroutine_free(client->coroutine);
        free(client->peer);
        free(client);
    }
    loop->ended = NULL;
}

/* Returns for how many milliseconds the loop may wait; -1: without limit. */
static int timeout_ms(const struct loop *loop)
{
    int64_t now = loop->base.http.clock.now_ms;
    int64_t next = redis_async_deadline_ms(&loop->redis);
    int64_t stale = loop->base.http.files.stale_ms;
    bool pauses = loop->base.draining || now < loop->accept_again_ms;
    for (int i = 0; i < HTTP_PHASES; i++) {
        const struct client *first = loop->deadlines[i];
        if (first != NULL && first->deadline_ms < next)
            next = first->deadline_ms;
    }
    if (stale != 0 && stale < next)
        next = stale;
    if (pauses && next > now + RECHECK_MS)
        next = now + RECHECK_MS;
    if (next <= now || loop->turns != NULL || (loop->accept_pending && !pauses))
        return 0;
    return next == INT64_MAX ? -1 : (int)(next - now);
}

static void loop_init(struct loop *loop, const struct server *server)
{
    worker_init(&loop->base, server, 0);
    loop->redis = (struct redis_async){.address = &server->options.redis,
                                       .clock = &loop->base.http.clock,
                                       .loop = loop,
                                       .watch = watch_redis,
                                       .deliver = replied};
    loop->listener = server->listeners[0];
    struct epoll_event event = {.events = EPOLLIN | EPOLLET,
                                .data.ptr = &loop->listener};
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0 || epoll_ctl(loop->epoll, EPOLL_CTL_ADD,
                                     loop->listener, &event) < 0)
        die("cannot make an epoll set: out of descriptors or memory");
}

static bool is_over(const struct loop *loop)
{
    return loop->base.draining &&
           (loop->clients == 0 || loop->base.drain_expired);
}

static void serve_clients(struct loop *loop)
{
    while (!is_over(loop)) {
        int ready = epoll_wait(loop->epoll, loop->events, EVENTS_PER_WAIT,
                               timeout_ms(loop));
        worker_update(&loop->base);
        serve_ready(loop, ready);
        give_turns(loop);
        accept_clients(loop);
        for (int i = 0; i < HTTP_PHASES; i++)
            expire(loop, (enum http_phase)i);
        redis_async_flush(&loop->redis);
        file_table_expire(&loop->base.http.files,
                          loop->base.http.clock.now_ms);
        free_ended(loop);
    }
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */
    static struct loop loop;

    /* The switch is chosen by the environment: server_start() knows the options
     * of the seven only. */
    const char *how = getenv("COROUTINE_SWITCH");
    if (how != NULL && strcmp(how, "context") == 0)
        coroutine_choose(COROUTINE_CONTEXT);
    server_start(&server, &architecture, argc, argv);
    loop_init(&loop, &server);
    server_ready(&server, "1 loop");
    serve_clients(&loop);
    return server_finish(&server);
}
