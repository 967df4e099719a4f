/*
 * net - the socket calls that all seven make.
 */
#ifndef NET_H
#define NET_H

#include <stdbool.h>
#include <sys/types.h>

#include "http_conn.h"
#include "options.h"
#include "server.h"

/* Returns a socket that listens on options->host and *port, which is set to the port
 * that the kernel picked when it was 0. It is one of `count` that share the port
 * (SO_REUSEPORT), the first has number 0. With `defer`, a client is accepted
 * when it has sent something. Exits with cause and remedy on failure. */
int net_listen(const struct options *options, int *port, int number, int count,
               bool defer);

/* What the kernel makes of a backlog: at most net.core.somaxconn. */
int net_effective_backlog(int backlog);

/* Waits for the next client. Returns its socket, which blocks, or -1 when the
 * server is stopping. Any other error has been dealt with here: out of
 * descriptors or memory, it says so once, waits a little and tries again. */
int net_accept(const struct server *server);

/* One attempt of that. Returns -1 with errno EAGAIN when the client has gone or
 * the call was interrupted or has timed out, EINVAL when the server is stopping,
 * or another errno when no client can be taken now (said once). */
int net_try_accept(const struct server *server);

/* The same for an event loop: never waits, and the client's socket never does.
 * Returns -1 with errno EAGAIN when nobody waits, EINVAL when the server is
 * stopping, or another errno when no client can be taken now (said once). */
int net_accept_nonblocking(const struct server *server, int listener);

/* Tells a client for whom there is no memory that this is so (503), with what
 * needs none; one that has sent nothing is told nothing. The caller closes the
 * socket. */
void net_refuse(int fd);

/* Sets O_NONBLOCK. Cannot fail on a socket. */
void net_set_nonblocking(int fd);

/* Does a client wait in the accept queue? */
bool net_somebody_waits(int listener);

/* How many clients wait in the accept queue; 0 when it cannot be told. */
unsigned net_waiting(int listener);

/* Would close(2) now make the kernel send RST, or do so when the client sends
 * more, and throw away what it has not sent yet? So it is where the client has
 * sent bytes that nobody has read, or where it has yet to take some of its
 * answer. */
bool net_close_may_reset(int fd);

/* How many bytes the kernel holds that the client has not acknowledged. A socket
 * is said to be writable when a third of its buffer is free, which may be a
 * megabyte: a slow reader takes minutes for that, and this tells that he reads. */
int net_unsent(int fd);

/* Sends some of an output. It waits as the socket's mode has it; without may_wait
 * never, but for a file, as sendfile(2) has no flag for that. Returns the number of
 * bytes that the kernel took, or -1 with errno; a file that ended too early is
 * EIO. */
ssize_t net_send(int fd, const struct http_output *output, bool may_wait);

/* The client's address as text, for the log; NULL where no log is kept or there
 * is no memory. The caller frees it. */
char *net_peer_name(const struct server *server, int fd);

#endif
