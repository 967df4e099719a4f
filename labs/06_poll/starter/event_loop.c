/*
 * event_loop - serves many clients with non-blocking calls; see
 * common/event_loop.h. When your folder has this file, it takes the place of
 * common/event_loop.c.
 *
 * TO WRITE: read_request, write_response and event_loop_serve, all marked
 * below. Everything else is complete: deadlines, Redis, the end of a client.
 * Compare with common/serve_blocking.c, which takes the same steps and waits in
 * each of them. How clients are accepted is in event_loop_accept.c.
 */
#include "event_loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "net.h"

/* How many steps one client may take before the loop serves the others: enough
 * for a batch of pipelined requests, or for a request, the head of its answer
 * and three pieces of a file. With more, one fast reader of a huge file would
 * keep all others waiting. */
enum { STEPS_PER_ITERATION = 6 };

/* How often a stopping loop checks the time, and one that has run out of
 * descriptors tries again. */
enum { RECHECK_MS = 50 };

/* For what only your functions use: delete each mark when you use the
 * function. */
#define TO_USE __attribute__((unused))

static void client_replied(void *loop, void *client, const redisReply *reply);

void event_loop_init(struct event_loop *loop, const struct server *server,
                     int number)
{
    worker_init(&loop->worker, server, number);
    loop->redis = (struct redis_async){.address = &server->options.redis,
                                       .clock = &loop->worker.http.clock,
                                       .loop = loop,
                                       .watch = loop->watch_redis,
                                       .on_reply = client_replied};
    loop->listener = server->listeners[number];
}

static void remove_deadline(struct event_loop *loop, struct client *client)
{
    if (client->prev != NULL) /* queued: the first points to the last */
        DL_DELETE(loop->deadline_queues[client->queue], client);
    client->prev = NULL;
}

TO_USE static void set_deadline(struct event_loop *loop, struct client *client)
{
    enum http_phase phase = http_conn_phase(&client->conn);
    remove_deadline(loop, client);
    if (client->queue != phase)
        net_delivery_begin(&client->delivery, loop->worker.http.clock.now_ms);
    client->queue = (unsigned char)phase;
    client->deadline_ms =
        loop->worker.http.clock.now_ms +
        http_phase_timeout_ms(&loop->worker.server->site, phase);
    DL_APPEND(loop->deadline_queues[phase], client);
}

/* Events that the kernel has already reported may still point to this client,
 * and so may replies that are due: its memory is freed after both. */
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
    http_conn_abort(&client->conn);
    LL_PREPEND(loop->ended, client);
    loop->clients--;
}

/* TO WRITE. Called when the client's connection wants bytes. Reads once, with
 * recv(2), into http_conn_input(), and tells the connection what came.
 * Returns true when the next step can be taken now; false when the client has
 * to wait for its socket.
 *
 *   bytes              http_conn_received(), true. Fewer than there was room
 *                      for? Then the socket is empty now: see client->readable
 *                      in common/event_loop.h, which saves the next recv
 *   EAGAIN             nothing is there. http_conn_received() with 0, so that
 *                      an idle client needs no buffer; true
 *   end of file, error http_conn_abort(); true: the next step closes it
 *   no memory          http_conn_input() returns NULL: http_conn_finish(),
 *                      which ends the connection without a reset; true
 *
 * Do not call recv when client->readable is false: return false. After
 * client->hangup, read the socket to its end of file, whatever a short
 * read says. */
static bool read_request(struct event_loop *loop, struct client *client)
{
    (void)loop;
    http_conn_abort(&client->conn);
    return true;
}

static bool queue_command(struct event_loop *loop, struct client *client,
                          const struct redis_command *command)
{
    bool queued = redis_async_queue(&loop->redis, command, client) ||
                  (http_context_relieve(&loop->worker.http, errno) &&
                   redis_async_queue(&loop->redis, command, client));
    client->replies_due += queued;
    return queued;
}

static bool ask_redis(struct event_loop *loop, struct client *client)
{
    const struct redis_command *command;
    while (http_conn_want(&client->conn) == HTTP_WANT_REDIS &&
           (command = http_conn_next_command(&client->conn)) != NULL) {
        if (!queue_command(loop, client, command) &&
            http_conn_reply(&client->conn, NULL))
            worker_log_answer(&loop->worker, &client->conn, client->peer);
    }
    return client->replies_due == 0;
}

/* TO WRITE. Called when the connection has an answer to send. Sends as much as
 * the socket takes: http_conn_output() names it, net_send() sends it.
 * Returns true when the next step can be taken now; false when the client has
 * to wait until its socket has room.
 *
 *   bytes taken   if http_conn_phase() is HTTP_PHASE_ANSWER, remove_deadline():
 *                 the next phase has its own. ("100 Continue" is part of a
 *                 request, whose deadline stays.) Then net_delivery_begin(),
 *                 because the answer makes progress, and http_conn_sent()
 *   EAGAIN        the send buffer is full
 *   other errors  http_conn_finish(), true: this client gets no more, but what
 *                 it was sent may still arrive. No other client is concerned */
static bool write_response(struct event_loop *loop, struct client *client)
{
    (void)loop;
    http_conn_abort(&client->conn);
    return true;
}

static bool answer_request(struct event_loop *loop, struct client *client)
{
    struct http_conn *conn = &client->conn;
    if (http_conn_answer(conn, worker_may_keep(&loop->worker, conn)))
        worker_log_answer(&loop->worker, conn, client->peer);
    return true;
}

static bool send_fin(struct client *client)
{
    shutdown(client->fd, SHUT_WR);
    http_conn_fin_sent(&client->conn);
    client->readable = true; /* look once more before the close */
    return true;
}

/* Looks how far the client's answer has come. */
static enum http_delivery look(const struct event_loop *loop,
                               struct client *client)
{
    return net_delivery(client->fd, &client->delivery,
                        loop->worker.http.clock.now_ms,
                        http_stall_timeout_ms(&loop->worker.server->site));
}

/* Waits, as http_conn.h says. Mostly the client has its answer when we look for
 * the first time; if not, its FIN brings it back, or its deadline; in 07, so
 * does its acknowledgement (EPOLLOUT). */
static bool linger(struct event_loop *loop, struct client *client)
{
    ssize_t n = client->readable ? net_discard(client->fd, 0) : -1;
    if (client->readable && (n == 0 || (n < 0 && errno != EAGAIN))) {
        http_conn_abort(&client->conn); /* end of file, or ECONNRESET */
        return true;
    }
    client->readable = n > 0;
    http_conn_lingered(&client->conn, n > 0, look(loop, client));
    return n > 0 || http_conn_want(&client->conn) == HTTP_WANT_CLOSE;
}

/* Takes one step. Returns whether the next one can be taken now. */
TO_USE static bool step(struct event_loop *loop, struct client *client,
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

/* watch() has returned false: nothing but its deadline brings this client back,
 * in a second, if it has not taken its answer. So one that would send is
 * closed, and one whose socket may be ready is served beyond its share. */
TO_USE static void watch_failed(struct event_loop *loop, struct client *client,
                                enum http_want want, bool again)
{
    server_warn_exhausted(loop->worker.server, "cannot watch a client: %s",
                          strerror(errno));
    http_context_trim(&loop->worker.http);
    if (want == HTTP_WANT_READ)
        http_conn_finish(&client->conn);
    if (want == HTTP_WANT_READ || again)
        event_loop_serve(loop, client);
}

/* TO WRITE. Serves one client until it has to wait, or until it has used up its
 * share of this iteration. Calls step() with what http_conn_want() says while
 * step() returns true. Three rules:
 *
 *   1. After STEPS_PER_ITERATION steps, a client that wants READ, WRITE or
 *      LINGER is left for the next iteration: its socket brings it back. With
 *      any other want, go on: no event of the socket would bring it back.
 *   2. step() may have ended the client: client->closed. Return then.
 *   3. At the end: set_deadline(), if the client is in no deadline queue
 *      (client->prev) or its phase has changed (client->queue). Then
 *      loop->watch(), with `again` true if the client was left by rule 1; if it
 *      returns false, watch_failed(). A client that wants REDIS and is not
 *      watched yet needs no watch: the reply brings it back. */
void event_loop_serve(struct event_loop *loop, struct client *client)
{
    end_client(loop, client);
}

/* Called for each reply, in the order of the commands; NULL when there will be
 * none. Passes it to the page and goes on serving the client. */
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
        worker_log_answer(&loop->worker, &client->conn, client->peer);
    event_loop_serve(loop, client);
}

static void client_ready(struct event_loop *loop, struct client *client,
                         uint32_t events)
{
    bool failed = events & (POLLHUP | POLLERR);
    client->hangup |= failed || (events & POLLRDHUP);
    client->readable |= client->hangup || (events & POLLIN);
    /* After a failure the next call on the socket returns the error. While the
     * client waits for Redis, there is no such call. */
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
    bool tick = loop->worker.draining || loop->accept_exhausted;
    const struct file_table *files = &loop->worker.http.files;
    int64_t now = loop->worker.http.clock.now_ms;
    int64_t next = redis_async_deadline_ms(&loop->redis);
    for (int i = 0; i < HTTP_PHASES; i++) {
        const struct client *first = loop->deadline_queues[i];
        if (first != NULL && first->deadline_ms < next)
            next = first->deadline_ms;
    }
    if (files->stale_ms != 0 && files->stale_ms < next)
        next = files->stale_ms;
    if (next <= now || (loop->accept_pending && event_loop_may_accept(loop)))
        return 0;
    if (tick && next > now + RECHECK_MS)
        return RECHECK_MS;
    return next == INT64_MAX ? -1 : (int)(next - now);
}

/* Ends what has lasted too long, and when the server is stopping, what has not
 * begun a request. */
static void expire(struct event_loop *loop, enum http_phase phase)
{
    bool all = loop->worker.draining &&
               (phase == HTTP_PHASE_NEW || phase == HTTP_PHASE_IDLE);
    struct client *client;
    while ((client = loop->deadline_queues[phase]) != NULL &&
           (all || client->deadline_ms <= loop->worker.http.clock.now_ms)) {
        remove_deadline(loop, client);
        http_conn_on_timeout(&client->conn, look(loop, client));
        event_loop_serve(loop, client);
    }
}

void event_loop_begin_iteration(struct event_loop *loop)
{
    worker_update(&loop->worker);
    loop->accept_exhausted = false;
}

void event_loop_end_iteration(struct event_loop *loop)
{
    struct client *client, *next;
    for (int i = 0; i < HTTP_PHASES; i++)
        expire(loop, (enum http_phase)i);
    redis_async_flush(&loop->redis);
    file_table_expire(&loop->worker.http.files, loop->worker.http.clock.now_ms);
    LL_FOREACH_SAFE(loop->ended, client, next) {
        free(client->peer);
        free(client);
    }
    loop->ended = NULL;
}

bool event_loop_is_over(const struct event_loop *loop)
{
    return loop->worker.draining &&
           (loop->clients == 0 || loop->worker.drain_expired);
}

void event_loop_free(struct event_loop *loop)
{
    redis_async_close(&loop->redis); /* delivers the replies that are due */
    for (int i = 0; i < HTTP_PHASES; i++)
        while (loop->deadline_queues[i] != NULL)
            end_client(loop, loop->deadline_queues[i]);
    event_loop_end_iteration(loop);
    http_context_free(&loop->worker.http);
}
