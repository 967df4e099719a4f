/*
 * nonblocking - drives connections with calls that never wait; see
 * nonblocking.h.
 *
 * Read this beside blocking.c: the same switch, the same steps. Where that one
 * waits, this one goes away.
 */
#include "event_loop.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "net.h"

/* How many steps one client may make before the others have their turn: enough
 * for a batch of pipelined requests, or for a request, the head of its answer
 * and three pieces of a file. A fast reader of a huge file would keep everybody
 * waiting with more. And where the kernel paces what a connection sends (BBR), a
 * pause lets it catch up, which it would need a timer for. */
enum { STEPS_PER_TURN = 5 };

/* After a failed accept, how long to serve only those who are here. */
enum { ACCEPT_PAUSE_MS = 50, DRAIN_TICK_MS = 100 };

/* How long a loop that has no time to sleep may leave signals pending. */
enum { SIGNALS_TICK_MS = 100 };

void event_loop_init(struct event_loop *loop, struct worker *worker)
{
    loop->worker = worker;
    worker->loop = loop;
    redis_async_init(&loop->store, &loop->worker->server->options.redis, loop,
                     loop->watch_store);
}

static void unlist(struct event_loop *loop, struct client *client)
{
    if (client->prev != NULL)
        DL_DELETE(loop->deadlines[client->list], client);
    client->prev = NULL;
}

/* Puts the client at the end of the list of its phase, with a new deadline. To
 * do so after each answer of a busy client would touch two neighbours' cold
 * memory each time: among the idle it stays where it is as long as its deadline
 * moves by less than an eighth, and in return that is an eighth later for all. */
static void set_deadline(struct event_loop *loop, struct client *client)
{
    enum http_phase phase = http_conn_phase(&client->conn);
    int patience = http_conn_patience(loop->worker, phase);
    int slack = phase == HTTP_PHASE_IDLE ? patience / 8 : 0;
    int64_t deadline_ms = loop->worker->clock.now_ms + patience + slack;
    client->moved = false;
    if (client->list == phase && client->prev != NULL &&
        deadline_ms - client->deadline_ms < slack)
        return;
    unlist(loop, client);
    if (phase == HTTP_PHASE_REDIS)
        return; /* redis_async watches over Redis' silence for all of them */
    if (phase == HTTP_PHASE_WRITE || phase == HTTP_PHASE_LINGER)
        client->unsent = net_unsent(client->fd);
    client->list = (unsigned)phase & 15u;
    client->deadline_ms = deadline_ms;
    DL_APPEND(loop->deadlines[phase], client);
}

/* The connection is over. Its memory goes at the end of the turn, as events
 * that the kernel has already reported may still point to it; and not before
 * Redis has given the replies that are due. */
static void end_client(struct event_loop *loop, struct client *client)
{
    unlist(loop, client);
    if (client->fd >= 0) {
        loop->forget(loop, client);
        close(client->fd);
        client->fd = -1;
    }
    client->dead = true;
    if (client->replies_due == 0) {
        http_conn_close(&client->conn);
        client->next = loop->ended;
        loop->ended = client;
        loop->clients--;
    }
}

static void on_reply(void *data, const redisReply *reply);

/* Each step returns whether there is a next one to be made now. */

static bool read_request(struct client *client)
{
    size_t room;
    if (!client->readable)
        return false;
    char *input = http_conn_input(&client->conn, &room);
    if (input == NULL) { /* no memory: this client cannot be served */
        net_refuse(client->fd);
        http_conn_eof(&client->conn);
        return true;
    }
    ssize_t n = recv(client->fd, input, room, 0);
    if (n > 0) {
        /* Less than there was room for: the socket is empty, and asking again
         * would cost a system call to hear EAGAIN (epoll(7), Q9). */
        if ((size_t)n < room && !client->hangup)
            client->readable = false;
        http_conn_received(&client->conn, (size_t)n);
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        client->readable = errno == EINTR;
        http_conn_received(&client->conn, 0);
    } else {
        http_conn_eof(&client->conn); /* end of file, ECONNRESET */
    }
    return true;
}

static bool ask_redis(struct event_loop *loop, struct client *client)
{
    const struct redis_command *command;
    int64_t now = loop->worker->clock.now_ms;
    while (http_conn_want(&client->conn) == HTTP_WANT_REDIS &&
           (command = http_conn_next_command(&client->conn)) != NULL) {
        if (redis_async_send(&loop->store, now, command, on_reply, client))
            client->replies_due++;
        else
            http_conn_reply(&client->conn, NULL);
    }
    return client->replies_due == 0;
}

static bool write_response(struct client *client)
{
    struct http_output output;
    if (!client->writable)
        return false;
    http_conn_output(&client->conn, &output);
    ssize_t n = net_send(client->fd, &output, true);
    if (n >= 0) {
        client->moved = true;
        if (http_conn_sent(&client->conn, (size_t)n))
            shutdown(client->fd, SHUT_WR);
    } else if (errno == EAGAIN || errno == EINTR) {
        client->writable = errno == EINTR;
    } else {
        http_conn_eof(&client->conn); /* EPIPE, ECONNRESET */
    }
    return true;
}

/* Goes on with a client as far as it goes without waiting. */
static void run(struct event_loop *loop, struct client *client)
{
    bool again = true;
    enum http_want want;
    for (int step = 0; again; step++) {
        want = http_conn_want(&client->conn);
        /* Only these two may be left for the next turn: the socket, which is
         * ready, brings the client back. Of the others it knows nothing. */
        if (step >= STEPS_PER_TURN &&
            (want == HTTP_WANT_READ || want == HTTP_WANT_WRITE))
            break;
        switch (want) {
        case HTTP_WANT_READ:
            again = read_request(client);
            break;
        case HTTP_WANT_REDIS:
            again = ask_redis(loop, client);
            break;
        case HTTP_WANT_WRITE:
            again = write_response(client);
            break;
        case HTTP_WANT_CLOSE:
            if (client->conn.cut_off && net_close_may_reset(client->fd)) {
                http_conn_linger(&client->conn);
                client->readable = true;
                break;
            }
            end_client(loop, client);
            return;
        }
    }
    if (client->conn.x == NULL && loop->worker->draining &&
        want == HTTP_WANT_READ) {
        end_client(loop, client); /* idle, and the server is stopping */
        return;
    }
    /* A deadline runs on, whatever drips in. It starts anew with a new phase,
     * and when the client has taken something of its answer. */
    if (client->moved || client->prev == NULL ||
        client->list != http_conn_phase(&client->conn))
        set_deadline(loop, client);
    if (!loop->watch(loop, client, want, again))
        end_client(loop, client);
}

/* A reply from Redis for one of the clients, or NULL: Redis is away. */
static void on_reply(void *data, const redisReply *reply)
{
    struct client *client = data;
    struct event_loop *loop = client->conn.worker->loop;
    client->replies_due--;
    http_conn_reply(&client->conn, reply);
    if (client->dead) {
        if (client->replies_due == 0)
            end_client(loop, client);
    } else {
        run(loop, client);
    }
}

void event_loop_see_to_signals(struct event_loop *loop, const sigset_t *mask,
                               bool interrupted)
{
    int64_t now = loop->worker->clock.now_ms;
    sigset_t blocked;
    if (!interrupted && now - loop->signals_ms < SIGNALS_TICK_MS)
        return;
    loop->signals_ms = now;
    if (!interrupted) {
        sigprocmask(SIG_SETMASK, mask, &blocked);
        sigprocmask(SIG_SETMASK, &blocked, NULL);
    }
    server_housekeeping(loop->worker->server);
}

static bool is_full(const struct event_loop *loop)
{
    return loop->clients >=
           (unsigned)loop->worker->server->options.max_connections;
}

bool event_loop_may_accept(const struct event_loop *loop)
{
    const struct worker *w = loop->worker;
    return !w->draining && w->clock.now_ms >= loop->accept_ms &&
           (!is_full(loop) || loop->deadlines[HTTP_PHASE_IDLE] != NULL);
}

/* Ends the client that has been idle the longest, who is at the head of his
 * list. Returns false when nobody is. */
static bool make_room(struct event_loop *loop)
{
    struct client *idle = loop->deadlines[HTTP_PHASE_IDLE];
    if (idle != NULL)
        end_client(loop, idle);
    return idle != NULL;
}

bool event_loop_accept(struct event_loop *loop, int listener,
                       struct client *client)
{
    struct worker *w = loop->worker;
    if (!event_loop_may_accept(loop))
        return false;
    int fd = client != NULL ? net_accept_nonblocking(w->server, listener) : -1;
    if (fd < 0) {
        loop->somebody_waits = client == NULL || errno != EAGAIN;
        if (loop->somebody_waits && !make_room(loop))
            loop->accept_ms = w->clock.now_ms + ACCEPT_PAUSE_MS;
        return false;
    }
    if (is_full(loop))
        make_room(loop);
    *client = (struct client){.fd = fd, .readable = true, .writable = true};
    http_conn_open(&client->conn, w, net_peer_name(w->server, fd));
    loop->clients++;
    run(loop, client);
    return true;
}

void event_loop_event(struct event_loop *loop, struct client *client,
                      bool readable, bool writable, bool hangup, bool broken)
{
    if (client->dead)
        return;
    if (readable)
        client->readable = true;
    if (writable)
        client->writable = true;
    if (hangup)
        client->hangup = client->readable = true;
    if (broken) /* whichever call is next will say why */
        client->readable = client->writable = true;
    /* While it waits for Redis nobody reads, so nobody would notice. */
    if (broken && client->replies_due > 0)
        end_client(loop, client);
    else
        run(loop, client);
}

int event_loop_timeout(const struct event_loop *loop)
{
    int64_t now = loop->worker->clock.now_ms, next = INT64_MAX;
    for (int i = 0; i < HTTP_PHASES; i++)
        if (loop->deadlines[i] != NULL &&
            loop->deadlines[i]->deadline_ms < next)
            next = loop->deadlines[i]->deadline_ms;
    if (loop->somebody_waits && event_loop_may_accept(loop))
        next = now;
    if (loop->accept_ms > now && loop->accept_ms < next)
        next = loop->accept_ms;
    int store = redis_async_timeout(&loop->store, now);
    if (store >= 0 && now + store < next)
        next = now + store;
    if (loop->worker->draining && now + DRAIN_TICK_MS < next)
        next = now + DRAIN_TICK_MS; /* to see when it becomes too late */
    if (next == INT64_MAX)
        return -1;
    return next <= now ? 0 : (int)(next - now);
}

static void expire(struct event_loop *loop, enum http_phase phase)
{
    struct client *client;
    int64_t now = loop->worker->clock.now_ms;
    while ((client = loop->deadlines[phase]) != NULL &&
           client->deadline_ms <= now) {
        if ((phase == HTTP_PHASE_WRITE || phase == HTTP_PHASE_LINGER) &&
            net_unsent(client->fd) < client->unsent) {
            set_deadline(loop, client); /* it takes what the kernel has */
            continue;
        }
        http_conn_timeout(&client->conn);
        run(loop, client);
        if (loop->deadlines[phase] == client)
            return;
    }
}

static void free_ended(struct event_loop *loop)
{
    while (loop->ended != NULL) {
        struct client *client = loop->ended;
        loop->ended = client->next;
        loop->release(client);
    }
}

void event_loop_finish_turn(struct event_loop *loop)
{
    for (int i = 0; i < HTTP_PHASES; i++)
        expire(loop, (enum http_phase)i);
    if (loop->worker->draining) {
        struct client *client, *next;
        DL_FOREACH_SAFE(loop->deadlines[HTTP_PHASE_IDLE], client, next)
            end_client(loop, client);
        DL_FOREACH_SAFE(loop->deadlines[HTTP_PHASE_NEW], client, next)
            end_client(loop, client);
    }
    redis_async_flush(&loop->store, loop->worker->clock.now_ms);
    free_ended(loop);
}

void event_loop_free(struct event_loop *loop)
{
    redis_async_free(&loop->store); /* gives the replies that are due */
    for (int i = 0; i < HTTP_PHASES; i++)
        while (loop->deadlines[i] != NULL)
            end_client(loop, loop->deadlines[i]);
    free_ended(loop);
}

bool event_loop_is_over(const struct event_loop *loop)
{
    const struct worker *w = loop->worker;
    return w->draining && (loop->clients == 0 || w->overdue);
}
