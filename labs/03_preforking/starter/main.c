/*
 * Lab 03: preforking - a fixed number of processes, made before the clients
 * come.
 *
 * You begin with the loop of 01 in one process. At the end of the lab the
 * parent keeps --workers processes running and serves no client itself. Each
 * worker runs the loop of 01, and all accept from the same socket.
 *
 *                          .-> worker: accept -> serve -> accept ...
 *   clients ---> [ ][ ] ---+-> worker: accept -> serve -> accept ...
 *                          '-> worker: accept -> serve -> accept ...
 *
 * Write what is marked TODO, in the order of the numbers. Each comment is a
 * contract: it says what the function does, not how.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/serve_blocking.h"
#include "../common/accept.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "03_preforking", .name = "preforking", .kind = POOL,
    .keeps_files = true, .workers = 100};

enum { RESTART_INTERVAL_MS = 1000 }; /* a worker starts at most once in this */

/* What the parent knows of a worker. */
struct pool_member {
    pid_t pid;           /* 0: it does not run */
    int64_t not_before;  /* start it at this time or later, in milliseconds of
                          * clock_monotonic_ms() */
};

/* The loop of a worker: accepts clients and serves each to the end. The number
 * is the worker's slot in the statistics. Nothing is to be changed here. */
static void serve_clients(const struct server *server, int number)
{
    struct blocking_worker worker;
    int fd;

    blocking_worker_init(&worker, server, number);
    while ((fd = accept_next(server, blocking_worker_trim, &worker)) >= 0)
        serve_blocking(&worker, fd);
    blocking_worker_free(&worker);
}

/* Makes worker `number` and records its process id in *member. In the child it
 * does not return.
 *
 * TODO 1: fork(2). The child calls signals_in_child() first (signals.h says
 * why), then serve_clients(), and ends with _exit(2) and status 0. The parent
 * records the process id, and sets not_before to RESTART_INTERVAL_MS from now:
 * if each worker crashed at its start, the parent would otherwise spend all its
 * time forking.
 *
 * fork fails with EAGAIN or ENOMEM when there are too many processes or too
 * little memory. Then say so with server_warn_rarely(); the worker does not
 * run, and is due again at not_before. */
static void start_worker(const struct server *server,
                         struct pool_member *member, int number)
{
    (void)member;
    serve_clients(server, number);
}

/* Starts each of the `count` workers that does not run and may start now.
 * Returns whether one of them still does not run, because it is not due yet or
 * because fork(2) failed: the parent then looks again after 100 ms. */
static bool start_missing_workers(const struct server *server,
                                  struct pool_member *members, int count)
{
    /* TODO 1. Until then one process serves everyone. */
    (void)count;
    start_worker(server, &members[0], 0);
    return false;
}

/* Finds out which workers have ended, and sets their pid to 0. Returns how many
 * still run.
 *
 * TODO 2: waitpid(2), without waiting for those that still run. Ask for every
 * worker: signals do not queue, so one SIGCHLD may stand for several children.
 * If the server is not stopping, say with warn_user() how the worker ended.
 * Set server->shared->slots[number].idle to false with atomic_store(): a worker
 * that was killed in accept(2) is no longer idle. */
static int reap_workers(const struct server *server,
                        struct pool_member *members, int count)
{
    (void)server;
    (void)members;
    (void)count;
    return 0;
}

/* Sleeps until a signal arrives; with `soon`, for at most 100 ms.
 *
 * TODO 2: the signals are blocked (see keep_workers), so none can arrive
 * between the parent's last check and its sleep. ppoll(2) unblocks them and
 * sleeps in one step: *unblocked is the mask for it. EINTR is what you wait
 * for. Then call server_act_on_signals(), which acts on SIGUSR1 and SIGHUP. */
static void wait_for_signal(const struct server *server,
                            const sigset_t *unblocked, bool soon)
{
    (void)unblocked;
    (void)soon;
    server_act_on_signals(server);
}

/* The parent: keeps `count` workers running until the server is to stop, then
 * waits until they have ended.
 *
 * TODO 3: before the first fork, block the signals that signals_set() names
 * (sigprocmask(2)), and keep the old mask for wait_for_signal(). Then, until
 * signals_stopping(): reap, start what is missing, wait for a signal. In the
 * end wait until no worker runs, or until signals_stopping_ms() reaches
 * server->options.drain_timeout_ms + 1000. When the parent ends, the kernel
 * kills the workers that are left: see signals_in_child(). */
static void keep_workers(const struct server *server,
                         struct pool_member *members, int count)
{
    sigset_t unblocked;

    sigemptyset(&unblocked);
    while (!signals_stopping()) {
        reap_workers(server, members, count);
        bool missing = start_missing_workers(server, members, count);
        wait_for_signal(server, &unblocked, missing);
    }
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "%d worker%s", server.options.workers,
                 server.options.workers == 1 ? "" : "s");
    struct pool_member *members = calloc((size_t)server.options.workers,
                                         sizeof *members);
    if (members == NULL)
        die("out of memory; ask for fewer with --workers");
    keep_workers(&server, members, server.options.workers);
    free(members);
    return server_finish(&server);
}
