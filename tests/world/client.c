/* client - what clients do, and when; see sim.h. */
#include "sim.h"

#include <stdlib.h>

/* The smallest of Linux (SOCK_MIN_SNDBUF in include/net/sock.h). A part of a
 * packet that is held back (MSG_MORE) leaves it writable. */
enum { SEND_BUFFER_MIN = 4608 };

static void write_some(struct socket *s, int64_t argument);

static void connect_now(struct socket *s, int64_t argument)
{
    (void)argument;
    trace("client %d  connects", s->number);
    tcp_peer_connect(s);
}

static void go_away(struct socket *s, int64_t reset)
{
    client_leave(&sim.clients[s->number], "left", reset);
}

/* Decides what kind of client this is. */
static void choose_habits(struct client *c, struct socket *s)
{
    const struct plan *p = &sim.plan;
    static const int64_t spans[] = {0, 0, 10 * MS, SECOND, 8 * SECOND};
    static const int64_t gaps[] = {0, 1000, 20 * MS, 60 * MS, 400 * MS};
    const uint64_t span = 1 + (uint64_t)CHANCE_OF(spans);
    c->connect_us = 1 + (int64_t)(chance_next() % span);
    s->latency_us = plan_has(p, LATENCY) ? chance_below(60 * MS)
                    : chance_percent(50) ? chance_below(2 * MS) : 0;
    c->piece_max = c->read_max = SIZE_MAX;
    c->stop_sending_at = SIZE_MAX;
    c->stop_reading_at = UINT64_MAX;
    if (plan_has(p, SPLITS) && chance_percent(50)) {
        int most = chance_percent(50) ? 20 : 600;
        c->piece_max = (size_t)(1 + chance_below(most));
        c->gap_us = CHANCE_OF(gaps);
    }
    if (plan_has(p, SMALL_BUFFERS)) {
        s->send_buffer = (size_t)(SEND_BUFFER_MIN +
                                  chance_below(60000));
        s->window = (size_t)(1500 + chance_below(60000));
    }
    if (plan_has(p, SLOW_READERS) && chance_percent(50)) {
        c->read_delay_us = CHANCE_OF(gaps);
        c->read_max = (size_t)(500 + chance_below(40000));
        if (!plan_has(p, SMALL_BUFFERS))
            s->window = 65536;
    }
    if (plan_has(p, STOPPED_READERS) && chance_percent(40)) {
        c->stop_reading_at = (uint64_t)chance_below(100000);
        s->window = (size_t)(1500 + chance_below(60000));
        s->send_buffer = (size_t)(SEND_BUFFER_MIN +
                                  chance_below(60000));
    }
    c->stubborn = plan_has(p, FURTHER) && chance_percent(60);
    c->half_closes = chance_percent(10);
    c->stays = chance_percent(25);
    c->stray_line = plan_has(p, STRAY_LINES) && chance_percent(40);
}

void client_make(struct client *c, int number)
{
    struct client empty = {
        .number = number, .script = c->script, .room = c->room,
        .page = {.data = c->page.data, .cap = c->page.cap}};
    *c = empty;
    struct socket *s = c->socket = tcp_new(PEER_CLIENT, number);
    choose_habits(c, s);
    client_write_script(c);
    if (c->piece_max < c->size / 50) /* the number of events is limited */
        c->piece_max = c->size / 50;
    if (c->stray_line) { /* RFC 9112, 2.2: after a request, from old clients */
        c->script[c->size] = '\r';
        c->script[c->size + 1] = '\n';
        c->size += 2;
    }
    if (plan_has(&sim.plan, SILENT) && chance_percent(40))
        c->stop_sending_at = chance_percent(30)
                                 ? 0 : (size_t)chance_below((int)c->size);
    time_at(c->connect_us, connect_now, s, 0);
    if (plan_has(&sim.plan, LEAVERS) && chance_percent(50)) {
        int64_t us = chance_below(chance_percent(50) ? 50 * MS : 2 * SECOND);
        time_at(c->connect_us + us, go_away, s, chance_percent(50));
    }
    sim.clients_left++;
}

void client_done(struct client *c)
{
    if (c->done)
        return;
    c->done = true;
    sim.clients_left--;
    rules_end(c);
}

int client_waiting(void)
{
    int i = 0;
    while (i < sim.plan.clients - 1 && sim.clients[i].done)
        i++;
    return i;
}

void client_leave(struct client *c, const char *how, bool reset)
{
    if (c->done)
        return;
    trace("client %d  %s%s", c->number, how, reset ? ", with RST" : "");
    c->left = how;
    if (reset)
        tcp_peer_reset(c->socket);
    else
        tcp_peer_close(c->socket);
    client_done(c);
}

/* ------------------------------------------------------------------ writing */

/* Returns up to where the script may be sent now. */
static size_t sendable(const struct client *c)
{
    size_t end = c->size;
    for (int i = 0; i < c->count; i++) {
        const struct request *r = &c->requests[i];
        if (r->waits && i > c->answers) { /* not before that answer */
            end = r->begin;
            break;
        }
        if (r->expects && i >= c->answers && !(i == c->answers &&
                                               c->may_send_body)) {
            end = r->head_end;
            break;
        }
    }
    return end < c->stop_sending_at ? end : c->stop_sending_at;
}

static void patience_ends(struct socket *s, int64_t answers)
{
    struct client *c = &sim.clients[s->number];
    if (c->answers == answers && !c->done) {
        c->may_send_body = true; /* RFC 9110, 10.1.1 */
        client_go_on(c);
    }
}

static void plan_writing(struct client *c, int64_t us)
{
    if (!c->writing)
        time_at(sim.now_us + us, write_some, c->socket, 0);
    c->writing = true;
}

static bool has_all_it_wants(const struct client *c)
{
    return c->state == IN_HEAD && (c->answers == c->count || c->close_said);
}

/* Notes when the server has a whole request: it has to answer from then on. */
static void note_waiting(struct client *c)
{
    if (c->answers < c->count && c->waiting_for <= c->answers &&
        c->sent >= c->requests[c->answers].end) {
        c->waiting_for = c->answers + 1;
        c->waiting_us = sim.now_us;
    }
}

static void note_sent(struct client *c, size_t n)
{
    for (int i = 0; i < c->count; i++) {
        const struct request *r = &c->requests[i];
        if (c->sent <= r->begin && c->sent + n > r->begin)
            c->begun_us[i] = sim.now_us;
        if (c->sent < r->end && c->sent + n >= r->end)
            c->whole_us[i] = sim.now_us;
    }
    c->sent += n;
}

static bool waits_for_permission(const struct client *c)
{
    const struct request *r = &c->requests[c->answers];
    return c->answers < c->count && r->expects && c->sent == r->head_end;
}

static void write_some(struct socket *s, int64_t argument)
{
    struct client *c = &sim.clients[s->number];
    (void)argument;
    c->writing = false;
    if (c->done || !s->connected || (c->close_said && !c->stubborn))
        return;
    size_t end = sendable(c);
    size_t n = end - c->sent;
    if (end <= c->sent)
        return;
    if (n > c->piece_max)
        n = 1 + (size_t)chance_below((int)c->piece_max);
    trace("client %d  sends %zu bytes", c->number, n);
    tcp_peer_send(s, c->script + c->sent, n, 0);
    note_sent(c, n);
    note_waiting(c);
    if (c->sent < end)
        plan_writing(c, c->gap_us);
    else if (waits_for_permission(c))
        time_at(sim.now_us + SECOND, patience_ends, s, c->answers);
    if (c->sent == c->size && c->half_closes) {
        trace("client %d  sends FIN", c->number);
        tcp_peer_shutdown(s);
    }
    if (c->ended && c->sent >= sendable(c)) {
        tcp_peer_close(s);
        client_done(c);
    }
}

void client_go_on(struct client *c)
{
    if (c->done)
        return;
    note_waiting(c);
    if (has_all_it_wants(c) && !c->stays && !c->stubborn) {
        trace("client %d  has all it wants and closes", c->number);
        tcp_peer_close(c->socket);
        client_done(c);
        return;
    }
    if (sendable(c) > c->sent)
        plan_writing(c, c->gap_us);
}

/* ------------------------------------------------------------------ reading */

static void read_pieces(struct client *c, uint64_t end)
{
    struct stream *st = &c->socket->out;
    for (int i = 0; i < st->count && !c->done; i++) {
        const struct piece *p = &st->pieces[i];
        if (p->end <= st->read || p->begin >= end)
            continue;
        uint64_t from = st->read, to = p->end < end ? p->end : end;
        size_t offset = p->offset + (size_t)(from - p->begin);
        st->read = to;
        answer_feed(c, p->file < 0 ? st->bytes + offset : NULL, p->file,
                    offset, (size_t)(to - from));
    }
}

static void read_some(struct socket *s, int64_t argument)
{
    struct client *c = &sim.clients[s->number];
    struct stream *st = &s->out;
    (void)argument;
    c->reading = false;
    if (c->done)
        return;
    uint64_t n = st->arrived - st->read;
    if (n > c->read_max)
        n = c->read_max;
    if (st->read + n > c->stop_reading_at)
        n = c->stop_reading_at > st->read ? c->stop_reading_at - st->read : 0;
    if (n > 0) {
        trace("client %d  reads %llu bytes", c->number, (unsigned long long)n);
        read_pieces(c, st->read + n);
        tcp_peer_has_read(s);
    }
    if (c->done)
        return;
    if (st->read >= c->stop_reading_at) {
        if (st->fin_arrived || c->was_reset)
            client_leave(c, "had stopped reading", false);
        return;
    }
    if (st->read < st->arrived) {
        client_data(c);
    } else if (c->was_reset) {
        client_done(c);
    } else if (st->fin_arrived) {
        trace("client %d  reads the end", c->number);
        c->ended = true;
        if (!c->stubborn || c->sent >= sendable(c)) {
            tcp_peer_close(s);
            client_done(c);
        }
    }
}

void client_data(struct client *c)
{
    if (!c->connected) {
        c->connected = true;
        plan_writing(c, 0);
    }
    if (!c->reading && !c->done)
        time_at(sim.now_us + c->read_delay_us, read_some, c->socket, 0);
    c->reading = true;
}

/* What its kernel has acknowledged it can still read, as on Linux. */
void client_reset(struct client *c)
{
    const struct socket *s = c->socket;
    if (c->done)
        return;
    trace("client %d  gets RST, %llu bytes unread", c->number,
          (unsigned long long)(s->out.arrived - s->out.read));
    c->was_reset = true;
    /* It could read the rest, but has stopped reading. */
    if (s->out.arrived == s->out.end && s->out.read >= c->stop_reading_at &&
        c->excuse == NULL)
        c->excuse = "its kernel has all of it";
    if (s->out.read == s->out.arrived || s->out.read >= c->stop_reading_at)
        client_done(c);
}
