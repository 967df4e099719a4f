/* buffer - bytes that grow; see buffer.h. */
#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 2048 };

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

void buffer_reset(struct buffer *b, size_t keep)
{
    if (b->cap > keep)
        buffer_free(b);
    b->len = 0;
    b->failed = false;
}

char *buffer_grow(struct buffer *b, size_t n)
{
    if (b->failed || n > SIZE_MAX / 2 - b->len) {
        b->failed = true;
        return NULL;
    }
    if (b->cap - b->len >= n && b->data != NULL)
        return b->data + b->len;
    /* Doubling makes n appends cost O(n) copied bytes in all. */
    size_t cap = b->cap > 0 ? b->cap : FIRST_CAPACITY;
    while (cap < b->len + n)
        cap *= 2;
    char *data = realloc(b->data, cap);
    if (data == NULL) { /* the old block is still valid, and still ours */
        b->failed = true;
        return NULL;
    }
    b->data = data;
    b->cap = cap;
    return b->data + b->len;
}

void buffer_append_uint(struct buffer *b, uint64_t value)
{
    char digits[BUFFER_UINT_MAX];
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
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* vsnprintf wants room for a NUL too; it is not counted in len. */
    char *room = n < 0 ? NULL : buffer_reserve(b, (size_t)n + 1);
    if (room != NULL) {
        vsnprintf(room, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
}
