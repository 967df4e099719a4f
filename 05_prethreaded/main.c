/*
 * 05 prethreaded - a fixed number of threads, made before the clients come.
 *
 * Like 03, with threads: --threads of them each run the loop of 01, and all
 * accept from the same socket. Each has a worker of its own: buffers, open
 * files, a connection to Redis. The main thread serves no client.
 *
 * Stevens put a mutex around accept: kernels of that time woke all waiting
 * threads for one client (the "thundering herd"). Linux wakes one, so no
 * lock is needed. accept-mutex and queue-handover in variants/ have one.
 *
 *                          .-> thread: accept -> serve -> accept ...
 *   clients ---> [ ][ ] ---+-> thread: accept -> serve -> accept ...
 *                          '-> thread: accept -> serve -> accept ...
 */
#include <pthread.h>
#include <stdlib.h>

#include "../common/accept.h"
#include "../common/serve_blocking.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "05_prethreaded", .name = "prethreaded", .kind = POOL,
    .keeps_files = true, .threads = 100};

/* A thread: accepts clients and serves each to the end. */
static void *serve_clients(void *data)
{
    static atomic_int next_number;
    const struct server *server = data;
    struct blocking_worker worker;
    int fd;

    blocking_worker_init(&worker, server, atomic_fetch_add(&next_number, 1));
    while ((fd = accept_next(server, blocking_worker_trim, &worker)) >= 0)
        serve_blocking(&worker, fd);
    blocking_worker_free(&worker);
    return NULL;
}

/* A small stack, and no signals: those are for the main thread. */
static void init_attributes(pthread_attr_t *attributes)
{
    sigset_t set;
    signals_set(&set);
    if (pthread_attr_init(attributes) != 0 ||
        pthread_attr_setstacksize(attributes, BLOCKING_STACK_SIZE) != 0 ||
        pthread_attr_setsigmask_np(attributes, &set) != 0)
        die("out of memory");
}

static pthread_t *create_threads(struct server *server)
{
    int count = server->options.threads;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_attr_t attributes;

    if (threads == NULL)
        die("out of memory; ask for fewer with --threads");
    init_attributes(&attributes);
    for (int i = 0; i < count; i++) {
        int error = pthread_create(&threads[i], &attributes, serve_clients,
                                   server);
        if (error != 0)
            die("cannot make thread %d: %s; ask for fewer with --threads", i,
                strerror(error));
    }
    pthread_attr_destroy(&attributes);
    return threads;
}

/* Takes signals, and acts on them, until one of them says stop. They are
 * blocked in between: none comes unnoticed between check and wait. */
static void wait_for_stop(const struct server *server)
{
    sigset_t set;
    int signal_number;

    signals_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    while (!signals_stopping()) {
        if (sigwait(&set, &signal_number) == 0)
            signals_record(signal_number);
        server_act_on_signals(server);
    }
    pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* a second one ends us */
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    pthread_t *threads = create_threads(&server);
    server_ready(&server, "%d thread%s", server.options.threads,
                 server.options.threads == 1 ? "" : "s");
    wait_for_stop(&server);
    for (int i = 0; i < server.options.threads; i++)
        pthread_join(threads[i], NULL); /* when it has served its client */
    free(threads);
    return server_finish(&server);
}
