/*
 * accept - how a server gets its next client.
 *
 * net.h says what a failure of accept(2) means. Here is what a server does
 * then: it tries again, warns, pauses or gives back what it does not need.
 */
#pragma once

#include "server.h"

/* Waits for the next client. Returns its socket, or -1 when the server is
 * stopping. Handles every other failure: it tries again, and where that
 * would not help immediately, it warns and pauses first. After a pause,
 * and when no client has come for 5 seconds (`keeps_files` in options.h), it
 * calls trim(data), unless that is NULL, to give back what the worker keeps
 * only to be faster later. */
int accept_next(const struct server *server, void (*trim)(void *data),
                void *data);

/* The same for an event loop: neither the call nor the client's socket
 * waits. Returns -1 with errno, for net_accept_verdict(). */
int accept_nonblocking(const struct server *server, int listener);
