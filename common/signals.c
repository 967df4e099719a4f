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
    SAME_MS = 200, /* two signals within it are one request to stop */
};

/* What a handler touches has to be global: the only writable globals below
 * common/. Lock-free atomics are as safe in a handler as sig_atomic_t (C11,
 * 7.14.1.1), and also safe to be read by other threads. */
static const struct server *_Atomic watched;
static atomic_bool report_wanted;
static atomic_bool reopen_wanted;

static void stop(void)
{
    const struct server *server = atomic_load(&watched);
    int64_t since = 0, now = clock_monotonic_ms();
    if (!atomic_compare_exchange_strong(&server->shared->stop_ms, &since,
                                        now)) {
        /* timeout(1) and other supervisors signal the process, then its group,
         * of which it is one: that is not to be cut off mid-answer. */
        if (now - since < SAME_MS)
            return;
        _exit(1); /* asked twice: at once. Children follow by PDEATHSIG. */
    }
    for (int i = 0; i < server->listener_count; i++)
        shutdown(server->listeners[i], SHUT_RDWR);
}

/* Only async-signal-safe functions below (signal-safety(7)), and errno is put
 * back: the interrupted code may be about to look at it. */
void signals_note(int signal_number)
{
    int saved = errno;
    switch (signal_number) {
    case SIGINT:
    case SIGTERM: stop(); break;
    case SIGUSR1: atomic_store(&report_wanted, true); break;
    case SIGHUP: atomic_store(&reopen_wanted, true); break;
    }
    if (atomic_load(&report_wanted) || atomic_load(&reopen_wanted))
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
    atomic_store(&watched, server);
    set_handler(SIGINT, signals_note);
    set_handler(SIGTERM, signals_note);
    set_handler(SIGUSR1, signals_note);
    set_handler(SIGHUP, signals_note);
    set_handler(SIGALRM, signals_note);
    set_handler(SIGPIPE, SIG_IGN);
}

void signals_in_child(pid_t parent)
{
    set_handler(SIGTERM, SIG_IGN);
    set_handler(SIGINT, SIG_IGN);
    set_handler(SIGUSR1, SIG_IGN);
    set_handler(SIGHUP, SIG_IGN);
    set_handler(SIGALRM, SIG_IGN);
    set_handler(SIGCHLD, SIG_DFL);
    /* A note that came just before the fork is for the parent to find. */
    atomic_store(&report_wanted, false);
    atomic_store(&reopen_wanted, false);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before that, and tells nobody now */
        _exit(1);
    sigset_t set; /* the parent may have blocked them around its fork(2) */
    signals_set(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGALRM);
    sigaddset(set, SIGCHLD);
}

bool signals_stopping(void)
{
    const struct server *server = atomic_load(&watched);
    return server != NULL && atomic_load_explicit(&server->shared->stop_ms,
                                                  memory_order_relaxed) != 0;
}

int64_t signals_stopping_ms(void)
{
    const struct server *server = atomic_load(&watched);
    int64_t since = server ? atomic_load(&server->shared->stop_ms) : 0;
    return since == 0 ? 0 : clock_monotonic_ms() - since;
}

bool signals_take_report(void)
{
    return atomic_load(&report_wanted) &&
           atomic_exchange(&report_wanted, false);
}

bool signals_take_reopen(void)
{
    return atomic_load(&reopen_wanted) &&
           atomic_exchange(&reopen_wanted, false);
}
