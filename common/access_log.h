/*
 * access_log - a line for each answer, in the Common Log Format.
 *
 *   127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 2326
 *
 * Each line is one writev(2) to a file opened with O_APPEND: the kernel
 * moves to the end and writes in one step, so lines of several processes
 * and threads do not mix. A client's bytes are escaped, so no client can
 * forge a line. It is written when the answer is made, before the first
 * byte is sent: a client that leaves during its answer has a line, too.
 *
 * A FIFO is opened with O_NONBLOCK: when its reader is too slow, lines are
 * lost and no request waits. Standard output is shared with other programs
 * and stays as it is: when it is a pipe whose reader stops, the worker
 * blocks, but loses the line if the server is stopping.
 */
#pragma once

#include <stdatomic.h>

#include "http_exchange.h"

/* What all processes and threads that write to a log know of it: all zero
 * at first, in memory that fork(2) shares. */
struct access_log_state {
    atomic_bool cut;           /* the last line lacks its end */
    _Atomic int64_t warned_ms; /* when a lost line was last reported */
};

struct access_log {
    const char *path; /* NULL: no log; "-": standard output */
    int fd;           /* -1: no log */
    struct access_log_state *state; /* not owned */
};

/* Opens the log, creating it if necessary; path may be NULL. Returns 0, or
 * -1 with errno. */
int access_log_open(struct access_log *log, const char *path,
                    struct access_log_state *state);

/* Opens the log's path again, after a rotation, in place of the old
 * descriptor. Returns 0, or -1 with errno; the old file is still in use
 * then. */
int access_log_reopen(const struct access_log *log);

/* Writes the line for an answer that was made at `now` for client `peer`. A
 * line that cannot be written is lost, with a warning at most once a
 * minute. If only part of it fits, because the disk or the file is full
 * (write(2)), the next line that can be written begins a new one. */
void access_log_write(const struct access_log *log, const char *peer,
                      const struct http_logged *entry, time_t now);
