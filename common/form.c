/* form - urlencoded fields; see form.h. */
#include "form.h"

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
