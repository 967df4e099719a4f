/*
 * workers - keeps a number of worker processes running.
 *
 * For 03, and for 07 with more than one loop. The parent serves nobody: it
 * forks, waits for signals, and replaces a worker that died. A worker's death
 * costs the clients it was serving; those in the accept queue are served by
 * the others, or by its successor, as the listening socket is the parent's too.
 */
#ifndef WORKERS_H
#define WORKERS_H

#include "server.h"

/* What a worker does until the server stops; number is 0 to count - 1. */
typedef void worker_main(const struct server *server, int number);

/* Runs `count` workers; returns when the server was told to stop and all have
 * ended, by themselves or, --drain-timeout and a second later, by SIGKILL. */
void workers_run(const struct server *server, int count, worker_main *serve);

#endif
