/* Range and conditional requests: the first line says how large the file is,
 * the next ones are the values of Range, If-Range, If-None-Match and
 * If-Modified-Since. */
#include <assert.h>

#include "http_response.h"
#include "static_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct slice take_line(struct slice *bytes)
{
    const char *end = bytes->n > 0 ? memchr(bytes->p, '\n', bytes->n) : NULL;
    struct slice line = {bytes->p, end ? (size_t)(end - bytes->p) : bytes->n};
    size_t used = end != NULL ? line.n + 1 : line.n;
    bytes->p += used;
    bytes->n -= used;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct slice rest = {(const char *)data, size};
    struct slice digits = take_line(&rest);
    off_t file_size = 0;
    for (size_t i = 0; i < digits.n && i < 17; i++)
        file_size = file_size * 10 + (digits.p[i] & 15);
    const struct slice etag = SLICE("\"12-34\"");
    off_t first = -1, length = -1;

    struct slice range = take_line(&rest);
    switch (static_file_range(range, file_size, &first, &length)) {
    case 206:
        assert(first >= 0 && length > 0 && first <= file_size - length);
        break;
    case 200:
    case 416:
        assert(first == -1 && length == -1);
        break;
    }

    struct slice if_range = take_line(&rest);
    time_t date = http_date_parse(if_range);
    if (static_file_if_range(if_range, etag, 784111777, 784111779))
        assert(if_range.p == NULL || slice_equal(if_range, etag) ||
               date == 784111777);
    if (date >= 0 && date <= 253402300799) { /* what can be written */
        char text[HTTP_DATE_LENGTH + 1];
        http_date_format(text, date);
        assert(strlen(text) == HTTP_DATE_LENGTH);
        assert(http_date_parse(slice_of(text)) == date);
    }

    struct http_request request = {0};
    struct slice line = take_line(&rest);
    request.if_none_match = (struct http_list){{line}, 1};
    if (static_file_evaluate(&request, etag, 784111777) == 304)
        assert(memmem(line.p, line.n, etag.p, etag.n) != NULL ||
               memchr(line.p, '*', line.n) != NULL);
    request.if_none_match.count = 0;
    request.if_modified_since = take_line(&rest);
    if (static_file_evaluate(&request, etag, 784111777) == 304)
        assert(http_date_parse(request.if_modified_since) >= 784111777);
    line = take_line(&rest);
    request.if_match = (struct http_list){{line}, 1};
    if (static_file_evaluate(&request, etag, 0) != 412)
        assert(memmem(line.p, line.n, etag.p, etag.n) != NULL ||
               memchr(line.p, '*', line.n) != NULL);
    return 0;
}
