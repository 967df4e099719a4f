/* signals - signals of the simulated kernel, and waits for them; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static uint64_t bit(int number)
{
    return (uint64_t)1 << (number - 1);
}

static uint64_t bits(const sigset_t *set)
{
    uint64_t all = 0;
    for (int i = 1; i < 32; i++)
        if (sigismember(set, i) == 1)
            all |= bit(i);
    return all;
}

static void store(sigset_t *set, uint64_t all)
{
    sigemptyset(set);
    for (int i = 1; i < 32; i++)
        if (all & bit(i))
            sigaddset(set, i);
}

/* A child learns of SIGTERM in two ways: everybody does, by the shared time
 * and the shut socket, and its group may have been signalled, too. */
static void parent_stops(void)
{
    int64_t none = 0;
    atomic_compare_exchange_strong(&sim.server->shared->stop_ms, &none,
                                   sim.now / MS);
    if (sim.stop_at == NEVER) {
        sim.stop_at = sim.now;
        sim.stop_stolen = sim.stolen;
    }
    sim.listener_shut = true;
    say("the parent gets SIGTERM");
}

void signal_post(int number)
{
    bool stop = number == SIGTERM || number == SIGINT;
    if (sim.in_child && stop)
        parent_stops();
    if (sim.in_child && (stop || number == SIGALRM) && sim_percent(50))
        return; /* it was for the parent alone */
    if (sim.actions[number].sa_handler == SIG_DFL &&
        (number == SIGCHLD || sim.server == NULL))
        return; /* ignored; or sent before the server could hear it */
    say("%s is sent%s", signal_name(number),
        sim.pending & bit(number) ? ", and is pending already" : "");
    sim.pending |= bit(number);
}

const char *signal_name(int number)
{
    switch (number) {
    case SIGTERM: return "SIGTERM";
    case SIGINT: return "SIGINT";
    case SIGHUP: return "SIGHUP";
    case SIGUSR1: return "SIGUSR1";
    case SIGALRM: return "SIGALRM";
    case SIGCHLD: return "SIGCHLD";
    }
    return strsignal(number);
}

bool signal_is_pending(int number)
{
    return (sim.pending & bit(number)) != 0;
}

bool signal_waits(void)
{
    return (sim.pending & ~sim.blocked) != 0;
}

/* A handler leaves a note, and sets the alarm that brings the parent to it. A
 * handler that runs before then may set the alarm again. */
static void note(int number)
{
    for (int i = 1; i < 32; i++)
        if (sim.note_since[i] != 0 ||
            (i == number && (i == SIGUSR1 || i == SIGHUP))) {
            sim.note_since[i] = sim.now;
            sim.note_stolen[i] = sim.stolen;
        }
}

/* What the handler must have done with a request to stop. */
static void after_stop_signal(int64_t before)
{
    if (before == NEVER && atomic_load(&sim.server->shared->stop_ms) == 0)
        sim_fail("the handler of SIGTERM does not record it");
    if (before == NEVER) {
        sim.stop_at = sim.now;
        sim.stop_stolen = sim.stolen;
        children_hear_stop();
    } else if (sim.now - before > 202 * MS && sim.second_stop) {
        sim_fail("a second request to stop, %d ms after the first, is ignored",
                 (int)((sim.now - before) / MS));
    }
}

static void run_handler(int number)
{
    struct sigaction *action = &sim.actions[number];
    uint64_t blocked = sim.blocked;
    bool stop = number == SIGTERM || number == SIGINT;
    int64_t before = sim.stop_at;
    int saved = errno;
    sim.pending &= ~bit(number);
    if (action->sa_handler == SIG_IGN)
        return;
    if (action->sa_handler == SIG_DFL)
        sim_fail("%s ends the process: it has no handler", signal_name(number));
    sim.blocked |= bit(number) | bits(&action->sa_mask);
    sim.second_stop = stop && before != NEVER && sim.now - before > 198 * MS;
    say("handler of %s", signal_name(number));
    sim.in_handler++;
    errno = 4242;
    if (number != SIGALRM)
        note(number);
    action->sa_handler(number);
    if (errno != 4242)
        sim_fail("the handler of %s changes errno", signal_name(number));
    sim.in_handler--;
    errno = saved;
    sim.blocked = blocked;
    if (stop)
        after_stop_signal(before);
}

int signal_deliver(bool *restart)
{
    int ran = 0;
    *restart = true;
    for (int i = 1; i < 32; i++)
        if (sim.pending & ~sim.blocked & bit(i)) {
            if (!(sim.actions[i].sa_flags & SA_RESTART))
                *restart = false;
            run_handler(i);
            ran++;
            i = 0; /* others may have arrived meanwhile */
        }
    return ran;
}

int __wrap_sigaction(int number, const struct sigaction *action,
                     struct sigaction *old)
{
    if (old != NULL)
        *old = sim.actions[number];
    if (action != NULL)
        sim.actions[number] = *action;
    return 0;
}

typedef void handler(int);

handler *__wrap_signal(int number, handler *new_handler)
{
    handler *old = sim.actions[number].sa_handler;
    if (sim.server_started)
        sim_step("signal");
    sim.actions[number] = (struct sigaction){.sa_handler = new_handler,
                                             .sa_flags = SA_RESTART};
    return old;
}

int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    bool restart;
    sim_step("sigprocmask");
    uint64_t blocked = sim.blocked;
    if (set != NULL)
        sim.blocked = how == SIG_BLOCK     ? blocked | bits(set)
                      : how == SIG_UNBLOCK ? blocked & ~bits(set) : bits(set);
    if (old != NULL)
        store(old, blocked);
    if (thread_is_main()) /* what is no longer blocked arrives now */
        signal_deliver(&restart);
    return 0;
}

unsigned __wrap_alarm(unsigned seconds)
{
    for (int i = 0; i < sim.event_count; i++)
        if (sim.events[i].kind == EVENT_ALARM)
            sim.events[i--] = sim.events[--sim.event_count];
    if (seconds > 0)
        sim_at(sim.now + seconds * SECOND, EVENT_ALARM, SIGALRM);
    return 0;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                 const sigset_t *mask)
{
    int64_t until = NEVER;
    uint64_t blocked = sim.blocked;
    (void)fds;
    (void)n;
    sim_step("ppoll");
    if (timeout != NULL)
        until = sim.now + timeout->tv_sec * SECOND + timeout->tv_nsec / 1000;
    if (mask != NULL)
        sim.blocked = bits(mask);
    enum woken woken = thread_wait(WAIT_SIGNAL, NULL, NULL, until, true, true);
    sim.blocked = blocked;
    say("ppoll(%s) = %s", timeout == NULL ? "no limit" : "limit",
        woken == WOKEN_SIGNAL ? "EINTR" : "0");
    errno = EINTR;
    return woken == WOKEN_SIGNAL ? -1 : 0;
}
