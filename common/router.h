/*
 * router - which page answers a request: a table of paths, with the methods
 * that each takes, and the smallest pages. Every other path names a file below
 * public/.
 */
#pragma once

#include "http_exchange.h"

/* Answers the request in x, or queues Redis commands and sets on_reply. */
void router_dispatch(struct http_exchange *x);

/* Decodes the %XX escapes of a request's path into path[size], with a NUL.
 * Returns 0; 400 for a malformed escape; 404 for a path that can name nothing:
 * it contains a NUL byte or does not fit. */
int router_decode_path(struct slice raw, char *path, size_t size);
