/*
 * 01 iterative - one process, one client after the other. A starter.
 *
 * It listens, and accepts no client: they wait in the accept queue. Write the
 * two functions below, about 20 lines together. HTTP, the pages and Redis are
 * in common/; you decide who is served and when.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/serve_blocking.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "01_iterative", .name = "iterative", .kind = POOL};

/*
 * Waits for the next client. Returns its socket, or -1 when the server is
 * stopping: signals_stopping() is true then, or accept(2) fails with EINVAL,
 * because the signal handler has shut the listening socket down.
 *
 * The listening socket is server->listeners[0]. Before each accept(2), calls
 * server_act_on_signals(): a signal may have arrived. Any other failure must
 * neither end the server nor make it spin: EINTR is a reason to try again, a
 * lack of descriptors or memory one to wait 50 ms first.
 */
static int accept_client(const struct server *server)
{
    (void)server;
    return -1; /* TODO */
}

/*
 * Serves clients, each to the end, until accept_client() returns -1.
 *
 * Uses one blocking_worker, number 0, for all clients; serve_blocking.h says
 * how it is made, used and freed.
 */
static void serve_clients(const struct server *server)
{
    int fd = accept_client(server);
    if (fd >= 0)
        close(fd); /* TODO */
    while (!signals_stopping()) /* TODO: delete; now it waits for Ctrl-C */
        poll(NULL, 0, -1);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "1 process");
    serve_clients(&server);
    return server_finish(&server);
}
