/*
 * http_response - the answer: status line, fields, content, error pages.
 *
 * A page begins an answer, adds fields, and ends it with content; for HEAD the
 * content is left out. Everything goes to x->out, except x->page and files,
 * which are sent from where they are. If memory runs out, a 503 replaces the
 * answer.
 */
#pragma once

#include "http_exchange.h"

#define HTTP_TYPE_HTML SLICE("text/html; charset=utf-8")
#define HTTP_TYPE_TEXT SLICE("text/plain; charset=utf-8")
#define HTTP_TYPE_XML SLICE("text/xml; charset=utf-8")

/* Fields for every HTML answer: a page loads from this server only and runs
 * no inline script or style, so markup that slips through escaping does
 * nothing. */
#define HTTP_HTML_FIELDS                                                       \
    "Content-Security-Policy: default-src 'none'; style-src 'self'; "         \
    "img-src 'self'; script-src 'self'; connect-src 'self'; "                 \
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n"         \
    "X-Content-Type-Options: nosniff\r\n"

/* Begins an answer: status line, Server, Date, Connection. */
void response_begin(struct http_exchange *x, int status);

/* Adds a field. Control bytes in the value are omitted: with them a client
 * could add fields of its own (response splitting). */
void response_field(struct http_exchange *x, const char *name,
                    struct slice value);

/* Ends an answer: Content-Type (for HTML with HTTP_HTML_FIELDS), Content-Length
 * and a copy of the content. */
void response_content(struct http_exchange *x, struct slice type,
                      struct slice content);

/* The same with the content of x->page, which is sent from there. */
void response_page(struct http_exchange *x, struct slice type);

/* Ends an answer with part of a file and takes over the caller's reference. The
 * caller has added the fields that describe the file. */
void response_file(struct http_exchange *x, struct open_file *file,
                   off_t offset, size_t length);

/* Ends an answer that never has content (204, 304). */
void response_no_content(struct http_exchange *x);

void response_text(struct http_exchange *x, int status, struct slice type,
                   struct slice content);
/* A page that says what is wrong and what to do. `detail`, trusted HTML or
 * NULL, replaces the usual text. */
void response_error(struct http_exchange *x, int status, const char *detail);
void response_not_allowed(struct http_exchange *x, unsigned methods); /* 405 */
void response_unsatisfiable(struct http_exchange *x, uint64_t size);  /* 416 */
void response_options(struct http_exchange *x, unsigned methods);     /* 204 */
