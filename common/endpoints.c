/* endpoints - the small pages; see endpoints.h. */
#include "endpoints.h"

#include "text.h"
#include "http_response.h"
#include "server.h"

void endpoint_answer(struct http_exchange *x)
{
    response_text(x, 200, SLICE("text/plain"), SLICE("42"));
}

void endpoint_hello(struct http_exchange *x)
{
    response_text(x, 200, SLICE("text/plain"), SLICE("Hello, World!"));
}

void endpoint_redirect(struct http_exchange *x)
{
    const struct server *server = x->context->server;
    if (server->picture_count == 0) {
        response_error(x, 404, "There are no pictures to be sent to. Put some "
                               "into public/pictures and start again.");
        return;
    }
    uint32_t i = http_random(x->context, server->picture_count);
    response_begin(x, 302);
    response_field(x, "Location", slice_of(server->pictures[i]));
    response_content(x, SLICE("text/plain"), SLICE(""));
}

void endpoint_echo(struct http_exchange *x)
{
    buffer_reset(&x->scratch, HTTP_BATCH_MAX);
    buffer_reset(&x->page, HTTP_BATCH_MAX);
    int found = form_get(x->request.query, SLICE("value"), &x->scratch);
    if (found < 0) {
        response_error(x, 400, NULL);
        return;
    }
    if (found > 0) {
        buffer_append_literal(&x->page, "<http_test><value>");
        text_append_escaped(&x->page,
                            (struct slice){x->scratch.data, x->scratch.len});
        buffer_append_literal(&x->page, "</value></http_test>");
    } else {
        buffer_append_literal(&x->page, "<http_test><error>no value specified"
                                        "</error></http_test>");
    }
    x->out.failed |= x->scratch.failed | x->page.failed;
    response_text(x, 200, HTTP_TYPE_XML,
                  (struct slice){x->page.data, x->page.len});
}
