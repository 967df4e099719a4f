/* rules - what must hold: answers, log, ends of connections; see sim.h. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINGER_MS = 1000, FIRST_BYTE_FACTOR = 6, GRACE_MS = 3000 };
enum { LINE_MAX_SHOWN = 960 }; /* access_log.c cuts longer ones */

/* ---------------------------------------------------------- what goes wrong */

/* Something was injected: clients that are connected now may suffer. */
void rules_fault(const char *excuse)
{
    trace("fault     %s", excuse);
    for (int i = 0; i < sim.plan.clients; i++) {
        struct client *c = &sim.clients[i];
        const struct socket *s = c->socket;
        if ((s->queued || s->accepted) && !s->closed &&
            c->excuse == NULL)
            c->excuse = excuse;
    }
    redis_sim_trouble();
}

static bool drain_expired(void)
{
    return sim.stop_us != 0 && sim.now_us - sim.stop_us >=
                                   sim.plan.drain_timeout_ms * (int64_t)MS;
}

/* ----------------------------------------------------------- a whole answer */

/* "[12]<li>remark101 x - Ada</li>\n...": the newest first, none left out. */
static void check_guestbook(const struct client *c)
{
    const char *p = c->page.data, *end = p + c->page.len, *from, *to;
    char *rest;
    long visits = p != NULL && *p == '[' ? strtol(p + 1, &rest, 10) : 0;
    if (visits < 1 || visits > redis_sim_visits() || *rest != ']')
        fail("client %d gets a guestbook that begins \"%.20s\"", c->number,
             p != NULL ? p : "");
    int newest = redis_sim_remarks() - 1, shown = 0;
    for (p = rest + 1; p < end; p = to + 6, shown++) {
        from = p + 4;
        to = memmem(p, (size_t)(end - p), "</li>\n", 6);
        if (to == NULL || memcmp(p, "<li>", 4) != 0)
            fail("client %d gets a malformed list of remarks", c->number);
        while (shown == 0 && newest >= 0 &&
               !redis_sim_is_remark(newest, from, (size_t)(to - from)))
            newest--;
        if (!redis_sim_is_remark(newest - shown, from, (size_t)(to - from)))
            fail("client %d gets remark %d of the list where it must not be: "
                 "%.20s", c->number, shown, from);
    }
    if (shown == 0 && sim.plan.preloaded > 0)
        fail("client %d gets a guestbook without remarks", c->number);
    if (shown > 0 && shown < 100 && newest - shown >= 0)
        fail("client %d gets %d remarks of %d", c->number, shown, newest + 1);
}

static void check_body(const struct client *c, const struct request *r)
{
    bool counted = r->body == BODY_FILE || r->body == BODY_TEXT;
    if (counted && c->content_length != r->length)
        fail("client %d gets Content-Length %llu, not %zu", c->number,
             (unsigned long long)c->content_length, r->length);
    if (r->head)
        return;
    if (r->body == BODY_TEXT &&
        (r->length > 0 && memcmp(c->page.data, r->text, r->length) != 0))
        fail("client %d gets the wrong page: %.60s", c->number, c->page.data);
    if (r->body == BODY_GUESTBOOK && !sim.redis_lied)
        check_guestbook(c);
    if (r->status == 303 && r->remark != 0 && !sim.redis_lied &&
        redis_sim_times(r->remark) != 1)
        fail("client %d is thanked for a remark that is in Redis %d times",
             c->number, redis_sim_times(r->remark));
}

/* The server may have counted one failure more than redis_sim.c: then its
 * back-off is twice as long. */
enum { UNCOUNTED_MS = 50 };

/* A 503 needs a reason. */
static bool may_be_short(const struct client *c, const struct request *r)
{
    if (c->excuse != NULL)
        return true;
    if (!r->redis)
        return false;
    if (drain_expired())
        return true;
    int64_t until_us = sim.redis_trouble_us + UNCOUNTED_MS * (int64_t)MS;
    return sim.plan.no_redis || sim.plan.call_cost_us > 20 ||
           sim.redis_lied || until_us >= c->begun_us[c->answers];
}

/* 408: has the client really been too slow? */
static bool was_too_slow(const struct client *c)
{
    int i = c->answers;
    int64_t whole = c->whole_us[i] == 0 ? sim.now_us : c->whole_us[i];
    return whole - c->begun_us[i] + c->socket->latency_us >=
           sim.plan.request_timeout_ms * (int64_t)MS - rules_early_us();
}

/* Why may the server say that it closes? NULL: no reason. */
static const char *reason_to_close(const struct client *c,
                                   const struct request *r)
{
    if (r->last || r->refused || c->status == 408)
        return "the request";
    if (sim.plan.keep_alive_ms == 0 || sim.stop_us != 0)
        return "the server's options, or its end";
    if (!sim.plan.server->event_loop)
        return "others may wait";
    return c->excuse;
}

void rules_answer(struct client *c)
{
    const struct request *r = &c->requests[c->answers];
    trace("client %d  has answer %d: %d, %llu bytes%s", c->number,
          c->answers + 1, c->status, (unsigned long long)c->body_size,
          c->close_said ? ", close" : "");
    if (c->status == r->status)
        check_body(c, r);
    else if (c->status == 503 && may_be_short(c, r))
        ;
    else if (c->status == 403 && c->excuse != NULL)
        ;
    else if (c->status != 408 || !was_too_slow(c))
        fail("client %d gets %d, not %d", c->number, c->status, r->status);
    if (c->close_said && reason_to_close(c, r) == NULL)
        fail("client %d is told Connection: close without a reason", c->number);
    if (!c->close_said && (r->last || r->refused || c->status == 408 ||
                           c->may_be_last[c->answers] ||
                           sim.plan.keep_alive_ms == 0))
        fail("client %d is not told Connection: close", c->number);
}

/* ------------------------------------------------------------------ the log */

/* Compares a request line of the log with what the client sent. */
static bool is_line_of(const struct client *c, const struct request *r,
                       const char *logged, size_t n)
{
    const char *line = c->script + r->begin;
    size_t shown = r->line < LINE_MAX_SHOWN ? r->line : LINE_MAX_SHOWN;
    bool cut = n >= 3 && memcmp(logged + n - 3, "...", 3) == 0;
    if (n == 1 && logged[0] == '-') /* none could be read */
        return r->refused || c->socket->in.read < r->begin + r->line + 2;
    if (cut ? n - 3 != shown : n != r->line)
        return false;
    return memcmp(line, logged, cut ? shown : n) == 0;
}

void rules_log(const char *text, size_t size)
{
    char line[2048];
    size_t n = size < sizeof line ? size : sizeof line - 1;
    memcpy(line, text, n);
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    trace("log       %s", line);
    sim.lines++;
    int number = (int)strtol(line + strlen("client"), NULL, 10);
    struct client *c = &sim.clients[number];
    const char *from = strchr(line, '"'), *to = strrchr(line, '"');
    if (strncmp(line, "client", 6) != 0 || number >= sim.plan.clients ||
        to == from)
        fail("a malformed line in the log: %s", line);
    if (c->unlogged)
        return;
    if (c->lines == c->count)
        fail("the log has an answer that client %d has not asked for", number);
    const struct request *r = &c->requests[c->lines];
    if (!is_line_of(c, r, from + 1, (size_t)(to - from) - 1))
        fail("the log names another request than client %d's: %s, not %.*s",
             number, from, (int)r->line, c->script + r->begin);
    char *rest;
    c->may_be_last[c->lines] =
        sim.stop_us != 0 && sim.now_us - sim.stop_us > 10 * MS &&
        sim.plan.call_cost_us <= 20 && c->socket->in.read <= r->end &&
        !r->redis; /* it decides before it asks Redis */
    c->line_statuses[c->lines] = (int)strtol(to + 1, &rest, 10);
    c->line_sizes[c->lines] = strtoull(rest, NULL, 10);
    /* A 303 only needs the first of its replies: the second may have failed. */
    if (r->redis && c->line_statuses[c->lines] == r->status &&
        r->status != 303)
        redis_sim_is_well();
    c->lines++;
}

/* Each answer has its line; each line's answer has reached the client. */
static void compare_log(const struct client *c)
{
    if (c->unlogged)
        return;
    for (int i = 0; i < c->answers && i < c->lines; i++)
        if (c->statuses[i] != c->line_statuses[i] ||
            c->sizes[i] != c->line_sizes[i])
            fail("the log has %d and %llu bytes for an answer of %d and %llu "
                 "bytes to client %d", c->line_statuses[i],
                 (unsigned long long)c->line_sizes[i], c->statuses[i],
                 (unsigned long long)c->sizes[i], c->number);
    if (c->lines < c->answers)
        fail("the log has %d lines for the %d answers that client %d got",
             c->lines, c->answers, c->number);
    if (c->lines > c->answers && c->left == NULL && c->excuse == NULL)
        fail("the log has %d answers to client %d, which got %d of them",
             c->lines, c->number, c->answers);
}

/* ------------------------------------------------------ ends of connections */

/* The request that the server works on, or that comes next; NULL: none. */
static const struct request *next_request(const struct client *c)
{
    return c->lines < c->count ? &c->requests[c->lines] : NULL;
}

/* Has its client left while the server waited for Redis? It counts until the
 * replies have come. */
static bool is_due(const struct socket *s, const struct client *c)
{
    const struct request *r = next_request(c);
    return s->closed && r != NULL && r->redis && s->in.read >= r->end;
}

int rules_open_clients(void)
{
    int n = 0;
    for (int i = 0; i < sim.plan.clients; i++) {
        const struct socket *s = &sim.sockets[i];
        n += s->accepted && (!s->closed || is_due(s, &sim.clients[i]));
    }
    return n;
}

/* How many of those that have left may count, too: without its lines in the log
 * it is not known how far the server has come with a client. */
static int perhaps_due(void)
{
    int n = 0;
    for (int i = 0; i < sim.plan.clients; i++) {
        const struct socket *s = &sim.sockets[i];
        const struct client *c = &sim.clients[i];
        bool asked = false;
        for (int r = 0; r < c->count; r++)
            asked |= c->requests[r].redis && s->in.read >= c->requests[r].end;
        n += s->accepted && s->closed && c->unlogged && asked && !is_due(s, c);
    }
    return n;
}

/* Why may the server close a client between two requests? NULL: no reason. */
static const char *reason_to_drop(const struct socket *s)
{
    const struct client *c = &sim.clients[s->number];
    const struct request *r = next_request(c);
    int64_t silent = sim.now_us - s->sent_us;
    int64_t tick = rules_early_us();
    if (s->reset || (s->in.fin_arrived && (r == NULL || s->in.end < r->end)))
        return "the client has gone";
    if (sim.stop_us != 0)
        return "the server stops";
    if (c->lines > 0 && silent + tick >= sim.plan.keep_alive_ms * (int64_t)MS)
        return "--keep-alive";
    if (c->lines == 0 && sim.now_us - s->accepted_us + tick >=
        FIRST_BYTE_FACTOR * sim.plan.request_timeout_ms * (int64_t)MS)
        return "no request";
    bool full = rules_open_clients() + perhaps_due() >=
                    sim.plan.max_connections &&
                sim.queue_length > 0;
    bool short_of = sim.exhausted_us > 0 &&
                    sim.now_us - sim.exhausted_us < 20 * MS;
    bool past_grace = sim.now_us - s->last_data_us >= (GRACE_MS - 60) *
                                                      (int64_t)MS;
    if (sim.plan.server->event_loop && (full || short_of) &&
        (c->lines > 0 || (past_grace && s->in.arrived == 0)))
        return "room for another client";
    if (!sim.plan.server->event_loop && sim.queue_length > 0 &&
        (c->lines > 0 || past_grace))
        return "others wait";
    return c->excuse;
}

/* Has the server told the client in its last answer that it closes? */
static bool has_said_close(const struct socket *s)
{
    static const char field[] = "\r\nConnection: close\r\n";
    return s->out.size > 0 && memmem(s->out.bytes, s->out.size, field,
                                     sizeof field - 1) != NULL;
}

/* A client that announces its last request and sends more all the same may lose
 * the answer: the server does not wait for what must not come. */
static bool breaks_its_word(const struct client *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->requests[i].last && c->sent > c->requests[i].end)
            return true;
    return false;
}

/* The descriptor goes: after --drain-timeout, or after time to read the rest,
 * the client may lose something. */
void rules_closed(struct socket *s)
{
    struct client *c = &sim.clients[s->number];
    if (s->peer == PEER_REDIS)
        return;
    if (rules_open_clients() >= sim.plan.max_connections)
        sim.full_us = sim.now_us;
    if (c->excuse != NULL)
        return;
    if (drain_expired())
        c->excuse = "--drain-timeout";
    if (s->shut && sim.now_us - s->shut_us >= (LINGER_MS - 10) * MS)
        c->excuse = "it was given time to read";
}

void rules_close(struct socket *s)
{
    if (s->peer == PEER_REDIS)
        return;
    struct client *c = &sim.clients[s->number];
    const struct request *r = next_request(c);
    if (drain_expired() && c->excuse == NULL)
        c->excuse = "--drain-timeout";
    if (c->excuse != NULL || c->unlogged || s->reset || has_said_close(s))
        return;
    bool begun = r != NULL && s->in.read > r->begin;
    bool whole = r != NULL && s->in.arrived >= r->end;
    if (begun && (whole || !s->in.fin_arrived))
        fail("client %d is closed in the middle of request %d", s->number,
             c->lines + 1);
    const char *reason = reason_to_drop(s);
    if (reason == NULL)
        fail("client %d is closed without a reason", s->number);
    trace("          because: %s", reason);
}

/* The client's side of the connection is over. */
void rules_end(struct client *c)
{
    if (breaks_its_word(c) && c->excuse == NULL)
        c->excuse = "it sends more than it has announced";
    if (c->left != NULL || c->excuse != NULL)
        return;
    if (c->state == IN_BODY || c->head_size > 0)
        fail("client %d gets only %llu of %llu bytes of answer %d%s", c->number,
             (unsigned long long)(c->body_size - c->body_left),
             (unsigned long long)c->body_size, c->answers + 1,
             c->was_reset ? ", and RST" : "");
}

/* ------------------------------------------------------------------ the end */

static void check_remarks(const struct client *c)
{
    for (int i = 0; i < c->count; i++) {
        const struct request *r = &c->requests[i];
        if (r->remark == 0)
            continue;
        int times = redis_sim_times(r->remark);
        if (times > 1)
            fail("remark %d is in Redis %d times", r->remark, times);
        if (times == 0 && i < c->answers && c->statuses[i] == 303 &&
            !sim.redis_lied)
            fail("remark %d was acknowledged and is not in Redis", r->remark);
    }
}

void rules_over(int status)
{
    trace("the server ends with status %d", status);
    if (status != 0 || sim.stop_us == 0)
        fail("the server ends with status %d%s", status,
             sim.stop_us == 0 ? " although nothing told it to" : "");
    for (int fd = FIRST_FD; fd < FDS_MAX; fd++)
        if (sim.fds[fd].kind == FD_SOCKET || sim.fds[fd].kind == FD_FILE)
            fail("descriptor %d is still open at the end: %s", fd,
                 sim.fds[fd].kind == FD_FILE ? "a file"
                 : sim.fds[fd].socket->peer == PEER_REDIS ? "Redis"
                                                          : "a client");
    if (memory_blocks() > 0)
        fail("%d blocks of memory, %zu bytes, are left at the end",
             memory_blocks(), memory_bytes());
    time_drain();
    for (int i = 0; i < sim.plan.clients; i++) {
        if (!sim.clients[i].done && sim.sockets[i].accepted)
            fail("client %d waits for ever, and the server has ended", i);
        compare_log(&sim.clients[i]);
        check_remarks(&sim.clients[i]);
    }
}
