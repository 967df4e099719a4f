/*
 * 01 iterative - one process, one client after the other.
 *
 * The simplest server there is: accept a client, serve it until it is done,
 * accept the next. Everybody else waits in the kernel's accept queue meanwhile.
 * While this server waits (for its client's bytes, for Redis) the processor is
 * idle although clients are waiting: every other model in this collection is a
 * way to make use of that time.
 *
 *                  accept queue
 *   clients ----> [ ][ ][ ][ ] ----> accept -> serve -> close -> accept ...
 */
#include "../common/serve_blocking.h"
#include "../common/server.h"
#include "../common/worker.h"

static const struct architecture architecture = {
    .folder = "01_iterative", .name = "iterative"};

/* Waits for clients and serves each of them to the end. */
static void serve_clients(const struct server *server)
{
    struct worker worker;
    int fd;

    serve_blocking_init(&worker, server, &server->shared->stats[0]);
    while ((fd = serve_blocking_accept(&worker)) >= 0)
        serve_blocking(&worker, fd);
    worker_free(&worker);
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers look at it */

    server_start(&server, &architecture, argc, argv, 1, 1);
    /* A client that is kept although it is silent keeps all others out. */
    server.shared->full = true;
    server_ready(&server, "1 process");
    serve_clients(&server);
    return server_finish(&server);
}
