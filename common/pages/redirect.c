/* redirect - 302 to a random picture. */
#include <stdlib.h>

#include "http_response.h"
#include "page.h"

static void redirect(struct http_exchange *x)
{
    const struct site *site = x->context->site;
    struct buffer *location = &x->scratch;
    if (site->picture_count == 0) {
        response_error(x, 404, "There are no pictures to redirect to. Put some "
                               "into public/pictures and restart the server.");
        return;
    }
    uint32_t i = (unsigned)rand_r(&x->context->seed) % site->picture_count;
    buffer_append_slice(location, SLICE("/pictures/"));
    text_append_percent_encoded(location, slice_of(site->pictures[i]->d_name));
    response_begin(x, 302);
    response_field(x, "Location", buffer_slice(location));
    response_content(x, SLICE("text/plain"), SLICE(""));
}

const struct page page_redirect = {
    .path = "/redirect",
    .methods = HTTP_GET | HTTP_HEAD,
    .on_request = redirect,
};
