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
 *
 * Of the silent ones epoll(7) tells who speaks. That makes no event loop of the
 * server: whom it takes it serves to the end.
 */
#ifndef ACCEPT_FILTER_H
#define ACCEPT_FILTER_H

#include <stdbool.h>
#include <sys/epoll.h>

#include "server.h"

enum { ACCEPT_FILTER_BATCH = 32 };

struct accept_filter {
    struct silent *silent; /* utlist, the oldest first; NULL: nobody */
    unsigned held;         /* so many */
    unsigned number;       /* its worker's: where the others see `held` */
    struct silent *spare; /* of those who spoke, for others. Not freed: each
                             child of 02 would tidy up malloc(3)'s lists anew,
                             and so have the pages copied that they are in */
    int set;               /* of epoll(7), when there is one: */
    bool has_set;
    bool watching; /* the listening socket is in it */
    bool shortage; /* the last attempt to accept failed */
    bool left_alone; /* clients wait, and no other worker took them in time */
    struct epoll_event ready[ACCEPT_FILTER_BATCH]; /* .data.ptr: one of them; */
    int next, count;                               /* NULL: a new client */
};

/* Waits for the next client. Returns its socket, which blocks, or -1 when the
 * server is stopping and all who spoke have been taken. With `spoken` only one
 * that has sent something: the others are put aside here. A filter of zeroes is
 * an empty one, of worker 0. */
int accept_filter_next(struct accept_filter *filter,
                       const struct server *server, bool spoken);

/* Puts a silent client aside, until it speaks or its patience is over
 * (HTTP_SILENCE); its socket is the filter's from then on. Returns false where
 * there is no memory or descriptor for that. */
bool accept_filter_hold(struct accept_filter *filter,
                        const struct server *server, int fd);

/* Has one of those who were put aside spoken? */
bool accept_filter_somebody_speaks(const struct accept_filter *filter);

/* Closes the sockets of those that are put aside, and frees the memory. */
void accept_filter_free(struct accept_filter *filter);

/* The same in a forked child, which frees no memory: writing to it would have
 * the kernel copy each page, and the child ends soon. The parent's filter, and
 * its clients, stay as they are. */
void accept_filter_leave(struct accept_filter *filter);

#endif
