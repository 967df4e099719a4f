/*
 * worker - what one loop, process or thread owns while it serves.
 *
 * Nothing in common/ is a writable global but what signal handlers touch
 * (signals.c): all state hangs on a worker, and a worker is used by one thread
 * of control at a time. That is why the same code is right under fork(2), under
 * threads and in an event loop, without a lock (accept_turn.h has one, for speed).
 */
#ifndef WORKER_H
#define WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "accept_filter.h"
#include "accept_turn.h"
#include "clock.h"
#include "file_cache.h"
#include "http_exchange.h"
#include "server.h"
#include "stats.h"
#include "redis.h"

enum { WORKER_SPARE_EXCHANGES = 32 };

struct event_loop;

struct worker {
    const struct server *server;
    struct event_loop *loop; /* that it runs; NULL in a blocking server */
    struct clock clock;
    bool draining; /* the server is stopping: no new requests */
    bool overdue;  /* ... and has been for longer than --drain-timeout */
    unsigned log_generation; /* of the log that this process has open */
    /* Asked before a connection is kept: does another client wait that could
     * be served instead? NULL where a kept connection is in nobody's way. */
    bool (*must_yield)(struct worker *worker);

    struct stats_slot *stats;
    struct accept_filter silent; /* of the blocking servers */
    bool accepts;       /* it takes its clients itself, by serve_blocking_accept(), */
    struct accept_turn turn; /* when it is its turn */
    struct redis store; /* of the blocking servers */
    struct file_cache files;     /* below public/ */
    struct file_cache templates; /* below templates/ */

    struct http_exchange *spare; /* a stack: the last one used is still warm
                                    in the processor's cache */
    unsigned spares;

    time_t fields_time;    /* for which second `fields` was made */
    size_t fields_length;
    char fields[160];      /* "Server: ...\r\nDate: ...\r\n" */
    uint64_t random;       /* state of worker_random() */
};

/* Makes a worker for `server`; counts go to `stats` (shared with nobody else,
 * or with others that count by the same atomic adds). */
void worker_init(struct worker *worker, const struct server *server,
                 struct stats_slot *stats);

void worker_free(struct worker *worker);

/* Looks at the clock and at what signals left: once per turn of a loop, or after
 * each call that may have waited. Leaves errno as it is. */
void worker_tick(struct worker *worker);

/* Before fork(2) in 02: what would otherwise be left to each child. Follows a
 * rotated log, reads the template again if it has changed, and has a request's
 * memory ready. */
void worker_before_fork(struct worker *worker);

/* A child of fork(2) calls this: it must not draw its parent's numbers, and not
 * keep open the connections of clients that are not its own. */
void worker_in_child(struct worker *worker);

/* A number from 0 to below - 1; not for secrets. below > 0. */
uint32_t worker_random(struct worker *worker, uint32_t below);

/* An exchange from the pool, empty and ready for input; NULL: no memory. */
struct http_exchange *worker_take_exchange(struct worker *worker);

/* Back to the pool. NULL is fine. */
void worker_give_exchange(struct worker *worker, struct http_exchange *x);

#endif
