/*
 * redis - the blocking way to run the Redis commands of pages, and what it
 * shares with redis_async.h, the way for event loops.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "redis_command.h"

enum {
    /* A guest gets a page or a 503 within a second, so everything that one
     * page asks of Redis may take this long ... */
    REDIS_TIMEOUT_MS = 700,
    /* ... and each single wait for Redis, connecting included, this long.
     * Both hold for 01 to 05. In a loop the first is how long Redis may be
     * silent while replies are due: redis_async_flush(). */
    REDIS_WAIT_MS = 250,
};

struct redis_address {
    bool none;        /* --redis none: there is no guestbook */
    const char *path; /* of a unix socket, or NULL */
    const char *host; /* a numeric address after redis_resolve() */
    int port;
};

/* When the next attempt to connect may be made. Without back-off a hundred
 * workers would try a Redis that is just starting with every request, and
 * every page would wait for one that hangs. */
struct redis_backoff { /* all zero: immediately */
    int64_t retry_ms;  /* monotonic */
    int delay_ms;      /* doubles with each failure; 0 after a reply */
};

/* Is it time to try to connect, and is there memory for it? (hiredis 0.14,
 * which Debian 12 has, ends the process when there is none.) False sets
 * errno: EAGAIN or ENOMEM. */
bool redis_may_connect(const struct redis_address *address,
                       const struct redis_backoff *backoff, int64_t now_ms);

/* Records a failure at now_ms. */
void redis_backoff_failed(struct redis_backoff *backoff, int64_t now_ms);

/* What a reply may hold. A page asks for 100 remarks of at most 4.2 KB
 * each; other programs may have stored longer ones. A program that is no
 * Redis of ours could announce 2,147,483,647 elements, for which hiredis
 * allocates an array before the first has arrived. */
enum { REDIS_ELEMENTS_MAX = 128, REDIS_REPLY_BYTES_MAX = 1024 * 1024 };

/* What the reader of a connection needs to hold replies to these limits. */
struct redis_bounds {
    redisReplyObjectFunctions functions; /* which the reader calls */
    const redisReplyObjectFunctions *original;
    size_t bytes; /* of the strings in the current reply */
};

/* Makes a reader of hiredis fail, as if memory had run out, at an array in
 * an array, at one of more than REDIS_ELEMENTS_MAX elements, and at more
 * than REDIS_REPLY_BYTES_MAX bytes of strings. *bounds must live as long as
 * the reader. */
void redis_bound_replies(redisReader *reader, struct redis_bounds *bounds);

/* Has the reader got more bytes of an element, or of a line, that is not
 * complete than a whole reply may have? Its connection should be closed
 * then. */
bool redis_reply_is_too_long(const redisReader *reader);

/* One connection, owned by one blocking worker, which sets the address. */
struct redis {
    const struct redis_address *address;
    redisContext *context; /* NULL: not connected */
    struct redis_bounds bounds;
    struct redis_backoff backoff;
    int64_t deadline_ms;    /* of the current page */
};

/* Closes the connection. The next redis_begin() connects again. */
void redis_close(struct redis *redis);

/* Begins the commands of one page, connecting if necessary. Returns false
 * when Redis is away, with errno if the system said why. now_ms is
 * monotonic. */
bool redis_begin(struct redis *redis, int64_t now_ms);

/* Queues a command; redis_receive() sends it. Returns false when there is
 * no connection or no memory; redis_receive() will return NULL then. */
bool redis_queue(struct redis *redis, const struct redis_command *command);

/* Sends what is queued and waits for the next reply. The caller frees it
 * with freeReplyObject(). Returns NULL when Redis is away, too slow, does
 * not speak its protocol or replies with too much: the connection is closed
 * then. */
redisReply *redis_receive(struct redis *redis);
