/* signals - how a server learns that it should stop; see signals.h. */
#include "signals.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "server.h"

enum {
    REMIND_SECONDS = 1,
    SAME_REQUEST_MS = 200, /* two signals within it are one request to stop */
};

/* What a handler touches has to be global. These are the only writable globals
 * in common/. Lock-free atomics are as safe in a handler as sig_atomic_t (C11,
 * 7.14.1.1), and other threads can read them too. */
static const struct server *_Atomic stoppable;
static atomic_bool report_requested;
static atomic_bool reopen_requested;

static const int handled[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGALRM};
enum { HANDLED = sizeof handled / sizeof handled[0] };

static void request_stop(void)
{
    const struct server *server = atomic_load(&stoppable);
    int64_t since = 0, now = clock_monotonic_ms();
    if (!atomic_compare_exchange_strong(&server->shared->stop_ms, &since,
                                        now)) {
        /* timeout(1) and other supervisors signal the process and then its
         * group, which includes it: answers must not be cut off by that. */
        if (now - since < SAME_REQUEST_MS)
            return;
        _exit(1); /* children follow by PR_SET_PDEATHSIG */
    }
    for (int i = 0; i < server->listener_count; i++)
        shutdown(server->listeners[i], SHUT_RDWR);
}

/* Calls only async-signal-safe functions (signal-safety(7)), and restores
 * errno: the interrupted code may be about to look at it. */
void signals_record(int signal_number)
{
    int saved = errno;
    switch (signal_number) {
    case SIGINT:
    case SIGTERM: request_stop(); break;
    case SIGUSR1: atomic_store(&report_requested, true); break;
    case SIGHUP: atomic_store(&reopen_requested, true); break;
    }
    if (atomic_load(&report_requested) || atomic_load(&reopen_requested))
        alarm(REMIND_SECONDS);
    errno = saved;
}

static void set_handler(int signal_number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void signals_install(const struct server *server)
{
    atomic_store(&stoppable, server);
    for (size_t i = 0; i < HANDLED; i++)
        set_handler(handled[i], signals_record);
    set_handler(SIGPIPE, SIG_IGN);
}

void signals_in_child(pid_t parent)
{
    sigset_t set;
    for (size_t i = 0; i < HANDLED; i++)
        set_handler(handled[i], SIG_IGN);
    set_handler(SIGCHLD, SIG_DFL);
    /* A note left just before the fork is the parent's. */
    atomic_store(&report_requested, false);
    atomic_store(&reopen_requested, false);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(1);
    signals_set(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < HANDLED; i++)
        sigaddset(set, handled[i]);
    sigaddset(set, SIGCHLD);
}

bool signals_stopping(void)
{
    const struct server *server = atomic_load(&stoppable);
    return server != NULL && atomic_load_explicit(&server->shared->stop_ms,
                                                  memory_order_relaxed) != 0;
}

int64_t signals_stopping_ms(void)
{
    const struct server *server = atomic_load(&stoppable);
    int64_t since = server ? atomic_load(&server->shared->stop_ms) : 0;
    return since == 0 ? 0 : clock_monotonic_ms() - since;
}

/* The plain load first: an exchange would take the cache line from other
 * threads each time. */
bool signals_take_report(void)
{
    return atomic_load(&report_requested) &&
           atomic_exchange(&report_requested, false);
}

bool signals_take_reopen(void)
{
    return atomic_load(&reopen_requested) &&
           atomic_exchange(&reopen_requested, false);
}
