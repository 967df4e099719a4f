/*
 * accept_filter - which client a blocking server takes next.
 *
 * A client that has connected and says nothing holds whoever serves it, and a
 * server that serves one at a time is then at a standstill, with requests in its
 * accept queue. Such clients are common: a browser connects twice in advance and
 * speaks on one, ab connects to all before it says a word. So a server that
 * finds its client silent, and others waiting, puts it aside and takes one that
 * speaks. The name is FreeBSD's, whose accf_data(9) does this in the kernel.
 * Linux has TCP_DEFER_ACCEPT, which loses requests when the accept queue is full
 * (see net_listen()), as here it often is.
 */
#ifndef ACCEPT_FILTER_H
#define ACCEPT_FILTER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server.h"

struct accept_filter {
    struct pollfd *polled; /* [0] the listening socket, then the silent
                              clients, the oldest first; fd -1: taken */
    int64_t *until_ms;     /* [i] how long to wait for polled[i] */
    size_t used, room;     /* elements in both; used is 0 before the first */
    size_t next;           /* to look at, since the last poll(2) */
    size_t credit;         /* clients to accept before the next poll(2) */
    bool shortage;         /* the last attempt to accept failed */
};

/* Waits for the next client. Returns its socket, which blocks, or -1 when the
 * server is stopping and all who spoke have been taken. With `spoken` only one
 * that has sent something: the others are put aside here. A filter of zeroes is
 * an empty one. */
int accept_filter_next(struct accept_filter *filter,
                       const struct server *server, bool spoken);

/* Puts a silent client aside, until it speaks or its patience is over (HTTP_SILENCE); its
 * socket is the filter's from then on. Returns false where there is no memory
 * for that. */
bool accept_filter_hold(struct accept_filter *filter,
                        const struct server *server, int fd);

/* Does a client wait to be served, here or in the accept queue? */
bool accept_filter_somebody_waits(const struct accept_filter *filter,
                                  const struct server *server);

/* Closes the sockets of those that are put aside, and frees the memory. */
void accept_filter_free(struct accept_filter *filter);

#endif
