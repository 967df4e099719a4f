/*
 * 03 preforking - a fixed number of processes, made before the clients
 * come.
 *
 * Forking is what is expensive in 02, so it happens in advance: --workers
 * processes each run the loop of 01, and all accept from the same socket.
 * The number of workers is the number of clients served together; the
 * others wait in the accept queue. Each worker keeps its connection to
 * Redis. The parent serves no client: it waits, and replaces a worker that
 * dies.
 *
 *                          .-> worker: accept -> serve -> accept ...
 *   clients ---> [ ][ ] ---+-> worker: accept -> serve -> accept ...
 *                          '-> worker: accept -> serve -> accept ...
 *
 * The price: each new connection wakes a worker twice, once in accept(2)
 * when the handshake is complete, once more when the request arrives. (The
 * kernel wakes one worker for each connection, not all of them.)
 */
#include <unistd.h>

#include "../common/accept.h"
#include "../common/serve_blocking.h"
#include "../common/server.h"
#include "../common/worker_processes.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "03_preforking", .name = "preforking", .kind = POOL,
    .keeps_files = true, .workers = 100};

/* A worker process: accepts clients and serves each to the end. */
static void serve_clients(const struct server *server, int number)
{
    struct blocking_worker worker;
    int fd;

    blocking_worker_init(&worker, server, number);
    while ((fd = accept_next(server, blocking_worker_trim, &worker)) >= 0)
        serve_blocking(&worker, fd);
    blocking_worker_free(&worker);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */
    static struct worker_processes workers; /* likewise */
    int number;

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "%d worker%s", server.options.workers,
                 server.options.workers == 1 ? "" : "s");
    worker_processes_init(&workers, &server); /* none runs yet */
    while ((number = wait_for_missing_worker(&workers)) >= 0) {
        pid_t pid = fork();
        if (record_fork(&workers, number, pid)) { /* in the child */
            serve_clients(&server, number);
            return 0;
        }
    }
    wait_for_workers_to_end(&workers);
    return server_finish(&server);
}
