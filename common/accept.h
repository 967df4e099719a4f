/*
 * accept - how a server gets its next client.
 *
 * Which sockets there are is server.h's business, what a system call means
 * net.h's. Here is what a server does about it: when it tries again, warns,
 * pauses or gives something back.
 */
#pragma once

#include "server.h"

/* Waits for the next client. Returns its socket, or -1 when the server is
 * stopping. Handles every other failure: it tries again, and where that would
 * not help immediately, it warns and pauses first. Before the next attempt
 * after a pause, and when no client has come for some seconds, calls
 * spare(data), unless that is NULL, to give back what the worker keeps only
 * to be faster later. */
int accept_next(const struct server *server, void (*spare)(void *data),
                void *data);

/* The same for an event loop: neither the call nor the client's socket waits.
 * Returns -1 with errno, for net_accept_verdict(). */
int accept_nonblocking(const struct server *server, int listener);
