/* endpoints - small pages for load generators; see endpoints.h. */
#include "endpoints.h"

#include <stdlib.h>

#include "http_response.h"
#include "server.h"
#include "text.h"

void endpoint_answer(struct http_exchange *x)
{
    response_begin(x, 200);
    response_content(x, SLICE("text/plain"), SLICE("42"));
}

void endpoint_hello(struct http_exchange *x)
{
    response_begin(x, 200);
    response_content(x, SLICE("text/plain"), SLICE("Hello, World!"));
}

void endpoint_redirect(struct http_exchange *x)
{
    const struct server *server = x->context->server;
    struct buffer *location = &x->scratch;
    if (server->picture_count == 0) {
        response_error(x, 404, "There are no pictures to redirect to. Put some "
                               "into public/pictures and restart the server.");
        return;
    }
    uint32_t i = (unsigned)rand_r(&x->context->seed) % server->picture_count;
    buffer_reset(location, HTTP_BATCH_MAX);
    buffer_append_slice(location, SLICE("/pictures/"));
    text_append_percent_encoded(location,
                                slice_of(server->pictures[i]->d_name));
    x->out.failed |= location->failed;
    response_begin(x, 302);
    response_field(x, "Location", buffer_slice(location));
    response_content(x, SLICE("text/plain"), SLICE(""));
}

void endpoint_echo(struct http_exchange *x)
{
    struct buffer *page = &x->page, *value = &x->scratch;
    buffer_reset(value, HTTP_BATCH_MAX);
    buffer_reset(page, HTTP_BATCH_MAX);
    int found = form_get(x->request.query, SLICE("value"), value);
    buffer_append_slice(page, found > 0 ? SLICE("<http_test><value>")
                                        : SLICE("<http_test><error>"));
    text_append_escaped(page, found > 0 ? buffer_slice(value)
                                        : SLICE("no value specified"));
    buffer_append_slice(page, found > 0 ? SLICE("</value></http_test>")
                                        : SLICE("</error></http_test>"));
    page->failed |= value->failed;
    if (found < 0) {
        response_error(x, 400, NULL);
        return;
    }
    response_begin(x, 200);
    response_page(x, SLICE("text/xml; charset=utf-8"));
}
