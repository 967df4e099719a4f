/*
 * http_parser - the head of a request, and the framing of its body.
 *
 * Pure functions: bytes in, facts out. Nothing is allocated, nothing is kept,
 * nothing is read beyond the bytes given, and whatever is ambiguous is refused:
 * two parsers that read one message in two ways are what request smuggling is
 * made of (RFC 9112, 11.2).
 *
 * A message is:   request line CRLF, fields, each with CRLF, CRLF, body.
 * A line may end in a bare LF, as RFC 9112, 2.2 allows, so that one can type a
 * request with nc(1); within chunked framing only CRLF is taken.
 */
#ifndef HTTP_PARSER_H
#define HTTP_PARSER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bytes.h"

/* The limits, and the status a client meets behind each. */
enum {
    HTTP_TARGET_MAX = 8000,     /* bytes of the request target: 414 */
    HTTP_HEAD_MAX = 16384,      /* bytes of request line and fields: 431 */
    HTTP_FIELDS_MAX = 100,      /* header fields: 431 */
    HTTP_LIST_LINES_MAX = 4,    /* lines of one list, as of If-Match: 431 */
    HTTP_BODY_MAX = 65536,      /* bytes of content: 413 */
    HTTP_CHUNK_OVERHEAD = 16384 /* chunk extensions, trailers, zeros: 413 */
};

enum http_method {
    HTTP_GET = 1 << 0, /* bits, so that a route can name a set of them */
    HTTP_HEAD = 1 << 1,
    HTTP_POST = 1 << 2,
    HTTP_OPTIONS = 1 << 3,
    HTTP_REFUSED = 1 << 4, /* known to HTTP, taken by no page: 405 */
    HTTP_UNKNOWN = 1 << 5  /* 501 */
};

/* A field whose value is a list may have several lines, and they are one list
 * (RFC 9110, 5.3). Their bytes lie apart, so they are kept apart. */
struct http_list {
    struct slice lines[HTTP_LIST_LINES_MAX];
    size_t count; /* 0: the field was not sent */
};

/* What the head says. The slices point into the bytes that were parsed; one
 * whose p is NULL was not sent. A Range or a condition that may have one value
 * and was sent with two is empty: as RFC 9110, 13.1.3, 13.1.4 and 14.2 have or
 * let it, it is then ignored like any that makes no sense. */
struct http_request {
    enum http_method method;
    int minor_version;     /* HTTP/1.minor_version */
    bool keep_alive;       /* may the connection go on after the answer? */
    bool expect_continue;  /* Expect: 100-continue */
    bool chunked;          /* the body is in chunks; else content_length */
    uint64_t content_length;
    struct slice line;     /* the request line without its end; for the log */
    struct slice path;     /* of the target, still percent-encoded; for
                              OPTIONS * it is "*" */
    struct slice query;    /* what follows the first '?', without it */
    struct slice host;
    struct slice content_type;
    struct slice range;
    struct slice if_range;
    struct http_list if_match;
    struct http_list if_none_match;
    struct slice if_modified_since;
    struct slice if_unmodified_since;
};

/* Parses the head of a request that starts at bytes[0].
 * Returns  > 0  the length of the head; *request is filled in,
 *            0  the head is not whole yet: call again with more bytes,
 *          < 0  the request is wrong: minus the status it should get (400,
 *               414, 417, 431, 501, 505). The connection cannot go on, as
 *               nobody knows where the next request starts. *request holds
 *               what had been understood until then. */
ssize_t http_parse_head(const char *bytes, size_t length,
                        struct http_request *request);

enum chunk_state {
    CHUNK_SIZE_FIRST,      /* expects the first digit of a chunk size */
    CHUNK_SIZE,            /* expects a digit or the end of the size */
    CHUNK_SIZE_LF,         /* expects the LF that ends the size line */
    CHUNK_DATA,            /* expects chunk data */
    CHUNK_DATA_CR,         /* expects the CR after the data */
    CHUNK_DATA_LF,         /* expects the LF after the data */
    CHUNK_EXT_SPACE,       /* in white space that must end in ';' */
    CHUNK_EXT_START,       /* after ';': expects an extension name */
    CHUNK_EXT_NAME,        /* in the name */
    CHUNK_EXT_NAME_SPACE,  /* in white space after the name */
    CHUNK_EXT_EQUALS,      /* after '=': expects a value */
    CHUNK_EXT_VALUE,       /* in a value that is a token */
    CHUNK_EXT_QUOTED,      /* in a quoted string */
    CHUNK_EXT_QUOTED_PAIR, /* after '\' in a quoted string */
    CHUNK_EXT_QUOTE_END,   /* after the closing quote */
    CHUNK_TRAILER,         /* expects a trailer field or the final CRLF */
    CHUNK_TRAILER_NAME,    /* in the name of a trailer field */
    CHUNK_TRAILER_VALUE,   /* in its value */
    CHUNK_TRAILER_LF,      /* expects the LF that ends it */
    CHUNK_END_LF,          /* expects the last LF of the body */
    CHUNK_DONE,            /* the body is complete */
    CHUNK_MALFORMED        /* the body is not valid: 400 */
};

/* The decoder of the chunked transfer coding (RFC 9112, 7.1). The caller sets
 * it to all zero at the start of a body. */
struct http_chunked {
    enum chunk_state state;
    uint64_t left;   /* data bytes of this chunk still to come */
    size_t overhead; /* bytes of extensions, trailers and leading zeros */
};

/* Decodes src[0..n) and writes the chunk data to dst. Extensions and trailer
 * fields are checked and dropped. dst may be src, or point before it in the
 * same buffer. Sets *consumed to the number of bytes read, which is n unless
 * the body ended before, and *written to the number of data bytes.
 * Returns 0, or minus the status of the error: 400 for a malformed body, 413
 * for one beyond the limits. After an error *consumed and *written are not
 * set. The body is complete when decoder->state is CHUNK_DONE. */
int http_chunked_decode(struct http_chunked *decoder, char *dst,
                        const char *src, size_t n, size_t *consumed,
                        size_t *written);

#endif
