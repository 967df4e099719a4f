/* answer - reads our own answers strictly; see answer.h. */
#include "answer.h"

#include <stddef.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token(struct slice s)
{
    const char *others = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], lower = c | 0x20;
        if (!is_digit(c) && !(lower >= 'a' && lower <= 'z') &&
            (c == '\0' || strchr(others, c) == NULL))
            return false;
    }
    return s.n > 0;
}

static bool is_text(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

/* Takes a line off *bytes, without its CRLF, which it must have. Returns false
 * when there is none. */
static bool take_line(struct slice *bytes, struct slice *line)
{
    const char *end = memmem(bytes->p, bytes->n, "\r\n", 2);
    if (end == NULL)
        return false;
    *line = (struct slice){bytes->p, (size_t)(end - bytes->p)};
    bytes->p += line->n + 2;
    bytes->n -= line->n + 2;
    return true;
}

/* Splits "Name: value" as we write it. */
static bool split_field(struct slice line, struct slice *name,
                        struct slice *value)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (colon == NULL)
        return false;
    *name = (struct slice){line.p, (size_t)(colon - line.p)};
    *value = (struct slice){colon + 1, line.n - name->n - 1};
    if (value->n == 0 || value->p[0] != ' ')
        return false;
    value->p++;
    value->n--;
    return is_token(*name) && is_text(*value);
}

/* Looks a field up; *count is how often it is there. */
static struct slice find(struct slice head, const char *name, int *count)
{
    struct slice line, found = {NULL, 0}, is, value;
    *count = 0;
    while (take_line(&head, &line))
        if (split_field(line, &is, &value) &&
            slice_equal_nocase(is, slice_of(name))) {
            found = value;
            ++*count;
        }
    return found;
}

struct slice answer_field(const struct answer *answer, const char *name)
{
    int count;
    return find(answer->head, name, &count);
}

/* How long a body its Content-Length says; -1 when that is not a number. */
static long content_length(const struct answer *answer)
{
    struct slice value = answer_field(answer, "Content-Length");
    long length = 0;
    if (value.n == 0 || value.n > 9 || (value.n > 1 && value.p[0] == '0'))
        return -1;
    for (size_t i = 0; i < value.n; i++) {
        if (!is_digit(value.p[i]))
            return -1;
        length = length * 10 + (value.p[i] - '0');
    }
    return length;
}

static const char *check_fields(const struct answer *a)
{
    static const char *const once[] = {"Server", "Date", "Connection",
                                       "Content-Type", "Location", "Allow",
                                       "ETag", "Last-Modified",
                                       "Content-Range", "Retry-After"};
    bool interim = a->status < 200;
    bool bodiless = interim || a->status == 204 || a->status == 304;
    int count, lengths;
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        find(a->head, once[i], &count);
        if (count > 1)
            return "a field that may be there once is there twice";
    }
    find(a->head, "Transfer-Encoding", &count);
    if (count > 0)
        return "Transfer-Encoding, which we never send";
    find(a->head, "Content-Length", &lengths);
    if (lengths != (bodiless ? 0 : 1))
        return "not the right number of Content-Lengths";
    if (interim)
        return a->head.n == 0 ? NULL : "fields in an interim answer";
    if (find(a->head, "Location", &count).p == NULL && a->status / 100 == 3 &&
        a->status != 304)
        return "a redirection to nowhere";
    if (find(a->head, "Allow", &count).p == NULL && a->status == 405)
        return "405 without Allow";
    struct slice type = find(a->head, "Content-Type", &count);
    if (slice_has_prefix(type.p ? type : SLICE(""), SLICE("text/html")) &&
        (find(a->head, "Content-Security-Policy", &count).p == NULL ||
         find(a->head, "X-Content-Type-Options", &count).p == NULL))
        return "HTML without its protection";
    return NULL;
}

const char *answer_read(struct slice *bytes, bool to_head, struct answer *a)
{
    struct slice line, name, value;
    *a = (struct answer){0};
    if (!take_line(bytes, &line))
        return "no status line";
    if (line.n < 13 || memcmp(line.p, "HTTP/1.1 ", 9) != 0 ||
        !is_digit(line.p[9]) || !is_digit(line.p[10]) ||
        !is_digit(line.p[11]) || line.p[12] != ' ' || !is_text(line))
        return "a malformed status line";
    a->status = (line.p[9] - '0') * 100 + (line.p[10] - '0') * 10 +
                (line.p[11] - '0');

    a->head.p = bytes->p;
    for (;;) {
        if (!take_line(bytes, &line))
            return "the head does not end";
        if (line.n == 0)
            break;
        if (!split_field(line, &name, &value))
            return "a malformed field";
        a->head.n = (size_t)(bytes->p - a->head.p);
    }
    const char *complaint = check_fields(a);
    if (complaint != NULL)
        return complaint;
    a->close = slice_equal(answer_field(a, "Connection"), SLICE("close"));

    a->body.p = bytes->p;
    if (answer_field(a, "Content-Length").p == NULL)
        return NULL;
    long length = content_length(a);
    if (length < 0)
        return "a malformed Content-Length";
    if (to_head)
        return NULL;
    if ((size_t)length > bytes->n)
        return "the body is shorter than its Content-Length";
    a->body.n = (size_t)length;
    bytes->p += length;
    bytes->n -= (size_t)length;
    return NULL;
}
