/*
 * event_loop - serves many clients with non-blocking calls; see
 * event_loop.h.
 *
 * Read it next to serve_blocking.c: the same switch, the same steps, in the
 * same order. Where that one waits, this one returns to its loop; Redis'
 * replies come through client_replied(). That file says what else differs.
 */
#include "event_loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h> /* of uthash: lists with prev (DL_), and without (LL_) */

#include "net.h"

/* After this many steps, a client's next read or write waits until the loop
 * has served others. Six are enough for a request, the head of its answer and
 * three pieces of a file. Without a limit, one fast reader of a huge file
 * would keep all others waiting. But all requests that one read brought are
 * answered, up to a file, HTTP_BATCH_MAX bytes or a wait for Redis. */
enum { STEPS_PER_ITERATION = 6 };

/* How often a loop that may not accept looks again: one that stops looks at
 * the time, one without room for another client looks for some. */
enum { RECHECK_MS = 50 };

static void client_replied(void *loop, void *client, const redisReply *reply);
static void watch_failed(struct event_loop *loop, struct client *client,
                         enum http_want want, bool share_used);

void event_loop_init(struct event_loop *loop, const struct server *server,
                     int number)
{
    worker_init(&loop->base, server, number);
    loop->redis = (struct redis_async){.address = &server->options.redis,
                                       .clock = &loop->base.http.clock,
                                       .loop = loop,
                                       .watch = loop->watch_redis,
                                       .deliver = client_replied};
    loop->listener = server->listeners[number];
    loop->max_clients = server->options.max_connections;
}

/* Looks how far the client's answer has come. */
static enum http_delivery look(const struct event_loop *loop,
                               struct client *client)
{
    return net_delivery(client->fd, &client->delivery,
                        loop->base.http.clock.now_ms,
                        http_stall_timeout_ms(&loop->base.server->site));
}

static void remove_deadline(struct event_loop *loop, struct client *client)
{
    /* In a queue prev is never NULL: the first one's is the last one. */
    if (client->prev != NULL)
        DL_DELETE(loop->deadline_queues[client->phase], client);
    client->prev = NULL;
}

static void set_deadline(struct event_loop *loop, struct client *client)
{
    enum http_phase phase = http_conn_phase(&client->conn);
    remove_deadline(loop, client);
    if (client->phase != phase) /* a stall of the new phase counts from now */
        net_delivery_begin(&client->delivery, loop->base.http.clock.now_ms);
    client->phase = (unsigned char)phase;
    client->deadline_ms =
        loop->base.http.clock.now_ms +
        http_phase_timeout_ms(&loop->base.server->site, phase);
    DL_APPEND(loop->deadline_queues[phase], client);
}

/* Events that the kernel has reported and replies that are due may still
 * point to this client: its memory is freed after both. */
static void end_client(struct event_loop *loop, struct client *client)
{
    remove_deadline(loop, client);
    if (!client->closed) {
        loop->unwatch(loop, client);
        close(client->fd);
    }
    client->closed = true;
    if (client->replies_due > 0)
        return; /* client_replied() comes back here */
    http_conn_abort(&client->conn); /* gives back what it still holds */
    LL_PREPEND(loop->ended, client);
    loop->clients--;
}

/* The steps. Each returns whether the next one can be taken now. */
static bool read_request(struct event_loop *loop, struct client *client)
{
    size_t space;
    if (!client->readable)
        return false;
    char *input = http_conn_input(&client->conn, &space);
    if (input == NULL) {
        server_warn_rarely(loop->base.server,
                           "out of memory; clients are closed");
        http_conn_finish(&client->conn);
        return true;
    }
    ssize_t n = recv(client->fd, input, space, 0);
    if (n > 0) {
        /* The socket is empty (epoll(7), "Do I need to continuously read");
         * but after a hangup, the end of file is still to be read. */
        if ((size_t)n < space && !client->hangup)
            client->readable = false;
        http_conn_received(&client->conn, (size_t)n);
    } else if (n < 0 && errno == EAGAIN) {
        client->readable = false;
        http_conn_received(&client->conn, 0);
    } else {
        http_conn_abort(&client->conn); /* end of file, or ECONNRESET */
    }
    return true;
}

static bool answer_request(struct event_loop *loop, struct client *client)
{
    struct http_conn *conn = &client->conn;
    conn->x->peer = client->peer; /* in its exchange, for page_client() */
    if (http_conn_answer(conn, worker_may_keep(&loop->base, conn)))
        worker_log_answer(&loop->base, conn, client->peer);
    return true;
}

/* The second attempt helps if memory or descriptors ran out in the first.
 * If Redis is away, redis_async.c refuses all attempts for a while. */
static bool queue_command(struct event_loop *loop, struct client *client,
                          const struct redis_command *command)
{
    bool queued = redis_async_queue(&loop->redis, command, client) ||
                  (http_context_relieve(&loop->base.http, errno) &&
                   redis_async_queue(&loop->redis, command, client));
    client->replies_due += queued;
    return queued;
}

/* Queues the page's next command, with --pipeline all of them. After its
 * reply, client_replied() comes back here for the next. If one cannot be
 * queued, the page gets NULL now. Returns true if no reply is due. */
static bool ask_redis(struct event_loop *loop, struct client *client)
{
    const struct redis_command *command;
    while (http_conn_want(&client->conn) == HTTP_WANT_REDIS &&
           (command = http_conn_next_command(&client->conn)) != NULL) {
        if (!queue_command(loop, client, command) &&
            http_conn_reply(&client->conn, NULL))
            worker_log_answer(&loop->base, &client->conn, client->peer);
    }
    return client->replies_due == 0;
}

static bool write_response(struct event_loop *loop, struct client *client)
{
    struct http_output output;
    http_conn_output(&client->conn, &output);
    ssize_t n = net_send(client->fd, &output);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n < 0 && errno == EINTR)
        return true; /* a signal: see net.h */
    if (n < 0) { /* EPIPE, ECONNRESET, or EIO: a file that was cut */
        http_conn_finish(&client->conn);
        return true;
    }
    /* What follows gets a new deadline, even if that is another answer:
     * event_loop_serve() sets one for a client in no queue. (100 Continue is
     * no answer: the deadline of its request stays.) */
    if (http_conn_phase(&client->conn) == HTTP_PHASE_DELIVER)
        remove_deadline(loop, client);
    /* The socket took bytes: progress, so the answer has not stalled. */
    net_delivery_begin(&client->delivery, loop->base.http.clock.now_ms);
    http_conn_sent(&client->conn, (size_t)n);
    return true;
}

static bool send_fin(struct client *client)
{
    shutdown(client->fd, SHUT_WR);
    http_conn_fin_sent(&client->conn);
    client->readable = true; /* look once more before the close */
    return true;
}

/* Waits until the client has acknowledged its last answer or closes, as
 * http_conn.h says. Mostly it has when we look for the first time. If not,
 * the client's FIN brings it back, or its deadline. */
static bool linger(struct event_loop *loop, struct client *client)
{
    ssize_t n = -1;
    if (client->readable) {
        n = net_discard(client->fd, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            http_conn_abort(&client->conn); /* end of file, or ECONNRESET */
            return true;
        }
    }
    client->readable = n > 0;
    http_conn_lingered(&client->conn, n > 0, look(loop, client));
    return n > 0 || http_conn_want(&client->conn) == HTTP_WANT_CLOSE;
}

/* Takes one step. Returns whether the next one can be taken now. */
static bool step(struct event_loop *loop, struct client *client,
                 enum http_want want)
{
    switch (want) {
    case HTTP_WANT_READ: return read_request(loop, client);
    case HTTP_WANT_ANSWER: return answer_request(loop, client);
    case HTTP_WANT_REDIS: return ask_redis(loop, client);
    case HTTP_WANT_WRITE: return write_response(loop, client);
    case HTTP_WANT_FIN: return send_fin(client);
    case HTTP_WANT_LINGER: return linger(loop, client);
    case HTTP_WANT_CLOSE: end_client(loop, client);
    }
    return false;
}

void event_loop_serve(struct event_loop *loop, struct client *client)
{
    enum http_want want;
    bool go_on = true, share_used = false;
    for (int steps = 0; go_on; steps++) {
        want = http_conn_want(&client->conn);
        /* Only these three may be left for the next iteration: the socket
         * brings the client back, in the next one if it is ready. */
        share_used = steps >= STEPS_PER_ITERATION &&
                     (want == HTTP_WANT_READ || want == HTTP_WANT_WRITE ||
                      want == HTTP_WANT_LINGER);
        if (share_used)
            break;
        go_on = step(loop, client, want);
        if (client->closed)
            return;
    }
    /* A deadline starts with a phase; what arrives does not extend it. */
    if (client->prev == NULL || client->phase != http_conn_phase(&client->conn))
        set_deadline(loop, client);
    /* Not watched: its first watch() has failed, see watch_failed(). No
     * second attempt now: Redis' reply brings it back. */
    if (want == HTTP_WANT_REDIS && !client->watched)
        return;
    if (!loop->watch(loop, client, want, share_used))
        watch_failed(loop, client, want, share_used);
}

/* The kernel does not watch this client: only its deadline brings it back.
 * So a new one is read now, because its request may be here. One that waits
 * to send another request is closed, and one that has only used up its
 * share is served on. */
static void watch_failed(struct event_loop *loop, struct client *client,
                         enum http_want want, bool share_used)
{
    server_warn_rarely(loop->base.server, "cannot watch a client: %s",
                       strerror(errno));
    http_context_trim(&loop->base.http);
    if (http_conn_phase(&client->conn) == HTTP_PHASE_NEW) {
        client->readable = true;
        read_request(loop, client);
    }
    if (http_conn_want(&client->conn) == HTTP_WANT_READ)
        http_conn_finish(&client->conn);
    if (want == HTTP_WANT_READ || share_used)
        event_loop_serve(loop, client);
}

/* The `deliver` of redis_async: called for each reply, in the order of the
 * commands; NULL when there will be none. From here the reply goes through
 * http_conn_reply() and page_reply() to the page's on_reply. */
static void client_replied(void *loop_data, void *client_data,
                           const redisReply *reply)
{
    struct event_loop *loop = loop_data;
    struct client *client = client_data;
    client->replies_due--;
    bool complete = http_conn_reply(&client->conn, reply);
    if (client->closed) {
        end_client(loop, client); /* if no other reply is due */
        return;
    }
    if (complete)
        worker_log_answer(&loop->base, &client->conn, client->peer);
    event_loop_serve(loop, client);
}

static void client_ready(struct event_loop *loop, struct client *client,
                         uint32_t events)
{
    bool failed = events & (POLLHUP | POLLERR);
    client->hangup |= failed || (events & POLLRDHUP);
    client->readable |= client->hangup || (events & POLLIN);
    /* After a failure the next call on the socket returns the error. While
     * the client waits for Redis, there is no such call. */
    if (failed && client->replies_due > 0 && !client->closed)
        end_client(loop, client);
    else if (!client->closed)
        event_loop_serve(loop, client);
}

void event_loop_ready(struct event_loop *loop, void *source, uint32_t events)
{
    if (source == &loop->listener)
        loop->accept_pending = true;
    else if (source == &loop->redis)
        redis_async_ready(&loop->redis, events);
    else
        client_ready(loop, source, events);
}

int event_loop_timeout_ms(const struct event_loop *loop)
{
    bool may_accept = event_loop_may_accept(loop);
    const struct file_table *files = &loop->base.http.files;
    int64_t now = loop->base.http.clock.now_ms;
    int64_t next = redis_async_deadline_ms(&loop->redis);
    for (int i = 0; i < HTTP_PHASES; i++) {
        const struct client *first = loop->deadline_queues[i];
        if (first != NULL && first->deadline_ms < next)
            next = first->deadline_ms;
    }
    if (files->stale_ms != 0 && files->stale_ms < next)
        next = files->stale_ms;
    if (next <= now || (loop->accept_pending && may_accept))
        return 0;
    if (!may_accept && next > now + RECHECK_MS)
        return RECHECK_MS;
    return next == INT64_MAX ? -1 : (int)(next - now);
}

/* Lets each client whose deadline has passed go on as its phase demands: an
 * answer, such as 408, or the end. When the server is stopping, those that
 * have not begun a request have no more time. */
static void expire(struct event_loop *loop, enum http_phase phase)
{
    bool all = loop->base.draining &&
               (phase == HTTP_PHASE_NEW || phase == HTTP_PHASE_IDLE);
    struct client *client;
    while ((client = loop->deadline_queues[phase]) != NULL &&
           (all || client->deadline_ms <= loop->base.http.clock.now_ms)) {
        remove_deadline(loop, client);
        http_conn_on_timeout(&client->conn, look(loop, client));
        event_loop_serve(loop, client);
    }
}

void event_loop_begin_iteration(struct event_loop *loop)
{
    worker_update(&loop->base);
    loop->accept_exhausted = false;
    if (loop->base.draining)
        loop->listener = -1;
}

/* A client that becomes ready during an iteration waits until its end: the
 * longest one says how long this loop can hold a client. */
static void record_length(struct event_loop *loop)
{
    _Atomic int64_t *longest = &loop->base.slot->longest_ms;
    int64_t ms = clock_tick_ms() - loop->base.http.clock.now_ms;
    if (ms > atomic_load_explicit(longest, memory_order_relaxed))
        atomic_store_explicit(longest, ms, memory_order_relaxed);
}

void event_loop_end_iteration(struct event_loop *loop)
{
    struct client *client, *next;
    for (int i = 0; i < HTTP_PHASES; i++)
        expire(loop, (enum http_phase)i);
    redis_async_flush(&loop->redis);
    file_table_expire(&loop->base.http.files, loop->base.http.clock.now_ms);
    LL_FOREACH_SAFE(loop->ended, client, next) {
        free(client->peer);
        free(client);
    }
    loop->ended = NULL;
    record_length(loop);
}

bool event_loop_is_over(const struct event_loop *loop)
{
    return loop->base.draining &&
           (loop->clients == 0 || loop->base.drain_expired);
}

void event_loop_free(struct event_loop *loop)
{
    redis_async_close(&loop->redis); /* delivers the replies that are due */
    for (int i = 0; i < HTTP_PHASES; i++)
        while (loop->deadline_queues[i] != NULL)
            end_client(loop, loop->deadline_queues[i]);
    event_loop_end_iteration(loop);
    http_context_free(&loop->base.http);
}
