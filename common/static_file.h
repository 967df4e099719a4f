/*
 * static_file - files below public/, with what HTTP has to say about them.
 *
 * Media type, Last-Modified and ETag, conditional requests (RFC 9110, 13), one
 * range (14). The arithmetic stands in functions of its own, so that it can be
 * tested without a file.
 */
#pragma once

#include <sys/types.h>
#include <time.h>

#include "http_exchange.h"

/* Answers GET and HEAD for the file that x->path names. */
void static_file_answer(struct http_exchange *x);

/* The media type for a file name, by its ending. */
struct slice static_file_type(struct slice name);

/* May a path be looked up at all? It must start with '/', and no segment may
 * start with a dot: that leaves out ".", "..", and hidden files. */
bool static_file_path_is_fine(struct slice path);

enum range_result {
    RANGE_WHOLE,        /* none, malformed, or several: the whole file, 200 */
    RANGE_PART,         /* *first and *length are set: 206 */
    RANGE_UNSATISFIABLE /* behind the end: 416 */
};

/* Reads a Range field (RFC 9110, 14.1.2) against a file of `size` bytes. */
enum range_result static_file_range(struct slice range, off_t size,
                                    off_t *first, off_t *length);

/* Is the file the one that the client means; else 412? If-Match goes before
 * If-Unmodified-Since (RFC 9110, 13.2.2), and a weak ETag never matches
 * (13.1.1). */
bool static_file_is_meant(const struct http_request *request,
                          struct slice etag, time_t modified);

/* Is the client's copy still good (304)? If-None-Match goes before
 * If-Modified-Since (RFC 9110, 13.2.2). */
bool static_file_is_fresh(const struct http_request *request,
                          struct slice etag, time_t modified);

/* Does If-Range allow a range? So it does where there is none; else it must repeat
 * the ETag or the date exactly (RFC 9110, 13.1.5). `modified` is (time_t)-1 where
 * the date is not to be relied on. */
bool static_file_if_range(struct slice if_range, struct slice etag,
                          time_t modified);
