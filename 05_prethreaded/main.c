/*
 * 05 prethreaded - a fixed number of threads, made before the clients come.
 *
 * Like 03, with threads: --threads of them each run the loop of 01, and all
 * accept from the same socket. Each has a worker of its own: buffers, open
 * files, a connection to Redis. The main thread serves nobody: it waits for
 * signals, in sigwait(3).
 *
 * Stevens put a mutex around accept, because kernels of that time woke every
 * waiting thread for one client (the "thundering herd"). Linux queues the
 * threads that wait, and wakes one for each connection, so there is no lock
 * here. The variants accept-mutex and queue-handover show the classic designs.
 *
 *                          .-> thread: accept -> serve -> accept ...
 *   clients ---> [ ][ ] ---+-> thread: accept -> serve -> accept ...
 *                          '-> thread: accept -> serve -> accept ...
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/fatal.h"
#include "../common/serve_blocking.h"
#include "../common/net.h"
#include "../common/server.h"
#include "../common/signals.h"

static const struct architecture architecture = {
    .folder = "05_prethreaded", .name = "prethreaded", .kind = POOL,
    .takes = TAKES_THREADS};

enum { STACK_SIZE = 256 * 1024 }; /* see 04 */

struct thread {
    pthread_t id;
    const struct server *server;
    int number;
};

/* A thread: accepts clients and serves each to the end. */
static void *serve_clients(void *data)
{
    const struct thread *thread = data;
    struct blocking_worker worker;
    int fd;

    blocking_worker_init(&worker, thread->server, thread->number);
    while ((fd = net_accept(thread->server)) >= 0)
        serve_blocking(&worker, fd);
    blocking_worker_free(&worker);
    return NULL;
}

static struct thread *create_threads(const struct server *server)
{
    size_t count = (size_t)server->options.threads;
    struct thread *threads = calloc(count, sizeof *threads);
    pthread_attr_t attributes;

    if (threads == NULL || pthread_attr_init(&attributes) != 0)
        die("out of memory");
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    for (size_t i = 0; i < count; i++) {
        threads[i] = (struct thread){.server = server, .number = (int)i};
        int error = pthread_create(&threads[i].id, &attributes, serve_clients,
                                   &threads[i]);
        if (error != 0)
            die("cannot make thread %zu: %s; ask for fewer with --threads", i,
                strerror(error));
    }
    pthread_attr_destroy(&attributes);
    return threads;
}

/* Takes signals, and acts on them, until one of them says stop. */
static void wait_for_stop(const struct server *server, const sigset_t *set)
{
    int signal_number;
    while (!signals_stopping()) {
        if (sigwait(set, &signal_number) == 0)
            signals_record(signal_number);
        server_housekeeping(server);
    }
}

/* Waits for the threads: accept has returned, they finish what they serve. */
static void join_threads(const struct server *server, struct thread *threads)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += server->options.drain_timeout_ms / 1000 + 2;
    for (int i = 0; i < server->options.threads; i++)
        if (pthread_clockjoin_np(threads[i].id, NULL, CLOCK_MONOTONIC,
                                 &until) != 0)
            return; /* those left end with the process, and use this memory */
    free(threads);
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers use it */
    sigset_t set;

    server_start(&server, &architecture, argc, argv);
    signals_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* threads inherit this */
    struct thread *threads = create_threads(&server);
    server_ready(&server, "%d thread%s", server.options.threads,
                 server.options.threads == 1 ? "" : "s");
    wait_for_stop(&server, &set);
    /* From here on the handler takes a second signal: stop at once. */
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    join_threads(&server, threads);
    return server_finish(&server);
}
