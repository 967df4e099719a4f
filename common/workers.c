/* workers - keeps worker processes running; see workers.h. */
#include "workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "fatal.h"
#include "signals.h"

/* A worker that dies young is replaced later and later: what kills it at once
 * would otherwise keep the machine busy with forking. */
enum { YOUNG_MS = 1000, BACKOFF_FIRST_MS = 20, BACKOFF_MAX_MS = 1000 };

struct worker_process {
    pid_t pid;          /* 0: to be started */
    int64_t started_ms;
    int64_t start_ms;   /* not before this time */
    int backoff_ms;
};

static void start(struct worker_process *process, const struct server *server,
                  int number, worker_main *serve)
{
    pid_t parent = getpid();
    process->started_ms = clock_monotonic_ms();
    process->pid = fork();
    if (process->pid == 0) {
        signals_in_child(parent);
        serve(server, number);
        exit(0);
    }
    if (process->pid < 0) {
        server_say_shortage(server, "cannot start worker %d: %s; trying again",
                            number, strerror(errno));
        process->pid = 0;
        process->start_ms = process->started_ms + BACKOFF_MAX_MS;
    }
}

static void note_end(struct worker_process *process, int number, int status)
{
    int64_t now = clock_monotonic_ms();
    bool young = now - process->started_ms < YOUNG_MS;
    process->pid = 0;
    process->start_ms = now + (young ? process->backoff_ms : 0);
    process->backoff_ms = !young                     ? 0
                          : process->backoff_ms == 0 ? BACKOFF_FIRST_MS
                                                     : process->backoff_ms * 2;
    if (process->backoff_ms > BACKOFF_MAX_MS)
        process->backoff_ms = BACKOFF_MAX_MS;
    if (signals_stopping())
        return;
    if (WIFSIGNALED(status))
        warn_user("worker %d was ended by signal %d; starting another", number,
                  WTERMSIG(status));
    else
        warn_user("worker %d ended with status %d; starting another", number,
                  WEXITSTATUS(status));
}

/* What it said to the others while it lived is true no more. Not that it was the
 * one that watched the accept queue: for a moment two may do, without harm. */
static void take_back_its_word(const struct server *server, int number)
{
    struct stats_slot *stats = &server->shared->stats[number];
    atomic_store(&server->shared->watched, false);
    atomic_store(&stats->at_leisure, false);
    atomic_store(&stats->silent, 0);
}

/* Collects every child that has ended: a zombie keeps its entry in the process
 * table until somebody asks how it went. Returns how many still run. */
static int reap(struct worker_process *processes, int count,
                const struct server *server)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (int i = 0; i < count; i++)
            if (processes[i].pid == pid) {
                take_back_its_word(server, i);
                note_end(&processes[i], i, status);
            }
    int running = 0;
    for (int i = 0; i < count; i++)
        running += processes[i].pid > 0;
    return running;
}

/* Starts what is due. Returns the milliseconds until there is more to start,
 * or -1 when all run. */
static int start_missing(struct worker_process *processes, int count,
                         const struct server *server, worker_main *serve)
{
    int64_t now = clock_monotonic_ms();
    int64_t next = INT64_MAX;
    for (int i = 0; i < count; i++) {
        if (processes[i].pid == 0 && processes[i].start_ms <= now)
            start(&processes[i], server, i, serve);
        if (processes[i].pid == 0 && processes[i].start_ms < next)
            next = processes[i].start_ms;
    }
    if (next == INT64_MAX)
        return -1;
    return next > now ? (int)(next - now) : 1;
}

static void on_child(int signal_number)
{
    (void)signal_number; /* that it came is enough: it ends the waiting */
}

/* Waits for a signal, or for some milliseconds. ppoll(2) unblocks the signals
 * and goes to sleep in one step: one that came a moment earlier is not missed,
 * as it might be between looking at a flag and pause(2). */
static void wait_for_signal(int ms, const sigset_t *unblocked)
{
    struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
    ppoll(NULL, 0, ms < 0 ? NULL : &time, unblocked);
}

void workers_run(const struct server *server, int count, worker_main *serve)
{
    struct worker_process *processes = calloc((size_t)count, sizeof *processes);
    if (processes == NULL)
        die("out of memory");
    struct sigaction action = {.sa_handler = on_child};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
    sigset_t set, unblocked;
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, &unblocked);

    int64_t patience = server->options.drain_timeout_ms + 1000;
    for (;;) {
        int running = reap(processes, count, server);
        server_housekeeping(server);
        if (!signals_stopping()) {
            wait_for_signal(start_missing(processes, count, server, serve),
                            &unblocked);
            continue;
        }
        if (running == 0)
            break;
        if (signals_stopping_ms() > patience)
            for (int i = 0; i < count; i++)
                if (processes[i].pid > 0)
                    kill(processes[i].pid, SIGKILL);
        wait_for_signal(100, &unblocked);
    }
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    free(processes);
}
