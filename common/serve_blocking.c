/*
 * blocking - drives a connection with calls that wait; see blocking.h.
 *
 * Read this beside nonblocking.c: the same switch, the same steps. Where that
 * one goes away, this one waits.
 */
#include "serve_blocking.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "http_conn.h"
#include "net.h"

/* A waiting recv() looks up this often: has the deadline passed, is the server
 * stopping, does somebody else want to be served? Often where a fixed pool
 * makes others wait, seldom where each client has a thread of its own. */
enum { TICK_SHARED_MS = 50, TICK_OWN_MS = 500 };

/* A client is accepted when the handshake is done; its request is mostly right
 * behind. So for a moment it is waited for with the turn in hand: others would
 * only be woken to wait in the same way. */
enum { MOMENT_MS = 5 };

struct blocking {
    struct worker *worker;
    struct http_conn conn;
    int fd;
    int unsent;            /* net_unsent() when last looked at */
    bool has_tick;         /* SO_RCVTIMEO is set */
    bool is_held;          /* by worker->silent: not ours to close any more */
    enum http_phase phase; /* what the deadline is for */
    int64_t deadline_ms;
};

/* Do more clients wait than there are workers at leisure to take them? */
static bool too_many_wait(const struct server *server)
{
    unsigned at_leisure = 0;
    for (unsigned i = 0; i < server->stats_slots; i++)
        at_leisure += atomic_load_explicit(
            &server->shared->stats[i].at_leisure, memory_order_relaxed);
    return net_waiting(server->listeners[0]) > at_leisure;
}

static bool must_yield(struct worker *worker)
{
    struct server_shared *shared = worker->server->shared;
    if (!atomic_load_explicit(&shared->full, memory_order_relaxed))
        return false;
    if (atomic_load_explicit(&shared->held, memory_order_relaxed) ||
        atomic_load_explicit(&shared->no_more, memory_order_relaxed) ||
        accept_filter_somebody_speaks(&worker->silent))
        return true;
    /* In a pool, who waits may only wait for this worker to pass on its turn. */
    return net_somebody_waits(worker->server->listeners[0]) &&
           (!worker->accepts || too_many_wait(worker->server));
}

void serve_blocking_init(struct worker *worker, const struct server *server,
                   struct stats_slot *stats)
{
    worker_init(worker, server, stats);
    worker->must_yield = must_yield;
    worker->silent.number = (unsigned)(stats - server->shared->stats);
    accept_turn_init(&worker->turn, &server->shared->turns,
                     worker->silent.number);
}

static void set_at_leisure(struct worker *worker, bool at_leisure)
{
    atomic_store_explicit(&worker->stats->at_leisure, at_leisure,
                          memory_order_relaxed);
}

int serve_blocking_accept(struct worker *worker)
{
    worker->accepts = true;
    set_at_leisure(worker, true);
    if (worker->silent.silent == NULL)
        accept_turn_take(&worker->turn, worker->server->listeners[0]);
    else /* these are waited for as well, without a turn */
        accept_turn_pass(&worker->turn);
    int fd = accept_filter_next(&worker->silent, worker->server, false);
    if (fd < 0)
        accept_turn_pass(&worker->turn);
    set_at_leisure(worker, false);
    return fd;
}

static void start_deadline(struct blocking *b, enum http_phase phase)
{
    b->phase = phase;
    b->deadline_ms = b->worker->clock.now_ms +
                     http_conn_patience(b->worker, phase);
}

/* A client that drips its bytes, and one that takes them steadily but for ever,
 * never makes a call wait in vain: this is asked after every call. */
static bool is_late(const struct blocking *b)
{
    return b->worker->overdue || b->worker->clock.now_ms >= b->deadline_ms;
}

/* A client that has not said a word makes room for those who wait. It is not
 * lost: its request may only be late, see accept_filter.h. But from then on it
 * depends on this one worker, so not while another one could take them. */
static void make_room(struct blocking *b)
{
    struct worker *w = b->worker;
    if (b->phase == HTTP_PHASE_NEW && w->accepts && !w->draining &&
        (w->silent.silent != NULL || too_many_wait(w->server)))
        b->is_held = accept_filter_hold(&w->silent, w->server, b->fd);
}

/* Has the client acknowledged some of what the kernel holds for it? */
static bool takes_some(struct blocking *b)
{
    int unsent = net_unsent(b->fd);
    bool takes = unsent < b->unsent;
    b->unsent = unsent;
    return takes;
}

/* A wait has ended without result. Has an idle client to go? Or one that was cut
 * off: who has his answer whole keeps nobody waiting (RFC 9112, 9.6). */
static void look_up(struct blocking *b)
{
    struct worker *w = b->worker;
    if (b->phase == HTTP_PHASE_LINGER) {
        if (takes_some(b))
            start_deadline(b, HTTP_PHASE_LINGER);
        else if (b->unsent == 0 && must_yield(w))
            http_conn_timeout(&b->conn);
        return;
    }
    if ((b->phase == HTTP_PHASE_NEW && w->draining) ||
        (b->phase == HTTP_PHASE_IDLE && (w->draining || must_yield(w))))
        http_conn_timeout(&b->conn);
    make_room(b);
}

static void set_tick(struct blocking *b)
{
    bool shared = atomic_load(&b->worker->server->shared->full);
    struct timeval tick = {
        .tv_usec = (shared ? TICK_SHARED_MS : TICK_OWN_MS) * 1000L};
    setsockopt(b->fd, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof tick);
    b->has_tick = true;
}

static bool speaks_in_a_moment(const struct blocking *b)
{
    const struct accept_turn *turn = &b->worker->turn;
    struct pollfd client = {.fd = b->fd, .events = POLLIN};
    if (!accept_turn_trusts(turn))
        return false;
    bool spoke = poll(&client, 1, MOMENT_MS) != 0;
    if (!spoke)
        accept_turn_met_silence(turn);
    return spoke;
}

/* Until a client has made us wait once it has cost no system call to limit the
 * wait: the first attempt does not wait at all. A client that sends its request
 * and is gone, the usual one here, never costs more than that. */
static void begin_to_wait(struct blocking *b)
{
    if (speaks_in_a_moment(b))
        return;
    accept_turn_pass(&b->worker->turn);
    make_room(b);
    if (!b->is_held)
        set_tick(b);
}

static void read_request(struct blocking *b)
{
    size_t room;
    char *input = http_conn_input(&b->conn, &room);
    if (input == NULL) { /* no memory: this client cannot be served */
        net_refuse(b->fd);
        http_conn_eof(&b->conn);
        /* Another worker may have some, if this one lets it have the turn. */
        accept_turn_pass(&b->worker->turn);
        poll(NULL, 0, 1);
        return;
    }
    ssize_t n = recv(b->fd, input, room, b->has_tick ? 0 : MSG_DONTWAIT);
    worker_tick(b->worker);
    if (n > 0) {
        accept_turn_met_speech(&b->worker->turn);
        http_conn_received(&b->conn, (size_t)n);
    } else if (n == 0) {
        http_conn_eof(&b->conn);
    } else if (errno != EAGAIN && errno != EINTR) {
        http_conn_eof(&b->conn); /* ECONNRESET and its kin: it has gone */
    } else if (b->has_tick) {
        look_up(b);
    } else {
        begin_to_wait(b);
    }
}

static void ask_redis(struct blocking *b)
{
    struct redis *store = &b->worker->store;
    const struct redis_command *command;
    int due = 0;
    bool up = store->redis != NULL;
    if (http_conn_is_first_command(&b->conn))
        up = redis_begin(store, b->worker->clock.now_ms);
    while ((command = http_conn_next_command(&b->conn)) != NULL) {
        up = up && redis_send(store, command);
        due++;
    }
    while (due-- > 0)
        http_conn_reply(&b->conn, up ? redis_receive(store) : NULL);
}

static void write_response(struct blocking *b)
{
    struct http_output output;
    http_conn_output(&b->conn, &output);
    bool may_wait = !b->worker->turn.taken;
    ssize_t n = net_send(b->fd, &output, may_wait);
    worker_tick(b->worker);
    if (n >= 0) {
        if (http_conn_sent(&b->conn, (size_t)n))
            shutdown(b->fd, SHUT_WR);
        else /* it takes its time, or has more to ask */
            accept_turn_pass(&b->worker->turn);
        start_deadline(b, http_conn_phase(&b->conn)); /* there is progress */
    } else if (errno == EAGAIN && !may_wait) {
        accept_turn_pass(&b->worker->turn);
    } else if (errno == EAGAIN || errno == EINTR) {
        if (takes_some(b))
            start_deadline(b, HTTP_PHASE_WRITE);
        look_up(b);
    } else {
        http_conn_eof(&b->conn); /* EPIPE, ECONNRESET */
    }
}

void serve_blocking(struct worker *worker, int fd)
{
    struct blocking b = {.worker = worker, .fd = fd};
    worker_tick(worker);
    http_conn_open(&b.conn, worker, net_peer_name(worker->server, fd));
    start_deadline(&b, HTTP_PHASE_NEW);

    while (!b.is_held) {
        enum http_phase phase = http_conn_phase(&b.conn);
        if (phase != b.phase)
            start_deadline(&b, phase);
        else if (phase != HTTP_PHASE_REDIS && is_late(&b))
            http_conn_timeout(&b.conn);

        switch (http_conn_want(&b.conn)) {
        case HTTP_WANT_READ:
            if (phase != HTTP_PHASE_NEW) /* more, which may not be there yet */
                accept_turn_pass(&worker->turn);
            read_request(&b);
            break;
        case HTTP_WANT_REDIS:
            accept_turn_pass(&worker->turn);
            ask_redis(&b);
            break;
        case HTTP_WANT_WRITE:
            write_response(&b);
            break;
        case HTTP_WANT_CLOSE:
            if (b.conn.cut_off && net_close_may_reset(fd)) {
                http_conn_linger(&b.conn);
                break;
            }
            http_conn_close(&b.conn);
            close(fd);
            return;
        }
    }
    http_conn_close(&b.conn);
    /* It counts when it is taken up again. */
    stats_add(&worker->stats->connections, (uint64_t)-1);
}
