/*
 * Lab 02: forking - a new process for each client.
 *
 * You begin with the loop of 01: one process that serves one client after the
 * other. It answers every page, but while it waits for one client, all others
 * wait too. At the end of the lab the parent only accepts, and a child process
 * serves each client.
 *
 *   clients ---> [ ][ ][ ] ---> accept --fork--> child: serve, exit
 *                                  |  --fork--> child: serve, exit
 *                                  '  ...       at most --max-children
 *
 * Write what is marked TODO, in the order of the numbers: after each step the
 * server still works and `make grade` gives more points. Each comment is a
 * contract: it says what the function does, not how.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/serve_blocking.h"
#include "../common/accept.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "02_forking", .name = "forking", .kind = PER_CONNECTION};

/* TODO 2: count the children that run. The handler below changes the count
 * while other code reads it: choose a type for which that is safe
 * (signal-safety(7), C11 7.14.1.1), and let no update be lost. */

/* The handler of SIGCHLD, which the kernel sends when a child ends.
 *
 * TODO 2: ask for the status of every child that has ended, with waitpid(2),
 * without waiting for those that still run. Two children that end together may
 * send one signal. A handler runs between any two instructions: it calls only
 * what signal-safety(7) lists, and leaves errno as it found it. */
static void on_child_ended(int signal_number)
{
    (void)signal_number;
}

/* Returns when at most `most` children run, when a signal has arrived, or after
 * 100 ms. The caller checks the count again. Afterwards the same signals are
 * blocked as before the call.
 *
 * TODO 3: check the count and wait. If the last child ends between the two, its
 * signal must still end the wait: block the signals (signals_set() names them,
 * sigprocmask(2) blocks them), check, and let ppoll(2) unblock them while it
 * sleeps, for at most 100 ms. Then call server_act_on_signals(). */
static void wait_for_fewer_children(const struct server *server, int most)
{
    (void)most;
    server_act_on_signals(server);
}

/* Serves the client on the socket fd in a child process, and returns in the
 * parent without waiting for the child.
 *
 * TODO 1: fork(2). The child calls signals_in_child() first (signals.h says
 * why), serves its client with serve_blocking(), and ends with _exit(2): it
 * never returns to the loop that accepts. After fork both processes have the
 * socket. serve_blocking() closes the child's descriptor.
 *
 * fork fails with EAGAIN or ENOMEM when there are too many processes or too
 * little memory. Then say so with server_warn_rarely(), and serve the client
 * in the parent, as now. After that call redis_close() and file_table_empty():
 * the next child would inherit what is open, and a connection to Redis would
 * belong to two processes. */
static void serve_in_child(struct blocking_worker *worker, int fd)
{
    serve_blocking(worker, fd);
}

/* Accepts clients until the server is to stop, and has each served by a child.
 *
 * TODO 3: at most server->options.max_children children run. At this limit the
 * parent does not accept: clients wait in the accept queue, not in the parent.
 * Mind signals_stopping(): a server that is to stop does not wait for a child.
 *
 * TODO 4: keep in server->shared->room (server.h, an atomic_int) how many more
 * children may be made: --max-children at first, one less before each fork,
 * because the new child may look immediately, one more for each that has ended.
 * Without room for the clients that wait, children close idle connections. */
static void serve_clients(const struct server *server)
{
    struct blocking_worker worker;
    int fd;

    blocking_worker_init(&worker, server, 0);
    while ((fd = accept_next(server, NULL, NULL)) >= 0) {
        worker_before_fork(&worker.base);
        serve_in_child(&worker, fd);
        wait_for_fewer_children(server, server->options.max_children - 1);
    }
    blocking_worker_free(&worker);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    signal(SIGCHLD, on_child_ended);
    server_ready(&server, "up to %d children", server.options.max_children);
    serve_clients(&server);
    /* TODO 5: wait until no child runs, or until signals_stopping_ms() reaches
     * server.options.drain_timeout_ms + 1000. When the parent ends, the kernel
     * kills the children that are left: see signals_in_child(). */
    return server_finish(&server);
}
