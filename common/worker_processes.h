/*
 * worker_processes - which workers run, and which have to be started.
 *
 * For 03, and for 07 with several loops. main() forks. This module reaps
 * the children that end and says which worker to start next. A worker
 * starts at most once a second: if each crashes immediately, the parent
 * must not spend all its time forking.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "server.h"

struct worker_processes {
    const struct server *server;
    struct worker_process {
        pid_t pid;      /* 0: not running */
        int64_t due_ms; /* start it then at the earliest; monotonic */
    } *processes;       /* options.workers of them */
    int next;           /* which of them is looked at first */
    sigset_t unblocked; /* the signal mask for waiting */
};

/* Prepares for options.workers workers, none of which runs. From here on
 * signals are blocked, except while one of the functions below waits. */
void worker_processes_init(struct worker_processes *workers,
                           const struct server *server);

/* Waits until a worker has to be started, for the first time or because it
 * died. Returns its number, or -1 when the server is stopping. */
int wait_for_missing_worker(struct worker_processes *workers);

/* Records what fork(2) returned for a worker. Returns whether this is the
 * child, where signals stay blocked: the parent tells it to stop
 * (signals_in_child()). After a failure, which it reports, the worker is due
 * again a second later. */
bool record_fork(struct worker_processes *workers, int number, pid_t pid);

/* Waits until all workers have ended, but not longer than a second after
 * --drain-timeout: when the parent exits, the kernel kills those still
 * running (signals_in_child()). */
void wait_for_workers_to_end(struct worker_processes *workers);
