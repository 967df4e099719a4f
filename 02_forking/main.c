/*
 * 02 forking - a new process for each client.
 *
 * The parent only accepts. fork(2) makes a copy of it for each client; the copy
 * serves that client and exits. While one child waits, the kernel runs another.
 * A crash costs one client, and memory leaks die young. The price is the fork:
 * page tables to copy, a process to create, to schedule and to bury, for every
 * single client - here also a new connection to Redis each time, because two
 * processes cannot share one.
 *
 *   clients ---> [ ][ ][ ] ---> accept --fork--> child: serve, exit
 *                                  |  --fork--> child: serve, exit
 *                                  '  ...       at most --max-children
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/accept_filter.h"
#include "../common/serve_blocking.h"
#include "../common/server.h"
#include "../common/signals.h"
#include "../common/worker.h"

static const struct architecture architecture = {
    .folder = "02_forking", .name = "forking", .takes = TAKES_MAX_CHILDREN};

static atomic_int children; /* that run now; the handler counts down */

/* A child that has ended stays in the process table as a zombie until its
 * parent has asked how it went. Several may have ended for one SIGCHLD, as
 * pending signals do not queue: hence the loop. */
static void reap_children(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        atomic_fetch_sub(&children, 1);
    errno = saved;
}

static void install_reaper(void)
{
    struct sigaction action = {.sa_handler = reap_children,
                               .sa_flags = SA_NOCLDSTOP};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
}

/* Returns when there are at most `most` children, when one has ended, or after a
 * tenth of a second. SIGCHLD is blocked but while ppoll(2) waits: looking at the
 * counter and going to sleep are one step, and no child can end unnoticed in
 * between. */
static void wait_for_children(int most)
{
    const struct timespec tick = {.tv_nsec = 100 * 1000000L};
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    if (atomic_load(&children) > most)
        ppoll(NULL, 0, &tick, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The child: serves its one client with its copy of the parent's worker. */
static void serve_client(struct worker *worker, int fd, pid_t parent)
{
    signals_in_child(parent);
    worker_in_child(worker);
    serve_blocking(worker, fd);
    _exit(0); /* not exit(3): what stdio has buffered is the parent's */
}

/* fork(2) with all signals held back until the child has given up the handlers
 * that it inherits. A Ctrl-C goes to both, and in a child that has not run yet
 * the parent's handler would count as the second one: "stop at once". */
static pid_t fork_quietly(void)
{
    sigset_t set, before;
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t pid = fork();
    if (pid != 0) /* the child unblocks them in signals_in_child() */
        sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* The same, but where the system allows no more processes it waits until it does,
 * and the client with it. Returns -1 when that is not before --drain-timeout. */
static pid_t make_child(const struct server *server)
{
    while (signals_stopping_ms() <= server->options.drain_timeout_ms) {
        atomic_fetch_add(&children, 1); /* before it can end */
        pid_t pid = fork_quietly();
        if (pid >= 0)
            return pid;
        atomic_fetch_sub(&children, 1);
        server_say_shortage(server, "cannot fork: %s; clients wait until some "
                            "child has ended", strerror(errno));
        server->shared->full = true;
        wait_for_children(-1);
        server_housekeeping(server);
    }
    return -1;
}

/* Waits for a client. When its child will be one of the second half of those
 * that may be, only for one that has sent something: or a crowd that connects
 * and is silent would take all of them. */
static int next_client(struct worker *worker)
{
    const struct server *server = worker->server;
    bool scarce =
        2 * (atomic_load(&children) + 1) > server->options.max_children;
    return accept_filter_next(&worker->silent, server, scarce);
}

/* Accepts clients, and makes a child for each of them. */
static void serve_clients(const struct server *server)
{
    struct worker worker;
    const pid_t parent = getpid();
    int fd;

    serve_blocking_init(&worker, server, &server->shared->stats[0]);
    while ((fd = next_client(&worker)) >= 0) {
        worker_before_fork(&worker); /* and not in every child */
        if (make_child(server) == 0)
            serve_client(&worker, fd, parent);
        close(fd); /* the child has its own */

        /* At the bound, clients wait in the accept queue, and a child whose
         * client is idle between two requests gives it up (see blocking.c). */
        while (atomic_load(&children) >= server->options.max_children &&
               signals_stopping_ms() <= server->options.drain_timeout_ms) {
            server->shared->held = worker.silent.silent != NULL;
            server->shared->full = true;
            wait_for_children(server->options.max_children - 1);
            server_housekeeping(server);
        }
        server->shared->full = false;
    }
    worker_free(&worker);
}

int main(int argc, char **argv)
{
    static struct server server; /* static: signal handlers look at it */

    server_start(&server, &architecture, argc, argv, 1, 1);
    install_reaper();
    server_ready(&server, "up to %d children", server.options.max_children);
    serve_clients(&server);
    while (atomic_load(&children) > 0 &&
           signals_stopping_ms() < server.options.drain_timeout_ms + 1000)
        wait_for_children(0);
    return server_finish(&server);
}
