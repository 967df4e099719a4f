/*
 * redis_resolve - where Redis is: its host's address, looked up at the
 * start.
 */
#pragma once

#include "redis.h"

/* Looks the host up and replaces its name by its address: once, at the
 * start, because getaddrinfo(3) blocks. Failure ends the program. */
void redis_resolve(struct redis_address *address);
