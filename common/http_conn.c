/* http_conn - one client's connection as a state machine; see http_conn.h. */
#include "http_conn.h"

#include <stdlib.h>

#include "access_log.h"
#include "http_response.h"
#include "router.h"

/* Every so many requests even a client that never stops pipelining is asked
 * whether others wait. */
enum { YIELD_EVERY = 64 };

/* How long a client that was refused may go on sending before we hang up. */
enum { LINGER_MS = 1000 };

/* `peer` cannot point to const: http_conn_close() frees it. */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
void http_conn_open(struct http_conn *c, struct worker *worker, char *peer)
{
    *c = (struct http_conn){
        .worker = worker, .peer = peer, .state = HTTP_CONN_IDLE};
    stats_add(&worker->stats->connections, 1);
}

static void release_exchange(struct http_conn *c)
{
    worker_give_exchange(c->worker, c->x);
    c->x = NULL;
}

void http_conn_close(struct http_conn *c)
{
    release_exchange(c);
    free(c->peer);
    c->peer = NULL;
    c->state = HTTP_CONN_CLOSING;
}

static bool has_output(const struct http_conn *c)
{
    const struct http_exchange *x = c->x;
    return x != NULL && (x->out_sent < x->out.len || x->rest.left > 0);
}

enum http_want http_conn_want(const struct http_conn *c)
{
    /* An answer that waits for Redis comes first: what has been gathered in
     * front of it is sent together with it. */
    if (c->state == HTTP_CONN_REDIS)
        return HTTP_WANT_REDIS;
    if (has_output(c))
        return HTTP_WANT_WRITE;
    return c->state == HTTP_CONN_CLOSING ? HTTP_WANT_CLOSE : HTTP_WANT_READ;
}

enum http_phase http_conn_phase(const struct http_conn *c)
{
    if (c->state == HTTP_CONN_REDIS)
        return HTTP_PHASE_REDIS;
    if (has_output(c))
        return HTTP_PHASE_WRITE;
    switch ((enum http_conn_state)c->state) {
    case HTTP_CONN_HEAD:
    case HTTP_CONN_BODY:
        return HTTP_PHASE_REQUEST;
    case HTTP_CONN_LINGER:
        return HTTP_PHASE_LINGER;
    case HTTP_CONN_IDLE:
    case HTTP_CONN_REDIS:
    case HTTP_CONN_CLOSING:
        break;
    }
    return c->requests == 0 ? HTTP_PHASE_NEW : HTTP_PHASE_IDLE;
}

/* May the connection be used again after the request that has just been read?
 * Its answer has to say so, hence this is settled before the answer is made. */
static bool may_keep(struct http_conn *c)
{
    struct worker *w = c->worker;
    bool more_read = c->x->in_start < c->x->in_end;
    if (!c->x->request.keep_alive || w->server->options.keep_alive_ms == 0)
        return false;
    if (w->draining && !more_read)
        return false; /* requests that have been read are still answered */
    if (w->must_yield != NULL &&
        (!more_read || (c->requests + 1) % YIELD_EVERY == 0))
        return !w->must_yield(w);
    return true;
}

/* The answer is made: count it, log it, go on to what comes next. */
static void end_exchange(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    c->requests++;
    stats_add(&c->worker->stats->requests, 1);
    if (c->peer != NULL)
        access_log_write(&c->worker->server->log, c->peer, x,
                         c->worker->clock.seconds);
    bool more_read = x->in_start < x->in_end;
    if (x->close) {
        c->state = HTTP_CONN_CLOSING;
        c->linger |= more_read; /* and more may be on its way */
        c->cut_off = x->request.keep_alive;
    } else {
        c->state = more_read ? HTTP_CONN_HEAD : HTTP_CONN_IDLE;
    }
    x->scanned = 0;
}

/* The request cannot be understood, so neither can what follows it. */
static void refuse(struct http_conn *c, int status)
{
    c->x->close = true;
    c->linger = true;
    c->x->in_start = c->x->in_end = 0;
    response_error(c->x, status, NULL);
    end_exchange(c);
}

/* The parser would step over empty lines too, but not before more has come:
 * until then a line end that was left over would pass for the beginning of a
 * request. A CR alone may be one: that is known when the next byte is there. */
static inline void skip_empty_lines(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    while (x->in_start < x->in_end && c->empty_lines < HTTP_EMPTY_LINES_MAX) {
        const char *p = x->in + x->in_start;
        bool has_cr = *p == '\r';
        if (has_cr && x->in_end - x->in_start < 2)
            return;
        if (p[has_cr] != '\n')
            return;
        x->in_start += 1 + has_cr;
        x->scanned = 0;
        c->empty_lines++;
    }
}

/* The request is whole. The page answers it, or asks Redis first. */
static void answer(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    c->empty_lines = 0;
    skip_empty_lines(c);
    x->close = !may_keep(c);
    x->queued = x->sent = x->replied = 0;
    x->status = 0;
    router_dispatch(x);
    if (x->replied < x->queued)
        c->state = HTTP_CONN_REDIS;
    else
        end_exchange(c);
}

/* A begun request moves to the front of the buffer: there, a whole one fits. */
static void move_to_front(struct http_exchange *x)
{
    memmove(x->in, x->in + x->in_start, x->in_end - x->in_start);
    x->in_end -= x->in_start;
    x->in_start = 0;
}

/* A head ends with a line's end, so bytes without one cannot have completed
 * it: no need to parse it again. This keeps a client that sends byte after byte
 * cheap. */
static bool surely_incomplete(struct http_exchange *x)
{
    const char *head = x->in + x->in_start;
    size_t n = x->in_end - x->in_start;
    return x->scanned > 0 && n < HTTP_HEAD_MAX &&
           memchr(head + x->scanned, '\n', n - x->scanned) == NULL;
}

/* Returns whether there was a whole head, and so something was done. */
static bool take_head(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    size_t n = x->in_end - x->in_start;
    bool hopeless = surely_incomplete(x);
    x->scanned = n;
    if (n == 0 || hopeless)
        return false;
    ssize_t length = http_parse_head(x->in + x->in_start, n, &x->request);
    if (length == 0)
        return false;
    if (length < 0) {
        refuse(c, (int)-length);
        return true;
    }
    if (x->request.content_length > HTTP_BODY_MAX) {
        refuse(c, 413);
        return true;
    }
    bool whole = !x->request.chunked &&
                 n - (size_t)length >= x->request.content_length;
    if (!whole && x->in_start > 0) {
        /* The rest needs room behind it. Its slices point to where it was, so
         * it is parsed once more; only pipelined bodies come here. */
        move_to_front(x);
        http_parse_head(x->in, n, &x->request);
    }
    x->in_start += (size_t)length;
    x->body = (struct slice){x->in + x->in_start, 0};
    if (whole && x->request.content_length == 0) {
        answer(c);
        return true;
    }
    x->chunked = (struct http_chunked){0};
    c->state = HTTP_CONN_BODY;
    /* The client waits for our word before it sends the body; when part of it
     * is here already, it does not (RFC 9110, 10.1.1). */
    if (x->request.expect_continue && x->in_start == x->in_end)
        buffer_append_literal(&x->out, "HTTP/1.1 100 Continue\r\n\r\n");
    return true;
}

/* The body lies in the input buffer, from x->body.p on; chunked data is packed
 * there as it comes. Returns whether the body was whole (or wrong). */
static bool take_body(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    size_t have = x->in_end - x->in_start;
    if (!x->request.chunked) {
        if (have < x->request.content_length)
            return false;
        x->body.n = (size_t)x->request.content_length;
        x->in_start += x->body.n;
        answer(c);
        return true;
    }
    char *body = x->in + (x->body.p - x->in);
    size_t consumed, written;
    int status = http_chunked_decode(&x->chunked, body + x->body.n,
                                     x->in + x->in_start, have, &consumed,
                                     &written);
    if (status == 0 && x->body.n + written > HTTP_BODY_MAX)
        status = -413;
    if (status != 0) {
        refuse(c, -status);
        return true;
    }
    x->body.n += written;
    x->in_start += consumed;
    if (x->chunked.state == CHUNK_DONE) {
        answer(c);
        return true;
    }
    /* All is used up: go on reading right behind the data. */
    x->in_start = x->in_end = (size_t)(body - x->in) + x->body.n;
    return false;
}

/* Goes on until the connection wants something from outside. */
static void advance(struct http_conn *c)
{
    for (;;) {
        struct http_exchange *x = c->x;
        switch ((enum http_conn_state)c->state) {
        case HTTP_CONN_IDLE:
        case HTTP_CONN_REDIS:
        case HTTP_CONN_CLOSING:
        case HTTP_CONN_LINGER:
            return;
        case HTTP_CONN_HEAD:
            /* A content that is sent from where it lies, and a full batch,
             * have to go out before the next answer can be made. */
            if (x->rest.left > 0 || x->out.len >= HTTP_BATCH_MAX ||
                !take_head(c))
                return;
            break;
        case HTTP_CONN_BODY:
            if (!take_body(c))
                return;
            break;
        }
    }
}

char *http_conn_input(struct http_conn *c, size_t *room)
{
    if (c->x == NULL) {
        c->x = worker_take_exchange(c->worker);
        if (c->x == NULL)
            return NULL;
    }
    struct http_exchange *x = c->x;
    if (c->state == HTTP_CONN_LINGER) { /* over and over the same room */
        x->in_start = x->in_end = 0;
    } else if (c->state == HTTP_CONN_HEAD && x->in_start > 0) {
        move_to_front(x);
    }
    size_t free_space = HTTP_INPUT_SIZE - x->in_end;
    *room = free_space < HTTP_READ_MAX ? free_space : HTTP_READ_MAX;
    return x->in + x->in_end;
}

void http_conn_received(struct http_conn *c, size_t n)
{
    if (c->state == HTTP_CONN_LINGER)
        return;
    c->x->in_end += n;
    if (c->state == HTTP_CONN_IDLE)
        c->state = HTTP_CONN_HEAD;
    if (c->state == HTTP_CONN_HEAD) {
        skip_empty_lines(c);
        if (c->x->in_start == c->x->in_end) {
            c->state = HTTP_CONN_IDLE;
            release_exchange(c);
            return;
        }
    }
    advance(c);
}

static void give_up(struct http_conn *c)
{
    release_exchange(c);
    c->state = HTTP_CONN_CLOSING;
    c->cut_off = false;
}

void http_conn_eof(struct http_conn *c)
{
    /* Half a request is of no use; whole ones have been answered already. */
    give_up(c);
}

void http_conn_linger(struct http_conn *c)
{
    c->state = HTTP_CONN_LINGER;
    c->cut_off = false;
}

const struct redis_command *http_conn_next_command(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    return x->sent < x->queued ? &x->commands[x->sent++] : NULL;
}

void http_conn_reply(struct http_conn *c, const redisReply *reply)
{
    struct http_exchange *x = c->x;
    x->replied++;
    if (reply == NULL)
        x->queued = x->sent; /* what was not sent yet need not be */
    x->on_reply(x, reply);
    if (x->replied < x->queued)
        return;
    end_exchange(c);
    advance(c);
}

void http_conn_output(const struct http_conn *c, struct http_output *output)
{
    struct http_exchange *x = c->x;
    *output = (struct http_output){.file = -1};
    if (x->out_sent < x->out.len)
        output->iov[output->iov_count++] =
            (struct iovec){x->out.data + x->out_sent, x->out.len - x->out_sent};
    /* What is last goes out with the FIN that follows. */
    output->more = c->state == HTTP_CONN_CLOSING;
    if (x->rest.left == 0)
        return;
    if (x->rest.memory != NULL) {
        /* iov_base has no const, as readv(2) has the same struct. */
        output->iov[output->iov_count++] =
            (struct iovec){(void *)(uintptr_t)x->rest.memory, x->rest.left};
    } else {
        output->more = true;
        output->file = x->rest.file->fd;
        output->offset = x->rest.offset;
        output->count = x->rest.left;
    }
}

bool http_conn_sent(struct http_conn *c, size_t n)
{
    struct http_exchange *x = c->x;
    size_t from_out = x->out.len - x->out_sent;
    if (from_out > n)
        from_out = n;
    x->out_sent += from_out;
    n -= from_out;
    if (n > 0) {
        x->rest.left -= n;
        if (x->rest.memory != NULL)
            x->rest.memory += n;
        else
            x->rest.offset += (off_t)n;
    }
    if (has_output(c))
        return false;

    file_release(x->rest.file);
    x->rest = (struct http_body){0};
    x->out_sent = 0;
    buffer_reset(&x->out, HTTP_BATCH_MAX);
    if (c->state == HTTP_CONN_CLOSING) {
        if (c->linger)
            c->state = HTTP_CONN_LINGER;
        return true;
    }
    if (c->state == HTTP_CONN_IDLE)
        release_exchange(c);
    else
        advance(c); /* the next pipelined request, if it is whole */
    return false;
}

int http_conn_patience(const struct worker *worker, enum http_phase phase)
{
    const struct options *options = &worker->server->options;
    switch (phase) {
    case HTTP_PHASE_IDLE:
        return options->keep_alive_ms;
    case HTTP_PHASE_NEW:
        return HTTP_SILENCE * options->request_timeout_ms;
    case HTTP_PHASE_REQUEST:
    case HTTP_PHASE_WRITE:
        return options->request_timeout_ms;
    case HTTP_PHASE_REDIS:
        return REDIS_TIMEOUT_MS;
    case HTTP_PHASE_LINGER:
    case HTTP_PHASES:
        break;
    }
    return LINGER_MS;
}

void http_conn_timeout(struct http_conn *c)
{
    if (http_conn_phase(c) == HTTP_PHASE_REQUEST) {
        struct http_exchange *x = c->x;
        if (c->state == HTTP_CONN_HEAD) /* for what is known of it so far */
            http_parse_head(x->in + x->in_start, x->in_end - x->in_start,
                            &x->request);
        refuse(c, 408);
        return;
    }
    if (http_conn_want(c) != HTTP_WANT_CLOSE)
        give_up(c);
}
