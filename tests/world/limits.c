/* limits - what must hold: deadlines, no spinning, no starving; see sim.h. */
#include "sim.h"

enum { LINGER_MS = 1000, FIRST_BYTE_FACTOR = 6, GRACE_MS = 3000 };
enum { SPINS_MAX = 100 };
enum { SPARE_BYTES = 400 << 10, CLIENT_BYTES = 1300 << 10,
       PAGE_BYTES = 2400 << 10 };

static bool progress, slept;
static int spins;

void rules_reset(void)
{
    progress = slept = false;
    spins = 0;
}

void rules_progress(void)
{
    progress = true;
}

void rules_read(struct socket *s)
{
    s->io_us = sim.now_us;
    if (s->peer != PEER_CLIENT)
        return;
    const struct client *c = &sim.clients[s->number];
    if (c->lines < c->count && s->in.read > c->requests[c->lines].begin &&
        s->begun != c->lines + 1) {
        s->begun = c->lines + 1;
        s->begun_us = sim.now_us;
    }
}

/* A tick of the loop, the coarse clock, and a slow machine's steps. A blocking
 * server looks up every 50 ms, or every 500 ms while it sends. */
static int64_t slack_us(void)
{
    int64_t us = sim.plan.call_cost_us > 20 ? 3 * SECOND : 200 * MS;
    return sim.plan.server->event_loop ? us : us + 600 * MS;
}

int64_t rules_early_us(void)
{
    return sim.plan.call_cost_us > 20 ? SECOND : 10 * MS;
}

static void late(const struct socket *s, const char *what, int64_t since_us,
                 int64_t limit_ms)
{
    int64_t ms = (sim.now_us - since_us) / MS;
    if (ms > limit_ms + slack_us() / MS)
        fail("client %d: %s for %lld ms, the limit is %lld", s->number, what,
             (long long)ms, (long long)limit_ms);
}

/* How long Redis may keep a client waiting. A slow one is given more time with
 * each reply, for whichever client it is. */
static int64_t redis_ms(void)
{
    if (!sim.plan.server->event_loop)
        return 1000; /* it gives up, for each page */
    return plan_has(&sim.plan, REDIS_SLOW) || plan_has(&sim.plan, REDIS_BUSY) ||
                   plan_has(&sim.plan, REDIS_DRIBBLES) ? 30000 : 2000;
}

/* A blocking server notices that a client has gone when it reads or writes, and
 * before that it makes each page that the client has asked for. */
static int64_t pages_ms(const struct client *c)
{
    int64_t ms = 0;
    for (int i = 0; i < c->count; i++)
        ms += c->requests[i].redis ? redis_ms() : 0;
    return sim.plan.server->event_loop || ms == 0 ? redis_ms() : ms;
}

/* Which deadline runs for this client, by what can be seen from outside? */
static void check_deadline(const struct socket *s, const struct client *c)
{
    const struct request *r = c->lines < c->count ? &c->requests[c->lines]
                                                  : NULL;
    if (s->reset) {
        late(s, "it has gone, and is kept",
             s->end_us > s->accepted_us ? s->end_us : s->accepted_us,
             pages_ms(c));
    } else if (s->shut && s->out.end == s->out.arrived) {
        late(s, "it lingers", s->shut_us > s->acked_us ? s->shut_us
                                                       : s->acked_us,
             LINGER_MS);
    } else if (s->out.end > s->out.arrived || c->unlogged ||
               c->excuse != NULL) {
        return; /* it has not taken all yet: TCP_USER_TIMEOUT */
    } else if (sim.stop_us != 0 && c->answers >= c->lines &&
               (r == NULL || s->in.read <= r->begin)) {
        /* Nothing that it waits for has begun. */
        int64_t since = s->sent_us > s->acked_us ? s->sent_us : s->acked_us;
        since = since > s->accepted_us ? since : s->accepted_us;
        late(s, "it is idle, and the server stops",
             since > sim.stop_us ? since : sim.stop_us, 100);
    } else if (s->in.read == 0) {
        late(s, "it has sent nothing", s->accepted_us,
             FIRST_BYTE_FACTOR * sim.plan.request_timeout_ms);
    } else if (r == NULL || s->in.read <= r->begin) {
        int64_t since = s->sent_us > s->acked_us ? s->sent_us : s->acked_us;
        late(s, "it is idle", since, sim.plan.keep_alive_ms);
    } else if (s->in.read < r->end && s->begun == c->lines + 1) {
        /* "100 Continue" does not start its clock again. */
        int64_t since = s->begun_us > s->acked_us || r->expects
                            ? s->begun_us : s->acked_us;
        late(s, "its request is not complete", since,
             sim.plan.request_timeout_ms);
    }
}

/* Has a client waited too long for an answer to a whole request? */
static void check_starving(const struct socket *s, const struct client *c)
{
    if (c->waiting_for != c->answers + 1 || c->done || c->excuse != NULL ||
        s->out.end > s->out.read || s->shut || s->out.fin_arrived ||
        c->close_said)
        return;
    int64_t since = c->waiting_us + s->latency_us;
    since = since > s->io_us ? since : s->io_us;
    since = since > s->accepted_us ? since : s->accepted_us;
    /* Answers to pipelined requests are collected: one may wait for the page
     * behind it, and that for Redis. */
    int64_t limit_ms = 100 + s->latency_us / MS;
    for (int i = c->answers; i < c->count; i++)
        limit_ms += c->requests[i].redis ? redis_ms() : 0;
    late(s, "it waits for an answer", since, limit_ms);
}

/* MSG_MORE promises that more follows. */
static void check_held(const struct socket *s)
{
    if (s->out.held > 0 && s->out.end - s->out.held == s->out.arrived &&
        !s->reset)
        fail("client %d: %llu bytes are held back (MSG_MORE), and the server "
             "waits", s->number, (unsigned long long)s->out.held);
}

/* Is one leaving, or is there room? Then a loop closes no other client. */
static bool loop_needs_no_room(void)
{
    for (int i = 0; i < sim.plan.clients; i++)
        if (sim.sockets[i].accepted && !sim.sockets[i].closed &&
            sim.sockets[i].shut)
            return true;
    return rules_open_clients() < sim.plan.max_connections;
}

/* While others wait, an idle client has to go, and after 3 s one that has sent
 * nothing since its handshake; in 06 and 07, when there is no room. */
static void check_room(const struct socket *s, const struct client *c)
{
    bool loop = sim.plan.server->event_loop;
    if ((loop && loop_needs_no_room()) || sim.queue_length == 0 || s->shut ||
        s->reset || (sim.plan.per_connection && !sim.plan.at_capacity) ||
        s->out.end > s->out.arrived || c->excuse != NULL || c->unlogged)
        return;
    int64_t since = sim.queue[0]->queued_us;
    since = since > s->accepted_us ? since : s->accepted_us;
    since = since > s->sent_us ? since : s->sent_us;
    since = since > s->acked_us ? since : s->acked_us;
    int64_t grace_ms = GRACE_MS - (since - s->last_data_us) / MS;
    if (s->in.read == 0 && s->in.arrived == 0)
        late(s, "it has sent nothing, and others wait", since,
             100 + (grace_ms > 0 ? grace_ms : 0));
    else if (c->lines > 0 && (c->lines == c->count ||
             s->in.arrived <= c->requests[c->lines].begin))
        late(s, "it is idle, and others wait", since, 150);
}

static void check_queue(void)
{
    if (sim.queue_length == 0 || !sim.plan.server->event_loop ||
        sim.stop_us != 0)
        return;
    const struct socket *s = sim.queue[0];
    int64_t since = s->queued_us;
    since = since > sim.exhausted_us ? since : sim.exhausted_us;
    since = since > sim.full_us ? since : sim.full_us;
    /* One that has left counts until its replies have come from Redis. */
    bool redis = sim.redis_trouble_us > since;
    if (rules_open_clients() < sim.plan.max_connections)
        late(s, "it waits to be accepted", since, redis ? redis_ms() : 100);
}

/* The server has slept: has it been too long? What it is just about to do does
 * not count. */
static void check_limits(void)
{
    for (int i = 0; i < sim.plan.clients; i++) {
        const struct socket *s = &sim.sockets[i];
        const struct client *c = &sim.clients[i];
        if (!s->accepted || s->closed)
            continue;
        check_deadline(s, c);
        check_starving(s, c);
        check_room(s, c);
    }
    check_queue();
}

/* The server is about to wait. */
void rules_step(void)
{
    if (sim.stop_us != 0 && sim.now_us - sim.stop_us >
        sim.plan.drain_timeout_ms * (int64_t)MS + 2 * SECOND + slack_us())
        fail("the server was told to stop %lld ms ago",
             (long long)(sim.now_us - sim.stop_us) / MS);
}

/* Exchanges that are kept for the next client have small buffers; a client that
 * takes its answer slowly costs one large page. One page is in the making. */
static void check_memory(void)
{
    size_t limit = PAGE_BYTES + (size_t)sim.plan.clients * SPARE_BYTES +
                   (size_t)rules_open_clients() * CLIENT_BYTES;
    if (memory_bytes() > limit)
        fail("the server holds %zu bytes for %d clients", memory_bytes(),
             rules_open_clients());
}

/* It waits: nothing was ready. */
void rules_sleeps(void)
{
    slept = true;
    check_memory();
    for (int i = 0; i < sim.plan.clients; i++)
        if (sim.sockets[i].accepted && !sim.sockets[i].closed)
            check_held(&sim.sockets[i]);
}

/* It has waited. One that returns immediately, again and again, without
 * anything to do, spins. */
void rules_waited(bool timed_out, int64_t timeout_us)
{
    if (slept)
        check_limits();
    slept = false;
    if (progress || (timed_out && timeout_us > 0))
        spins = 0;
    else if (++spins > SPINS_MAX)
        fail("the server spins");
    progress = false;
}
