/*
 * http_response - the answer: status line, fields, content, error pages.
 *
 * A page begins an answer, adds fields, and ends it with content; for HEAD
 * the content is left out. Everything goes to x->out, except files, which
 * are sent from where they are. If memory runs out, the connection closes
 * instead.
 */
#pragma once

#include "http_exchange.h"

#define HTTP_TYPE_HTML SLICE("text/html; charset=utf-8")
#define HTTP_TYPE_TEXT SLICE("text/plain; charset=utf-8")

enum { HTTP_DATE_LENGTH = 29 }; /* Sun, 06 Nov 1994 08:49:37 GMT */

/* Writes t in this format, with a NUL. Years have four digits, so a time
 * before 1970 is written as the start of 1970, one after 9999 as the end of
 * 9999. */
void http_date_format(char out[HTTP_DATE_LENGTH + 1], time_t t);

/* Makes the fields that all answers of this second share, once. */
void response_update_fields(struct http_context *context);

/* Begins an answer: status line, Server, Date, Connection. An answer that
 * the same request has already got is replaced. */
void response_begin(struct http_exchange *x, int status);

/* Adds a field. Control bytes in the value are omitted: with them a client
 * could add fields of its own (response splitting). */
void response_field(struct http_exchange *x, const char *name,
                    struct slice value);

/* Ends an answer: Content-Type, Content-Length, a copy of the content. */
void response_content(struct http_exchange *x, struct slice type,
                      struct slice content);

/* The same with what the page has appended to x->content. */
void response_buffer(struct http_exchange *x, struct slice type);

/* The same with part of a file; takes over the caller's reference. */
void response_file(struct http_exchange *x, struct slice type,
                   struct open_file *file, off_t offset, size_t length);

/* Ends an answer that never has content (204, 304). */
void response_no_content(struct http_exchange *x);

/* Ends an error with a page that says what is wrong and what to do.
 * `detail`, trusted HTML or NULL, replaces the usual text. */
void response_error_page(struct http_exchange *x, const char *detail);

/* Begins and ends an error. */
void response_error(struct http_exchange *x, int status, const char *detail);

/* Takes back everything from out_start on, and a file. */
void response_drop(struct http_exchange *x);
