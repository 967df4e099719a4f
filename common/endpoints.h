/*
 * endpoints - small pages for load generators, from published comparisons of
 * servers; docs/benchmarking.md names them.
 */
#pragma once

#include "http_exchange.h"

void endpoint_answer(struct http_exchange *x);   /* 42 */
void endpoint_hello(struct http_exchange *x);    /* Hello, World! */
void endpoint_redirect(struct http_exchange *x); /* 302 to a random picture */
void endpoint_echo(struct http_exchange *x);     /* ?value=, as XML */
