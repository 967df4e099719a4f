/* text - UTF-8 and escaping; see text.h. */
#include "text.h"

size_t text_utf8_next(struct slice s, unsigned *code)
{
    if (s.n == 0)
        return 0;
    const unsigned char *p = (const unsigned char *)s.p;
    if (p[0] < 0x80) {
        *code = p[0];
        return 1;
    }
    /* The first byte says how many follow; `least` is the smallest code point
     * that needs so many, so that overlong spellings are found. */
    size_t n;
    unsigned value, least;
    if ((p[0] & 0xe0) == 0xc0) {
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
    if (value < least || value > 0x10ffff ||
        (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return n;
}

long text_utf8_length(struct slice s)
{
    long count = 0;
    while (s.n > 0) {
        unsigned code;
        size_t n = text_utf8_next(s, &code);
        if (n == 0)
            return -1;
        s.p += n;
        s.n -= n;
        count++;
    }
    return count;
}

static struct slice reference(unsigned code)
{
    switch (code) {
    case '&': return SLICE("&amp;");
    case '<': return SLICE("&lt;");
    case '>': return SLICE("&gt;");
    case '"': return SLICE("&quot;");
    case '\'': return SLICE("&#39;");
    default: return (struct slice){NULL, 0};
    }
}

static bool is_forbidden(unsigned code)
{
    return (code < 0x20 && code != '\t' && code != '\n' && code != '\r') ||
           code == 0x7f || code == 0xfffe || code == 0xffff;
}

/* ASCII that needs no care: all printable but what has a reference, and whoever
 * gives a character one takes it out here. (a ... b is GNU C.) */
static const bool harmless[256] = {
    [' '] = true,         ['!'] = true, ['#' ... '%'] = true,
    ['(' ... ';'] = true, ['='] = true, ['?' ... '~'] = true,
};

/* How many bytes at the start of s are so: most of what guests write, copied in
 * one go. */
static size_t plain_run(struct slice s)
{
    size_t n = 0;
    while (n < s.n && harmless[(unsigned char)s.p[n]])
        n++;
    return n;
}

void text_append_escaped(struct buffer *b, struct slice s)
{
    while (s.n > 0) {
        size_t plain = plain_run(s);
        buffer_append(b, s.p, plain);
        s.p += plain;
        s.n -= plain;
        if (s.n == 0)
            break;
        unsigned code = 0;
        size_t n = text_utf8_next(s, &code);
        struct slice ref = n > 0 ? reference(code) : (struct slice){NULL, 0};
        if (ref.p != NULL)
            buffer_append_slice(b, ref);
        else if (n == 0 || is_forbidden(code))
            buffer_append_literal(b, "\xef\xbf\xbd"); /* U+FFFD */
        else
            buffer_append(b, s.p, n);
        n = n > 0 ? n : 1;
        s.p += n;
        s.n -= n;
    }
}

void text_append_percent_encoded(struct buffer *b, struct slice s)
{
    static const char unreserved[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        const char encoded[3] = {'%', hex[c >> 4], hex[c & 15]};
        if (memchr(unreserved, c, sizeof unreserved - 1) != NULL)
            buffer_append(b, &s.p[i], 1);
        else
            buffer_append(b, encoded, sizeof encoded);
    }
}
