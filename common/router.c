/* router - which page answers a request; see router.h. */
#include "router.h"

#include "http_response.h"
#include "static_file.h"

/* pages/list.h has a line PAGE(name) for each page. It is included twice:
 * here each line declares a page, and below it becomes an element. */
#define PAGE(name) extern const struct page page_##name;
#include "pages/list.h"
#undef PAGE

#define PAGE(name) &page_##name,
const struct page *const router_pages[] = {
#include "pages/list.h"
    NULL};
#undef PAGE

const struct page *router_page(const char *path)
{
    for (const struct page *const *page = router_pages; *page != NULL; page++)
        if (strcmp(path, (*page)->path) == 0)
            return *page;
    return NULL;
}

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
    if (methods & HTTP_POST)
        response_field(x, "Allow", SLICE("GET, HEAD, POST, OPTIONS"));
    else
        response_field(x, "Allow", SLICE("GET, HEAD, OPTIONS"));
    if (status == 204)
        response_no_content(x);
    else
        response_error_page(x, NULL);
}

void router_dispatch(struct http_exchange *x)
{
    const enum http_method method = x->request.method;
    int status = 501;
    if (method != HTTP_UNKNOWN)
        status = router_decode_path(x->request.path, x->path, sizeof x->path);
    if (status != 0) {
        response_error(x, status, NULL);
        return;
    }
    if (x->path[0] == '*') { /* OPTIONS *: the whole server */
        answer_allow(x, 204, HTTP_GET | HTTP_POST);
        return;
    }
    const struct page *page = router_page(x->path);
    unsigned methods = HTTP_GET | HTTP_HEAD; /* of a file */
    if (page != NULL)
        methods = page->methods;
    if (method == HTTP_OPTIONS)
        answer_allow(x, 204, methods);
    else if ((method & methods) == 0)
        answer_allow(x, 405, methods);
    else if (page == NULL)
        static_file_answer(x);
    else
        page_begin(x, page);
}
