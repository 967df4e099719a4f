/*
 * 03 preforking - a fixed number of processes, made before the clients come.
 *
 * Forking is what costs in 02, so it is done beforehand: --workers processes
 * each run the loop of 01, and accept from the same socket. The number of
 * workers is the number of clients served at a time, the rest wait in the
 * accept queue. Each worker keeps its connection to Redis.
 *
 * They take turns at accept(2), one at a time for each core. Whose turn it is
 * keeps it for as long as it need not wait, and passes it on before it does;
 * common/accept_turn.h says why, docs/05_prethreaded.md what else there is.
 *
 *                          .-> worker: accept -> serve -> accept ...
 *   clients ---> [ ][ ] ---+-> worker: accept -> serve -> accept ...
 *                          '-> worker: accept -> serve -> accept ...
 */
#include "../common/serve_blocking.h"
#include "../common/server.h"
#include "../common/worker.h"
#include "../common/workers.h"

static const struct architecture architecture = {
    .folder = "03_preforking", .name = "preforking", .takes = TAKES_WORKERS,
    .workers = 100};

/* One worker process: waits for clients and serves each of them to the end. */
static void serve_clients(const struct server *server, int number)
{
    struct worker worker;
    int fd;

    serve_blocking_init(&worker, server, &server->shared->stats[number]);
    while ((fd = serve_blocking_accept(&worker)) >= 0)
        serve_blocking(&worker, fd);
    worker_free(&worker);
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers look at it */

    server_start(&server, &architecture, argc, argv, 1, 0);
    /* A client that is kept although it is silent keeps a worker from others. */
    server.shared->full = true;
    server_ready(&server, "%d worker%s", server.options.workers,
                 server.options.workers == 1 ? "" : "s");
    workers_run(&server, server.options.workers, serve_clients);
    return server_finish(&server);
}
