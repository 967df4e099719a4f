/*
 * access_log - a line for each answer, in the Common Log Format.
 *
 *   127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 2326
 *
 * Each line is one write(2) to a file opened with O_APPEND: the kernel moves to
 * the end and writes as one step, so that lines of many processes and threads
 * do not mix. A client's bytes are escaped: nobody can forge a line.
 *
 * Where the log is no file (a pipe, a terminal), whoever reads it may stop. Then
 * lines are lost, not time: no request waits for a reader of the log.
 */
#ifndef ACCESS_LOG_H
#define ACCESS_LOG_H

#include <stdbool.h>
#include <time.h>

struct http_exchange;

struct access_log {
    const char *path; /* NULL: no log; "-": standard output */
    int fd;           /* -1: no log */
    bool may_block;   /* it is no regular file */
};

/* Opens (creating it) the log; path may be NULL. Returns 0, or -1 with errno. */
int access_log_open(struct access_log *log, const char *path);

/* Opens it anew under its name, after a rotation, in the place of the old
 * descriptor: a line goes to the one or the other, and none is lost. Returns
 * 0, or -1 with errno and the old file still in use. */
int access_log_reopen(const struct access_log *log);

/* Writes the line for an answer that was made at `now`. */
void access_log_write(const struct access_log *log, const char *peer,
                      const struct http_exchange *x, time_t now);

#endif
