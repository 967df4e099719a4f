/*
 * worker_processes - the books that a parent keeps about its workers.
 *
 * For 03, and for 07 with several loops. main forks; this module reaps, and says
 * which worker has to be started, and when: one that died within a second of its
 * start is replaced when that second is over, because what killed it may kill
 * the next one too, and the machine would do nothing but fork.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "server.h"

struct worker_processes {
    const struct server *server;
    pid_t parent;
    struct worker_process {
        pid_t pid;          /* 0: not running */
        int64_t started_ms; /* monotonic */
    } *processes;           /* options.workers of them */
    sigset_t unblocked;     /* the signal mask for waiting */
};

/* Prepares for options.workers workers, none of which runs. From here on signals
 * are blocked, except while one of the functions below waits. */
void worker_processes_init(struct worker_processes *workers,
                           const struct server *server);

/* Waits until a worker has to be started, for the first time or because it died.
 * Returns its number, or -1 when the server is stopping. */
int wait_for_dead_worker(struct worker_processes *workers);

/* Records what fork(2) returned for a worker. Returns whether this is the child.
 * After a failure, which it reports, the worker is due again a second later. */
bool record_fork(struct worker_processes *workers, int number, pid_t pid);

/* Waits until all workers have ended. Kills those that still run one second
 * after --drain-timeout. */
void wait_for_workers_to_end(struct worker_processes *workers);
