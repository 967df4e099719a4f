/* answer - reads our own answers strictly; see answer.h. */
#include "answer.h"

#include <stddef.h>

/* The names of our fields are letters and hyphens. */
static bool is_name(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char lower = s.p[i] | 0x20;
        if (!(lower >= 'a' && lower <= 'z') && s.p[i] != '-')
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
    const char *end = bytes->n > 0 ? memchr(bytes->p, '\r', bytes->n) : NULL;
    size_t n = end != NULL ? (size_t)(end - bytes->p) : 0;
    if (end == NULL || bytes->n < n + 2 || end[1] != '\n')
        return false;
    *line = (struct slice){bytes->p, n};
    bytes->p += n + 2;
    bytes->n -= n + 2;
    return true;
}

/* Splits "Name: value" as we write it. */
static bool take_field(struct answer *a, struct slice line)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (colon == NULL || a->n_fields == ANSWER_FIELDS_MAX)
        return false;
    struct slice name = {line.p, (size_t)(colon - line.p)};
    struct slice value = {colon + 1, line.n - name.n - 1};
    if (value.n == 0 || value.p[0] != ' ')
        return false;
    value.p++;
    value.n--;
    a->fields[a->n_fields].name = name;
    a->fields[a->n_fields].value = value;
    a->n_fields++;
    return is_name(name) && is_text(value);
}

struct slice answer_field(const struct answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->n_fields; i++)
        if (slice_equal_nocase(answer->fields[i].name, slice_of(name)))
            return answer->fields[i].value;
    return (struct slice){NULL, 0};
}

static bool has(const struct answer *answer, const char *name)
{
    return answer_field(answer, name).p != NULL;
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
    bool interim = a->status < 200;
    bool bodiless = interim || a->status == 204 || a->status == 304;
    for (size_t i = 0; i < a->n_fields; i++)
        for (size_t j = 0; j < i; j++)
            if (slice_equal_nocase(a->fields[i].name, a->fields[j].name))
                return "a field is there twice";
    if (interim)
        return a->n_fields == 0 ? NULL : "fields in an interim answer";
    if (has(a, "Transfer-Encoding"))
        return "Transfer-Encoding, which we never send";
    if (has(a, "Content-Length") == bodiless)
        return bodiless ? "Content-Length without a body"
                        : "a body without Content-Length";
    if (a->status / 100 == 3 && a->status != 304 && !has(a, "Location"))
        return "a redirection to nowhere";
    if (a->status == 405 && !has(a, "Allow"))
        return "405 without Allow";
    struct slice type = answer_field(a, "Content-Type");
    bool is_html = type.p != NULL && slice_has_prefix(type, SLICE("text/html"));
    if (is_html && (!has(a, "Content-Security-Policy") ||
                    !has(a, "X-Content-Type-Options")))
        return "HTML without its protection";
    return NULL;
}

const char *answer_read(struct slice *bytes, bool to_head, struct answer *a)
{
    struct slice line;
    a->n_fields = 0;
    a->close = false;
    if (!take_line(bytes, &line))
        return "no status line";
    if (line.n < 13 || memcmp(line.p, "HTTP/1.1 ", 9) != 0 ||
        !is_digit(line.p[9]) || !is_digit(line.p[10]) ||
        !is_digit(line.p[11]) || line.p[12] != ' ' || !is_text(line))
        return "a malformed status line";
    a->status = (line.p[9] - '0') * 100 + (line.p[10] - '0') * 10 +
                (line.p[11] - '0');

    for (;;) {
        if (!take_line(bytes, &line))
            return "the head does not end";
        if (line.n == 0)
            break;
        if (!take_field(a, line))
            return "a malformed field";
    }
    const char *complaint = check_fields(a);
    if (complaint != NULL)
        return complaint;
    a->close = slice_equal(answer_field(a, "Connection"), SLICE("close"));

    a->body = (struct slice){bytes->p, 0};
    if (!has(a, "Content-Length"))
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
