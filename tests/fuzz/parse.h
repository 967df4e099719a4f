/*
 * parse - one way to ask different HTTP parsers the same question.
 *
 * parse_main.c reads messages from standard input, each behind its length in
 * four bytes (the lowest first), has each parsed, and prints a line of JSON for
 * it. Each parser is a program of its own: parse_ours.c, parse_http_parser.c.
 * differential.py compares what they print.
 */
#ifndef PARSE_H
#define PARSE_H

#include "bytes.h"

struct verdict {
    enum { PARSE_WHOLE, PARSE_HALF, PARSE_WRONG } outcome;
    const char *reason; /* for WRONG, in the parser's words */
    /* For WHOLE: */
    struct slice method, target;
    int minor_version;
    bool keep_alive;    /* may a further request follow? */
    struct buffer body;
    size_t used;        /* bytes that belong to the request */
};

/* Parses the first request in bytes; *verdict comes all zero. */
void parse(struct slice bytes, struct verdict *verdict);

#endif
