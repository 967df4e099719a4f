/*
 * signals - how a server learns that it should stop.
 *
 * SIGINT and SIGTERM: the handler records the time and shuts the listening
 * sockets down. A thread that waits in accept(2), or is just about to,
 * finds the socket shut; poll(2) and epoll_wait(2) report it. So there is
 * no gap between checking a flag and going to sleep in which the signal
 * could be lost. (The kernel resets the clients that still wait in the
 * accept queue.)
 *
 * SIGUSR1 and SIGHUP leave a note that server_act_on_signals() finds. Here
 * there is a gap: a signal that comes between the check and accept(2),
 * poll(2) or sem_wait(3) interrupts nothing, and an idle server would sleep
 * on. So the handler sets an alarm, and one second later SIGALRM interrupts
 * the wait. (Calls such as ppoll(2) close the gap without it, but accept(2)
 * has no such form.)
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What the handler writes: these bits, and the monotonic time of the
 * request to stop, 0 before it, in memory that children share. */
enum { REPORT_REQUESTED = 1, REOPEN_REQUESTED = 2 };
extern atomic_uint signals_recorded;
extern _Atomic int64_t *signals_stop_ms;

static inline bool signals_stopping(void)
{
    return atomic_load_explicit(signals_stop_ms, memory_order_relaxed) != 0;
}

/* Returns for how many milliseconds the server has been stopping; else
 * 0. */
int64_t signals_stopping_ms(void);

/* What a request to stop needs; the handler keeps a copy. */
struct signals_stop {
    _Atomic int64_t *requested_ms; /* where to record the time of the request */
    const int *listeners;          /* to shut down; must stay in memory */
    int listener_count;
    int drain_timeout_ms;
};

/* Installs the handlers, without SA_RESTART: a waiting system call fails
 * with EINTR, so that notes are found. Ignores signals that would end the
 * server for what is no reason to end. Called once, by the first
 * process. */
void signals_install(const struct signals_stop *stop);

/* Sets *set to the signals handled here, SIGCHLD included. */
void signals_set(sigset_t *set);

/* What the handler does, for threads that use sigwait(3). A second SIGINT
 * or SIGTERM ends the process, unless it comes within 200 ms. */
void signals_record(int signal_number);

/* What a child calls after fork(2). It blocks the signals: Ctrl-C and
 * service managers signal every process of a group, and a child learns from
 * the shared time that it should stop. When its parent dies, the kernel
 * kills it (PR_SET_PDEATHSIG). */
void signals_in_child(void);

/* Reaps children of other process groups: orphans that process 1 of a
 * container has inherited. No child of the server is one. Safe in a signal
 * handler. */
void signals_reap_orphans(void);
