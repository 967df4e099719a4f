/*
 * worker - what one process, thread or loop owns while it serves clients.
 *
 * common/ has no writable globals except what signal handlers touch
 * (signals.c). All other state belongs to a worker, and one thread of
 * control uses it at a time. That is why the same code works under fork(2),
 * in threads and in an event loop without a lock.
 */
#pragma once

#include "http_conn.h"
#include "server.h"

struct worker {
    const struct server *server;
    struct worker_slot *slot;
    struct http_context http; /* what answers are made from, and the clock;
                                 see http_exchange.h */
    unsigned log_generation;  /* of the log file that this process has open */
    bool draining;            /* the server is stopping: no new requests */
    bool drain_expired;       /* ... for longer than --drain-timeout */
};

/* Initializes worker `number`, which counts in the slot of that number.
 * blocking_worker_init() and event_loop_init() call it. */
void worker_init(struct worker *worker, const struct server *server,
                 int number);

/* Looks at the clock and at what signal handlers recorded. Call it after
 * each system call that may have waited. */
void worker_update(struct worker *worker);

/* Prepares what every child of fork(2) would otherwise repeat: follows a
 * rotated log, makes the header fields of this second. */
void worker_before_fork(struct worker *worker);

/* May this connection stay open after the request it has just received? */
bool worker_may_keep(const struct worker *worker, const struct http_conn *conn);

/* Returns the client's address, to be freed by the caller; NULL when neither
 * a log nor a page needs it, the client has left or memory runs out. */
char *worker_peer_name(const struct worker *worker, int fd);

/* Counts the answer that conn has completed. If a log is kept, also writes
 * its line: before the first byte is sent (access_log.h). `peer` is the
 * client's address or NULL: then there is no line. */
void worker_log_answer(struct worker *worker, const struct http_conn *conn,
                       const char *peer);
