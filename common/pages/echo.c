/* echo - answers with the query's field `value` as XML. */
#include "http_response.h"
#include "page.h"

static void echo(struct http_exchange *x)
{
    struct buffer *content = &x->content, *value = &x->scratch;
    int found = form_get(x->request.query, SLICE("value"), value);
    if (found < 0) {
        response_error(x, 400, NULL);
        return;
    }
    const char *tag = "value";
    struct slice text = buffer_slice(value);
    if (found == 0) {
        tag = "error";
        text = SLICE("no value specified");
    }
    buffer_printf(content, "<http_test><%s>", tag);
    text_append_escaped(content, text);
    buffer_printf(content, "</%s></http_test>", tag);
    response_begin(x, 200);
    response_buffer(x, SLICE("text/xml; charset=utf-8"));
}

const struct page page_echo = {
    .path = "/echo",
    .methods = HTTP_GET | HTTP_HEAD,
    .on_request = echo,
};
