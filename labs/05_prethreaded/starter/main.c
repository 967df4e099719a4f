/*
 * Lab 05: prethreaded - a fixed number of threads, made before the clients
 * come.
 *
 * You begin with the loop of 01: the main thread serves one client after the
 * other. At the end of the lab --threads threads each run this loop, and all
 * accept from the same socket. The main thread serves no client: it takes the
 * signals.
 *
 *                          .-> thread: accept -> serve -> accept ...
 *   clients ---> [ ][ ] ---+-> thread: accept -> serve -> accept ...
 *                          '-> thread: accept -> serve -> accept ...
 *
 * Write what is marked TODO, in the order of the numbers. Each comment is a
 * contract: it says what the function does, not how.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "../common/serve_blocking.h"
#include "../common/accept.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "05_prethreaded", .name = "prethreaded", .kind = POOL,
    .keeps_files = true, .threads = 100};

/* What a thread of the pool runs: accepts clients and serves each to the end.
 * Returns when the server is to stop. pthread_create(3) passes the server.
 *
 * TODO 1: each thread has a worker of its own, so that it shares nothing and
 * needs no lock. Where do you store it? blocking_worker_init() takes a number
 * from 0 to --threads - 1, a different one for each thread: it is the slot in
 * the statistics. (Use atomic_fetch_add(), or pass it to the thread.) */
static void *run_thread(void *data)
{
    const struct server *server = data;
    struct blocking_worker worker;
    int fd;

    blocking_worker_init(&worker, server, 0);
    while ((fd = accept_next(server, blocking_worker_trim, &worker)) >= 0)
        serve_blocking(&worker, fd);
    blocking_worker_free(&worker);
    return NULL;
}

/* Makes server->options.threads threads that run run_thread(). Returns their
 * ids, to be freed by the caller. Failure ends the program with die(): it says
 * what to change.
 *
 * TODO 1: pthread_create(3). It returns the error instead of setting errno.
 * Give the threads attributes (pthread_attr_init(3)): a stack of 256 KiB
 * (the default is 8 MiB of address space), and a signal mask that blocks what
 * signals_set() names (pthread_attr_setsigmask_np(3)). The kernel gives a
 * signal to any thread that does not block it, and only the main thread knows
 * what to do with one. Destroy the attributes afterwards. */
static pthread_t *start_threads(struct server *server)
{
    pthread_t *threads = calloc((size_t)server->options.threads,
                                sizeof *threads);

    if (threads == NULL)
        die("out of memory; ask for fewer with --threads");
    run_thread(server);
    return threads;
}

/* The main thread: returns when the server is to stop (signals_stopping()).
 *
 * TODO 2: block the signals that signals_set() names (pthread_sigmask(3)), and
 * take them one by one with sigwait(3). Pass each to signals_record(), which
 * does what the signal handler does, and call server_act_on_signals(), which acts
 * on SIGUSR1 and SIGHUP. Unblock them at the end: a second SIGTERM, while the
 * threads finish their clients, ends the program. */
static void take_signals(const struct server *server)
{
    server_act_on_signals(server);
}

/* Waits until every thread has served its client, and frees the ids.
 *
 * TODO 3: pthread_join(3). */
static void join_threads(const struct server *server, pthread_t *threads)
{
    (void)server;
    free(threads);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    /* The starter's threads never run: it has to say that it is ready before
     * start_threads(). TODO 1: say it when the threads have been made. */
    server_ready(&server, "%d thread%s", server.options.threads,
                 server.options.threads == 1 ? "" : "s");
    pthread_t *threads = start_threads(&server);
    take_signals(&server);
    join_threads(&server, threads);
    return server_finish(&server);
}
