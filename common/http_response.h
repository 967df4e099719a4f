/*
 * http_response - the answer: status line, fields, content, error pages.
 *
 * An answer is begun, given fields, and ended by its content; or it is made
 * whole by one call. All of it goes to the exchange's `out` buffer but a large
 * content, which is sent from where it lies. For HEAD the same calls produce the
 * same fields and leave the content out.
 *
 * Running out of memory is looked after here: what was begun is taken back and
 * a short 503 takes its place.
 */
#pragma once

#include "http_exchange.h"

/* Media types that several pages use. */
#define HTTP_TYPE_HTML SLICE("text/html; charset=utf-8")
#define HTTP_TYPE_TEXT SLICE("text/plain; charset=utf-8")
#define HTTP_TYPE_XML SLICE("text/xml; charset=utf-8")

/* Fields for every HTML answer: a page may load from this server alone, and
 * runs no script and no style that stands in the page itself, so that markup
 * that slipped through the escaping would still do nothing. */
#define HTTP_HTML_FIELDS                                                       \
    "Content-Security-Policy: default-src 'none'; style-src 'self'; "         \
    "img-src 'self'; script-src 'self'; connect-src 'self'; "                 \
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n"         \
    "X-Content-Type-Options: nosniff\r\n"

/* Begins an answer: status line, Server, Date, Connection. */
void response_begin(struct http_exchange *x, int status);

/* Adds a field; the name is a literal. Control bytes in the value, which would
 * let a client write fields of its own (response splitting), are left out. */
void response_field(struct http_exchange *x, const char *name,
                    struct slice value);

/* Ends an answer: Content-Type, Content-Length and a copy of the content. An
 * HTML type brings HTTP_HTML_FIELDS with it. */
void response_content(struct http_exchange *x, struct slice type,
                      struct slice content);

/* Ends an answer with what x->page holds, which is sent from there. */
void response_page(struct http_exchange *x, struct slice type);

/* Ends an answer with part of a file; takes over the caller's reference. The
 * fields that describe the file must have been added. */
void response_file(struct http_exchange *x, struct cached_file *file,
                   off_t offset, size_t length);

/* Ends an answer that has no content by its nature (204, 304). */
void response_no_content(struct http_exchange *x);

/* Whole answers. */
void response_text(struct http_exchange *x, int status, struct slice type,
                   struct slice content);
/* A page that says what is wrong and what to do; `detail` (HTML, trusted)
 * replaces the usual sentence, or is NULL. */
void response_error(struct http_exchange *x, int status, const char *detail);
void response_not_allowed(struct http_exchange *x, unsigned methods); /* 405 */
void response_unsatisfiable(struct http_exchange *x, uint64_t size);  /* 416 */
void response_options(struct http_exchange *x, unsigned methods);     /* 204 */
