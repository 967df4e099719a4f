/* http_conn - one client's connection as a state machine; see http_conn.h. */
#include "http_conn.h"

#include <limits.h>

#include "http_response.h"
#include "router.h"

/* A client may stay silent before its first request this many times as long as
 * a request may take: browsers open connections in advance. */
enum { FIRST_BYTE_FACTOR = 6 };

/* How long a refused client may go on sending before the close. */
enum { LINGER_MS = 1000 };

void http_conn_open(struct http_conn *c, struct http_context *context)
{
    *c = (struct http_conn){.context = context, .state = HTTP_CONN_IDLE};
}

void http_conn_abort(struct http_conn *c)
{
    /* Half a request is useless, and complete ones have been answered. */
    http_exchange_release(&c->x);
    c->state = HTTP_CONN_CLOSING;
}

static bool has_output(const struct http_conn *c)
{
    const struct http_exchange *x = c->x;
    return x != NULL && (x->out_sent < x->out.len || x->body.left > 0);
}

enum http_want http_conn_want(const struct http_conn *c)
{
    /* These two come before output: answers to pipelined requests are collected
     * and sent together. */
    if (c->state == HTTP_CONN_ANSWER)
        return HTTP_WANT_ANSWER;
    if (c->state == HTTP_CONN_REDIS)
        return HTTP_WANT_REDIS;
    if (has_output(c))
        return HTTP_WANT_WRITE;
    return c->state == HTTP_CONN_CLOSING ? HTTP_WANT_CLOSE : HTTP_WANT_READ;
}

enum http_phase http_conn_phase(const struct http_conn *c)
{
    if (c->state == HTTP_CONN_ANSWER || c->state == HTTP_CONN_REDIS ||
        has_output(c))
        return HTTP_PHASE_ANSWER;
    if (c->state == HTTP_CONN_CLOSING || c->state == HTTP_CONN_LINGER)
        return HTTP_PHASE_LINGER; /* not IDLE: --keep-alive may be 0 */
    if (c->state == HTTP_CONN_HEAD || c->state == HTTP_CONN_BODY)
        return HTTP_PHASE_REQUEST;
    return c->requests == 0 ? HTTP_PHASE_NEW : HTTP_PHASE_IDLE;
}

bool http_conn_has_pipelined(const struct http_conn *c)
{
    return c->x->in_start < c->x->in_end;
}

/* Moves a request that has begun to the front of the buffer, where a request
 * of the largest size fits. */
static void move_to_front(struct http_exchange *x)
{
    memmove(x->in, x->in + x->in_start, x->in_end - x->in_start);
    x->in_end -= x->in_start;
    x->in_start = 0;
}

/* The request is malformed or too large, so the start of the next one is
 * unknown: answer with an error, ignore the rest, close. */
static void refuse(struct http_conn *c, int status)
{
    c->x->refused = status;
    c->x->in_start = c->x->in_end = 0;
    c->linger = true;
    c->state = HTTP_CONN_ANSWER;
}

/* The head is complete and `length` bytes long: how is the body framed? */
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
        /* The body needs room behind the head. The request's slices point to
         * the old place, so the head is parsed again; only a pipelined request
         * with a body gets here. */
        move_to_front(x);
        http_parse_head(x->in, n, &x->request);
    }
    x->in_start += length;
    x->request_body = (struct slice){x->in + x->in_start, 0};
    x->chunked = (struct http_chunked){0};
    c->state = HTTP_CONN_BODY;
    /* The client waits for permission to send the body, unless part of it is
     * already here (RFC 9110, 10.1.1). */
    if (r->expect_continue && !complete && x->in_start == x->in_end)
        buffer_append_literal(&x->out, "HTTP/1.1 100 Continue\r\n\r\n");
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

/* Looks for a complete request in what has been read: HEAD, BODY, ANSWER. One
 * without a body passes through BODY in the same call. */
static void advance(struct http_conn *c)
{
    const struct http_exchange *x = c->x;
    /* While part of a file, or HTTP_BATCH_MAX bytes of collected answers, wait
     * to be sent, no further request is begun. */
    if (c->state == HTTP_CONN_HEAD && x->body.left == 0 &&
        x->out.len < HTTP_BATCH_MAX)
        parse_head(c);
    if (c->state == HTTP_CONN_BODY)
        read_body(c);
}

char *http_conn_input(struct http_conn *c, size_t *room)
{
    if (c->x == NULL)
        c->x = http_exchange_acquire(c->context);
    struct http_exchange *x = c->x;
    if (x == NULL)
        return NULL;
    if (c->state == HTTP_CONN_LINGER) /* reuse the same room: it is discarded */
        x->in_start = x->in_end = 0;
    else if (c->state == HTTP_CONN_HEAD && x->in_start > 0)
        move_to_front(x);
    size_t free_space = HTTP_INPUT_SIZE - x->in_end;
    *room = free_space < HTTP_READ_MAX ? free_space : HTTP_READ_MAX;
    return x->in + x->in_end;
}

void http_conn_received(struct http_conn *c, size_t n)
{
    if (c->state == HTTP_CONN_LINGER)
        return; /* discarded */
    if (n > 0 && c->state == HTTP_CONN_IDLE)
        c->state = HTTP_CONN_HEAD;
    c->x->in_end += n;
    if (c->state == HTTP_CONN_IDLE)
        http_exchange_release(&c->x);
    else
        advance(c);
}

/* The answer is complete: decide what follows it. */
static bool end_answer(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    c->requests++;
    x->logged = (struct http_logged){x->request.line, x->status,
                                     x->content_bytes};
    bool pipelined = http_conn_has_pipelined(c);
    c->state = x->close ? HTTP_CONN_CLOSING
               : pipelined ? HTTP_CONN_HEAD : HTTP_CONN_IDLE;
    c->linger |= x->close && pipelined; /* and more may be on its way */
    advance(c);
    return true;
}

bool http_conn_answer(struct http_conn *c, bool may_keep)
{
    struct http_exchange *x = c->x;
    int refused = x->refused;
    x->close = refused != 0 || !may_keep || !x->request.keep_alive;
    x->refused = x->status = 0;
    x->queued = x->sent = x->replied = 0;
    if (refused != 0)
        response_error(x, refused, NULL);
    else
        router_dispatch(x);
    if (x->replied == x->queued)
        return end_answer(c);
    c->state = HTTP_CONN_REDIS;
    return false;
}

const struct redis_command *http_conn_next_command(struct http_conn *c)
{
    struct http_exchange *x = c->x;
    return x->sent < x->queued ? &x->commands[x->sent++] : NULL;
}

bool http_conn_reply(struct http_conn *c, const redisReply *reply)
{
    struct http_exchange *x = c->x;
    x->replied++;
    if (reply == NULL)
        x->queued = x->sent; /* do not send the remaining commands */
    x->on_reply(x, reply);
    return x->replied == x->queued && end_answer(c);
}

void http_conn_output(const struct http_conn *c, struct http_output *output)
{
    const struct http_exchange *x = c->x;
    /* The last piece leaves in one packet with the FIN. */
    bool more = x->body.left > 0 || c->state == HTTP_CONN_CLOSING;
    if (x->out_sent < x->out.len)
        *output = (struct http_output){x->out.data + x->out_sent,
                                       x->out.len - x->out_sent, more, -1, 0};
    else
        *output = (struct http_output){NULL, x->body.left, false,
                                       x->body.file->fd, x->body.offset};
}

bool http_conn_sent(struct http_conn *c, size_t n)
{
    struct http_exchange *x = c->x;
    if (x->out_sent < x->out.len) {
        x->out_sent += n;
    } else {
        x->body.offset += (off_t)n;
        x->body.left -= n;
    }
    if (has_output(c))
        return false;

    file_release(x->body.file);
    x->body = (struct http_body){0};
    x->out_sent = 0;
    buffer_reset(&x->out, HTTP_BATCH_MAX);
    if (c->state == HTTP_CONN_CLOSING) {
        if (c->linger)
            c->state = HTTP_CONN_LINGER;
        return true;
    }
    if (c->state == HTTP_CONN_IDLE)
        http_exchange_release(&c->x);
    else
        advance(c); /* the next pipelined request may be complete */
    return false;
}

int http_phase_timeout_ms(const struct options *options, enum http_phase phase)
{
    switch (phase) {
    case HTTP_PHASE_NEW: return FIRST_BYTE_FACTOR * options->request_timeout_ms;
    case HTTP_PHASE_IDLE: return options->keep_alive_ms;
    case HTTP_PHASE_REQUEST: return options->request_timeout_ms;
    case HTTP_PHASE_LINGER: return LINGER_MS;
    case HTTP_PHASE_ANSWER:
    case HTTP_PHASES: break;
    }
    return INT_MAX;
}

void http_conn_on_timeout(struct http_conn *c)
{
    if (http_conn_phase(c) == HTTP_PHASE_REQUEST)
        refuse(c, 408);
    else
        http_conn_abort(c);
}
