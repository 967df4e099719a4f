/*
 * signals - how a server learns that it should stop.
 *
 * SIGINT and SIGTERM: the handler notes the time and shuts the listening
 * sockets down. A thread that waits in accept(2), and one that is just about
 * to, both find the socket shut: so there is no gap between looking at a flag
 * and going to sleep into which the signal could fall. The flag stands in
 * memory that children share; nobody needs to be sent the signal again.
 *
 * SIGUSR1 and SIGHUP leave a note that server_housekeeping() finds. A call that
 * waits returns with EINTR; but one that finds work at once returns with that,
 * signal or not, so notes are looked for whenever a call has returned. Here there
 * is a gap: a signal may come after the looking and before the waiting. So the
 * handler has itself called again by SIGALRM, a second later, until no note is
 * left.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct server;

/* Installs the handlers, without SA_RESTART: a waiting system call returns with
 * EINTR, so that notes are found. SIGPIPE is ignored: writing to a client that
 * has gone is an error of that client (EPIPE) and not the end of the server.
 * The server must outlive the process. */
void signals_install(const struct server *server);

/* What a forked child does with them: nothing, and it sees the shared flag. The
 * terminal's Ctrl-C and a service manager's SIGTERM go to every process at once,
 * and a child that died of its copy could not finish what it serves. When its
 * parent dies it ends too, by PR_SET_PDEATHSIG; at once, if that is not its
 * parent any more. Call it with the signals blocked since before fork(2): a child
 * that has its parent's handlers yet must not take one for the parent. It unblocks
 * them. */
void signals_in_child(pid_t parent);

/* The signals of this module, and SIGCHLD, as a set for pthread_sigmask() and ppoll(). */
void signals_set(sigset_t *set);

/* What the handler does, for who takes signals by sigwait(3). Asked a second
 * time to stop, it ends the process; within a fifth of a second it counts as the
 * same time. */
void signals_note(int signal_number);

/* Is the server stopping? */
bool signals_stopping(void);

/* Milliseconds since it was told to stop; 0 while it was not. */
int64_t signals_stopping_ms(void);

/* Has the signal come since this was last asked? Cheap when not. */
bool signals_take_report(void); /* SIGUSR1 */
bool signals_take_reopen(void); /* SIGHUP */

#endif
