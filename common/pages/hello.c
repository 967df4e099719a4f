/* hello - a greeting; from the same source as answer.c. */
#include "http_response.h"
#include "page.h"

static void hello(struct http_exchange *x)
{
    response_begin(x, 200);
    response_content(x, SLICE("text/plain"), SLICE("Hello, World!"));
}

const struct page page_hello = {
    .path = "/hello",
    .methods = HTTP_GET | HTTP_HEAD,
    .on_request = hello,
};
