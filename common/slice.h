/*
 * slice - a piece of somebody else's memory: where it starts, how long it is.
 *
 * What the parser finds in a request is never copied and never ends in a NUL:
 * it is a pointer into the connection's input buffer and a length. A slice
 * owns nothing and is good only as long as the buffer it points into.
 */
#ifndef SLICE_H
#define SLICE_H

#include <stdbool.h>
#include <stddef.h>
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

#endif
