/*
 * router - which page answers a request: the one of this path, or for any
 * other path static_file, which looks below public/. A page has exactly its
 * path: /guestbook/ with a slash at the end is a folder of public/.
 */
#pragma once

#include "page.h"

/* All pages but static_file's; the last is followed by NULL. */
extern const struct page *const router_pages[];

/* Returns the page of a path (the first, if two pages have it), or NULL: then
 * the path may name a file. */
const struct page *router_page(const char *path);

/* Answers the request in x, or has its page ask Redis. */
void router_dispatch(struct http_exchange *x);

/* Decodes the %XX escapes of a request's path into path[size], with a NUL.
 * Returns 0; 400 for a malformed escape; 404 for a path that can name
 * nothing: it contains a NUL byte or does not fit. */
int router_decode_path(struct slice raw, char *path, size_t size);
