/*
 * net - sockets: how a server listens, how it sends, and what the kernel
 * knows of a connection.
 *
 * accept.c calls accept(2); serve_blocking.c and event_loop.c, the drivers,
 * call recv(2), shutdown(2) and close(2) themselves.
 */
#pragma once

#include <limits.h>

#include "http_conn.h"

/* Whether other sockets listen on the same port. SO_REUSEPORT gives each an
 * accept queue of its own, and the kernel spreads connections over them. */
enum net_port {
    NET_PORT_OWN,    /* none: fails if another socket has the port */
    NET_PORT_JOINED, /* others may, if net_share_port() was called on them */
};

/* Returns a listening socket on the first address that getaddrinfo(3) finds
 * for host. Failure ends the program. */
int net_listen(const char *host, int port, int backlog, enum net_port shared);

/* Returns the port of a listening socket; for port 0 it is the one that the
 * kernel picked. */
int net_port(int fd);

/* Lets other sockets join the port of this one. Called after net_listen():
 * before bind(2), it would let the server start on a port that another
 * server shares in the same way. Failure ends the program. */
void net_share_port(int fd);

/* accept(2) on this listening socket does not wait. Failure ends the
 * program. */
void net_never_wait(int fd);

/* Lets accept(2) fail with EAGAIN when no client has come for some seconds,
 * so that an idle worker can close the files that it keeps. Not for 02,
 * which keeps none: with SO_RCVTIMEO a signal handler interrupts the call
 * whatever SA_RESTART says (signal(7)), and there each child that ends runs
 * one. Accepted sockets inherit the timeout; serve_blocking.c sets a
 * shorter one before it waits. */
void net_limit_wait(int fd);

/* What a failed accept(2) means for the server. The order counts: from
 * NET_NEEDS_ROOM on, the next attempt has to wait. */
enum net_verdict {
    NET_NOBODY,     /* no client waits (EAGAIN), or the server stops (EINVAL) */
    NET_NEXT,       /* a signal came, or this client is lost: accept again */
    NET_NEEDS_ROOM, /* no descriptor or memory: fewer clients would help */
    NET_LATER,      /* any other error may stay: pause, instead of spinning */
};

/* Returns what an errno of accept(2) means. */
enum net_verdict net_accept_verdict(int error);

/* Return how many clients wait in the accept queue, and how many it holds:
 * of --backlog the kernel takes at most net.core.somaxconn. */
unsigned net_accept_queue_length(int listener);
int net_accept_queue_limit(int listener);

/* Returns for how many milliseconds the client has sent nothing, counted
 * from its handshake or its last data. */
int net_silent_ms(int fd);

/* Has the client sent bytes that are not read yet? */
bool net_has_input(int fd);

/* What earlier looks have seen of an answer that is on its way. */
struct net_delivery {
    int left;            /* bytes that were not acknowledged at the last look */
    int64_t progress_ms; /* when a look last found fewer; monotonic */
};

/* Starts the clock of an answer or its next piece: it counts from now. */
static inline void net_delivery_begin(struct net_delivery *d, int64_t now_ms)
{
    *d = (struct net_delivery){INT_MAX, now_ms};
}

/* Looks how far everything that was sent, except perhaps the FIN, has come.
 * Nothing must have been sent since the last look, or since
 * net_delivery_begin(). HTTP_STALLED: no progress for stall_ms. */
enum http_delivery net_delivery(int fd, struct net_delivery *d, int64_t now_ms,
                                int stall_ms);

/* Reads what the client sends and throws it away. Returns as recv(2): the
 * number of bytes, 0 at the end of file, or -1 with errno. flags: 0 or
 * MSG_DONTWAIT. */
ssize_t net_discard(int fd, int flags);

/* Sends part of an output, waiting if the socket blocks. Returns the number
 * of bytes that the kernel took, or -1 with errno: EIO when a file has
 * become shorter than promised; EINTR when a signal has come, even if the
 * socket does not wait: since Linux 4.4 sendfile(2) looks for one before it
 * sends (fs/splice.c). And if a part of the file is not in memory, it waits
 * for the disk, whatever the socket. */
ssize_t net_send(int fd, const struct http_output *output);

/* Returns the client's address as text, to be freed by the caller; NULL
 * when the client has left or memory runs out. */
char *net_peer_name(int fd);
