/*
 * net - the socket calls that all seven servers make.
 */
#pragma once

#include "http_conn.h"
#include "server.h"

/* Returns listening socket `number` of server->listener_count, which all share
 * server->port (SO_REUSEPORT); port 0 is replaced by the one that the kernel
 * picked. An event loop's does not block. Failure ends the program. */
int net_listen(struct server *server, int number);

/* Waits for the next client. Returns its socket, or -1 when the server is
 * stopping. Handles every other failure: without descriptors or memory it
 * warns, waits a little and tries again. Before it tries again, and when no
 * client has come for some seconds, calls spare(data), unless that is NULL, to
 * give back what the worker keeps only to be faster later. */
int net_accept(const struct server *server, void (*spare)(void *data),
               void *data);

/* The same for an event loop: neither the call nor the client's socket waits.
 * Returns -1 with errno EAGAIN when no client is waiting, EINVAL when the
 * server is stopping, or another errno when no client can be accepted now. */
int net_accept_nonblocking(const struct server *server, int listener);

/* Return how many clients wait in the accept queue, and how many it holds: of
 * --backlog the kernel takes at most net.core.somaxconn. */
unsigned net_accept_queue_length(int listener);
int net_accept_queue_limit(int listener);

/* Returns for how many milliseconds the client has sent nothing, counted from
 * its handshake or its last data. */
int net_silent_ms(int fd);

/* Has the client's kernel acknowledged everything that was sent, but perhaps
 * the FIN? From then on close(2) can take nothing from the client. */
bool net_delivered(int fd);

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
