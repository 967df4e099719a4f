/* text - forms, templates and escaping; see text.h. */
#include "text.h"

#include <ctype.h>

/* -------------------------------------------------------------- forms */

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
            char c = (char)byte;
            if (is_plus)
                c = ' ';
            buffer_append(out, &c, 1);
        }
        return 1;
    }
    return 0;
}

size_t text_unify_line_ends(char *text, size_t n)
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '\r' && i + 1 < n && text[i + 1] == '\n')
            continue; /* the LF that follows is this line's end */
        if (c == '\r')
            c = '\n';
        text[length++] = c;
    }
    return length;
}

/* ---------------------------------------------------------- templates */

/* Returns the value whose name the text begins with, or NULL. */
static const struct template_value *
value_at(struct slice text, const struct template_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (slice_has_prefix(text, values[i].name))
            return &values[i];
    return NULL;
}

size_t template_place(struct slice text)
{
    size_t n = 1;
    if (text.n == 0 || text.p[0] != '$')
        return 0;
    while (n < text.n && (isupper((unsigned char)text.p[n]) ||
                          text.p[n] == '_'))
        n++;
    return n > 1 && n < text.n && text.p[n] == '$' ? n + 1 : 0;
}

bool template_render(struct buffer *out, struct slice text,
                     const struct template_value *values, size_t n)
{
    bool complete = true;
    const char *dollar;
    while (text.n > 0 && (dollar = memchr(text.p, '$', text.n)) != NULL) {
        size_t literal = (size_t)(dollar - text.p);
        buffer_append(out, text.p, literal);
        slice_skip(&text, literal);
        const struct template_value *value = value_at(text, values, n);
        if (value == NULL) {
            complete &= template_place(text) == 0;
            buffer_append_literal(out, "$");
            slice_skip(&text, 1);
            continue;
        }
        if (value->is_html)
            buffer_append_slice(out, value->value);
        else
            text_append_escaped(out, value->value);
        slice_skip(&text, value->name.n);
    }
    buffer_append_slice(out, text);
    return complete;
}

/* ------------------------------------------------- UTF-8 and escaping */

/* Noncharacters, surrogates, and control characters other than white
 * space. */
static bool is_forbidden(unsigned code)
{
    return (code < ' ' && code != '\t' && code != '\n' && code != '\r') ||
           (code >= 0x7f && code <= 0x9f) ||
           (code >= 0xd800 && code <= 0xdfff) ||
           code == 0xfffe || code == 0xffff || code > 0x10ffff;
}

/* Returns how many bytes a character has that begins with this one: one, or
 * as many as there are 1 bits before the first 0. Returns 0 where none
 * begins. */
static size_t utf8_size(unsigned char first)
{
    if (first < 0x80) /* 0xxxxxxx: ASCII */
        return 1;
    if (first < 0xc0) /* 10xxxxxx: not the first byte of a character */
        return 0;
    if (first < 0xe0) /* 110xxxxx */
        return 2;
    if (first < 0xf0) /* 1110xxxx */
        return 3;
    if (first < 0xf8) /* 11110xxx */
        return 4;
    return 0;
}

/* Returns the bits that are marked x above, of the first byte of a character
 * of n bytes. */
static unsigned utf8_first_bits(unsigned char first, size_t n)
{
    switch (n) {
    case 1: return first;
    case 2: return first & 0x1f;
    case 3: return first & 0x0f;
    default: return first & 0x07;
    }
}

/* Returns the least number that needs n bytes. A smaller one in n bytes is
 * an overlong form. */
static unsigned utf8_least(size_t n)
{
    switch (n) {
    case 1: return 0;
    case 2: return 0x80;
    case 3: return 0x800;
    default: return 0x10000;
    }
}

size_t text_utf8_next(struct slice s, unsigned *code)
{
    const unsigned char *p = (const unsigned char *)s.p;
    if (s.n == 0)
        return 0;
    size_t n = utf8_size(p[0]);
    if (n == 0 || n > s.n)
        return 0;
    *code = utf8_first_bits(p[0], n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) /* 10xxxxxx: six further bits */
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    if (*code < utf8_least(n) || is_forbidden(*code))
        return 0;
    return n;
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

/* What replaces a character that takes n bytes at s; n == 0: there is
 * none. */
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
            if (n == 0)
                n = 1; /* the byte that is replaced */
            slice_skip(&s, n);
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
