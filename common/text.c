/* text - forms, templates and escaping; see text.h. */
#include "text.h"

/* ------------------------------------------------------------------- forms */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20; /* to lower case */
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int form_decode_byte(struct slice *encoded, bool plus_is_space)
{
    int c = (unsigned char)encoded->p[0];
    size_t used = 1;
    if (c == '+' && plus_is_space) {
        c = ' ';
    } else if (c == '%') {
        int high = encoded->n < 3 ? -1 : hex_digit(encoded->p[1]);
        int low = encoded->n < 3 ? -1 : hex_digit(encoded->p[2]);
        if (high < 0 || low < 0)
            return -1;
        c = high * 16 + low;
        used = 3;
    }
    slice_skip(encoded, used);
    return c;
}

static bool name_matches(struct slice encoded, struct slice name)
{
    while (encoded.n > 0 && name.n > 0) {
        if (form_decode_byte(&encoded, true) != (unsigned char)name.p[0])
            return false;
        slice_skip(&name, 1);
    }
    return encoded.n == 0 && name.n == 0;
}

int form_get(struct slice encoded, struct slice name, struct buffer *out)
{
    while (encoded.n > 0) {
        struct slice value = slice_next(&encoded, '&');
        if (value.n == 0 || !name_matches(slice_next(&value, '='), name))
            continue;
        while (value.n > 0) {
            int byte = form_decode_byte(&value, true);
            if (byte < 0)
                return -1;
            buffer_append(out, &(char){(char)byte}, 1);
        }
        return 1;
    }
    return 0;
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
        buffer_append_slice(out, i < n ? values[i].value : SLICE("$"));
        slice_skip(&text, i < n ? values[i].name.n : 1);
    }
}

/* ------------------------------------------------------- UTF-8 and escaping */

size_t text_utf8_next(struct slice s, unsigned *code)
{
    if (s.n == 0)
        return 0;
    /* The first byte says how many follow. `least` is the smallest code point
     * that needs this length: anything below is an overlong form. */
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n;
    unsigned value, least;
    if (p[0] < 0x80) {
        n = 1, value = p[0], least = 0;
    } else if ((p[0] & 0xe0) == 0xc0) {
        n = 2, value = p[0] & 0x1fu, least = 0x80;
    } else if ((p[0] & 0xf0) == 0xe0) {
        n = 3, value = p[0] & 0x0fu, least = 0x800;
    } else if ((p[0] & 0xf8) == 0xf0) {
        n = 4, value = p[0] & 0x07u, least = 0x10000;
    } else {
        return 0;
    }
    if (s.n < n)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (p[i] & 0x3fu);
    }
    bool surrogate = value >= 0xd800 && value <= 0xdfff;
    *code = value;
    return value < least || value > 0x10ffff || surrogate ? 0 : n;
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

static bool is_forbidden(unsigned code)
{
    return (code < ' ' && code != '\t' && code != '\n' && code != '\r') ||
           code == 0x7f || code == 0xfffe || code == 0xffff;
}

/* What replaces a character that takes n bytes at s; n == 0: not UTF-8. */
static struct slice escaped(struct slice s, size_t n, unsigned code)
{
    if (n == 0 || is_forbidden(code))
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
    static const char unreserved[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        const char encoded[] = {'%', hex[c >> 4], hex[c & 15]};
        bool plain = memchr(unreserved, c, sizeof unreserved - 1) != NULL;
        buffer_append(b, plain ? &s.p[i] : encoded, plain ? 1 : 3);
    }
}
