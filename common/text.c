/* text - forms, templates and escaping; see text.h. */
#include "text.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int form_decode_byte(struct slice *encoded, bool plus_is_space)
{
    unsigned char c = (unsigned char)encoded->p[0];
    size_t used = 1;
    if (c == '+' && plus_is_space) {
        c = ' ';
    } else if (c == '%') {
        if (encoded->n < 3)
            return -1;
        int high = hex(encoded->p[1]), low = hex(encoded->p[2]);
        if (high < 0 || low < 0)
            return -1;
        c = (unsigned char)(high * 16 + low);
        used = 3;
    }
    encoded->p += used;
    encoded->n -= used;
    return c;
}

/* Is the (encoded) name of a field the one wanted? */
static bool is_named(struct slice encoded, struct slice name)
{
    while (encoded.n > 0 && name.n > 0) {
        if (form_decode_byte(&encoded, true) != (unsigned char)name.p[0])
            return false;
        name.p++;
        name.n--;
    }
    return encoded.n == 0 && name.n == 0;
}

int form_get(struct slice encoded, struct slice name, struct buffer *out)
{
    while (encoded.n > 0) {
        const char *ampersand = memchr(encoded.p, '&', encoded.n);
        size_t n = ampersand ? (size_t)(ampersand - encoded.p) : encoded.n;
        const char *equals = memchr(encoded.p, '=', n);
        size_t name_length = equals ? (size_t)(equals - encoded.p) : n;
        if (is_named((struct slice){encoded.p, name_length}, name)) {
            struct slice value = {encoded.p + name_length, n - name_length};
            if (equals != NULL) {
                value.p++;
                value.n--;
            }
            while (value.n > 0) {
                int byte = form_decode_byte(&value, true);
                if (byte < 0)
                    return -1;
                char c = (char)byte;
                buffer_append(out, &c, 1);
            }
            return 1;
        }
        size_t used = ampersand ? n + 1 : n;
        encoded.p += used;
        encoded.n -= used;
    }
    return 0;
}

static const struct template_value *value_at(struct slice text,
                                             const struct template_value *values,
                                             size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (slice_has_prefix(text, values[i].name))
            return &values[i];
    return NULL;
}

void template_render(struct buffer *out, struct slice text,
                     const struct template_value *values, size_t n)
{
    while (text.n > 0) {
        const char *dollar = memchr(text.p, '$', text.n);
        size_t literal = dollar ? (size_t)(dollar - text.p) : text.n;
        buffer_append(out, text.p, literal);
        text.p += literal;
        text.n -= literal;
        if (dollar == NULL)
            return;
        const struct template_value *found = value_at(text, values, n);
        if (found != NULL)
            buffer_append_slice(out, found->value);
        else
            buffer_append(out, text.p, 1);
        size_t used = found != NULL ? found->name.n : 1;
        text.p += used;
        text.n -= used;
    }
}

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
