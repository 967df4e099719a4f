/* parse_http_parser - joyent/http-parser (Node.js before version 12, and many
 * others), asked as parse.h wants it. Debian: libhttp-parser-dev. */

/* Theirs, in /usr/include: ours, in common/, has the same name. */
#include <../include/http_parser.h>

#include "parse.h"

struct state {
    struct verdict *verdict;
    struct buffer target;
    bool whole;
};

static int on_url(http_parser *parser, const char *at, size_t n)
{
    struct state *state = parser->data;
    buffer_append(&state->target, at, n);
    return 0;
}

static int on_body(http_parser *parser, const char *at, size_t n)
{
    struct state *state = parser->data;
    buffer_append(&state->verdict->body, at, n);
    return 0;
}

static int on_message_complete(http_parser *parser)
{
    struct state *state = parser->data;
    state->whole = true;
    state->verdict->keep_alive = http_should_keep_alive(parser) != 0;
    http_parser_pause(parser, 1); /* one request is enough */
    return 0;
}

void parse(struct slice bytes, struct verdict *v)
{
    static struct buffer target; /* read by the caller before the next call */
    http_parser_settings settings;
    http_parser parser;
    buffer_reset(&target, SIZE_MAX);
    struct state state = {.verdict = v, .target = target};
    http_parser_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_body = on_body;
    settings.on_message_complete = on_message_complete;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = &state;

    v->used = http_parser_execute(&parser, &settings, bytes.p, bytes.n);
    target = state.target;
    enum http_errno error = HTTP_PARSER_ERRNO(&parser);
    if (state.whole) {
        v->method = slice_of(http_method_str((enum http_method)parser.method));
        v->target = (struct slice){target.data, target.len};
        v->minor_version = parser.http_minor > 0; /* 1.7 is to be read as 1.1 */
    } else if (error != HPE_OK) {
        v->outcome = PARSE_WRONG;
        v->reason = http_errno_name(error);
    } else {
        v->outcome = PARSE_HALF;
    }
}
