/* parse_ours - common/http_parser, asked as parse.h wants it. */
#include <stdio.h>

#include "http_chunked.h"
#include "parse.h"

static void refuse(struct verdict *v, int status)
{
    static char reason[16];
    snprintf(reason, sizeof reason, "%d", -status);
    v->outcome = PARSE_WRONG;
    v->reason = reason;
}

/* Takes the body behind a head, as http_conn does. */
static void take_body(struct slice rest, const struct http_request *request,
                      struct verdict *v)
{
    if (request->content_length > HTTP_BODY_MAX) {
        refuse(v, -413);
        return;
    }
    if (!request->chunked) {
        if (rest.n < request->content_length) {
            v->outcome = PARSE_HALF;
            return;
        }
        buffer_append(&v->body, rest.p, (size_t)request->content_length);
        v->used += (size_t)request->content_length;
        return;
    }
    struct http_chunked decoder = {0};
    size_t consumed, written;
    char *room = buffer_reserve(&v->body, rest.n + 1);
    int status = room == NULL ? -503
                              : http_chunked_decode(&decoder, room, rest.p,
                                                    rest.n, &consumed,
                                                    &written);
    if (status == 0 && written > HTTP_BODY_MAX)
        status = -413;
    if (status != 0) {
        refuse(v, status);
    } else if (decoder.state != CHUNK_DONE) {
        v->outcome = PARSE_HALF;
    } else {
        v->body.len = written;
        v->used += consumed;
    }
}

void parse(struct slice bytes, struct verdict *v)
{
    struct http_request request;
    ssize_t length = http_parse_head(bytes.p, bytes.n, &request);
    if (length < 0) {
        refuse(v, (int)length);
        return;
    }
    if (length == 0) {
        v->outcome = PARSE_HALF;
        return;
    }
    struct slice line = request.line;
    const char *space = memchr(line.p, ' ', line.n);
    v->method = (struct slice){line.p, (size_t)(space - line.p)};
    v->target = (struct slice){space + 1, line.n - v->method.n - 10};
    v->minor_version = request.minor_version;
    v->keep_alive = request.keep_alive;
    v->used = (size_t)length;
    take_body((struct slice){bytes.p + length, bytes.n - (size_t)length},
              &request, v);
}
