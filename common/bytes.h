/*
 * bytes - two ways to hold bytes: a slice that points at them, a buffer that
 * owns them.
 *
 * The parser copies nothing of a request and ends nothing in a NUL: what it
 * finds is a slice, a pointer into the connection's input buffer and a length.
 * A slice owns nothing and is valid only as long as the bytes it points at.
 *
 * Responses and pages are appended to a buffer piece by piece. When memory runs
 * out, the buffer is marked `failed` and every further append does nothing: a
 * caller appends as much as it likes and checks once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>


struct slice {
    const char *p; /* NULL: there is no such thing (differs from empty) */
    size_t n;      /* bytes */
};

/* A string literal as a slice; its length is known to the compiler. */
#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

static inline struct slice slice_of(const char *string)
{
    return (struct slice){string, strlen(string)};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* HTTP compares field names, schemes and most tokens without regard to the
 * case of ASCII letters (RFC 9110, 5.1). */
static inline bool slice_equal_nocase(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_has_prefix(struct slice s, struct slice prefix)
{
    return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

/* Without the spaces and tabs at both ends (RFC 9110's OWS). */
static inline struct slice slice_trim(struct slice s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* Cuts the first element off a comma-separated list (RFC 9110, 5.6.1): returns
 * it trimmed, and moves *list behind its comma. Call while list->n > 0. */
static inline struct slice slice_next_element(struct slice *list)
{
    const char *comma = memchr(list->p, ',', list->n);
    size_t n = comma != NULL ? (size_t)(comma - list->p) : list->n;
    struct slice element = {list->p, n};
    size_t used = comma != NULL ? n + 1 : n;
    list->p += used;
    list->n -= used;
    return slice_trim(element);
}

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
