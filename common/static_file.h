/*
 * static_file - files below public/, with what HTTP says about them: media
 * type, Last-Modified and ETag, conditional requests (RFC 9110, 13), one
 * range (14).
 *
 * All functions but the first compute from their arguments alone: tests
 * call them without a file.
 */
#pragma once

#include <sys/types.h>

#include "http_exchange.h"

/* Answers GET and HEAD for the file that x->path names. */
void static_file_answer(struct http_exchange *x);

/* Returns the media type for the extension of a path. */
const char *static_file_type(const char *path);

/* Returns whether a path may be looked up. It must start with '/', and no
 * segment may be empty or start with a dot, which excludes ".", ".." and
 * hidden files. */
bool static_file_path_allowed(const char *path);

/* Reads a date in any of the three formats that RFC 9110, 5.6.7 requires.
 * Returns (time_t)-1 when s is in none of them, or names a day that no
 * calendar has: the 31st of February, or a Monday that was a Sunday. */
time_t http_date_parse(struct slice s);

/* Applies a Range field (RFC 9110, 14.1.2) to a file of `size` bytes.
 * Returns 206 with *first and *length set; 416 for a range beyond the end;
 * 200, the whole file, for one that is malformed and for several. */
int static_file_range(struct slice range, off_t size, off_t *first,
                      off_t *length);

/* Evaluates the conditions of a request as RFC 9110, 13.2.2 orders them.
 * Returns 412, 304, or 200: continue. */
int static_file_evaluate(const struct http_request *request, struct slice etag,
                         time_t modified);

/* Returns whether If-Range allows a range: if it is absent, repeats the
 * ETag, or repeats the date and that is old enough to name one version
 * (13.1.5). */
bool static_file_if_range(struct slice if_range, struct slice etag,
                          time_t modified, time_t now);
