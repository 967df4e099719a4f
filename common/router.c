/* router - which page answers a request; see router.h. */
#include "router.h"

#include "endpoints.h"
#include "text.h"
#include "guestbook.h"
#include "http_response.h"
#include "static_file.h"

struct route {
    struct slice path;
    unsigned methods; /* GET stands for HEAD too */
    void (*answer)(struct http_exchange *x);
};

#define PATH(literal) {(literal), sizeof(literal) - 1}

static const struct route routes[] = {
    {PATH("/answer"), HTTP_GET, endpoint_answer},
    {PATH("/hello"), HTTP_GET, endpoint_hello},
    {PATH("/guestbook"), HTTP_GET | HTTP_POST, guestbook_answer},
    {PATH("/redirect"), HTTP_GET, endpoint_redirect},
    {PATH("/echo"), HTTP_GET, endpoint_echo},
};
static const struct route anything_else = {PATH(""), HTTP_GET,
                                           static_file_answer};

static const struct route *find_route(struct slice path)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (slice_equal(path, routes[i].path))
            return &routes[i];
    return &anything_else;
}

int router_decode_path(struct slice raw, char *path, size_t size)
{
    size_t n = 0;
    while (raw.n > 0) {
        int byte = form_decode_byte(&raw, false);
        if (byte < 0)
            return 400;
        if (byte == 0 || n + 1 >= size)
            return 404;
        path[n++] = (char)byte;
    }
    path[n] = '\0';
    return 0;
}

void router_dispatch(struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    if (r->method == HTTP_UNKNOWN) {
        response_error(x, 501, NULL);
        return;
    }
    if (slice_equal(r->path, SLICE("*"))) { /* OPTIONS *: the whole server */
        response_options(x, HTTP_GET | HTTP_POST);
        return;
    }
    /* Most paths have no escape: compare them as they came. */
    const struct route *route = find_route(r->path);
    if (route == &anything_else) {
        int status = router_decode_path(r->path, x->path, sizeof x->path);
        if (status != 0) {
            response_error(x, status, NULL);
            return;
        }
        route = find_route(slice_of(x->path));
    }
    unsigned method = r->method == HTTP_HEAD ? HTTP_GET : r->method;
    if (method == HTTP_OPTIONS)
        response_options(x, route->methods);
    else if (!(method & route->methods))
        response_not_allowed(x, route->methods);
    else
        route->answer(x);
}
