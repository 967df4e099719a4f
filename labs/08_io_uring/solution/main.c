/*
 * 08 io_uring - one loop that asks for results, not for readiness.
 *
 * poll and epoll say that a call would succeed now, and the loop then makes the
 * call. io_uring(7) takes the call itself: the loop writes what it wants done
 * into a queue in memory that it shares with the kernel (the submission queue),
 * and finds the results in a second one (the completion queue). One system
 * call, io_uring_enter(2), hands over everything that was queued and waits for
 * the first result.
 *
 * Two requests are made once and answered many times ("multishot"): accept
 * yields a completion for each new client, recv one for each arrival of bytes.
 * The bytes are in a buffer that the kernel took from a pool of ours, so a
 * silent client occupies no buffer.
 *
 * The price: what is handed over belongs to the kernel until its completion
 * comes. The memory of an answer must stay, and a closed client stays too,
 * until the kernel has returned everything that refers to it.
 *
 *   .--> submit and wait --> each completion: take, serve, submit --.
 *   '---------------------------------------------------------------'
 */
#include <errno.h>
#include <liburing.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "net.h"
#include "redis_async.h"
#include "worker.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "08_io_uring", .name = "iouring", .kind = EVENT_LOOP};

/* The queues grow no further: a full submission queue is submitted early. The
 * pool is small because a buffer goes back as soon as its completion is
 * handled. */
enum { SUBMISSIONS = 1024, COMPLETIONS = 4096, COMPLETIONS_PER_WAIT = 256 };
enum { BUFFERS = 1024 /* a power of 2 */, BUFFER_SIZE = 4096, POOL_ID = 0 };

/* How many pieces of a file one client may get before the loop serves the
 * others, and how often a stopping or exhausted loop looks again. */
enum { PIECES_PER_TURN = 3, RECHECK_MS = 50 };

/* An answer keeps its exchange until the send has completed, so a busy loop has
 * many, and common/ keeps few spare ones. Up to this many bytes that are free
 * stay in the process; otherwise malloc returns them with brk(2), again and
 * again. */
enum { KEPT_FREE_BYTES = 256 << 20 };

/* What a completion belongs to: it returns the 64 bits of its submission, here
 * a client's address with the kind in the low bits, which are 0 in an address
 * from calloc. */
enum kind { UNHEEDED, ACCEPTED, RECEIVED, SENT, WRITABLE, REDIS, KINDS = 8 };

struct client {
    struct http_conn conn;
    int fd;
    unsigned char replies_due; /* from Redis */
    unsigned char phase;       /* of its deadline, enum http_phase */
    bool receiving;            /* the kernel has a recv of this client */
    bool sending;              /* ... a send, or a poll for room to send */
    bool ended;                /* end of file: read what is left, then close */
    bool closed;               /* freed when nothing is due any more */
    struct buffer unread;      /* arrived before the connection wanted it */
    size_t unread_start;
    char *peer;                /* its address for the log, or NULL */
    struct net_delivery delivery; /* of its answer */
    int64_t deadline_ms;
    struct client *prev, *next; /* in that queue; in it if prev != NULL */
};

struct loop {
    struct worker base;
    struct redis_async redis;
    struct io_uring ring;
    struct io_uring_buf_ring *pool;
    char *buffers;            /* BUFFERS of BUFFER_SIZE bytes */
    struct client *deadline_queues[HTTP_PHASES]; /* see event_loop.h */
    int clients;
    bool accepting;           /* the kernel has our accept */
    bool accept_stopping;     /* and has been asked to give it back */
    int64_t accept_again_ms;  /* after a lack of descriptors: not before */
    uint64_t redis_poll;      /* counts polls of Redis' socket: an old one may
                                 still complete */
    int redis_fd;
    short redis_events;       /* 0: not watched */
};

static void run_client(struct loop *loop, struct client *client);

/* ------------------------------------------------------------ submitting */

/* liburing returns a negative errno and leaves errno alone. These four pass: a
 * signal came, the time is over, or the completion queue is full. */
static void die_unless_temporary(int result)
{
    if (result < 0 && result != -EINTR && result != -ETIME &&
        result != -EBUSY && result != -EAGAIN)
        die("io_uring_enter failed: %s", strerror(-result));
}

/* Returns an empty entry of the submission queue. The kernel sees it at the
 * next io_uring_enter(2), so an entry costs no system call. */
static struct io_uring_sqe *next_entry(struct loop *loop)
{
    struct io_uring_sqe *entry;
    while ((entry = io_uring_get_sqe(&loop->ring)) == NULL)
        die_unless_temporary(io_uring_submit(&loop->ring));
    return entry;
}

static void tag(struct io_uring_sqe *entry, const struct client *client,
                enum kind kind)
{
    entry->user_data = (uint64_t)(uintptr_t)client | kind;
}

/* Nothing is to be learnt from this entry's success: no completion, please. A
 * failure still completes, as UNHEEDED. */
static void tag_unheeded(struct io_uring_sqe *entry)
{
    tag(entry, NULL, UNHEEDED);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

static void submit_accept(struct loop *loop)
{
    struct io_uring_sqe *entry = next_entry(loop);
    /* The flags are those of accept4(2). net_send() needs SOCK_NONBLOCK for
     * files; io_uring does not: no request of ours makes the loop wait. */
    io_uring_prep_multishot_accept(entry, loop->base.server->listeners[0],
                                   NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    tag(entry, NULL, ACCEPTED);
    loop->accepting = true;
    loop->accept_stopping = false;
}

/* No address, no length: the kernel picks a buffer of the pool for each
 * arrival. */
static void submit_receive(struct loop *loop, struct client *client)
{
    struct io_uring_sqe *entry = next_entry(loop);
    io_uring_prep_recv_multishot(entry, client->fd, NULL, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = POOL_ID;
    tag(entry, client, RECEIVED);
    client->receiving = true;
}

static void submit_send(struct loop *loop, struct client *client,
                        const struct http_output *output)
{
    struct io_uring_sqe *entry = next_entry(loop);
    io_uring_prep_send(entry, client->fd, output->data, output->count,
                       output->more ? MSG_MORE : 0);
    tag(entry, client, SENT);
    client->sending = true;
}

static void submit_wait_for_room(struct loop *loop, struct client *client)
{
    struct io_uring_sqe *entry = next_entry(loop);
    io_uring_prep_poll_add(entry, client->fd, POLLOUT);
    tag(entry, client, WRITABLE);
    client->sending = true;
}

/* Asks the kernel to give a request back: it completes with ECANCELED, unless
 * it was faster. */
static void submit_cancel(struct loop *loop, const struct client *client,
                          enum kind kind)
{
    struct io_uring_sqe *entry = next_entry(loop);
    io_uring_prep_cancel64(entry, (uint64_t)(uintptr_t)client | kind, 0);
    tag_unheeded(entry);
}

/* close(2) alone would not end the connection: a request that the kernel still
 * has keeps the socket open. So both requests are taken back first; entries are
 * started in the order of the queue. */
static void submit_close(struct loop *loop, const struct client *client)
{
    if (client->receiving)
        submit_cancel(loop, client, RECEIVED);
    if (client->sending) {
        submit_cancel(loop, client, SENT);
        submit_cancel(loop, client, WRITABLE);
    }
    struct io_uring_sqe *entry = next_entry(loop);
    io_uring_prep_close(entry, client->fd);
    tag_unheeded(entry);
}

/* --------------------------------------------------------------- clients */

static void remove_deadline(struct loop *loop, struct client *client)
{
    if (client->prev != NULL)
        DL_DELETE(loop->deadline_queues[client->phase], client);
    client->prev = NULL;
}

/* A deadline starts with a phase: bytes that arrive do not extend it. */
static void set_deadline(struct loop *loop, struct client *client)
{
    enum http_phase phase = http_conn_phase(&client->conn);
    if (client->prev != NULL && client->phase == phase)
        return;
    remove_deadline(loop, client);
    if (client->phase != phase)
        net_delivery_begin(&client->delivery, loop->base.http.clock.now_ms);
    client->phase = (unsigned char)phase;
    client->deadline_ms =
        loop->base.http.clock.now_ms +
        http_phase_timeout_ms(&loop->base.server->site, phase);
    DL_APPEND(loop->deadline_queues[phase], client);
}

/* Frees a closed client once the kernel and Redis have returned all that refers
 * to it. Until then a send may still read from its exchange. */
static void free_if_unused(struct loop *loop, struct client *client)
{
    if (!client->closed || client->receiving || client->sending ||
        client->replies_due > 0)
        return;
    http_conn_abort(&client->conn);
    buffer_free(&client->unread);
    free(client->peer);
    free(client);
    loop->clients--;
}

/* Begins to close a client. It may be gone afterwards. */
static void end_client(struct loop *loop, struct client *client)
{
    if (!client->closed) {
        remove_deadline(loop, client);
        submit_close(loop, client);
        client->closed = true;
    }
    free_if_unused(loop, client);
}

/* Passes bytes to the connection, which wants some; returns how many it took,
 * 0 when memory has run out. */
static size_t feed(struct loop *loop, struct client *client, const char *bytes,
                   size_t n)
{
    size_t space;
    char *input = http_conn_input(&client->conn, &space);
    if (input == NULL) {
        server_warn_rarely(loop->base.server,
                              "out of memory; clients are closed");
        http_conn_finish(&client->conn);
        return 0;
    }
    if (n > space)
        n = space;
    memcpy(input, bytes, n);
    http_conn_received(&client->conn, n);
    return n;
}

/* Takes what arrived early, or waits for more. Returns whether the next step
 * can be taken now. */
static bool read_request(struct loop *loop, struct client *client)
{
    struct buffer *unread = &client->unread;
    if (client->unread_start < unread->len) {
        client->unread_start += feed(loop, client,
                                     unread->data + client->unread_start,
                                     unread->len - client->unread_start);
        if (client->unread_start == unread->len && !unread->failed) {
            client->unread_start = 0;
            buffer_reset(unread, 0);
        }
        return true;
    }
    if (unread->failed) { /* bytes are missing from here on */
        server_warn_rarely(loop->base.server,
                              "out of memory; clients are closed");
        http_conn_finish(&client->conn);
        return true;
    }
    if (client->ended) {
        http_conn_abort(&client->conn);
        return true;
    }
    if (!client->receiving)
        submit_receive(loop, client);
    return false;
}

static bool answer_request(struct loop *loop, struct client *client)
{
    struct http_conn *conn = &client->conn;
    conn->x->peer = client->peer;
    if (http_conn_answer(conn, worker_may_keep(&loop->base, conn)))
        worker_log_answer(&loop->base, conn, client->peer);
    return true;
}

static bool queue_command(struct loop *loop, struct client *client,
                          const struct redis_command *command)
{
    bool queued = redis_async_queue(&loop->redis, command, client) ||
                  (http_context_relieve(&loop->base.http, errno) &&
                   redis_async_queue(&loop->redis, command, client));
    client->replies_due += queued;
    return queued;
}

static bool ask_redis(struct loop *loop, struct client *client)
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

/* n bytes were sent, or n is a negative errno. */
static void sent(struct loop *loop, struct client *client, ssize_t n)
{
    /* The next phase has its own. "100 Continue" is part of a request. */
    if (http_conn_phase(&client->conn) == HTTP_PHASE_DELIVER)
        remove_deadline(loop, client);
    if (n < 0) { /* EPIPE, ECONNRESET, or EIO: a file that was cut */
        http_conn_finish(&client->conn);
        return;
    }
    net_delivery_begin(&client->delivery, loop->base.http.clock.now_ms);
    http_conn_sent(&client->conn, (size_t)n);
}

/* Memory goes through the ring. io_uring has no sendfile(2), so files go as in
 * 06 and 07, and the ring only says when there is room again. */
static bool write_response(struct loop *loop, struct client *client,
                           int *pieces)
{
    struct http_output output;
    if (client->sending)
        return false;
    http_conn_output(&client->conn, &output);
    if (output.data != NULL) {
        submit_send(loop, client, &output);
        return false;
    }
    ssize_t n = (*pieces)++ < PIECES_PER_TURN ? net_send(client->fd, &output)
                                              : (errno = EAGAIN, -1);
    if (n < 0 && errno == EAGAIN) {
        submit_wait_for_room(loop, client);
        return false;
    }
    if (n < 0 && errno == EINTR)
        return true; /* a signal: see net.h */
    sent(loop, client, n < 0 ? -errno : n);
    return true;
}

/* A close that follows now sends the FIN itself, so only a client that lingers
 * needs shutdown(2). Not through the ring: IORING_OP_SHUTDOWN runs in a thread
 * of the kernel, which looks the descriptor up when it gets there. By then a
 * close behind it may be done, and the number may be another client's. */
static bool send_fin(struct client *client)
{
    http_conn_fin_sent(&client->conn);
    if (http_conn_want(&client->conn) == HTTP_WANT_LINGER)
        shutdown(client->fd, SHUT_WR);
    return true;
}

/* Looks how far the client's answer has come. */
static enum http_delivery look(const struct loop *loop, struct client *client)
{
    return net_delivery(client->fd, &client->delivery,
                        loop->base.http.clock.now_ms,
                        http_stall_timeout_ms(&loop->base.server->site));
}

/* Waits until the client has acknowledged its last answer or closes, as
 * http_conn.h says. What it still sends is dropped: bytes that the ring has
 * delivered, and those in the socket that it has not taken yet. A completion of
 * its recv, or the deadline, brings the client back. */
static bool linger(struct loop *loop, struct client *client)
{
    bool more = client->unread.len > 0;
    buffer_reset(&client->unread, 0);
    client->unread_start = 0;
    ssize_t n = client->ended ? 0 : net_discard(client->fd, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        http_conn_abort(&client->conn); /* end of file, or ECONNRESET */
        return true;
    }
    http_conn_lingered(&client->conn, more || n > 0, look(loop, client));
    if (http_conn_want(&client->conn) == HTTP_WANT_CLOSE)
        return true;
    if (!client->receiving)
        submit_receive(loop, client);
    return false;
}

/* Serves a client until its next step needs a completion or a reply. The same
 * switch as in serve_blocking.c and event_loop.c. */
static void run_client(struct loop *loop, struct client *client)
{
    int pieces = 0;
    for (bool again = true; again;)
        switch (http_conn_want(&client->conn)) {
        case HTTP_WANT_READ: again = read_request(loop, client); break;
        case HTTP_WANT_ANSWER: again = answer_request(loop, client); break;
        case HTTP_WANT_REDIS: again = ask_redis(loop, client); break;
        case HTTP_WANT_WRITE:
            again = write_response(loop, client, &pieces);
            break;
        case HTTP_WANT_FIN: again = send_fin(client); break;
        case HTTP_WANT_LINGER: again = linger(loop, client); break;
        case HTTP_WANT_CLOSE: end_client(loop, client); return;
        }
    set_deadline(loop, client);
    /* A client that sends requests without reading the answers must not fill
     * our memory: from now on its bytes wait in its socket. */
    if (client->unread.len > 0 && client->receiving)
        submit_cancel(loop, client, RECEIVED);
}

/* Ends the client that has been idle longest: now, or when it has acknowledged
 * its last answer. One at a time: returns false if there is none, or if one is
 * leaving already. */
static bool end_longest_idle(struct loop *loop)
{
    struct client *client = loop->deadline_queues[HTTP_PHASE_IDLE];
    if (client == NULL || loop->deadline_queues[HTTP_PHASE_LINGER] != NULL)
        return false;
    http_conn_finish(&client->conn);
    run_client(loop, client);
    return true;
}

/* ----------------------------------------------------------- completions */

/* The accept queue had a client, or the accept is over: flags say whether it
 * goes on (IORING_CQE_F_MORE). */
static void accepted(struct loop *loop, int fd, unsigned flags)
{
    const struct server *server = loop->base.server;
    if (!(flags & IORING_CQE_F_MORE))
        loop->accepting = false;
    struct client *client = fd < 0 ? NULL : calloc(1, sizeof *client);
    if (client == NULL) {
        enum net_verdict verdict = net_accept_verdict(fd < 0 ? -fd : ENOMEM);
        if (fd == -ECANCELED || verdict < NET_NEEDS_ROOM)
            return; /* at capacity, or stopping; or the client left early */
        /* Trying again now would fail again: pause, make room. */
        server_warn_rarely(server, "cannot accept more clients now: %s; new "
                              "clients wait in the accept queue",
                              strerror(fd < 0 ? -fd : ENOMEM));
        loop->accept_again_ms = loop->base.http.clock.now_ms + RECHECK_MS;
        if (fd >= 0)
            close(fd);
        if (verdict == NET_NEEDS_ROOM) {
            http_context_trim(&loop->base.http);
            end_longest_idle(loop);
        }
        return;
    }
    client->fd = fd;
    client->peer = worker_peer_name(&loop->base, fd);
    http_conn_open(&client->conn, &loop->base.http);
    stats_add(&loop->base.slot->connections, 1);
    loop->clients++;
    run_client(loop, client);
}

/* Gives a buffer back to the kernel's pool. */
static void return_buffer(struct loop *loop, int id)
{
    io_uring_buf_ring_add(loop->pool, loop->buffers + id * BUFFER_SIZE,
                          BUFFER_SIZE, (unsigned short)id,
                          io_uring_buf_ring_mask(BUFFERS), 0);
    io_uring_buf_ring_advance(loop->pool, 1);
}

/* n bytes arrived; 0: end of file; otherwise a negative errno. */
static void received(struct loop *loop, struct client *client, int n,
                     unsigned flags)
{
    if (!(flags & IORING_CQE_F_MORE))
        client->receiving = false;
    if (flags & IORING_CQE_F_BUFFER) {
        int id = (int)(flags >> IORING_CQE_BUFFER_SHIFT);
        const char *bytes = loop->buffers + id * BUFFER_SIZE;
        size_t taken = 0, count = n > 0 ? (size_t)n : 0;
        if (!client->closed && client->unread.len == 0 &&
            http_conn_want(&client->conn) == HTTP_WANT_READ)
            taken = feed(loop, client, bytes, count);
        if (!client->closed)
            buffer_append(&client->unread, bytes + taken, count - taken);
        return_buffer(loop, id);
    }
    /* ENOBUFS: all buffers were in use, and are not any longer. */
    bool failed = n < 0 && n != -ENOBUFS && n != -ECANCELED;
    client->ended |= n == 0 || failed;
    /* Redis' reply would find that the client has left. */
    if (client->closed || (failed && client->replies_due > 0))
        end_client(loop, client);
    else
        run_client(loop, client);
}

/* A send has sent n bytes, or there is room to send (n >= 0). */
static void writable(struct loop *loop, struct client *client, int n,
                     enum kind kind)
{
    client->sending = false;
    if (client->closed) {
        end_client(loop, client);
        return;
    }
    if (kind == SENT || n < 0)
        sent(loop, client, n);
    run_client(loop, client);
}

static void complete(struct loop *loop, const struct io_uring_cqe *cqe)
{
    enum kind kind = cqe->user_data % KINDS;
    uint64_t rest = cqe->user_data - kind;
    struct client *client = (struct client *)(uintptr_t)rest;
    switch (kind) {
    case UNHEEDED:
    case KINDS: break;
    case ACCEPTED: accepted(loop, cqe->res, cqe->flags); break;
    case RECEIVED: received(loop, client, cqe->res, cqe->flags); break;
    case SENT:
    case WRITABLE: writable(loop, client, cqe->res, kind); break;
    case REDIS:
        if (rest != loop->redis_poll)
            break; /* of a socket that hiredis has closed since */
        loop->redis_poll = 0;
        redis_async_ready(&loop->redis, cqe->res < 0 ? POLLERR
                                                     : (uint32_t)cqe->res);
        break;
    }
}

/* ----------------------------------------------------------------- Redis */

/* hiredis makes its own calls and wants readiness: a poll that the ring makes,
 * once. watch_redis_again() renews it, which makes it level-triggered. */
static void submit_redis_poll(struct loop *loop)
{
    static uint64_t polls;
    struct io_uring_sqe *entry = next_entry(loop);
    io_uring_prep_poll_add(entry, loop->redis_fd,
                           (unsigned)loop->redis_events);
    loop->redis_poll = ++polls * KINDS;
    entry->user_data = loop->redis_poll | REDIS;
}

static void watch_redis(void *data, int fd, short events)
{
    struct loop *loop = data;
    if (loop->redis_poll != 0) {
        struct io_uring_sqe *entry = next_entry(loop);
        io_uring_prep_poll_remove(entry, loop->redis_poll | REDIS);
        tag_unheeded(entry);
    }
    loop->redis_poll = 0;
    loop->redis_fd = fd;
    loop->redis_events = events;
}

static void watch_redis_again(struct loop *loop)
{
    if (loop->redis_events != 0 && loop->redis_poll == 0)
        submit_redis_poll(loop);
}

static void client_replied(void *loop_data, void *client_data,
                           const redisReply *reply)
{
    struct loop *loop = loop_data;
    struct client *client = client_data;
    client->replies_due--;
    bool complete = http_conn_reply(&client->conn, reply);
    if (client->closed) {
        end_client(loop, client);
        return;
    }
    if (complete)
        worker_log_answer(&loop->base, &client->conn, client->peer);
    run_client(loop, client);
}

/* -------------------------------------------------------------- the loop */

/* Hands an accept over, or takes it back when there are enough clients. */
static void accept_or_not(struct loop *loop)
{
    int64_t now = loop->base.http.clock.now_ms;
    bool full = loop->clients >= loop->base.server->options.max_connections;
    bool wanted = !loop->base.draining && now >= loop->accept_again_ms;
    if (full && !end_longest_idle(loop))
        wanted = false;
    if (wanted && !loop->accepting)
        submit_accept(loop);
    if (!wanted && loop->accepting && !loop->accept_stopping) {
        submit_cancel(loop, NULL, ACCEPTED);
        loop->accept_stopping = true;
    }
}

/* What the kernel still sends from has to stay, so the connection itself must not
 * change: its client waits on, or goes. The request behind "100 Continue" has
 * lasted too long; an answer goes on unless it has stalled. */
static void expire_sending(struct loop *loop, struct client *client)
{
    if (http_conn_phase(&client->conn) == HTTP_PHASE_DELIVER &&
        look(loop, client) != HTTP_STALLED)
        set_deadline(loop, client);
    else
        end_client(loop, client);
}

/* Ends what has lasted too long, and when the server is stopping, what has not
 * begun a request. */
static void expire(struct loop *loop, enum http_phase phase)
{
    bool all = loop->base.draining &&
               (phase == HTTP_PHASE_NEW || phase == HTTP_PHASE_IDLE);
    struct client *client;
    while ((client = loop->deadline_queues[phase]) != NULL &&
           (all || client->deadline_ms <= loop->base.http.clock.now_ms)) {
        remove_deadline(loop, client);
        if (client->sending) {
            expire_sending(loop, client);
            continue;
        }
        http_conn_on_timeout(&client->conn, look(loop, client));
        run_client(loop, client);
    }
}

/* Returns for how many milliseconds the loop may wait; -1: without limit. */
static int64_t timeout_ms(const struct loop *loop)
{
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
    if ((loop->base.draining || loop->accept_again_ms > now) &&
        next > now + RECHECK_MS)
        next = now + RECHECK_MS;
    if (next == INT64_MAX)
        return -1;
    return next > now ? next - now : 0;
}

/* The one system call of an iteration: submits what was queued, and waits until
 * there is a completion, a deadline passes or a signal arrives. */
static void submit_and_wait(struct loop *loop)
{
    int64_t ms = timeout_ms(loop);
    struct __kernel_timespec limit = {ms / 1000, ms % 1000 * 1000000};
    struct io_uring_cqe *first;
    die_unless_temporary(io_uring_submit_and_wait_timeout(
        &loop->ring, &first, 1, ms < 0 ? NULL : &limit, NULL));
}

static void serve_completions(struct loop *loop)
{
    struct io_uring_cqe *cqes[COMPLETIONS_PER_WAIT];
    unsigned n = io_uring_peek_batch_cqe(&loop->ring, cqes,
                                         COMPLETIONS_PER_WAIT);
    for (unsigned i = 0; i < n; i++)
        complete(loop, cqes[i]);
    io_uring_cq_advance(&loop->ring, n); /* these entries are free again */
}

/* There is no flag that says whether recv can be multishot. Linux 6.0 brought
 * it together with IORING_OP_SEND_ZC, for which one can ask. */
static void refuse_old_kernel(struct io_uring *ring)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
    if (probe == NULL ||
        !io_uring_opcode_supported(probe, IORING_OP_SEND_ZC))
        die("this kernel is too old for 08_io_uring, which needs Linux 6.0 "
            "(multishot accept and recv); 07_epoll runs here");
    io_uring_free_probe(probe);
}

/* DEFER_TASKRUN (Linux 6.1): the kernel finishes requests when the loop waits,
 * and does not interrupt it in between. Without it, completions still come. */
static void ring_init(struct loop *loop)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
                 IORING_SETUP_DEFER_TASKRUN,
        .cq_entries = COMPLETIONS};
    int error = io_uring_queue_init_params(SUBMISSIONS, &loop->ring, &params);
    if (error == -EINVAL) {
        params = (struct io_uring_params){.flags = IORING_SETUP_CQSIZE,
                                          .cq_entries = COMPLETIONS};
        error = io_uring_queue_init_params(SUBMISSIONS, &loop->ring, &params);
    }
    if (error < 0)
        die("this kernel offers no io_uring (%s); 08_io_uring needs Linux 6.0, "
            "0 in /proc/sys/kernel/io_uring_disabled, and in a container a "
            "seccomp profile that allows it; 07_epoll runs here",
            strerror(-error));
    refuse_old_kernel(&loop->ring);
}

/* Registers the pool: a third queue in shared memory, of empty buffers. */
static void pool_init(struct loop *loop)
{
    size_t size = BUFFERS * sizeof(struct io_uring_buf);
    void *memory = NULL;
    loop->buffers = calloc(BUFFERS, BUFFER_SIZE);
    if (loop->buffers == NULL || /* whole pages, says the kernel */
        posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), size) != 0)
        die("out of memory");
    loop->pool = memory;
    struct io_uring_buf_reg registration = {
        .ring_addr = (uint64_t)(uintptr_t)memory, .ring_entries = BUFFERS,
        .bgid = POOL_ID};
    int error = io_uring_register_buf_ring(&loop->ring, &registration, 0);
    if (error < 0)
        die("cannot register buffers with io_uring: %s", strerror(-error));
    io_uring_buf_ring_init(loop->pool);
    for (int id = 0; id < BUFFERS; id++)
        return_buffer(loop, id);
}

static void loop_init(struct loop *loop, const struct server *server)
{
    mallopt(M_TRIM_THRESHOLD, KEPT_FREE_BYTES);
    worker_init(&loop->base, server, 0);
    loop->redis = (struct redis_async){.address = &server->options.redis,
                                       .clock = &loop->base.http.clock,
                                       .loop = loop,
                                       .watch = watch_redis,
                                       .deliver = client_replied};
    ring_init(loop);
    pool_init(loop);
}

/* Ends what is left when the time to stop is over: io_uring_queue_exit() takes
 * every request back, and the process exits. */
static void loop_free(struct loop *loop)
{
    redis_async_close(&loop->redis);
    io_uring_queue_exit(&loop->ring);
    free(loop->pool);
    free(loop->buffers);
}

static bool is_over(const struct loop *loop)
{
    return loop->base.draining &&
           (loop->clients == 0 || loop->base.drain_expired);
}

static void serve_clients(struct loop *loop)
{
    while (!is_over(loop)) {
        accept_or_not(loop);
        submit_and_wait(loop);
        worker_update(&loop->base);
        serve_completions(loop);
        for (int i = 0; i < HTTP_PHASES; i++)
            expire(loop, (enum http_phase)i);
        redis_async_flush(&loop->redis);
        file_table_expire(&loop->base.http.files,
                          loop->base.http.clock.now_ms);
        watch_redis_again(loop);
    }
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */
    static struct loop loop;

    server_start(&server, &architecture, argc, argv);
    loop_init(&loop, &server);
    server_ready(&server, "1 loop");
    serve_clients(&loop);
    loop_free(&loop);
    return server_finish(&server);
}
