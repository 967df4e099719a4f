/* bytes - slices and buffers; see bytes.h. */
#include "bytes.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 2048 };

int64_t slice_next_number(struct slice *s)
{
    int64_t number = 0;
    if (s->n == 0 || !is_digit(s->p[0]))
        return -1;
    for (; s->n > 0 && is_digit(s->p[0]); slice_skip(s, 1))
        if (number < INT64_MAX / 16)
            number = number * 10 + (s->p[0] - '0');
    return number;
}

int slice_next_decoded(struct slice *s)
{
    size_t used = 1;
    int byte = (unsigned char)s->p[0];
    if (byte == '%') {
        if (s->n < 3 || !isxdigit((unsigned char)s->p[1]) ||
            !isxdigit((unsigned char)s->p[2]))
            return -1;
        byte = 16 * hex_value(s->p[1]) + hex_value(s->p[2]);
        used = 3;
    }
    slice_skip(s, used);
    return byte;
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

char *buffer_reserve(struct buffer *b, size_t n)
{
    size_t cap = b->cap;
    b->failed |= n > SIZE_MAX / 2 - b->len;
    if (b->failed)
        return NULL;
    if (cap == 0)
        cap = FIRST_CAPACITY;
    /* Doubling bounds the bytes that n appends copy to O(n). */
    while (cap - b->len < n)
        cap *= 2;
    if (cap > b->cap) {
        char *data = realloc(b->data, cap);
        if (data == NULL) { /* b->data stays as it is */
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->cap = cap;
    }
    return b->data + b->len;
}

void buffer_append_uint(struct buffer *b, uint64_t value)
{
    char digits[20]; /* 2^64 has as many */
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    buffer_append(b, digits + i, sizeof digits - i);
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
    va_list args;
    char *text;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    b->failed |= n < 0;
    if (n >= 0) {
        buffer_append(b, text, (size_t)n);
        free(text);
    }
}
