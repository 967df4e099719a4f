/*
 * serve_blocking - serves one client with blocking calls; see
 * serve_blocking.h.
 *
 * Read it next to event_loop.c: the same switch, the same steps, in the
 * same order. Where that one returns to its loop, this one waits in a call.
 * The main other differences:
 *
 *   - After each call that may have waited, this one looks at the clock and
 *     at signals (worker_update()); the loop does so once an iteration.
 *   - Its one client has a deadline, checked before each step: next_want().
 *     The loop keeps the deadlines of its clients in queues.
 *   - It gets Redis' replies where it has asked: ask_redis(). In the loop,
 *     client_replied() is called with each.
 *   - A silent client has this whole worker, and must leave when others
 *     need it: room.h. In the loop it has a descriptor:
 *     event_loop_accept.c.
 */
#include "serve_blocking.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "net.h"
#include "room.h"

/* How long one recv() waits for data: SO_RCVTIMEO, once limit_reads() has
 * set it. (What accept(2) returns has the listening socket's, 5 seconds:
 * net_limit_wait().) Between two such waits the worker looks whether the
 * deadline has passed, the server is stopping or others wait. */
enum { RECV_TIMEOUT_MS = 50 };

struct client { /* a worker's only one; event_loop.h has its own struct */
    struct worker *worker;
    struct redis *redis;
    struct http_conn conn;
    int fd;
    bool may_wait;         /* SO_RCVTIMEO is set, because one recv() has
                              found nothing: the next ones wait, for
                              RECV_TIMEOUT_MS at most */
    bool found_empty;      /* net_discard() has found nothing to read */
    char *peer;            /* its address, or NULL: not needed */
    struct net_delivery delivery; /* of its answer */
    enum http_phase phase; /* the one that deadline_ms belongs to */
    int64_t deadline_ms;
    struct room_looks looks;
};

void blocking_worker_init(struct blocking_worker *bw,
                          const struct server *server, int number)
{
    worker_init(&bw->base, server, number);
    bw->redis = (struct redis){.address = &server->options.redis};
    atomic_store(&bw->base.slot->idle, true);
}

/* Looks how far the client's answer has come. */
static enum http_delivery look(struct client *client)
{
    const struct worker *w = client->worker;
    return net_delivery(client->fd, &client->delivery, w->http.clock.now_ms,
                        http_stall_timeout_ms(&w->server->site));
}

/* Checks the deadline, then returns the next step. Each phase has a deadline
 * of its own. When it passes and the phase goes on, as that of an answer
 * does while the client takes it, another begins. The timeout of recv() is
 * not enough: a client that sends a byte every 40 ms never runs into it. */
static enum http_want next_want(struct client *client)
{
    enum http_want want = http_conn_want(&client->conn);
    enum http_phase phase = http_conn_phase(&client->conn);
    const struct worker *w = client->worker;
    bool late = phase == client->phase &&
                w->http.clock.now_ms >= client->deadline_ms;
    if (phase != client->phase)
        net_delivery_begin(&client->delivery, w->http.clock.now_ms);
    if (phase != client->phase || late) {
        client->phase = phase;
        client->deadline_ms = w->http.clock.now_ms +
                              http_phase_timeout_ms(&w->server->site, phase);
    }
    if (!late && !w->drain_expired)
        return want;
    if (w->drain_expired)
        http_conn_abort(&client->conn); /* it had --drain-timeout */
    else
        http_conn_on_timeout(&client->conn, look(client));
    return http_conn_want(&client->conn);
}

static void end_client(struct client *client)
{
    close(client->fd);
    http_conn_abort(&client->conn); /* gives back what it still holds */
    free(client->peer);
}

/* Returns errno if a call that returned n has failed, else 0. Kept in a
 * variable, because worker_update() may change errno. */
static int error_of(ssize_t n)
{
    if (n < 0)
        return errno;
    return 0;
}

/* Returns the flags for a recv(2) that waits, or for one that does not. */
static int flags_to_wait(bool waits)
{
    if (waits)
        return 0;
    return MSG_DONTWAIT;
}

/* Looks whether others need the worker that this silent client has. */
static bool is_in_the_way(struct client *client)
{
    const struct worker *w = client->worker;
    return room_is_needed(&client->looks, w->server, client->phase,
                          w->http.clock.now_ms);
}

/* Nothing came from the client. If it has not begun a request, it must leave
 * when the server is stopping or others need the worker. */
static void on_no_data(struct client *client)
{
    if (client->phase != HTTP_PHASE_REQUEST &&
        (is_in_the_way(client) || client->worker->draining))
        http_conn_finish(&client->conn);
}

/* Limits how long recv() waits. Only called when the first found nothing,
 * because this costs a system call. */
static void limit_reads(struct client *client)
{
    const struct timeval wait = {.tv_usec = RECV_TIMEOUT_MS * 1000L};
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    client->may_wait = true;
}

/* The first recv() found nothing, so the next one will wait. A client may
 * have been silent in the accept queue, too: if its grace has ended there,
 * it does not get another RECV_TIMEOUT_MS. */
static void begin_waiting(struct client *client)
{
    const struct clock *clock = &client->worker->http.clock;
    limit_reads(client);
    room_begin_grace(&client->looks, client->fd, clock->now_ms);
    if (clock->now_ms >= client->looks.grace_end_ms)
        on_no_data(client);
}

/* A recv() does not wait until one has found nothing: often the request is
 * already here. From then on each sleeps for up to 50 ms. This is where 01
 * to 05 wait for a client. */
static void read_request(struct client *client)
{
    size_t space;
    char *input = http_conn_input(&client->conn, &space);
    if (input == NULL) {
        server_warn_rarely(client->worker->server,
                           "out of memory; clients are closed");
        http_conn_finish(&client->conn);
        return;
    }
    ssize_t n = recv(client->fd, input, space,
                     flags_to_wait(client->may_wait));
    int error = error_of(n);
    worker_update(client->worker);
    if (error == EINTR)
        return; /* a signal: worker_update() has looked */
    if (n > 0) {
        http_conn_received(&client->conn, (size_t)n);
        if (http_conn_phase(&client->conn) == HTTP_PHASE_IDLE)
            on_no_data(client); /* empty lines: no request has begun */
    } else if (error != EAGAIN) {
        http_conn_abort(&client->conn); /* end of file, or ECONNRESET */
    } else if (client->may_wait) {
        on_no_data(client);
    } else {
        begin_waiting(client);
    }
}

static void answer_request(struct client *client)
{
    struct http_conn *conn = &client->conn;
    /* The accept queue is looked at last: that costs a system call. */
    bool may_keep = conn->x->request.keep_alive &&
                    worker_may_keep(client->worker, conn) &&
                    room_for_more(client->worker->server, conn);
    conn->x->peer = client->peer; /* in its exchange, for page_client() */
    if (http_conn_answer(conn, may_keep))
        worker_log_answer(client->worker, conn, client->peer);
}

static void ask_redis(struct client *client)
{
    const struct redis_command *command;
    int due = 0;
    bool complete = false;
    /* The page's first command: connect, if there is no connection. Without
     * one, redis_receive() returns NULL. If memory or descriptors were short,
     * the second try has some; if Redis is away, it is refused. */
    if (client->conn.x->taken == 0 &&
        !redis_begin(client->redis, client->worker->http.clock.now_ms) &&
        http_context_relieve(&client->worker->http, errno))
        redis_begin(client->redis, client->worker->http.clock.now_ms);
    /* Queue what the page lets go now: its next command and those that
     * page_ask_also() has added, with --pipeline all. redis_receive() sends
     * them and blocks until a reply arrives. */
    for (; (command = http_conn_next_command(&client->conn)) != NULL; due++)
        redis_queue(client->redis, command);
    for (; due > 0; due--) {
        /* NULL: Redis is away. */
        redisReply *reply = redis_receive(client->redis);
        complete = http_conn_reply(&client->conn, reply);
        freeReplyObject(reply);
    }
    worker_update(client->worker);
    if (complete)
        worker_log_answer(client->worker, &client->conn, client->peer);
}

static void write_response(struct client *client)
{
    struct http_output output;
    http_conn_output(&client->conn, &output);
    ssize_t n = net_send(client->fd, &output);
    int error = error_of(n);
    worker_update(client->worker);
    if (error == EAGAIN || error == EINTR)
        return; /* SO_SNDTIMEO, which net.c sets, or a signal */
    if (error != 0) { /* EPIPE, ECONNRESET, or EIO: a file that was cut */
        http_conn_finish(&client->conn);
        return;
    }
    net_delivery_begin(&client->delivery, client->worker->http.clock.now_ms);
    http_conn_sent(&client->conn, (size_t)n);
}

static void send_fin(struct client *client)
{
    shutdown(client->fd, SHUT_WR);
    http_conn_fin_sent(&client->conn);
}

/* Waits until the client has acknowledged its last answer or closes, as
 * http_conn.h says. Mostly it has when we look for the first time. If not,
 * the client's FIN ends the wait, or we look again every 50 ms. */
static void linger(struct client *client)
{
    ssize_t n = net_discard(client->fd, flags_to_wait(client->found_empty));
    int error = error_of(n);
    worker_update(client->worker);
    if (error == EINTR)
        return;
    if (n <= 0 && error != EAGAIN) {
        http_conn_abort(&client->conn); /* end of file, or ECONNRESET */
        return;
    }
    enum http_delivery delivery = look(client);
    http_conn_lingered(&client->conn, n > 0, delivery);
    if (n > 0 || http_conn_want(&client->conn) != HTTP_WANT_LINGER)
        return;
    if (client->found_empty && delivery == HTTP_DELIVERED &&
        is_in_the_way(client))
        http_conn_abort(&client->conn); /* it has had 50 ms to read it */
    if (!client->may_wait)
        limit_reads(client);
    client->found_empty = true;
}

/* Takes one step, waiting if it must. */
static void step(struct client *client, enum http_want want)
{
    switch (want) {
    case HTTP_WANT_READ: read_request(client); break;
    case HTTP_WANT_ANSWER: answer_request(client); break;
    case HTTP_WANT_REDIS: ask_redis(client); break;
    case HTTP_WANT_WRITE: write_response(client); break;
    case HTTP_WANT_FIN: send_fin(client); break;
    case HTTP_WANT_LINGER: linger(client); break;
    case HTTP_WANT_CLOSE: end_client(client); break;
    }
}

void serve_blocking(struct blocking_worker *bw, int fd)
{
    struct worker *w = &bw->base;
    struct client client = {.worker = w, .redis = &bw->redis, .fd = fd,
                            .peer = worker_peer_name(w, fd),
                            .phase = HTTP_PHASES}; /* none yet */
    enum http_want want;
    atomic_store_explicit(&w->slot->idle, false, memory_order_relaxed);
    stats_add(&w->slot->connections, 1);
    http_conn_open(&client.conn, &w->http);
    worker_update(w); /* accept(2) has waited */
    do {
        want = next_want(&client);
        step(&client, want);
    } while (want != HTTP_WANT_CLOSE);
    atomic_store_explicit(&w->slot->idle, true, memory_order_relaxed);
}

void blocking_worker_free(struct blocking_worker *bw)
{
    redis_close(&bw->redis);
    http_context_free(&bw->base.http);
}

void blocking_worker_trim(void *bw)
{
    http_context_trim(&((struct blocking_worker *)bw)->base.http);
}
