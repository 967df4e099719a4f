/* answer - the smallest page; docs/reference/experiments.md says from which
 * published comparison of servers it comes. */
#include "http_response.h"
#include "page.h"

static void answer(struct http_exchange *x)
{
    response_begin(x, 200);
    response_content(x, SLICE("text/plain"), SLICE("42"));
}

const struct page page_answer = {
    .path = "/answer",
    .methods = HTTP_GET | HTTP_HEAD,
    .on_request = answer,
};
