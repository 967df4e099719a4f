/*
 * router - which page answers a request.
 *
 * A table of endpoints: a path, the methods that it takes, a function. What no
 * endpoint takes is a file below public/.
 */
#pragma once

#include "http_exchange.h"

/* Answers the request in x, or queues Redis commands and sets on_reply. HEAD is
 * allowed wherever GET is; OPTIONS, unknown methods (501), methods that a page
 * does not take (405) and malformed escapes (400) are answered here. */
void router_dispatch(struct http_exchange *x);

/* Decodes the %XX escapes of a request's path into path[size], with a NUL.
 * Returns 0, or the status for a path that is wrong: 400 for a bad escape, 404
 * for a NUL byte or a path too long to name anything. */
int router_decode_path(struct slice raw, char *path, size_t size);
