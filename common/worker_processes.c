/* worker_processes - a parent's books about its workers; see
 * worker_processes.h. */
#include "worker_processes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "clock.h"
#include "fatal.h"
#include "signals.h"

enum { RESTART_INTERVAL_MS = 1000, STOP_TICK_MS = 100 };

static void on_child(int signal_number)
{
    (void)signal_number; /* its arrival is enough: it interrupts ppoll(2) */
}

void worker_processes_init(struct worker_processes *workers,
                           const struct server *server)
{
    *workers = (struct worker_processes){.server = server,
                                         .count = server->options.workers};
    workers->processes =
        calloc((size_t)workers->count, sizeof *workers->processes);
    if (workers->processes == NULL)
        die("out of memory");
    struct sigaction action = {.sa_handler = on_child};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
    sigset_t set;
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &workers->unblocked);
}

/* ppoll(2) unblocks signals and goes to sleep in one step. A signal that arrived
 * before it is not missed, as it could be between checking a flag and
 * pause(2). */
static void wait_for_signal(const struct worker_processes *workers, int64_t ms)
{
    struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
    ppoll(NULL, 0, ms < 0 ? NULL : &time, &workers->unblocked);
    server_housekeeping(workers->server);
}

static void warn_of_end(int number, int status)
{
    if (signals_stopping())
        return;
    if (WIFSIGNALED(status))
        warn_user("worker %d was killed by signal %d; starting another", number,
                  WTERMSIG(status));
    else
        warn_user("worker %d ended with status %d; starting another", number,
                  WEXITSTATUS(status));
}

/* Asks for the status of every child that has ended. Until then it remains in
 * the process table as a zombie. Pending signals do not queue, so one SIGCHLD
 * may stand for several children: hence the loop. */
static void reap_workers(struct worker_processes *workers)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (int i = 0; i < workers->count; i++)
            if (workers->processes[i].pid == pid) {
                workers->processes[i].pid = 0;
                warn_of_end(i, status);
            }
}

int wait_for_dead_worker(struct worker_processes *workers)
{
    while (!signals_stopping()) {
        int64_t now = clock_monotonic_ms(), next = -1;
        reap_workers(workers);
        for (int i = 0; i < workers->count; i++) {
            const struct worker_process *p = &workers->processes[i];
            int64_t due = p->started_ms == 0
                              ? 0 : p->started_ms + RESTART_INTERVAL_MS - now;
            if (p->pid == 0 && due <= 0)
                return i;
            if (p->pid == 0 && (next < 0 || due < next))
                next = due;
        }
        wait_for_signal(workers, next);
    }
    return -1;
}

void record_fork(struct worker_processes *workers, int number, pid_t pid)
{
    if (pid < 0)
        server_warn_exhausted(workers->server, "cannot start worker %d: %s; "
                              "trying again", number, strerror(errno));
    workers->processes[number] = (struct worker_process){
        .pid = pid > 0 ? pid : 0, .started_ms = clock_monotonic_ms()};
}

void wait_for_workers_to_end(struct worker_processes *workers)
{
    int64_t limit_ms = workers->server->options.drain_timeout_ms + 1000;
    for (;;) {
        int running = 0;
        reap_workers(workers);
        for (int i = 0; i < workers->count; i++) {
            pid_t pid = workers->processes[i].pid;
            running += pid > 0;
            if (pid > 0 && signals_stopping_ms() > limit_ms)
                kill(pid, SIGKILL);
        }
        if (running == 0)
            break;
        wait_for_signal(workers, STOP_TICK_MS);
    }
    free(workers->processes);
    sigprocmask(SIG_SETMASK, &workers->unblocked, NULL);
}
