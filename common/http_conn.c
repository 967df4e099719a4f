/* http_conn - one client's connection as a state machine; see
 * http_conn.h. */
#include "http_conn.h"

#include <limits.h>

#include "http_response.h"
#include "page.h"
#include "router.h"

/* A client may stay silent before its first request this many times as long
 * as a request may take: browsers open connections in advance. */
enum { FIRST_BYTE_FACTOR = 6 };

/* How long a client that still sends is given to read the last answer and
 * to close: after close(2), what it sends makes the kernel send RST, and
 * some systems then throw away what they have received and not read. */
enum { LINGER_MS = 1000 };

/* How often to look how much of an answer a slow client has taken. */
enum { LOOK_MS = 1000 };

void http_conn_open(struct http_conn *c, struct http_context *context)
{
    *c = (struct http_conn){.context = context, .state = HTTP_CONN_IDLE};
}

void http_conn_abort(struct http_conn *c)
{
    /* Whatever is unfinished is dropped. */
    http_exchange_release(&c->x);
    c->state = HTTP_CONN_OVER;
}

void http_conn_finish(struct http_conn *c)
{
    http_exchange_release(&c->x);
    c->linger = true;
    c->state = HTTP_CONN_CLOSING;
}

static bool has_output(const struct http_conn *c)
{
    const struct http_exchange *x = c->x;
    return x != NULL && (x->out_sent < x->out.len || x->file_part.left > 0);
}

enum http_phase http_conn_phase(const struct http_conn *c)
{
    /* "100 Continue" is part of a request: it does not stop the clock of
     * the body that the client then sends. */
    if (has_output(c) && !c->x->only_continue)
        return HTTP_PHASE_DELIVER;
    switch ((enum http_conn_state)c->state) {
    case HTTP_CONN_ANSWER:
    case HTTP_CONN_REDIS: return HTTP_PHASE_DELIVER;
    case HTTP_CONN_HEAD:
    case HTTP_CONN_BODY: return HTTP_PHASE_REQUEST;
    case HTTP_CONN_CLOSING:
    case HTTP_CONN_LINGER:
    case HTTP_CONN_OVER: return HTTP_PHASE_LINGER;
    case HTTP_CONN_IDLE:
    case HTTP_CONN_NEXT: break;
    }
    return c->requests == 0 ? HTTP_PHASE_NEW : HTTP_PHASE_IDLE;
}

bool http_conn_has_pipelined(const struct http_conn *c)
{
    return c->x->in_start < c->x->in_end;
}

/* The request is malformed or too large, so the start of the next one is
 * unknown: answer with an error, ignore the rest, close. */
static void refuse(struct http_conn *c, int status)
{
    c->x->refused = status;
    c->x->in_start = c->x->in_end = 0;
    c->still_sending = true;
    c->state = HTTP_CONN_ANSWER;
}

/* The head is complete and `length` bytes long. Finds out how the body is
 * framed. */
static void begin_body(struct http_conn *c, size_t length)
{
    struct http_exchange *x = c->x;
    const struct http_request *r = &x->request;
    size_t n = x->in_end - x->in_start;
    if (r->content_length > HTTP_BODY_MAX) {
        refuse(c, 413);
        return;
    }
    bool complete = !r->chunked && n - length >= r->content_length;
    if (!complete && x->in_start > 0) {
        /* The body needs space behind the head. The request's slices point
         * to the old place, so the head is parsed again; only a pipelined
         * request with a body gets here. */
        http_exchange_compact(x);
        http_parse_head(x->in, n, &x->request);
    }
    x->in_start += length;
    x->request_body = (struct slice){x->in + x->in_start, 0};
    x->chunked = (struct http_chunked){0};
    c->state = HTTP_CONN_BODY;
    /* The client waits for permission to send the body, unless part of it
     * is already here (RFC 9110, 10.1.1). */
    if (r->expect_continue && !complete && x->in_start == x->in_end) {
        x->only_continue = !has_output(c);
        buffer_append_literal(&x->out, "HTTP/1.1 100 Continue\r\n\r\n");
    }
}

static void parse_head(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    ssize_t length = http_parse_head(x->in + x->in_start,
                                     x->in_end - x->in_start, &x->request);
    if (length < 0)
        refuse(c, (int)-length);
    else if (length > 0)
        begin_body(c, (size_t)length);
}

/* Chunked data is packed into request_body as it arrives. */
static void decode_chunks(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    /* request_body.p, where this module may write: slices are const. */
    char *body = x->in + (x->request_body.p - x->in);
    size_t consumed, written;
    int status = http_chunked_decode(&x->chunked, body + x->request_body.n,
                                     x->in + x->in_start,
                                     x->in_end - x->in_start, &consumed,
                                     &written);
    if (status == 0 && x->request_body.n + written > HTTP_BODY_MAX)
        status = -413;
    if (status != 0) {
        refuse(c, -status);
        return;
    }
    x->request_body.n += written;
    x->in_start += consumed;
    if (x->chunked.state == CHUNK_DONE)
        c->state = HTTP_CONN_ANSWER;
    else /* the framing is used up: read on right behind the data */
        x->in_start = x->in_end = (size_t)(body - x->in) + x->request_body.n;
}

static void read_body(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    if (x->request.chunked) {
        decode_chunks(c);
    } else if (x->in_end - x->in_start >= x->request.content_length) {
        x->request_body.n = (size_t)x->request.content_length;
        x->in_start += x->request_body.n;
        c->state = HTTP_CONN_ANSWER;
    }
}

/* Looks for a complete request in what has been read: IDLE, HEAD, BODY,
 * ANSWER. One without a body passes through BODY in the same call. A client
 * that is idle, with nothing read and nothing to send, gives its exchange
 * back. */
static void advance(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    /* Empty lines before a request are skipped here. */
    if (c->state == HTTP_CONN_IDLE && http_exchange_find_request(x))
        c->state = HTTP_CONN_HEAD;
    /* While part of a file, or HTTP_BATCH_MAX bytes of collected answers,
     * wait to be sent, no further request is begun. */
    if (c->state == HTTP_CONN_HEAD && x->file_part.left == 0 &&
        x->out.len < HTTP_BATCH_MAX)
        parse_head(c);
    if (c->state == HTTP_CONN_BODY)
        read_body(c);
    /* An idle client needs no buffer. (A CR may wait for its LF.) */
    if (c->state == HTTP_CONN_IDLE && !has_output(c) &&
        x->in_start == x->in_end)
        http_exchange_release(&c->x);
}

enum http_want http_conn_want(struct http_conn *c)
{
    if (c->state == HTTP_CONN_NEXT) {
        c->state = HTTP_CONN_IDLE;
        if (http_conn_has_pipelined(c))
            advance(c);
    }
    switch ((enum http_conn_state)c->state) {
    /* In ANSWER and REDIS, output of earlier requests waits: the answers to
     * pipelined requests are collected and sent together. */
    case HTTP_CONN_ANSWER: return HTTP_WANT_ANSWER;
    case HTTP_CONN_REDIS: return HTTP_WANT_REDIS;
    case HTTP_CONN_LINGER: return HTTP_WANT_LINGER;
    case HTTP_CONN_OVER: return HTTP_WANT_CLOSE;
    case HTTP_CONN_IDLE:
    case HTTP_CONN_HEAD:
    case HTTP_CONN_BODY:
    case HTTP_CONN_NEXT:
    case HTTP_CONN_CLOSING: break;
    }
    if (has_output(c))
        return HTTP_WANT_WRITE;
    if (c->state == HTTP_CONN_CLOSING)
        return HTTP_WANT_FIN;
    return HTTP_WANT_READ;
}

char *http_conn_input(struct http_conn *c, size_t *space)
{
    if (c->x == NULL)
        c->x = http_exchange_acquire(c->context);
    struct http_exchange *x = c->x;
    if (x == NULL)
        return NULL;
    /* In BODY the parsed request points into the input. */
    if (c->state != HTTP_CONN_BODY && x->in_start > 0)
        http_exchange_compact(x);
    *space = HTTP_INPUT_SIZE - x->in_end;
    if (*space > HTTP_READ_MAX)
        *space = HTTP_READ_MAX;
    return x->in + x->in_end;
}

void http_conn_received(struct http_conn *c, size_t n)
{
    /* On a new connection the first byte starts the clock, whatever it
     * is. */
    if (n > 0 && c->state == HTTP_CONN_IDLE && c->requests == 0)
        c->state = HTTP_CONN_HEAD;
    c->x->in_end += n;
    advance(c);
}

/* Returns false while the page waits for Redis; true when the answer is
 * complete and its log entry is made. http_conn_want() looks for the next
 * request, not this function: the caller needs the log entry first, and its
 * line is a slice of the input. */
static bool answer_or_wait(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    if (x->replied < x->asked) {
        c->state = HTTP_CONN_REDIS;
        return false;
    }
    c->requests++;
    x->logged = (struct http_logged){x->request.line, x->status,
                                     x->content_bytes, x->fault};
    c->state = x->close ? HTTP_CONN_CLOSING : HTTP_CONN_NEXT;
    /* For when it is closed. A client that has announced its last request
     * sends no other. (Old ones send an empty line behind the body of a form:
     * RFC 9112, 2.2.) */
    c->linger = c->still_sending || x->request.keep_alive ||
                x->request.content_length > 0 || http_conn_has_pipelined(c);
    if (x->out.len > HTTP_BATCH_MAX) /* a large page: keep one copy of it */
        http_exchange_shrink(x);
    return true;
}

bool http_conn_answer(struct http_conn *c, bool may_keep)
{
    struct http_exchange *x = c->x;
    int refused = x->refused;
    x->close = refused != 0 || !may_keep || !x->request.keep_alive;
    x->refused = x->status = 0;
    x->fault = NULL;
    x->only_continue = false;
    x->asked = x->taken = x->replied = 0;
    if (refused != 0)
        response_error(x, refused, NULL);
    else
        router_dispatch(x);
    return answer_or_wait(c);
}

const struct redis_command *http_conn_next_command(struct http_conn *c)
{
    return page_next_command(c->x);
}

bool http_conn_reply(struct http_conn *c, const struct redisReply *reply)
{
    page_reply(c->x, reply);
    return answer_or_wait(c);
}

void http_conn_output(const struct http_conn *c, struct http_output *output)
{
    const struct http_exchange *x = c->x;
    /* The end of an answer from memory leaves in one packet with the
     * FIN. */
    bool more = x->file_part.left > 0 || c->state == HTTP_CONN_CLOSING;
    /* First what is in memory, such as the head of the file's answer. */
    if (x->out_sent < x->out.len)
        *output = (struct http_output){x->out.data + x->out_sent,
                                       x->out.len - x->out_sent, more, -1, 0};
    else
        *output = (struct http_output){NULL, x->file_part.left, false,
                                       x->file_part.file->fd,
                                       x->file_part.offset};
}

void http_conn_sent(struct http_conn *c, size_t n)
{
    struct http_exchange *x = c->x;
    if (x->out_sent < x->out.len) {
        x->out_sent += n;
    } else {
        x->file_part.offset += (off_t)n;
        x->file_part.left -= n;
    }
    if (has_output(c))
        return;

    file_release(x->file_part.file);
    x->file_part = (struct http_file_part){0};
    x->out_sent = 0;
    x->only_continue = false;
    /* Keeps room for one batch. (In the pool, every buffer keeps at most
     * HTTP_KEEP_BUFFER.) */
    buffer_reset(&x->out, HTTP_BATCH_MAX);
    /* The next pipelined request may be complete. Mostly there is none, and
     * the client, which is idle now, gives its exchange back. */
    if (c->state != HTTP_CONN_CLOSING)
        advance(c);
}

void http_conn_fin_sent(struct http_conn *c)
{
    http_exchange_release(&c->x);
    c->state = c->linger ? HTTP_CONN_LINGER : HTTP_CONN_OVER;
}

void http_conn_lingered(struct http_conn *c, bool discarded,
                        enum http_delivery delivery)
{
    if (discarded)
        c->still_sending = true;
    else if (delivery == HTTP_DELIVERED && !c->still_sending)
        c->state = HTTP_CONN_OVER;
}

int http_phase_timeout_ms(const struct site *site, enum http_phase phase)
{
    switch (phase) {
    case HTTP_PHASE_NEW: return FIRST_BYTE_FACTOR * site->request_timeout_ms;
    case HTTP_PHASE_IDLE: return site->keep_alive_ms;
    case HTTP_PHASE_REQUEST: return site->request_timeout_ms;
    case HTTP_PHASE_DELIVER: return LOOK_MS;
    case HTTP_PHASE_LINGER: return LINGER_MS;
    case HTTP_PHASES: break;
    }
    return INT_MAX;
}

void http_conn_on_timeout(struct http_conn *c, enum http_delivery delivery)
{
    struct http_exchange *x = c->x;
    switch (http_conn_phase(c)) {
    case HTTP_PHASE_REQUEST:
        /* The input may have moved since it was parsed, and the log needs
         * what there is of the request line. */
        if (c->state == HTTP_CONN_HEAD)
            http_parse_head(x->in + x->in_start, x->in_end - x->in_start,
                            &x->request);
        refuse(c, 408);
        break;
    case HTTP_PHASE_LINGER:
        if (delivery != HTTP_UNDER_WAY)
            c->state = HTTP_CONN_OVER;
        break;
    case HTTP_PHASE_DELIVER:
        if (delivery == HTTP_STALLED && has_output(c) &&
            c->state != HTTP_CONN_REDIS)
            http_conn_abort(c);
        break;
    case HTTP_PHASE_NEW:
    case HTTP_PHASE_IDLE:
        http_conn_finish(c);
        break;
    case HTTP_PHASES: break;
    }
}
