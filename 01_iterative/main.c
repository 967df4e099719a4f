/*
 * 01 iterative - one process, one client after the other.
 *
 * The simplest server there is: accept a client, serve it until it is done,
 * accept the next. All other clients wait in the kernel's accept queue.
 * While this server waits, for its client's bytes or for Redis, the
 * processor is idle although clients are waiting. Each of the other six is
 * a way to use that time.
 *
 *                 accept queue
 *   clients ---> [ ][ ][ ][ ] ---> accept -> serve -> accept -> serve ...
 *
 * The price: one slow client blocks all others. One that stops in the middle
 * of a request is refused after 10 seconds (--request-timeout). One that
 * sends nothing must leave when others wait, but not before 3 seconds after
 * its handshake.
 */
#include "../common/accept.h"
#include "../common/serve_blocking.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "01_iterative", .name = "iterative",
    .kind = POOL, /* of one worker */
    .keeps_files = true}; /* from one client to the next */

/* The only process: accepts clients and serves each to the end. */
static void serve_clients(const struct server *server)
{
    struct blocking_worker worker;
    int fd;

    blocking_worker_init(&worker, server, 0);
    while ((fd = accept_next(server, blocking_worker_trim, &worker)) >= 0)
        serve_blocking(&worker, fd);
    blocking_worker_free(&worker);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "1 process");
    serve_clients(&server);
    return server_finish(&server);
}
