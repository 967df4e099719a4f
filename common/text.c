/* text - forms, templates and escaping; see text.h. */
#include "text.h"

#include <ctype.h>

/* ------------------------------------------------------------------- forms */

/* No name has a space, so '+' needs no decoding here. */
static bool name_matches(struct slice encoded, struct slice name)
{
    while (encoded.n > 0 && name.n > 0 &&
           slice_next_decoded(&encoded) == name.p[0])
        slice_skip(&name, 1);
    return encoded.n == 0 && name.n == 0;
}

int form_get(struct slice encoded, struct slice name, struct buffer *out)
{
    while (encoded.n > 0) {
        struct slice value = slice_next(&encoded, '&');
        if (value.n == 0 || !name_matches(slice_next(&value, '='), name))
            continue;
        while (value.n > 0) {
            bool is_plus = value.p[0] == '+'; /* stands for a space */
            int byte = slice_next_decoded(&value);
            if (byte < 0)
                return -1;
            buffer_append(out, is_plus ? " " : &(char){(char)byte}, 1);
        }
        return 1;
    }
    return 0;
}

size_t text_unify_line_ends(char *text, size_t n)
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n')
            continue; /* the LF that follows is this line's end */
        text[length++] = text[i] == '\r' ? '\n' : text[i];
    }
    return length;
}

/* --------------------------------------------------------------- templates */

void template_render(struct buffer *out, struct slice text,
                     const struct template_value *values, size_t n)
{
    while (text.n > 0) {
        const char *dollar = memchr(text.p, '$', text.n);
        size_t literal = dollar != NULL ? (size_t)(dollar - text.p) : text.n;
        buffer_append(out, text.p, literal);
        slice_skip(&text, literal);
        if (dollar == NULL)
            return;
        size_t i = 0;
        while (i < n && !slice_has_prefix(text, values[i].name))
            i++;
        if (i == n)
            buffer_append_literal(out, "$");
        else if (values[i].is_html)
            buffer_append_slice(out, values[i].value);
        else
            text_append_escaped(out, values[i].value);
        slice_skip(&text, i < n ? values[i].name.n : 1);
    }
}

/* ------------------------------------------------------- UTF-8 and escaping */

/* Noncharacters, surrogates, and control characters other than white space. */
static bool is_forbidden(unsigned code)
{
    return (code < ' ' && code != '\t' && code != '\n' && code != '\r') ||
           (code >= 0x7f && code <= 0x9f) ||
           (code >= 0xd800 && code <= 0xdfff) ||
           code == 0xfffe || code == 0xffff || code > 0x10ffff;
}

size_t text_utf8_next(struct slice s, unsigned *code)
{
    /* The smallest number that needs so many bytes: a smaller one in as many is
     * an overlong form. */
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s.p;
    if (s.n == 0)
        return 0;
    /* The first byte begins with a 1 for each byte; ASCII begins with 0. */
    int ones = __builtin_clz(~((unsigned)p[0] << 24));
    size_t n = ones == 0 ? 1 : (size_t)ones;
    if (ones == 1 || ones > 4 || n > s.n)
        return 0;
    *code = p[0] & (0x7fu >> ones);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    return *code < least[n] || is_forbidden(*code) ? 0 : n;
}

long text_utf8_length(struct slice s)
{
    long count = 0;
    for (; s.n > 0; count++) {
        unsigned code;
        size_t n = text_utf8_next(s, &code);
        if (n == 0)
            return -1;
        slice_skip(&s, n);
    }
    return count;
}

/* What replaces a character that takes n bytes at s; n == 0: there is none. */
static struct slice escaped(struct slice s, size_t n, unsigned code)
{
    if (n == 0)
        return SLICE("\xef\xbf\xbd"); /* U+FFFD */
    switch (code) {
    case '&': return SLICE("&amp;");
    case '<': return SLICE("&lt;");
    case '>': return SLICE("&gt;");
    case '"': return SLICE("&quot;");
    case '\'': return SLICE("&#39;");
    default: return (struct slice){s.p, n};
    }
}

/* Printable ASCII that escaped() does not replace. (a ... b is GNU C.) */
static const bool is_plain[256] = {
    [' ' ... '!'] = true, ['#' ... '%'] = true, ['(' ... ';'] = true,
    ['='] = true,         ['?' ... '~'] = true,
};

void text_append_escaped(struct buffer *b, struct slice s)
{
    while (s.n > 0) {
        /* Most of what guests write is plain: copy it in long runs. */
        size_t n = 0;
        while (n < s.n && is_plain[(unsigned char)s.p[n]])
            n++;
        buffer_append(b, s.p, n);
        slice_skip(&s, n);
        if (s.n > 0) {
            unsigned code = 0;
            n = text_utf8_next(s, &code);
            buffer_append_slice(b, escaped(s, n, code));
            slice_skip(&s, n > 0 ? n : 1);
        }
    }
}

void text_append_percent_encoded(struct buffer *b, struct slice s)
{
    for (; s.n > 0; slice_skip(&s, 1))
        if (isalnum((unsigned char)s.p[0]) || memchr("-._~", s.p[0], 4) != NULL)
            buffer_append(b, s.p, 1);
        else
            buffer_printf(b, "%%%02X", (unsigned char)s.p[0]);
}
