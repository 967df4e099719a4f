/* router - which page answers a request; see router.h. */
#include "router.h"

#include <stdlib.h>

#include "guestbook.h"
#include "http_response.h"
#include "static_file.h"
#include "text.h"

/* Small pages for load generators, from published comparisons of servers;
 * docs/reference/experiments.md names them. */

static void page_answer(struct http_exchange *x)
{
    response_begin(x, 200);
    response_content(x, SLICE("text/plain"), SLICE("42"));
}

static void page_hello(struct http_exchange *x)
{
    response_begin(x, 200);
    response_content(x, SLICE("text/plain"), SLICE("Hello, World!"));
}

/* 302 to a random picture. */
static void page_redirect(struct http_exchange *x)
{
    const struct site *site = x->context->site;
    struct buffer *location = &x->scratch;
    if (site->picture_count == 0) {
        response_error(x, 404, "There are no pictures to redirect to. Put some "
                               "into public/pictures and restart the server.");
        return;
    }
    uint32_t i = (unsigned)rand_r(&x->context->seed) % site->picture_count;
    buffer_reset(location, HTTP_BATCH_MAX);
    buffer_append_slice(location, SLICE("/pictures/"));
    text_append_percent_encoded(location,
                                slice_of(site->pictures[i]->d_name));
    x->out.failed |= location->failed;
    response_begin(x, 302);
    response_field(x, "Location", buffer_slice(location));
    response_content(x, SLICE("text/plain"), SLICE(""));
}

/* Answers ?value= as XML. */
static void page_echo(struct http_exchange *x)
{
    struct buffer *page = &x->page, *value = &x->scratch;
    buffer_reset(value, HTTP_BATCH_MAX);
    buffer_reset(page, HTTP_BATCH_MAX);
    int found = form_get(x->request.query, SLICE("value"), value);
    const char *tag = found > 0 ? "value" : "error";
    buffer_printf(page, "<http_test><%s>", tag);
    text_append_escaped(page, found > 0 ? buffer_slice(value)
                                        : SLICE("no value specified"));
    buffer_printf(page, "</%s></http_test>", tag);
    page->failed |= value->failed;
    if (found < 0) {
        response_error(x, 400, NULL);
        return;
    }
    response_begin(x, 200);
    response_page(x, SLICE("text/xml; charset=utf-8"));
}

static const struct route {
    const char *path;
    unsigned methods; /* besides OPTIONS */
    void (*answer)(struct http_exchange *x);
} routes[] = {
    {"/answer", HTTP_GET | HTTP_HEAD, page_answer},
    {"/hello", HTTP_GET | HTTP_HEAD, page_hello},
    {"/guestbook", HTTP_GET | HTTP_HEAD | HTTP_POST, guestbook_answer},
    {"/redirect", HTTP_GET | HTTP_HEAD, page_redirect},
    {"/echo", HTTP_GET | HTTP_HEAD, page_echo},
    {NULL, HTTP_GET | HTTP_HEAD, static_file_answer}, /* any other path */
};

int router_decode_path(struct slice raw, char *path, size_t size)
{
    size_t n = 0;
    while (raw.n > 0) {
        int byte = slice_next_decoded(&raw);
        if (byte < 0)
            return 400;
        if (byte == 0 || n + 1 >= size)
            return 404;
        path[n++] = (char)byte;
    }
    path[n] = '\0';
    return 0;
}

/* Answers with the methods that a path takes: 204 to OPTIONS, or 405. */
static void answer_allow(struct http_exchange *x, int status, unsigned methods)
{
    response_begin(x, status);
    response_field(x, "Allow", methods & HTTP_POST
                                   ? SLICE("GET, HEAD, POST, OPTIONS")
                                   : SLICE("GET, HEAD, OPTIONS"));
    if (status == 204)
        response_no_content(x);
    else
        response_error_page(x, NULL);
}

void router_dispatch(struct http_exchange *x)
{
    const enum http_method method = x->request.method;
    const struct route *route = routes;
    int status = method == HTTP_UNKNOWN ? 501 : router_decode_path(
                                  x->request.path, x->path, sizeof x->path);
    if (status != 0) {
        response_error(x, status, NULL);
        return;
    }
    while (route->path != NULL && strcmp(x->path, route->path) != 0)
        route++;
    if (x->path[0] == '*') /* OPTIONS *: the whole server */
        answer_allow(x, 204, HTTP_GET | HTTP_POST);
    else if (method == HTTP_OPTIONS)
        answer_allow(x, 204, route->methods);
    else if (method & route->methods)
        route->answer(x);
    else
        answer_allow(x, 405, route->methods);
}
