/*
 * blocking - drives a connection with calls that wait.
 *
 * For servers that give a client a thread of control of its own, for as long
 * as it is served: 01 to 05. Its twin is nonblocking.h.
 */
#ifndef BLOCKING_H
#define BLOCKING_H

#include "worker.h"

/* Makes the worker fit for serve_blocking(): a connection that is kept yields
 * to clients that wait, as far as server->shared->full says that it is in
 * their way. */
void serve_blocking_init(struct worker *worker, const struct server *server,
                   struct stats_slot *stats);

/* Waits for the next client. Returns its socket, or -1 when the server is
 * stopping. A worker that calls this may put a silent client aside when more
 * wait than there are workers at leisure, and take it up again when it speaks;
 * see accept_filter.h. It returns with the turn to accept in hand, mostly, which
 * serve_blocking() passes on before it waits; see accept_turn.h. */
int serve_blocking_accept(struct worker *worker);

/* Serves one client until the connection ends, then closes its socket; or until
 * it is put aside. */
void serve_blocking(struct worker *worker, int fd);

#endif
