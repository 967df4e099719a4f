/*
 * 05 prethreaded - a fixed number of threads, made before the clients come.
 *
 * As 03, with threads: --threads of them each run the loop of 01 and accept
 * from the same socket. Each has its own worker: buffers, file cache, a
 * connection to Redis. What 03's parent does (wait for signals) the main thread
 * does here, in sigwait(3).
 *
 * Stevens put a mutex around accept, as kernels of his time woke every sleeper
 * for one client ("thundering herd") or could not cope with two at all. Linux
 * queues those who wait and wakes one; but that one too is mostly woken for
 * nothing. So there is a mutex here after all, held for longer than around
 * accept: a thread keeps its turn until it has to wait (common/accept_turn.h).
 * The other classic design is one thread that accepts and hands descriptors to
 * the others through a queue: it can sort clients before they are served, and
 * pays with a hand-over, so often a context switch, for each.
 * docs/05_prethreaded.md compares the four.
 *
 *                          .-> thread: accept -> serve -> accept ...
 *   clients ---> [ ][ ] ---+-> thread: accept -> serve -> accept ...
 *                          '-> thread: accept -> serve -> accept ...
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/serve_blocking.h"
#include "../common/fatal.h"
#include "../common/server.h"
#include "../common/signals.h"
#include "../common/worker.h"

static const struct architecture architecture = {
    .folder = "05_prethreaded", .name = "prethreaded", .takes = TAKES_THREADS};

enum { STACK_SIZE = 256 * 1024 }; /* see 04 */

struct thread {
    pthread_t id;
    const struct server *server;
    int number;
};

/* One thread: waits for clients and serves each of them to the end. */
static void *serve_clients(void *data)
{
    const struct thread *thread = data;
    const struct server *server = thread->server;
    struct worker worker;
    int fd;

    serve_blocking_init(&worker, server, &server->shared->stats[thread->number]);
    while ((fd = serve_blocking_accept(&worker)) >= 0)
        serve_blocking(&worker, fd);
    worker_free(&worker);
    return NULL;
}

static struct thread *create_threads(const struct server *server)
{
    struct thread *threads =
        calloc((size_t)server->options.threads, sizeof *threads);
    pthread_attr_t attributes;
    if (threads == NULL || pthread_attr_init(&attributes) != 0)
        die("out of memory");
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    for (int i = 0; i < server->options.threads; i++) {
        threads[i].server = server;
        threads[i].number = i;
        int error = pthread_create(&threads[i].id, &attributes, serve_clients,
                                   &threads[i]);
        if (error != 0)
            die("cannot make thread %d: %s; ask for fewer with --threads", i,
                strerror(error));
    }
    pthread_attr_destroy(&attributes);
    return threads;
}

/* Waits for signals and acts on them, until one says stop. All threads have the
 * signals blocked, so none of them is ever interrupted by one. */
static void wait_for_stop(const struct server *server, const sigset_t *set)
{
    int signal_number;
    while (!signals_stopping()) {
        if (sigwait(set, &signal_number) == 0)
            signals_note(signal_number);
        server_housekeeping(server);
    }
}

/* Waits for the threads: accept has returned, they finish what they serve. */
static void join_threads(const struct server *server, struct thread *threads)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += server->options.drain_timeout_ms / 1000 + 2;
    for (int i = 0; i < server->options.threads; i++)
        if (pthread_timedjoin_np(threads[i].id, NULL, &until) != 0)
            return; /* they end with the process; their memory is in use */
    free(threads);
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers look at it */
    sigset_t set;

    server_start(&server, &architecture, argc, argv, 1, 0);
    /* A client that is kept although it is silent keeps a thread from others. */
    server.shared->full = true;
    signals_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* threads inherit this */
    struct thread *threads = create_threads(&server);
    server_ready(&server, "%d thread%s", server.options.threads,
                 server.options.threads == 1 ? "" : "s");
    wait_for_stop(&server, &set);
    /* From here on a second signal is taken by its handler: stop at once. */
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    join_threads(&server, threads);
    return server_finish(&server);
}
