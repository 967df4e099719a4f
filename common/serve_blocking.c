/*
 * serve_blocking - serves one client with blocking calls; see
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

/* A blocking recv() returns after this long even without data. Then we check
 * the deadline, whether the server is stopping and whether others wait. */
enum { RECV_TIMEOUT_MS = 50 };

/* A client that has sent nothing for this long since its handshake is closed
 * when others wait. One lost packet costs a client 1 s (RFC 6298), and a load
 * tool that opens 15,000 connections needs 1.2 s to write to the last. */
enum { FIRST_BYTE_GRACE_MS = 3000 };

/* A client may send many requests without waiting for answers (pipelining). If
 * others wait, we close its connection after this many. */
enum { YIELD_EVERY = 64 };

struct connection {
    struct worker *worker;
    struct redis *redis;
    struct http_conn conn;
    int fd;
    char *peer;            /* the client's address for the log, or NULL */
    bool has_timeout;      /* SO_RCVTIMEO is set: recv() blocks */
    bool others_waited;    /* when we last looked */
    bool found_empty;      /* net_discard() has found nothing to read */
    enum http_phase phase; /* the one that deadline_ms belongs to */
    int64_t deadline_ms;
    struct net_delivery delivery; /* of the answer */
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

void blocking_worker_spare(void *bw)
{
    http_context_trim(&((struct blocking_worker *)bw)->worker.http);
}

/* Does a client wait in the accept queue that no other worker will accept soon?
 * 02 and 04 accept each client until they are at their limit. In a pool, each
 * idle worker will accept one. */
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

/* Looks how far the answer has come. */
static enum http_delivery look(struct connection *c)
{
    const struct worker *w = c->worker;
    return net_delivery(c->fd, &c->delivery, w->http.clock.now_ms,
                        http_stall_timeout_ms(&w->server->site));
}

/* Checks the deadline, then returns the next step. The timeout of recv() is not
 * enough: a client that sends a byte every 40 ms never runs into it. */
static enum http_want next_want(struct connection *c)
{
    enum http_want want = http_conn_want(&c->conn);
    enum http_phase phase = http_conn_phase(&c->conn);
    const struct worker *w = c->worker;
    bool late = phase == c->phase && w->http.clock.now_ms >= c->deadline_ms;
    if (phase != c->phase)
        net_delivery_begin(&c->delivery, w->http.clock.now_ms);
    if (phase != c->phase || late) {
        c->phase = phase;
        c->deadline_ms = w->http.clock.now_ms +
                         http_phase_timeout_ms(&w->server->site, phase);
    }
    if (!late && !w->drain_expired)
        return want;
    if (w->drain_expired)
        http_conn_abort(&c->conn); /* it had --drain-timeout */
    else
        http_conn_on_timeout(&c->conn, look(c));
    return http_conn_want(&c->conn);
}

/* Must this client, from which nothing comes, make room for others? One that
 * has sent nothing yet may stay until its grace ends. Any other must go if
 * clients wait now and waited at the previous check, 50 ms ago: then, an idle
 * worker may have been about to accept the one that waited. */
static bool must_make_room(struct connection *c)
{
    bool waited = c->others_waited;
    c->others_waited = others_wait(c->worker);
    return c->others_waited &&
           (c->phase == HTTP_PHASE_NEW
                ? c->worker->http.clock.now_ms >= c->grace_end_ms : waited);
}

/* recv() returned no data. Ends the connection if the server is stopping or if
 * others need this worker, but never in the middle of a request. */
static void on_no_data(struct connection *c)
{
    if (c->phase != HTTP_PHASE_REQUEST &&
        (must_make_room(c) || c->worker->draining))
        http_conn_finish(&c->conn);
}

/* Lets recv() block. Called only when the first recv() found nothing, because
 * this costs a system call. */
static void enable_blocking_reads(struct connection *c)
{
    const struct timeval wait = {.tv_usec = RECV_TIMEOUT_MS * 1000L};
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    c->has_timeout = true;
}

/* The first recv() found nothing. The client's grace counts from its handshake,
 * not from now: otherwise 500 silent clients in the accept queue would hold the
 * worker for 3 seconds each, one after the other. */
static void begin_waiting(struct connection *c)
{
    enable_blocking_reads(c);
    c->grace_end_ms = c->worker->http.clock.now_ms + FIRST_BYTE_GRACE_MS -
                      net_silent_ms(c->fd);
    if (c->worker->http.clock.now_ms >= c->grace_end_ms)
        on_no_data(c);
}

/* The first recv() does not block: often the request is already here. If not,
 * the next one sleeps for up to 50 ms at a time. This is where 01 to 05 wait
 * for a client. */
static void read_request(struct connection *c)
{
    size_t room;
    char *input = http_conn_input(&c->conn, &room);
    if (input == NULL) {
        server_warn_exhausted(c->worker->server,
                              "out of memory; clients are closed");
        http_conn_finish(&c->conn);
        return;
    }
    ssize_t n = recv(c->fd, input, room, c->has_timeout ? 0 : MSG_DONTWAIT);
    int error = n < 0 ? errno : 0;
    worker_update(c->worker);
    if (error == EINTR)
        return; /* a signal: worker_update() has looked */
    if (n > 0) {
        http_conn_received(&c->conn, (size_t)n);
        if (http_conn_phase(&c->conn) == HTTP_PHASE_IDLE)
            on_no_data(c); /* empty lines: no request has begun */
    } else if (error != EAGAIN) {
        http_conn_abort(&c->conn); /* end of file, or ECONNRESET */
    } else if (c->has_timeout) {
        on_no_data(c);
    } else {
        begin_waiting(c);
    }
}

/* A connection that stays open occupies this worker, so it may stay open only
 * while no other client needs the worker. Pipelined requests that are already
 * here are answered first. */
static void answer_request(struct connection *c)
{
    struct http_conn *conn = &c->conn;
    bool more_here = http_conn_has_pipelined(conn) &&
                     (conn->requests + 1) % YIELD_EVERY != 0;
    bool may_keep = conn->x->request.keep_alive &&
                    worker_may_keep(c->worker, conn) &&
                    (more_here || !others_wait(c->worker));
    if (http_conn_answer(conn, may_keep))
        worker_log_answer(c->worker, conn, c->peer);
}

static void ask_redis(struct connection *c)
{
    const struct redis_command *command;
    int due = 0;
    bool complete = false;
    /* Queue what the page asks now, mostly one command. redis_receive() sends
     * it and blocks until the reply arrives. */
    if (c->conn.x->sent == 0 && /* the page's first command */
        !redis_begin(c->redis, c->worker->http.clock.now_ms) &&
        http_context_relieve(&c->worker->http, errno))
        redis_begin(c->redis, c->worker->http.clock.now_ms);
    for (; (command = http_conn_next_command(&c->conn)) != NULL; due++)
        redis_queue(c->redis, command);
    for (; due > 0; due--) {
        redisReply *reply = redis_receive(c->redis); /* NULL: Redis is away */
        complete = http_conn_reply(&c->conn, reply);
        freeReplyObject(reply);
    }
    worker_update(c->worker);
    if (complete)
        worker_log_answer(c->worker, &c->conn, c->peer);
}

static void write_response(struct connection *c)
{
    struct http_output output;
    http_conn_output(&c->conn, &output);
    ssize_t n = net_send(c->fd, &output);
    int error = n < 0 ? errno : 0;
    worker_update(c->worker);
    if (error == EAGAIN || error == EINTR)
        return; /* SO_SNDTIMEO, or a signal */
    if (error != 0) { /* EPIPE, ECONNRESET, or EIO: a file that was cut */
        http_conn_finish(&c->conn);
        return;
    }
    net_delivery_begin(&c->delivery, c->worker->http.clock.now_ms);
    http_conn_sent(&c->conn, (size_t)n);
}

static void send_fin(struct connection *c)
{
    shutdown(c->fd, SHUT_WR);
    http_conn_fin_sent(&c->conn);
}

/* Waits until the client has acknowledged its last answer or closes, as
 * http_conn.h says. Mostly it has when we look for the first time. If not, the
 * client's FIN ends the wait, or we look again every 50 ms. */
static void linger(struct connection *c)
{
    ssize_t n = net_discard(c->fd, c->found_empty ? 0 : MSG_DONTWAIT);
    int error = n < 0 ? errno : 0;
    worker_update(c->worker);
    if (error == EINTR)
        return;
    if (n <= 0 && error != EAGAIN) {
        http_conn_abort(&c->conn); /* end of file, or ECONNRESET */
        return;
    }
    enum http_delivery delivery = look(c);
    http_conn_lingered(&c->conn, n > 0, delivery);
    if (n > 0 || http_conn_want(&c->conn) != HTTP_WANT_LINGER)
        return;
    if (c->found_empty && delivery == HTTP_DELIVERED && must_make_room(c))
        http_conn_abort(&c->conn); /* it has had 50 ms to read the answer */
    if (!c->has_timeout)
        enable_blocking_reads(c);
    c->found_empty = true;
}

void serve_blocking(struct blocking_worker *bw, int fd)
{
    struct worker *w = &bw->worker;
    struct connection c = {.worker = w, .redis = &bw->redis, .fd = fd,
                           .peer = worker_peer_name(w, fd),
                           .phase = HTTP_PHASES};
    enum http_want want;
    atomic_store_explicit(&w->stats->idle, false, memory_order_relaxed);
    stats_add(&w->stats->connections, 1);
    http_conn_open(&c.conn, &w->http);
    worker_update(w); /* accept(2) has waited */
    while ((want = next_want(&c)) != HTTP_WANT_CLOSE)
        switch (want) {
        case HTTP_WANT_READ: read_request(&c); break;
        case HTTP_WANT_ANSWER: answer_request(&c); break;
        case HTTP_WANT_REDIS: ask_redis(&c); break;
        case HTTP_WANT_WRITE: write_response(&c); break;
        case HTTP_WANT_FIN: send_fin(&c); break;
        case HTTP_WANT_LINGER: linger(&c); break;
        case HTTP_WANT_CLOSE: break;
        }
    http_conn_abort(&c.conn);
    close(fd);
    free(c.peer);
    atomic_store_explicit(&w->stats->idle, true, memory_order_relaxed);
}
