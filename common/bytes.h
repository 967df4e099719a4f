/*
 * bytes - a slice points at bytes, a buffer owns them.
 *
 * The parser copies nothing: each part of a request is a slice of the
 * input, without a NUL, and valid as long as the input. Answers and pages
 * are appended to a buffer. When memory runs out, it is marked `failed` and
 * further appends do nothing: a caller appends all it has and checks once,
 * at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct slice {
    const char *p; /* NULL: absent, which differs from empty */
    size_t n;      /* bytes */
};

/* A string literal as a slice; the compiler knows its length. */
#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

static inline struct slice slice_of(const char *string)
{
    return (struct slice){string, strlen(string)};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* HTTP ignores case in field names and most tokens (RFC 9110, 5.1). Most
 * clients use the usual spelling, and most names differ in length or in the
 * first letter (0x20 is what 'A' and 'a' differ in): no call for these. */
static inline bool slice_equal_nocase(struct slice a, struct slice b)
{
    return slice_equal(a, b) ||
           (a.n == b.n && ((a.p[0] ^ b.p[0]) & ~0x20) == 0 &&
            strncasecmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_has_prefix(struct slice s, struct slice prefix)
{
    return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

/* Removes the first n bytes; n <= s->n. */
static inline void slice_skip(struct slice *s, size_t n)
{
    s->p += n;
    s->n -= n;
}

static inline bool is_white(char c) /* space, tab, line end */
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns s without the white space at both ends. */
static inline struct slice slice_trim(struct slice s)
{
    while (s.n > 0 && is_white(s.p[0]))
        slice_skip(&s, 1);
    while (s.n > 0 && is_white(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Removes and returns what precedes the first `separator`, or all of *s;
 * removes the separator too. s->p must not be NULL; an empty *s gives an empty
 * part. */
static inline struct slice slice_next(struct slice *s, char separator)
{
    const char *end = memchr(s->p, separator, s->n);
    struct slice part = *s;
    if (end != NULL)
        part.n = (size_t)(end - s->p);
    slice_skip(s, part.n);
    if (end != NULL)
        slice_skip(s, 1);
    return part;
}

/* Removes the decimal digits at the start of *s and returns their value, or
 * -1 if there are none. One above 2^59 may not be exact: none overflows. */
int64_t slice_next_number(struct slice *s);

/* isdigit(3) would cost a child of 02 a page fault: it reads a table. */
static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the value of a hexadecimal digit. */
static inline int hex_value(char digit)
{
    if (digit <= '9')
        return digit - '0';
    if (digit <= 'F')
        return digit - 'A' + 10;
    return digit - 'a' + 10;
}

/* Removes one byte from *s, which must not be empty, and returns it; %XX,
 * with two hexadecimal digits, stands for one byte. Returns -1 for any
 * other '%'. */
int slice_next_decoded(struct slice *s);

struct buffer { /* all zero is a valid, empty buffer */
    char *data;
    size_t len;
    size_t cap;
    bool failed;
};

static inline struct slice buffer_slice(const struct buffer *b)
{
    return (struct slice){b->data, b->len};
}

/* Frees the memory; the buffer is empty and usable again. */
void buffer_free(struct buffer *b);

/* Empties the buffer; frees its memory if that is more than `keep` bytes,
 * so that one huge page does not make a pooled buffer huge for good. */
static inline void buffer_reset(struct buffer *b, size_t keep)
{
    if (b->cap > keep)
        buffer_free(b);
    b->len = 0;
    b->failed = false;
}

/* Makes space for n more bytes and returns where they go; NULL, with
 * `failed` set, when memory runs out. The caller adds to len what it has
 * written. */
char *buffer_reserve(struct buffer *b, size_t n);

static inline void buffer_append(struct buffer *b, const void *bytes, size_t n)
{
    /* n may be 0 where data or bytes is NULL, which memcpy must not see. */
    const bool fits = !b->failed && n <= b->cap - b->len;
    if (n > 0 && (fits || buffer_reserve(b, n) != NULL)) {
        memcpy(b->data + b->len, bytes, n);
        b->len += n;
    }
}

static inline void buffer_append_slice(struct buffer *b, struct slice s)
{
    buffer_append(b, s.p, s.n);
}

#define buffer_append_literal(b, s) buffer_append((b), (s), sizeof(s) - 1)

void buffer_append_uint(struct buffer *b, uint64_t value);

/* Appends as printf would; too slow for the hot path. */
void buffer_printf(struct buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
