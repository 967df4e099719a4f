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
#include "room.h"

/* A blocking recv() returns after this long even without data. Then we check
 * the deadline, whether the server is stopping and whether others wait
 * (room.h). */
enum { RECV_TIMEOUT_MS = 50 };

struct connection {
    struct worker *worker;
    struct redis *redis;
    struct http_conn conn;
    int fd;
    char *peer;            /* the client's address for the log, or NULL */
    bool has_timeout;      /* SO_RCVTIMEO is set: recv() blocks */
    bool found_empty;      /* net_discard() has found nothing to read */
    enum http_phase phase; /* the one that deadline_ms belongs to */
    int64_t deadline_ms;
    struct net_delivery delivery; /* of the answer */
    struct room room;
};

void blocking_worker_init(struct blocking_worker *bw,
                          const struct server *server, int number)
{
    worker_init(&bw->base, server, number);
    bw->redis = (struct redis){.address = &server->options.redis};
    atomic_store(&bw->base.slot->idle, true);
}

void blocking_worker_free(struct blocking_worker *bw)
{
    redis_close(&bw->redis);
    http_context_free(&bw->base.http);
}

void blocking_worker_spare(void *bw)
{
    http_context_trim(&((struct blocking_worker *)bw)->base.http);
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

static bool is_in_the_way(struct connection *c)
{
    return room_is_needed(&c->room, c->worker->server, c->phase,
                          c->worker->http.clock.now_ms);
}

/* recv() returned no data. Ends the connection if the server is stopping or if
 * others need this worker, but never in the middle of a request. */
static void on_no_data(struct connection *c)
{
    if (c->phase != HTTP_PHASE_REQUEST &&
        (is_in_the_way(c) || c->worker->draining))
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

/* The first recv() found nothing. A client that was silent in the accept queue
 * has used its grace up, and does not get 50 ms more. */
static void begin_waiting(struct connection *c)
{
    const struct clock *clock = &c->worker->http.clock;
    enable_blocking_reads(c);
    room_begin_grace(&c->room, c->fd, clock->now_ms);
    if (clock->now_ms >= c->room.grace_end_ms)
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

static void answer_request(struct connection *c)
{
    struct http_conn *conn = &c->conn;
    /* The queue is looked at last: that costs a system call. */
    bool may_keep = conn->x->request.keep_alive &&
                    worker_may_keep(c->worker, conn) &&
                    room_for_more(c->worker->server, conn);
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
    if (c->found_empty && delivery == HTTP_DELIVERED && is_in_the_way(c))
        http_conn_abort(&c->conn); /* it has had 50 ms to read the answer */
    if (!c->has_timeout)
        enable_blocking_reads(c);
    c->found_empty = true;
}

void serve_blocking(struct blocking_worker *bw, int fd)
{
    struct worker *w = &bw->base;
    struct connection c = {.worker = w, .redis = &bw->redis, .fd = fd,
                           .peer = worker_peer_name(w, fd),
                           .phase = HTTP_PHASES};
    enum http_want want;
    atomic_store_explicit(&w->slot->idle, false, memory_order_relaxed);
    stats_add(&w->slot->connections, 1);
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
    atomic_store_explicit(&w->slot->idle, true, memory_order_relaxed);
}
