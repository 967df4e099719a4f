/*
 * guardian PID COMMAND [ARGUMENT...] - runs a command; nothing that it
 * started outlives it, or the process PID.
 *
 * The Makefile runs each program that starts others under a guardian, with
 * make's process as PID. Such a program ends its own children when all goes
 * well. But a terminal can be closed, make or the program itself can be
 * killed, and a server that a program has started takes SIGHUP as the request
 * to reopen its log. So:
 *
 * - When PID ends, the terminal is closed, or SIGHUP or SIGTERM comes, the
 *   command gets a SIGTERM, and a SIGKILL three seconds later.
 * - When the command has ended, the processes that it has started have a
 *   second to end, get a SIGTERM then, and a SIGKILL half a second later.
 * - If the guardian is killed, the command gets the SIGTERM from the kernel.
 *
 * On a crowded machine each of these times is up to five times as long: a
 * command that is killed before it has ended leaves its folders behind. How
 * crowded it is we look up when the time begins.
 *
 * SIGINT is ignored here: Ctrl-C reaches the command itself, which may have
 * something to finish. The exit status is the command's; 128 and the number of
 * the signal that ended it, as shells have it.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_MS = 1000, LOOK_MS = 20 };
/* From the request to end until a command is killed; from its end until the
 * rest is asked to end; from that request until the rest is killed. */
enum { KILL_COMMAND_MS = 3000, ASK_REST_MS = 1000, KILL_REST_MS = 500 };
/* From the same request until we leave a process alone that cannot be ended:
 * it is another user's, or in the kernel. */
enum { GIVE_UP_MS = 9000 };
enum { MOST_CROWDED = 5 }; /* scripts/suites.py has the same limit */
#ifndef LOADAVG /* a test compiles us with a file that it writes itself */
#define LOADAVG "/proc/loadavg"
#endif

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_MS + now.tv_nsec / 1000000;
}

/* Returns by what to multiply a time that is enough for a program that has the
 * machine to itself: the programs for each core that run or wait for one, now
 * or in the last minute, whichever are more; 1 at least, MOST_CROWDED at
 * most. */
static double crowd(void)
{
    double load = 0, most = 1;
    int running = 0;
    FILE *file = fopen(LOADAVG, "re");
    if (file != NULL && fscanf(file, "%lf %*f %*f %d", &load, &running) == 2)
        most = (load > running ? load : running) /
               (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (file != NULL)
        fclose(file);
    most = most < MOST_CROWDED ? most : MOST_CROWDED;
    return most > 1 ? most : 1;
}

static void fail(const char *what)
{
    fprintf(stderr, "guardian: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* Sends a signal to all descendants of `parent`, the youngest generation
 * first; returns whether there are any. A zombie counts until it is waited
 * for, which takes no time. */
static bool signal_descendants(pid_t parent, int number)
{
    char path[64];
    int child;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    FILE *children = fopen(path, "re");
    while (children != NULL && fscanf(children, "%d", &child) == 1) {
        found = true;
        signal_descendants(child, number);
        kill(child, number); /* 0: none, we only look */
    }
    if (children != NULL)
        fclose(children);
    return found;
}

/* Waits for all children that have ended, also for those that the kernel
 * gave us when their parents ended. Returns whether `command` is one, and
 * its status in *status. */
static bool reap(pid_t command, int *status)
{
    bool ended = false;
    int one;
    pid_t pid;
    while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
        if (pid == command) {
            *status = one;
            ended = true;
        }
    }
    return ended;
}

/* Runs the command; the kernel ends it if we are killed. */
static pid_t start(char **argv, const sigset_t *mask)
{
    pid_t self = getpid(), pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != self)
        _exit(EXIT_FAILURE); /* we were killed before the line above */
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    fail(argv[0]);
    return -1;
}

/* Waits until the command has ended; returns its status. `maker` is a pidfd,
 * readable once that process has ended, `signals` a signalfd. */
static int guard(pid_t command, int maker, int signals)
{
    /* POLLHUP of the terminal (poll asks for it in any case): the kernel
     * sends SIGHUP to the leader of the session only. If that is make, it
     * waits for its children, and no process would tell them. -1: no terminal. */
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    struct pollfd fds[] = {
        {signals, POLLIN, 0}, {maker, POLLIN, 0}, {terminal, 0, 0}};
    struct signalfd_siginfo info;
    long kill_ms = 0; /* when the command is killed; 0: it runs */
    int status = 0;
    while (!reap(command, &status)) {
        int wait_ms = -1;
        bool asked = false;
        if (kill_ms != 0 && now_ms() >= kill_ms)
            kill(command, SIGKILL);
        if (kill_ms != 0)
            wait_ms = LOOK_MS;
        if (poll(fds, 3, wait_ms) < 0 && errno != EINTR)
            fail("poll");
        if (fds[0].revents != 0 && read(signals, &info, sizeof info) > 0)
            asked = info.ssi_signo != SIGCHLD;
        for (int i = 1; i < 3; i++) {
            if (fds[i].revents == 0)
                continue;
            fds[i].fd = -1; /* it ends once */
            asked = true;
        }
        if (asked) {
            kill(command, SIGTERM);
            if (kill_ms == 0)
                kill_ms = now_ms() + (long)(crowd() * KILL_COMMAND_MS);
        }
    }
    return status;
}

/* Ends what the command has left behind. */
static void clean(void)
{
    const struct timespec tick = {.tv_nsec = LOOK_MS * 1000000L};
    /* Looked up once: if the crowd goes while we wait, the time that was
     * promised does not shrink. */
    const double factor = crowd();
    long begun = now_ms(), asked = 0; /* when it was; 0: not yet */
    int status;
    while (reap(0, &status), signal_descendants(getpid(), 0)) {
        long now = now_ms();
        /* The SIGKILL counts from the SIGTERM, so that it never comes first,
         * however late we are. It is sent at each look: what gets it may just
         * have started another. */
        if (asked == 0 && now - begun >= factor * ASK_REST_MS) {
            signal_descendants(getpid(), SIGTERM);
            asked = now_ms();
        } else if (asked != 0 && now - asked >= factor * GIVE_UP_MS) {
            fprintf(stderr, "guardian: a process cannot be ended\n");
            return;
        } else if (asked != 0 && now - asked >= factor * KILL_REST_MS) {
            signal_descendants(getpid(), SIGKILL);
        }
        nanosleep(&tick, NULL);
    }
}

int main(int argc, char **argv)
{
    sigset_t set, before;
    if (argc < 3) {
        fprintf(stderr, "usage: guardian PID COMMAND [ARGUMENT...]\n");
        return 2;
    }
    /* Orphans below us become our children, not those of process 1. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    signal(SIGINT, SIG_IGN);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    int maker = (int)syscall(SYS_pidfd_open, (pid_t)strtol(argv[1], NULL, 10),
                             0);
    if (signals < 0 || maker < 0)
        fail("pidfd_open");
    int status = guard(start(argv + 2, &before), maker, signals);
    clean();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
