/* signals - how a server learns that it should stop; see signals.h. */
#include "signals.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

/* Two signals within SAME_REQUEST_MS are one request to stop. */
enum { REMIND_SECONDS = 1, SAME_REQUEST_MS = 200 };

/* A server ends at most a second after --drain-timeout. If it is still
 * there this long after it, because a worker waits for the reader of
 * standard output, for example, SIGALRM ends it. */
enum { STUCK_AFTER_MS = 3000 };

/* The only writable globals in common/: a handler can reach nothing else.
 * Lock-free atomics are as safe there as sig_atomic_t (C11, 7.14.1.1). */
atomic_uint signals_recorded;
_Atomic int64_t *signals_stop_ms;
static struct signals_stop stop; /* does not change once a handler may run */
static pid_t first_process;      /* the parent of all others */

static const int handled[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGALRM,
                              SIGCHLD /* only interrupts a wait */};
enum { HANDLED = sizeof handled / sizeof handled[0] };

/* Signals whose default action ends the process, and that a client, an
 * operator or a limit can cause without wanting that (signal(7)):
 *   SIGPIPE  a client has gone: send(2) fails with EPIPE, its own error
 *   SIGXFSZ  the log is as long as `ulimit -f` allows: write(2) fails with
 *            EFBIG, and lines of the log are lost
 *   SIGUSR2  means something to other servers, and nothing to this one
 *   SIGIO    a descriptor that was inherited with O_ASYNC is ready
 *   SIGVTALRM, SIGPROF  a timer of the program that started us, which execve(2)
 *            keeps (setitimer(2)), has run out
 * Those that stay as they are do mean an end: SIGQUIT asks for a core dump,
 * SIGXCPU says that the CPU time an operator granted is used up, SIGSEGV
 * and the like report a fault. */
static const int ignored[] = {SIGPIPE, SIGXFSZ, SIGUSR2, SIGIO,
                              SIGVTALRM, SIGPROF};

static void request_stop(void)
{
    int64_t since = 0, now = clock_monotonic_ms();
    if (!atomic_compare_exchange_strong(signals_stop_ms, &since, now)) {
        /* timeout(1) and other supervisors signal first this process, then
         * its whole group: the same request comes twice. Only a second
         * request may cut answers off. */
        if (now - since >= SAME_REQUEST_MS)
            _exit(1); /* children follow by PR_SET_PDEATHSIG */
        return;
    }
    for (int i = 0; i < stop.listener_count; i++)
        shutdown(stop.listeners[i], SHUT_RDWR);
}

/* Sets the time of the next SIGALRM: soon if there is a note that the
 * interrupted code may have missed, else when a stop has lasted too long.
 * (A process has one alarm(2): the first use takes precedence, and SIGALRM
 * itself comes here again.) */
static void set_alarm(void)
{
    int64_t left = stop.drain_timeout_ms + STUCK_AFTER_MS -
                   signals_stopping_ms();
    if (left <= 0)
        _exit(0); /* what could be finished has been */
    if (atomic_load(&signals_recorded) != 0)
        alarm(REMIND_SECONDS);
    else if (signals_stopping())
        alarm((unsigned)(left / 1000 + 1));
}

/* Calls only async-signal-safe functions (signal-safety(7)), and restores
 * errno: the interrupted code may be about to look at it. */
void signals_record(int signal_number)
{
    int saved = errno;
    if (signal_number == SIGINT || signal_number == SIGTERM)
        request_stop();
    else if (signal_number == SIGUSR1)
        atomic_fetch_or(&signals_recorded, REPORT_REQUESTED);
    else if (signal_number == SIGHUP)
        atomic_fetch_or(&signals_recorded, REOPEN_REQUESTED);
    set_alarm();
    errno = saved;
}

void signals_install(const struct signals_stop *how)
{
    const struct sigaction action = {.sa_handler = signals_record};
    stop = *how;
    signals_stop_ms = stop.requested_ms;
    first_process = getpid();
    for (size_t i = 0; i < HANDLED; i++)
        sigaction(handled[i], &action, NULL);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
}

void signals_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < HANDLED; i++)
        sigaddset(set, handled[i]);
}

void signals_in_child(void)
{
    sigset_t set;
    signals_set(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* The note is the parent's business. Only if there is one: a write
     * copies the memory page, which parent and child share until then. */
    if (atomic_load(&signals_recorded) != 0)
        atomic_store(&signals_recorded, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != first_process)
        _exit(1); /* it died before prctl(), which then sends nothing */
}

int64_t signals_stopping_ms(void)
{
    if (!signals_stopping())
        return 0;
    return clock_monotonic_ms() - atomic_load(signals_stop_ms);
}

void signals_reap_orphans(void)
{
    siginfo_t child = {0};
    if (first_process != 1) /* only process 1 inherits any */
        return;
    /* WNOWAIT only looks: a child of the server is left to the code that
     * made it, and ends the search. */
    while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           child.si_pid != 0 && getpgid(child.si_pid) != getpgrp())
        waitpid(child.si_pid, NULL, WNOHANG);
}
