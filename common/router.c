/* router - which page answers a request; see router.h. */
#include "router.h"

#include "endpoints.h"
#include "guestbook.h"
#include "http_response.h"
#include "static_file.h"

static const struct route {
    const char *path;
    unsigned methods; /* besides OPTIONS */
    void (*answer)(struct http_exchange *x);
} routes[] = {
    {"/answer", HTTP_GET | HTTP_HEAD, endpoint_answer},
    {"/hello", HTTP_GET | HTTP_HEAD, endpoint_hello},
    {"/guestbook", HTTP_GET | HTTP_HEAD | HTTP_POST, guestbook_answer},
    {"/redirect", HTTP_GET | HTTP_HEAD, endpoint_redirect},
    {"/echo", HTTP_GET | HTTP_HEAD, endpoint_echo},
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
