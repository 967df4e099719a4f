/*
 * signals - how a server learns that it should stop.
 *
 * SIGINT and SIGTERM: the handler records the time and shuts the listening
 * sockets down. A thread that waits in accept(2), or is just about to, finds
 * the socket shut; poll(2) and epoll_wait(2) report it. So there is no gap
 * between checking a flag and going to sleep in which the signal could be lost.
 * The time stands in memory that children share.
 *
 * SIGUSR1 and SIGHUP leave a note that server_housekeeping() finds. Here there
 * is a gap, and SIGALRM closes it: one second later it interrupts the wait, and
 * does so again until no note is left.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct server;

/* Installs the handlers, without SA_RESTART: a waiting system call fails with
 * EINTR, so that notes are found. Ignores SIGPIPE: writing to a client that has
 * gone is an error of that client, EPIPE, and must not end the server. */
void signals_install(const struct server *server);

/* What a child calls after fork(2): it ignores the signals of its parent, whose
 * shared flag it sees, as Ctrl-C and service managers signal every process of a
 * group. When its parent dies it is killed (PR_SET_PDEATHSIG). Call it with the
 * signals blocked since before fork(2); it unblocks them. */
void signals_in_child(pid_t parent);

/* Sets *set to the signals handled here, and SIGCHLD. */
void signals_set(sigset_t *set);

/* What the handler does, for threads that use sigwait(3). A second SIGINT or
 * SIGTERM ends the process at once, unless it comes within 200 ms: then it
 * counts as the same one. */
void signals_record(int signal_number);

/* Is the server stopping? */
bool signals_stopping(void);

/* Returns for how many milliseconds the server has been stopping; else 0. */
int64_t signals_stopping_ms(void);

/* Has SIGUSR1, has SIGHUP come since the last call? */
bool signals_take_report(void);
bool signals_take_reopen(void);
