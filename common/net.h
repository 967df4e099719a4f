/*
 * net - the socket calls that all seven servers make.
 */
#pragma once

#include <limits.h>

#include "http_conn.h"
#include "server.h"

/* Returns listening socket `number` of server->listener_count, which all share
 * server->port (SO_REUSEPORT); port 0 is replaced by the one that the kernel
 * picked. The socket of an event loop does not block. Failure ends the
 * program. */
int net_listen(struct server *server, int number);

/* What a failed accept(2) means for the server. */
enum net_verdict {
    NET_NOBODY,     /* no client waits (EAGAIN), or the server stops (EINVAL) */
    NET_NEXT,       /* a signal came, or this client is lost: accept again */
    NET_NEEDS_ROOM, /* no descriptor or memory: fewer clients would help */
    NET_LATER,      /* any other error may stay: pause, instead of spinning */
};

/* Returns what an errno of accept(2) means. */
enum net_verdict net_accept_verdict(int error);

/* Waits for the next client. Returns its socket, or -1 when the server is
 * stopping. Handles every other failure: it tries again, and where that would
 * not help immediately, it warns and pauses first. Before the next attempt
 * after a pause, and when no client has come for some seconds, calls
 * spare(data), unless that is NULL, to give back what the worker keeps only
 * to be faster later. */
int net_accept(const struct server *server, void (*spare)(void *data),
               void *data);

/* The same for an event loop: neither the call nor the client's socket waits.
 * Returns -1 with errno, for net_accept_verdict(). */
int net_accept_nonblocking(const struct server *server, int listener);

/* Return how many clients wait in the accept queue, and how many it holds: of
 * --backlog the kernel takes at most net.core.somaxconn. */
unsigned net_accept_queue_length(int listener);
int net_accept_queue_limit(int listener);

/* Returns for how many milliseconds the client has sent nothing, counted from
 * its handshake or its last data. */
int net_silent_ms(int fd);

/* What earlier looks have seen of an answer that is on its way. */
struct net_delivery {
    int left;            /* bytes that were not acknowledged at the last look */
    int64_t progress_ms; /* when fewer than before were; monotonic */
};

/* Begins to watch an answer: it has made progress just now. */
static inline void net_delivery_begin(struct net_delivery *d, int64_t now_ms)
{
    *d = (struct net_delivery){INT_MAX, now_ms};
}

/* Looks how far everything that was sent, except perhaps the FIN, has come.
 * Nothing must have been sent since the last look. HTTP_STALLED: no progress
 * for stall_ms. */
enum http_delivery net_delivery(int fd, struct net_delivery *d, int64_t now_ms,
                                int stall_ms);

/* Reads what the client sends and throws it away. Returns as recv(2): the
 * number of bytes, 0 at the end of file, or -1 with errno. flags: 0 or
 * MSG_DONTWAIT. */
ssize_t net_discard(int fd, int flags);

/* Sends part of an output, waiting if the socket blocks. Returns the number of
 * bytes that the kernel took, or -1 with errno; EIO when a file has become
 * shorter than promised. */
ssize_t net_send(int fd, const struct http_output *output);

/* Returns the client's address as text for the access log, to be freed by the
 * caller; NULL when no log is kept, the client has left or memory runs out. */
char *net_peer_name(const struct server *server, int fd);
