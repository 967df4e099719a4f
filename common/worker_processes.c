/* worker_processes - which workers run; see worker_processes.h. */
#include "worker_processes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "clock.h"
#include "fatal.h"
#include "signals.h"

enum { RESTART_INTERVAL_MS = 1000, TICK_MS = 100 };

void worker_processes_init(struct worker_processes *workers,
                           const struct server *server)
{
    sigset_t set;
    *workers = (struct worker_processes){
        .server = server,
        .processes = calloc((size_t)server->options.workers,
                            sizeof *workers->processes)};
    if (workers->processes == NULL)
        die("out of memory");
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &workers->unblocked);
    /* Process 1 has ignored it so far (server.c). Then the kernel keeps no
     * status of a child for is_running(). */
    signal(SIGCHLD, signals_record);
}

/* Waits for a signal; with `tick`, for TICK_MS at most. ppoll(2) unblocks
 * signals and goes to sleep in one step, so a signal that arrived since the
 * last check, SIGCHLD for example, ends the wait. */
static void wait_for_signal(const struct worker_processes *workers, bool tick)
{
    const struct timespec time = {.tv_nsec = TICK_MS * 1000000L};
    /* Its search ends at a worker that is a zombie. Here there is none:
     * is_running() has just reaped those that ended. */
    signals_reap_orphans();
    ppoll(NULL, 0, tick ? &time : NULL, &workers->unblocked);
    server_act_on_signals(workers->server);
}

/* A child that has ended remains a zombie until its parent asks for its
 * status. */
static bool is_running(struct worker_processes *workers, int number)
{
    struct worker_process *worker = &workers->processes[number];
    int status = 0;
    if (worker->pid == 0 || waitpid(worker->pid, &status, WNOHANG) == 0)
        return worker->pid != 0;
    worker->pid = 0;
    atomic_store(&workers->server->shared->slots[number].idle, false);
    if (signals_stopping())
        return false;
    if (WIFSIGNALED(status))
        warn_user("worker %d was killed by signal %d; starting another",
                  number, WTERMSIG(status));
    else
        warn_user("worker %d ended with status %d; starting another",
                  number, WEXITSTATUS(status));
    return false;
}

/* The search begins behind the worker that was started last. If it began with
 * the first one, to start a thousand would take half a million waitpid(2). */
int wait_for_missing_worker(struct worker_processes *workers)
{
    const int count = workers->server->options.workers;
    while (!signals_stopping()) {
        int64_t now = clock_monotonic_ms();
        bool one_is_dead = false;
        for (int n = 0; n < count; n++) {
            int i = (workers->next + n) % count;
            if (is_running(workers, i))
                continue;
            if (workers->processes[i].due_ms <= now) {
                workers->next = i + 1;
                return i;
            }
            one_is_dead = true;
        }
        wait_for_signal(workers, one_is_dead);
    }
    return -1;
}

bool record_fork(struct worker_processes *workers, int number, pid_t pid)
{
    if (pid == 0) {
        signals_in_child();
        return true;
    }
    if (pid < 0)
        server_warn_rarely(workers->server, "cannot start worker %d: %s; "
                           "trying again", number, strerror(errno));
    workers->processes[number] = (struct worker_process){
        .pid = pid > 0 ? pid : 0,
        .due_ms = clock_monotonic_ms() + RESTART_INTERVAL_MS};
    return false;
}

void wait_for_workers_to_end(struct worker_processes *workers)
{
    const struct options *options = &workers->server->options;
    for (int i = 0; i < options->workers; i++)
        while (is_running(workers, i) &&
               signals_stopping_ms() <= options->drain_timeout_ms + 1000)
            wait_for_signal(workers, true);
}
