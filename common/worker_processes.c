/* worker_processes - a parent's books about its workers; see
 * worker_processes.h. */
#include "worker_processes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    struct sigaction action = {.sa_handler = on_child};
    sigset_t set;
    workers->server = server;
    workers->parent = getpid();
    workers->processes = calloc((size_t)server->options.workers,
                                sizeof *workers->processes);
    if (workers->processes == NULL)
        die("out of memory");
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &workers->unblocked);
}

/* ppoll(2) unblocks signals and goes to sleep in one step, so a signal that
 * arrived since the last check ends the wait at once. */
static void wait_for_signal(const struct worker_processes *workers, int64_t ms)
{
    struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
    ppoll(NULL, 0, ms < 0 ? NULL : &time, &workers->unblocked);
    server_housekeeping(workers->server);
}

static void record_end(struct worker_processes *workers, pid_t pid, int status)
{
    int number = 0, count = workers->server->options.workers;
    while (number < count && workers->processes[number].pid != pid)
        number++;
    if (number == count)
        return; /* not one of ours: exec(3) keeps the children of a shell */
    workers->processes[number].pid = 0;
    if (!signals_stopping())
        warn_user("worker %d %s %d; starting another", number,
                  WIFSIGNALED(status) ? "was killed by signal"
                                      : "ended with status",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* A child that has ended remains a zombie until its parent asks for its status.
 * Signals do not queue: one SIGCHLD may stand for several children. */
static void reap_workers(struct worker_processes *workers)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        record_end(workers, pid, status);
}

int wait_for_dead_worker(struct worker_processes *workers)
{
    while (!signals_stopping()) {
        int64_t now = clock_monotonic_ms(), next = -1;
        reap_workers(workers);
        for (int i = 0; i < workers->server->options.workers; i++) {
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

bool record_fork(struct worker_processes *workers, int number, pid_t pid)
{
    if (pid == 0) {
        signals_in_child(workers->parent);
        return true;
    }
    if (pid < 0)
        server_warn_exhausted(workers->server, "cannot start worker %d: %s; "
                              "trying again", number, strerror(errno));
    workers->processes[number] = (struct worker_process){
        .pid = pid > 0 ? pid : 0, .started_ms = clock_monotonic_ms()};
    return false;
}

void wait_for_workers_to_end(struct worker_processes *workers)
{
    const struct options *options = &workers->server->options;
    int running;
    do {
        running = 0;
        reap_workers(workers);
        for (int i = 0; i < options->workers; i++) {
            pid_t pid = workers->processes[i].pid;
            running += pid > 0;
            if (pid > 0 &&
                signals_stopping_ms() > options->drain_timeout_ms + 1000)
                kill(pid, SIGKILL);
        }
        if (running > 0)
            wait_for_signal(workers, STOP_TICK_MS);
    } while (running > 0);
    sigprocmask(SIG_SETMASK, &workers->unblocked, NULL);
}
