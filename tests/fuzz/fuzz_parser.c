/* The head of a request: any bytes at all.
 *
 * Beyond what the sanitizers see (a byte read behind the end, an overflow),
 * this holds the parser to its promises. */
#include <assert.h>
#include <stddef.h>

#include "http_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_status(ssize_t status)
{
    return status == 400 || status == 414 || status == 417 || status == 431 ||
           status == 501 || status == 505;
}

/* A slice lies within the head, or is a constant of the parser's own. */
static void check_slice(struct slice s, const char *head, size_t n)
{
    if (s.p != NULL && (s.p < head || s.p > head + n))
        assert(slice_equal(s, SLICE("/")));
    else
        assert(s.n <= n && (s.p == NULL || s.p + s.n <= head + n));
}

static void check_list(const struct http_list *list, const char *head, size_t n)
{
    assert(list->count <= HTTP_LIST_LINES_MAX);
    for (size_t i = 0; i < list->count; i++)
        check_slice(list->lines[i], head, n);
}

static void check_request(const struct http_request *r, const char *head,
                          size_t n)
{
    check_slice(r->line, head, n);
    check_slice(r->path, head, n);
    check_slice(r->query, head, n);
    check_slice(r->content_type, head, n);
    check_slice(r->range, head, n);
    check_slice(r->if_range, head, n);
    check_list(&r->if_none_match, head, n);
    check_slice(r->if_modified_since, head, n);
    check_list(&r->if_match, head, n);
    check_slice(r->if_unmodified_since, head, n);
    assert(n <= HTTP_HEAD_MAX);
    assert(r->path.n <= HTTP_TARGET_MAX && r->query.n <= HTTP_TARGET_MAX);
    assert(r->minor_version == 0 || r->minor_version == 1);
    assert(!r->chunked || (r->content_length == 0 && r->minor_version == 1));
    if (r->method != HTTP_UNKNOWN)
        assert(r->path.n > 0 && (r->path.p[0] == '/' ||
                                 (r->path.p[0] == '*' && r->path.n == 1 &&
                                  r->method == HTTP_OPTIONS)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct http_request request, again;
    ssize_t verdict = http_parse_head(bytes, size, &request);

    assert(verdict <= (ssize_t)size);
    assert(verdict >= 0 || is_status(-verdict));
    if (verdict > 0) {
        check_request(&request, bytes, (size_t)verdict);
        /* It is the same without what follows, and less of it is not whole. */
        assert(http_parse_head(bytes, (size_t)verdict, &again) == verdict);
        size = (size_t)verdict;
    }
    if (size >= HTTP_HEAD_MAX)
        return 0; /* at the limit, one more byte may well be another fault */
    for (size_t n = size < 256 ? 0 : size - 256; n < size; n++) {
        ssize_t early = http_parse_head(bytes, n, &again);
        assert(early == 0 || (verdict < 0 && early == verdict));
    }
    return 0;
}
