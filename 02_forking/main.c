/*
 * 02 forking - a new process for each client.
 *
 * The parent only accepts. fork(2) makes a copy of it for each client; the
 * child serves that client and exits. While one child waits, the kernel
 * runs another. A crash costs one client, and a leak ends with the child.
 * The price is the fork: for every client, page tables to copy, a process
 * to create, schedule and reap, and a connection to Redis, because
 * processes cannot share one.
 *
 *   clients ---> [ ][ ][ ] ---> accept --fork--> child: serve, exit
 *                                  |  --fork--> child: serve, exit
 *                                  '  ...       at most --max-children
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/accept.h"
#include "../common/serve_blocking.h"
#include "../common/server.h"

static const struct architecture architecture = { /* see options.h */
    .folder = "02_forking", .name = "forking", .kind = PER_CONNECTION};

/* How many more children may be made. It is in memory that they share: when
 * there is no room for the clients that wait, they close idle connections
 * (room.h). */
static atomic_int *room;

/* A child that has ended remains a zombie until its parent asks for its
 * status. Signals do not queue: one SIGCHLD may stand for several children.
 * 0: those of its own process group. Others are orphans that process 1 of a
 * container has inherited, which must not count. */
static void reap_children(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    while (waitpid(0, NULL, WNOHANG) > 0)
        atomic_fetch_add(room, 1);
    signals_reap_orphans();
    errno = saved;
}

/* If there is room for fewer than `wanted`, waits until a child ends, at
 * most 100 ms. Only ppoll(2) lets signals in, so no child ends unnoticed
 * between the check and the wait. */
static void wait_for_children(const struct server *server, int wanted)
{
    const struct timespec tick = {.tv_nsec = 100 * 1000000L};
    sigset_t set, unblocked;
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &unblocked);
    if (atomic_load(room) < wanted)
        ppoll(NULL, 0, &tick, &unblocked);
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    server_act_on_signals(server);
}

/* Makes a child that serves the client with its copy of the parent's
 * worker. */
static void fork_child(const struct server *server,
                       struct blocking_worker *worker, int fd)
{
    const int most = server->options.max_children;
    /* Before the fork: the child may look immediately. */
    atomic_fetch_sub(room, 1);
    pid_t pid = fork();

    if (pid == 0) {
        signals_in_child();
        serve_blocking(worker, fd);
        _exit(0); /* not exit(3), which would write what stdio holds again */
    }
    if (pid > 0) {
        close(fd); /* the child has its own */
        return;
    }
    server_warn_rarely(server, "cannot fork: %s; serving one client after "
                       "the other", strerror(errno));
    /* While it serves, the parent accepts no other client, as if all
     * children ran. Then there is room again, also for the child that was
     * not made. */
    atomic_fetch_sub(room, most);
    serve_blocking(worker, fd);
    atomic_fetch_add(room, most + 1);
    redis_close(&worker->redis); /* or the next child would inherit these */
    file_table_empty(&worker->base.http.files);
}

/* Accepts clients, and makes a child for each. */
static void serve_clients(const struct server *server)
{
    struct blocking_worker worker;
    int fd;

    blocking_worker_init(&worker, server, 0);
    while ((fd = accept_next(server, NULL, NULL)) >= 0) {
        worker_before_fork(&worker.base); /* once, not in every child */
        fork_child(server, &worker, fd);
        while (atomic_load(room) < 1 && !signals_stopping())
            wait_for_children(server, 1);
    }
    blocking_worker_free(&worker);
}

int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    room = &server.shared->room;
    atomic_store(room, server.options.max_children);
    signal(SIGCHLD, reap_children);
    server_ready(&server, "up to %d children", server.options.max_children);
    serve_clients(&server);
    while (atomic_load(room) < server.options.max_children &&
           signals_stopping_ms() < server.options.drain_timeout_ms + 1000)
        wait_for_children(&server, server.options.max_children);
    return server_finish(&server);
}
