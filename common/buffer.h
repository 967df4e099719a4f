/*
 * buffer - bytes that grow.
 *
 * Responses and pages are appended piece by piece. Running out of memory sets
 * `failed`, after which every append does nothing: a caller appends as much as
 * it likes and looks once, at the end.
 */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "slice.h"

struct buffer { /* all zero is a valid, empty buffer */
    char *data;
    size_t len;
    size_t cap;
    bool failed;
};

/* Frees the memory; the buffer is empty and usable again. */
void buffer_free(struct buffer *b);

/* Forgets the content and keeps the memory, unless that is more than `keep`
 * bytes: one huge page must not make a pooled buffer huge for ever. */
void buffer_reset(struct buffer *b, size_t keep);

/* Makes room for n bytes behind the content and returns where they go, or NULL
 * (and `failed` is set) when there is no memory. The caller adds to len. */
char *buffer_grow(struct buffer *b, size_t n);

static inline char *buffer_reserve(struct buffer *b, size_t n)
{
    if (!b->failed && b->cap - b->len >= n)
        return b->data + b->len;
    return buffer_grow(b, n);
}

static inline void buffer_append(struct buffer *b, const void *bytes, size_t n)
{
    /* An empty buffer has no address to add nothing to, nor need bytes have. */
    char *room = n > 0 ? buffer_reserve(b, n) : NULL;
    if (room != NULL) {
        memcpy(room, bytes, n);
        b->len += n;
    }
}

static inline void buffer_append_slice(struct buffer *b, struct slice s)
{
    buffer_append(b, s.p, s.n);
}

/* A string literal: its length is known when this is compiled. */
#define buffer_append_literal(b, s) buffer_append((b), (s), sizeof(s) - 1)

/* Appends a number in decimal digits, at most so many: 2^64 has 20. */
enum { BUFFER_UINT_MAX = 20 };
void buffer_append_uint(struct buffer *b, uint64_t value);

/* Appends as printf would; for what is not on the hot path. */
void buffer_printf(struct buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
