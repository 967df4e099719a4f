/*
 * http_parser - parses the head of a request.
 *
 * Pure functions: they allocate nothing, keep no state of their own and
 * read no byte beyond the ones given. They refuse whatever is ambiguous: if
 * two servers read one message in two ways, an attacker can smuggle a
 * request past the first of them (RFC 9112, 11.2).
 */
#pragma once

#include <sys/types.h>

#include "bytes.h"

enum { /* the limits, and the status of a request that exceeds one of them */
    HTTP_TARGET_MAX = 8000,     /* bytes of the request target: 414 */
    HTTP_HEAD_MAX = 16384,      /* bytes of request line and fields: 431 */
    HTTP_LIST_LINES_MAX = 4,    /* lines of one list, such as If-Match: 431 */
    HTTP_BODY_MAX = 65536       /* bytes of content: 413 */
};

enum http_method { /* bits, so that a route can name a set of methods */
    HTTP_GET = 1 << 0,
    HTTP_HEAD = 1 << 1,
    HTTP_POST = 1 << 2,
    HTTP_OPTIONS = 1 << 3,
    HTTP_REFUSED = 1 << 4, /* defined by an RFC, but no page takes it: 405 */
    HTTP_UNKNOWN = 1 << 5  /* 501 */
};

/* The lines of a field whose value is a list. RFC 9110, 5.3 joins them to
 * one list; they stay separate here, because their bytes are not
 * contiguous. */
struct http_list {
    struct slice lines[HTTP_LIST_LINES_MAX];
    size_t count; /* 0: the field was not sent */
};

/* The slices point into the parsed bytes; p is NULL if the field was not
 * sent. A field that may have one value and was sent twice is empty, so
 * that it is ignored (RFC 9110, 13.1.3, 13.1.4 and 14.2). */
struct http_request {
    enum http_method method;
    int minor_version;    /* HTTP/1.minor_version */
    bool has_host;        /* the target or the Host field names a host */
    bool keep_alive;      /* the connection may stay open after the response */
    bool expect_continue; /* Expect: 100-continue */
    bool chunked;         /* if not, content_length is the body's length */
    uint64_t content_length;
    struct slice line;  /* the request line without its line end, for the log */
    struct slice path;  /* of the target, percent-encoded; "*" for OPTIONS * */
    struct slice query; /* of the target: what follows the '?' */
    struct slice content_type, range, if_range;
    struct slice if_modified_since, if_unmodified_since;
    struct http_list if_match, if_none_match;
};

/* Parses the head of a request that starts at bytes[0].
 * Returns  > 0  the length of the head; *request is filled in,
 *            0  the head is incomplete: call again with more bytes,
 *          < 0  the request is invalid: minus the status of the response (400,
 *               414, 417, 431, 501, 505). *request holds what was parsed before
 *               the error. The connection must be closed after the response,
 *               because the start of the next request is unknown. */
ssize_t http_parse_head(const char *bytes, size_t length,
                        struct http_request *request);

/* Returns whether c may stand in a token (RFC 9110, 5.6.2). */
bool http_is_token_char(char c);

/* Returns whether c may stand in the value of a field (RFC 9110, 5.5). */
bool http_is_value_char(char c);
