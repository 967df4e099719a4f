/* tcp - connections: buffers, FIN, RST, timeouts; see sim.h.
 *
 * What matters here is what Linux does at the end of a connection (tcp_close()
 * in net/ipv4/tcp.c, RFC 1122, 4.2.2.13): a close with unread data sends RST,
 * and so does data that arrives after a close. Then what the client's kernel
 * has not acknowledged is lost (RFC 9112, 9.6). */
#include "sim.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

enum { SEGMENT = 1460, DRIBBLED = 16 };

void *__real_realloc(void *p, size_t n);

static unsigned serial;

static void deliver(struct socket *s, int64_t argument);

/* Keeps the memory of the stream that was here before. */
static void stream_reset(struct stream *st)
{
    *st = (struct stream){.bytes = st->bytes, .room = st->room,
                          .pieces = st->pieces, .piece_room = st->piece_room};
}

void tcp_reset_all(void)
{
    for (int i = 0; i < SOCKETS_MAX; i++) {
        struct socket *s = &sim.sockets[i];
        struct stream in = s->in, out = s->out;
        *s = (struct socket){.in = in, .out = out, .serial = ++serial};
        stream_reset(&s->in);
        stream_reset(&s->out);
    }
}

/* A client has one connection, Redis several one after the other. */
struct socket *tcp_new(enum peer peer, int number)
{
    int i = number;
    if (peer == PEER_REDIS)
        for (i = CLIENTS_MAX; i < SOCKETS_MAX && sim.sockets[i].in_use; i++)
            if (sim.sockets[i].closed)
                break;
    if (i == SOCKETS_MAX)
        fail("more than %d connections to Redis are open", REDIS_SOCKETS);
    struct socket *s = &sim.sockets[i];
    struct stream in = s->in, out = s->out;
    *s = (struct socket){.in = in, .out = out, .serial = ++serial,
                         .peer = peer, .number = number, .fd = -1,
                         .in_use = true};
    stream_reset(&s->in);
    stream_reset(&s->out);
    s->send_buffer = s->window = (size_t)4 << 20;
    return s;
}

/* Appends n bytes that are in memory, or in a file of the site. */
void stream_append(struct stream *st, const char *bytes, int file,
                   size_t offset, size_t n)
{
    struct piece *last = st->count > 0 ? &st->pieces[st->count - 1] : NULL;
    if (file < 0) {
        if (st->size + n > st->room) {
            st->room = 2 * (st->size + n) + 4096;
            st->bytes = __real_realloc(st->bytes, st->room);
        }
        memcpy(st->bytes + st->size, bytes, n);
        offset = st->size;
        st->size += n;
    }
    if (last != NULL && last->file == file &&
        last->offset + (last->end - last->begin) == offset) {
        last->end += n;
    } else {
        if (st->count == st->piece_room) {
            st->piece_room = 2 * st->piece_room + 16;
            st->pieces = __real_realloc(
                st->pieces, (size_t)st->piece_room * sizeof *st->pieces);
        }
        st->pieces[st->count++] = (struct piece){st->end, st->end + n, file,
                                                 offset};
    }
    st->end += n;
}

static void tell_peer(struct socket *s)
{
    if (s->peer == PEER_REDIS)
        redis_sim_data(s);
    else
        client_data(&sim.clients[s->number]);
}

/* ---------------------------------------------- from the peer to the server */

static void hand_over(struct socket *s) /* into the accept queue */
{
    if (s->queued || sim.listener_shut || s->reset)
        return;
    s->queued = true;
    s->queued_us = sim.now_us;
    sim.queue[sim.queue_length++] = s;
    ready_wake_listener();
}

static void peer_gets_reset(struct socket *s, int64_t argument)
{
    (void)argument;
    s->peer_closed = true;
    if (s->peer == PEER_CLIENT)
        client_reset(&sim.clients[s->number]);
}

/* The server's kernel ends the connection: RST to the peer. */
static void send_reset(struct socket *s)
{
    if (s->lost)
        return;
    s->lost = true;
    s->out.end = s->out.arrived; /* the send buffer is dropped */
    s->out.held = 0;
    time_at(sim.now_us + s->latency_us, peer_gets_reset, s, 0);
}

static void handshake(struct socket *s, int64_t argument)
{
    (void)argument;
    if (sim.listener_shut) {
        peer_gets_reset(s, 0);
        return;
    }
    if (sim.queue_length >= sim.plan.backlog) { /* SYN is dropped, and sent */
        time_at(sim.now_us + SECOND, handshake, s, 0); /* again: RFC 6298 */
        return;
    }
    s->connected = true;
    s->last_data_us = sim.now_us;
    hand_over(s);
    tell_peer(s);
}

void tcp_peer_connect(struct socket *s)
{
    time_at(sim.now_us + s->latency_us, handshake, s, 0);
}

static void arrive(struct socket *s, int64_t upto)
{
    if (s->reset || s->lost)
        return;
    if (s->closed || (sim.listener_shut && !s->accepted)) {
        trace("network   client %d: data meets a closed socket: RST",
              s->number);
        send_reset(s);
        return;
    }
    if (s->in.arrived < (uint64_t)upto)
        s->in.arrived = (uint64_t)upto;
    s->last_data_us = sim.now_us;
    rules_progress();
    ready_wake(s);
}

void tcp_peer_send(struct socket *s, const void *bytes, size_t n,
                   int64_t gap_us)
{
    uint64_t begin = s->in.end;
    int64_t at = sim.now_us + s->latency_us;
    if (s->peer_closed || n == 0)
        return;
    stream_append(&s->in, bytes, -1, 0, n);
    if (gap_us > 0)
        time_at(at, arrive, s, (int64_t)begin + 1 + chance_below((int)n));
    time_at(at + gap_us, arrive, s, (int64_t)s->in.end);
}

void tcp_peer_dribble(struct socket *s, const void *bytes, size_t n,
                      int64_t gap_us)
{
    int64_t at = sim.now_us + s->latency_us;
    uint64_t begin = s->in.end;
    if (s->peer_closed)
        return;
    stream_append(&s->in, bytes, -1, 0, n);
    for (size_t i = 0; i < n && i < DRIBBLED; i++)
        time_at(at + (int64_t)i * gap_us, arrive, s, (int64_t)(begin + i + 1));
    if (n > DRIBBLED)
        time_at(at + DRIBBLED * gap_us, arrive, s, (int64_t)s->in.end);
}

static void arrive_fin(struct socket *s, int64_t argument)
{
    (void)argument;
    if (s->reset || s->lost)
        return;
    s->in.arrived = s->in.end;
    s->in.fin_arrived = true;
    s->end_us = sim.now_us;
    if (s->peer == PEER_CLIENT && !s->closed)
        hand_over(s);
    rules_progress();
    ready_wake(s);
}

void tcp_peer_shutdown(struct socket *s)
{
    if (s->in.fin || s->peer_closed)
        return;
    s->in.fin = true;
    time_at(sim.now_us + s->latency_us, arrive_fin, s, 0);
}

static void arrive_reset(struct socket *s, int64_t error)
{
    if (s->reset)
        return;
    s->reset = true;
    s->end_us = sim.now_us;
    s->error = (int)error;
    s->out.held = 0;
    rules_progress();
    ready_wake(s);
}

void tcp_peer_reset(struct socket *s)
{
    s->peer_closed = true;
    time_at(sim.now_us + s->latency_us, arrive_reset, s, ECONNRESET);
}

void tcp_peer_close(struct socket *s)
{
    if (s->peer_closed)
        return;
    if (s->out.arrived > s->out.read) {
        tcp_peer_reset(s);
        return;
    }
    tcp_peer_shutdown(s);
    s->peer_closed = true;
}

/* ---------------------------------------------- from the server to the peer */

size_t tcp_room(const struct socket *s)
{
    uint64_t used = s->out.end - s->out.arrived;
    return used < s->send_buffer ? s->send_buffer - (size_t)used : 0;
}

static void give_up(struct socket *s, int64_t since)
{
    if (s->stuck_us != since || s->reset || s->lost)
        return;
    trace("network   client %d: takes nothing, TCP_USER_TIMEOUT", s->number);
    s->peer_closed = true;
    arrive_reset(s, ETIMEDOUT);
    if (s->peer == PEER_CLIENT)
        client_leave(&sim.clients[s->number], "took nothing for too long",
                     false);
}

/* The peer's window is full, or open again. */
static void note_stuck(struct socket *s, bool stuck)
{
    if (!stuck)
        s->stuck_us = 0;
    if (!stuck || s->stuck_us != 0)
        return;
    s->stuck_us = sim.now_us;
    time_at(sim.now_us + 2 * MS * (int64_t)sim.plan.request_timeout_ms, give_up,
            s, s->stuck_us);
}

/* What has been sent arrives, as far as there is room for it. */
static void deliver(struct socket *s, int64_t argument)
{
    struct stream *out = &s->out;
    (void)argument;
    if (s->reset || s->lost)
        return;
    uint64_t n = out->end - out->held - out->arrived;
    uint64_t room = s->window - (out->arrived - out->read);
    if (s->peer_closed) {
        if (n > 0)
            time_at(sim.now_us + s->latency_us, arrive_reset, s, ECONNRESET);
        return;
    }
    bool rest = n > room;
    n = rest ? room : n;
    out->arrived += n;
    if (n > 0) {
        rules_progress();
        note_stuck(s, false);
    }
    note_stuck(s, rest);
    if (out->arrived == out->end)
        s->acked_us = sim.now_us;
    bool fin = out->fin && out->arrived == out->end && !out->fin_arrived;
    out->fin_arrived |= fin;
    if (s->no_space && 3 * tcp_room(s) >= s->send_buffer) {
        s->no_space = false;
        ready_wake(s);
    }
    if (n > 0 || fin)
        tell_peer(s);
}

void tcp_peer_has_read(struct socket *s)
{
    time_at(sim.now_us + s->latency_us, deliver, s, 0);
}

/* A packet that is not full waits for more (MSG_MORE in send(2)). */
void tcp_send(struct socket *s, const char *bytes, int file, size_t offset,
              size_t n, bool more)
{
    stream_append(&s->out, bytes, file, offset, n);
    s->out.held = more ? (s->out.end - s->out.arrived) % SEGMENT : 0;
    rules_progress();
    time_at(sim.now_us + s->latency_us, deliver, s, 0);
}

void tcp_shutdown(struct socket *s)
{
    s->shut = true;
    s->out.fin = true;
    s->out.held = 0;
    if (s->shut_us == 0)
        s->shut_us = sim.now_us;
    time_at(sim.now_us + s->latency_us, deliver, s, 0);
}

void tcp_close(struct socket *s)
{
    s->closed = true;
    s->closed_us = sim.now_us;
    ready_forget(s);
    if (s->reset || !s->connected)
        return;
    if (tcp_unread(s) > 0) {
        trace("network   %s %d: closed with %zu bytes unread: RST",
              s->peer == PEER_REDIS ? "Redis" : "client", s->number,
              tcp_unread(s));
        send_reset(s);
        return;
    }
    s->out.fin = true;
    s->out.held = 0;
    time_at(sim.now_us + s->latency_us, deliver, s, 0);
}

/* tcp_poll() in net/ipv4/tcp.c. */
unsigned tcp_events(const struct socket *s)
{
    unsigned events = 0;
    if (s->connecting)
        return 0;
    if (s->error != 0)
        events |= POLLERR;
    if (s->reset || (s->shut && s->in.fin_arrived))
        events |= POLLHUP;
    if (s->reset || s->in.fin_arrived)
        events |= POLLIN | POLLRDHUP;
    if (tcp_unread(s) > 0)
        events |= POLLIN;
    if (s->shut || s->reset || 3 * tcp_room(s) >= s->send_buffer)
        events |= POLLOUT;
    return events;
}
