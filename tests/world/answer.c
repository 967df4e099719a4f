/* answer - what a client receives, byte by byte; see sim.h. */
#include "sim.h"

#include <stdlib.h>

void *__real_realloc(void *p, size_t n);

/* The request that is being answered. */
static const struct request *current(const struct client *c)
{
    return &c->requests[c->answers];
}

static bool has_line(struct client *c, const char *line)
{
    return strstr(c->head, line) != NULL;
}

static void keep(struct client *c, const char *bytes, size_t n)
{
    struct buffer *b = &c->page;
    if (b->len + n + 1 > b->cap) {
        b->cap = 2 * (b->len + n) + 4096;
        b->data = __real_realloc(b->data, b->cap);
    }
    memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

static void end_answer(struct client *c)
{
    sim.answers++;
    rules_answer(c);
    c->statuses[c->answers] = c->status;
    c->sizes[c->answers] = c->body_size;
    c->answers++;
    c->state = IN_HEAD;
    c->head_size = 0;
    c->may_send_body = false;
    client_go_on(c);
}

/* 100 Continue: the body may follow. */
static void interim(struct client *c)
{
    if (c->interim || !current(c)->expects)
        fail("client %d gets 100 Continue and has not asked for it", c->number);
    c->interim = true;
    c->head_size = 0;
    c->may_send_body = true;
    client_go_on(c);
}

static void end_head(struct client *c)
{
    c->head[c->head_size] = '\0';
    if (strncmp(c->head, "HTTP/1.1 ", 9) != 0)
        fail("client %d gets an answer that begins \"%.20s\"", c->number,
             c->head);
    c->status = (int)strtol(c->head + 9, NULL, 10);
    if (c->status == 100) {
        interim(c);
        return;
    }
    if (c->answers >= c->count || c->sent <= current(c)->begin)
        fail("client %d gets an answer (%d) to nothing", c->number, c->status);
    if (c->close_said)
        fail("client %d gets an answer after Connection: close", c->number);
    const char *length = strstr(c->head, "\r\nContent-Length: ");
    bool bodiless = c->status == 204 || c->status == 304;
    if ((length == NULL) != bodiless)
        fail("client %d gets %d %s Content-Length", c->number, c->status,
             bodiless ? "with" : "without");
    c->content_length = length != NULL ? strtoull(length + 18, NULL, 10) : 0;
    c->body_left = current(c)->head ? 0 : c->content_length;
    if (c->status == 408 && c->lines > c->answers) /* was it read to "HEAD"? */
        c->body_left = c->line_sizes[c->answers];
    c->body_size = c->body_left;
    c->close_said = has_line(c, "\r\nConnection: close\r\n");
    c->interim = false;
    c->state = IN_BODY;
    c->page.len = 0;
    if (c->body_left == 0)
        end_answer(c);
}

static void feed_head(struct client *c, char byte)
{
    c->head[c->head_size++] = byte;
    if (c->head_size == sizeof c->head - 1)
        fail("client %d gets a head of %zu bytes", c->number, c->head_size);
    if (byte == '\n' && c->head_size >= 4 &&
        memcmp(c->head + c->head_size - 4, "\r\n\r\n", 4) == 0)
        end_head(c);
}

/* The body of a file need not be in memory: its place in the file is enough. */
static void feed_body(struct client *c, const char *bytes, int file,
                      size_t offset, size_t n)
{
    const struct request *r = current(c);
    size_t at = (size_t)(c->body_size - c->body_left);
    bool is_file = r->body == BODY_FILE && c->status == r->status;
    if (is_file && (file >= 0 ? file != r->file || offset != r->first + at
                              : !site_file_has(r->file, r->first + at, bytes,
                                               n)))
        fail("client %d gets other bytes of %s, at %zu", c->number,
             site_files[r->file].path, at);
    if (!is_file && file >= 0)
        fail("client %d gets a part of %s, which it has not asked for",
             c->number, site_files[file].path);
    if (!is_file)
        keep(c, bytes, n);
    c->body_left -= n;
    if (c->body_left == 0)
        end_answer(c);
}

void answer_feed(struct client *c, const char *bytes, int file, size_t offset,
                 size_t n)
{
    while (n > 0) {
        size_t used = 1;
        if (c->state == IN_HEAD && file >= 0)
            fail("client %d gets a part of %s where an answer must begin",
                 c->number, site_files[file].path);
        if (c->state == IN_HEAD) {
            feed_head(c, *bytes);
        } else {
            used = n < c->body_left ? n : (size_t)c->body_left;
            feed_body(c, bytes, file, offset, used);
        }
        bytes = bytes != NULL ? bytes + used : NULL;
        offset += used;
        n -= used;
    }
}
