/*
 * serve_blocking - serves one client with calls that wait; see
 * serve_blocking.h.
 *
 * Read it next to event_loop.c: the same switch, the same steps. Where that one
 * returns to its loop, this one waits.
 */
#include "serve_blocking.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "net.h"

/* A waiting recv() returns this often, to check the deadline, whether the
 * server is stopping and whether other clients wait. */
enum { TICK_MS = 50 };

/* A client that has sent nothing for this long since its handshake is closed
 * when others wait. One lost packet costs a client 1 s or 3 s (RFC 6298), and a
 * load tool that opens 15,000 connections needs 1.2 s to write to the last. */
enum { FIRST_BYTE_GRACE_MS = 3000 };

/* Even a client that never stops pipelining gives way to others after this many
 * requests. */
enum { YIELD_EVERY = 64 };

struct connection {
    struct worker *worker;
    struct redis *redis;
    struct http_conn conn;
    int fd;
    char *peer;            /* the client's address for the log, or NULL */
    bool has_tick;         /* SO_RCVTIMEO is set */
    bool others_waited;    /* at the previous tick */
    enum http_phase phase; /* the one that deadline_ms belongs to */
    int64_t deadline_ms;
    int64_t grace_end_ms;  /* of a client that has sent nothing */
};

void blocking_worker_init(struct blocking_worker *bw,
                          const struct server *server, int number)
{
    worker_init(&bw->worker, server, number);
    bw->redis = (struct redis){.address = &server->options.redis};
    atomic_store(&bw->worker.stats->idle, true);
}

void blocking_worker_free(struct blocking_worker *bw)
{
    redis_close(&bw->redis);
    http_context_free(&bw->worker.http);
}

/* Do more clients wait than there are idle workers to accept them? */
static bool others_wait(const struct worker *worker)
{
    const struct server *server = worker->server;
    unsigned waiting = net_accept_queue_length(server->listeners[0]);
    if (server->architecture->kind == PER_CONNECTION)
        return waiting > 0 && atomic_load(&server->shared->at_capacity);
    unsigned idle = 0;
    for (unsigned i = 0; waiting > idle && i < server->stats_slots; i++)
        idle += atomic_load_explicit(&server->shared->stats[i].idle,
                                     memory_order_relaxed);
    return waiting > idle;
}

/* Returns the next step. Looks at the deadline before each: a client that sends
 * single bytes never makes a call time out. */
static enum http_want next_want(struct connection *c)
{
    enum http_phase phase = http_conn_phase(&c->conn);
    const struct worker *w = c->worker;
    if (phase != c->phase) {
        c->phase = phase;
        c->deadline_ms = w->http.clock.now_ms +
                         http_phase_timeout_ms(&w->server->options, phase);
    } else if (w->drain_expired || w->http.clock.now_ms >= c->deadline_ms) {
        http_conn_on_timeout(&c->conn);
    }
    return http_conn_want(&c->conn);
}

/* A wait for the client has ended without result. Should it be closed? Others
 * must have waited at two looks: the first may have found a client that an idle
 * worker was about to accept. */
static void on_tick(struct connection *c)
{
    const struct worker *w = c->worker;
    bool waited = c->others_waited;
    c->others_waited = others_wait(w);
    bool make_room = c->others_waited &&
                     (c->phase == HTTP_PHASE_NEW
                          ? w->http.clock.now_ms >= c->grace_end_ms : waited);
    if (c->phase != HTTP_PHASE_REQUEST && (w->draining || make_room))
        http_conn_close(&c->conn);
}

/* The first attempt to read does not wait, so that a client whose request is
 * already here costs no further system call. This time we have to wait. The
 * grace counts from the handshake: when 500 silent clients have waited in the
 * accept queue together, it has passed for all of them. */
static void begin_to_wait(struct connection *c)
{
    const struct timeval tick = {.tv_usec = TICK_MS * 1000L};
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof tick);
    c->has_tick = true;
    c->grace_end_ms = c->worker->http.clock.now_ms + FIRST_BYTE_GRACE_MS -
                      net_silent_ms(c->fd);
    if (c->worker->http.clock.now_ms >= c->grace_end_ms)
        on_tick(c);
}

static void read_request(struct connection *c)
{
    size_t room;
    char *input = http_conn_input(&c->conn, &room);
    if (input == NULL)
        server_warn_exhausted(c->worker->server,
                              "out of memory; clients are closed");
    ssize_t n = input != NULL ? recv(c->fd, input, room,
                                     c->has_tick ? 0 : MSG_DONTWAIT) : 0;
    worker_tick(c->worker);
    if (n > 0)
        http_conn_received(&c->conn, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        http_conn_close(&c->conn); /* end of file, or ECONNRESET */
    else if (c->has_tick)
        on_tick(c);
    else
        begin_to_wait(c);
}

static void answer_request(struct connection *c)
{
    struct http_conn *conn = &c->conn;
    bool go_on = http_conn_has_pipelined(conn) &&
                 (conn->requests + 1) % YIELD_EVERY != 0;
    bool may_keep = conn->x->request.keep_alive &&
                    worker_may_keep(c->worker, conn) &&
                    (go_on || !others_wait(c->worker));
    if (http_conn_answer(conn, may_keep))
        worker_log_answer(c->worker, conn, c->peer);
}

static void ask_redis(struct connection *c)
{
    const struct redis_command *command;
    int due = 0;
    bool complete = false;
    if (c->conn.x->sent == 0) /* the first command of a page */
        redis_begin(c->redis, c->worker->http.clock.now_ms);
    for (; (command = http_conn_next_command(&c->conn)) != NULL; due++)
        redis_send(c->redis, command);
    for (; due > 0; due--) {
        redisReply *reply = redis_receive(c->redis); /* NULL: Redis is away */
        complete = http_conn_reply(&c->conn, reply);
        freeReplyObject(reply);
    }
    if (complete)
        worker_log_answer(c->worker, &c->conn, c->peer);
}

static void write_response(struct connection *c)
{
    struct http_output output;
    http_conn_output(&c->conn, &output);
    ssize_t n = net_send(c->fd, &output);
    worker_tick(c->worker);
    if (n >= 0) {
        if (http_conn_sent(&c->conn, (size_t)n))
            shutdown(c->fd, SHUT_WR);
    } else if (errno != EAGAIN && errno != EINTR) { /* not SO_SNDTIMEO's tick */
        http_conn_close(&c->conn); /* EPIPE, ECONNRESET, ETIMEDOUT */
    }
}

void serve_blocking(struct blocking_worker *bw, int fd)
{
    struct worker *w = &bw->worker;
    struct connection c = {.worker = w, .redis = &bw->redis, .fd = fd,
                           .peer = net_peer_name(w->server, fd),
                           .phase = HTTP_PHASES};
    enum http_want want;
    atomic_store_explicit(&w->stats->idle, false, memory_order_relaxed);
    stats_add(&w->stats->connections, 1);
    worker_tick(w);
    http_conn_open(&c.conn, &w->http);
    while ((want = next_want(&c)) != HTTP_WANT_CLOSE)
        switch (want) {
        case HTTP_WANT_READ: read_request(&c); break;
        case HTTP_WANT_ANSWER: answer_request(&c); break;
        case HTTP_WANT_REDIS: ask_redis(&c); break;
        case HTTP_WANT_WRITE: write_response(&c); break;
        case HTTP_WANT_CLOSE: break;
        }
    http_conn_close(&c.conn);
    close(fd);
    free(c.peer);
    atomic_store_explicit(&w->stats->idle, true, memory_order_relaxed);
}
