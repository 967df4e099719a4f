/*
 * net - the socket calls that all seven servers make.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "http_conn.h"
#include "options.h"
#include "server.h"

/* Returns a listening socket for options->host and *port; port 0 is replaced by
 * the one that the kernel picked. It is number `number` of `count` sockets that
 * share the port (SO_REUSEPORT). With `defer`, accept(2) returns a client only
 * once it has sent something. Failure ends the program. */
int net_listen(const struct options *options, int *port, int number, int count,
               bool defer);

/* Returns the queue length that the kernel makes of a backlog: at most
 * net.core.somaxconn. */
int net_effective_backlog(int backlog);

/* Waits for the next client. Returns its socket, or -1 when the server is
 * stopping. Handles every other failure: without descriptors or memory it warns,
 * waits a little and tries again. */
int net_accept(const struct server *server);

/* The same for an event loop: neither the call nor the client's socket waits.
 * Returns -1 with errno EAGAIN when no client is waiting, EINVAL when the server
 * is stopping, or another errno when no client can be accepted now. */
int net_accept_nonblocking(const struct server *server, int listener);

/* Sets O_NONBLOCK. */
void net_set_nonblocking(int fd);

/* Returns how many clients wait in the accept queue; 0 when unknown. */
unsigned net_accept_queue_length(int listener);

/* Returns for how many milliseconds the client has sent nothing, counted from
 * its handshake or its last data; 0 when unknown. */
int net_silent_ms(int fd);

/* Sends a 503 that needs no memory to a client that has sent something, and
 * warns. The caller closes the socket. */
void net_refuse(const struct server *server, int fd);

/* Would close(2) now make the kernel send RST, now or when the client sends
 * more, and discard what it has not sent yet? It would if there is input that
 * nobody has read, or output that has not left. */
bool net_close_may_reset(int fd);

/* Returns how many bytes the kernel holds that the client has not acknowledged.
 * A socket counts as writable when a third of its buffer is free, which can be
 * a megabyte; this tells earlier that a slow reader makes progress. */
int net_unacknowledged(int fd);

/* Sends part of an output, waiting if the socket blocks. Returns the number of
 * bytes that the kernel took, or -1 with errno; EIO when a file has become
 * shorter than promised. */
ssize_t net_send(int fd, const struct http_output *output);

/* Returns the client's address as text for the access log, to be freed by the
 * caller; NULL when no log is kept or memory runs out. */
char *net_peer_name(const struct server *server, int fd);
