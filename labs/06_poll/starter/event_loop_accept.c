/*
 * event_loop_accept - how an event loop accepts clients, and makes room for
 * them; see common/event_loop.h. When your folder has this file, it takes the
 * place of common/event_loop_accept.c.
 *
 * TO WRITE: event_loop_accept, marked below.
 */
#include "event_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "accept.h"
#include "net.h"
#include "room.h"

enum { ACCEPTS_PER_ITERATION = 64 };

/* For what only your function uses: delete each mark when you use it. */
#define TO_USE __attribute__((unused))

static bool at_capacity(const struct event_loop *loop)
{
    return loop->clients >= loop->worker.server->options.max_connections;
}

/* Has a client that was never read been silent for its grace? What it has sent
 * counts even if this iteration has not come to it. */
static bool is_silent(const struct client *client)
{
    return net_silent_ms(client->fd) >= FIRST_BYTE_GRACE_MS &&
           !net_has_input(client->fd);
}

/* Returns the client that makes room when others wait, or NULL: the one that
 * has been idle longest; if none is, the one that has been silent longest. NULL
 * while another is closing (LINGER): that one makes room. */
static struct client *least_needed(const struct event_loop *loop)
{
    struct client *idle = loop->deadline_queues[HTTP_PHASE_IDLE];
    struct client *silent = loop->deadline_queues[HTTP_PHASE_NEW];
    if (loop->deadline_queues[HTTP_PHASE_LINGER] != NULL)
        return NULL;
    if (idle != NULL || silent == NULL)
        return idle;
    return is_silent(silent) ? silent : NULL;
}

bool event_loop_may_accept(const struct event_loop *loop)
{
    return !loop->worker.draining && !loop->accept_exhausted &&
           (!at_capacity(loop) || least_needed(loop) != NULL);
}

/* Makes a client of a new socket and lets event_loop_serve() watch it. Without
 * memory the socket is closed. */
TO_USE static void add_client(struct event_loop *loop, int fd)
{
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        close(fd);
        return;
    }
    client->fd = fd;
    client->peer = worker_peer_name(&loop->worker, fd);
    http_conn_open(&client->conn, &loop->worker.http);
    stats_add(&loop->worker.slot->connections, 1);
    loop->clients++;
    event_loop_serve(loop, client);
}

/* Closes a client, if one may go: now, or when it has acknowledged its last
 * answer. */
TO_USE static void make_room(struct event_loop *loop)
{
    struct client *client = least_needed(loop);
    if (client == NULL)
        return;
    http_conn_finish(&client->conn);
    event_loop_serve(loop, client);
}

/* TO WRITE. Accepts the clients that are waiting: while loop->accept_pending
 * and event_loop_may_accept(), at most ACCEPTS_PER_ITERATION in one call.
 * accept_nonblocking() calls accept4(2), and add_client() takes the socket.
 * When it fails, net_accept_verdict() of errno says what to do:
 *
 *   NET_NOBODY      the queue is empty, or the server is stopping:
 *                   accept_pending becomes false
 *   NET_NEXT        accept again
 *   NET_NEEDS_ROOM  out of descriptors or memory: accept_exhausted becomes true
 *                   and accept_pending stays, so the loop tries again after a
 *                   pause. http_context_trim() and make_room() free some
 *   NET_LATER       the same, without making room: that would not help
 *
 *   at capacity     check at_capacity() before you accept. If
 *                   net_accept_queue_length() is 0, accept_pending becomes
 *                   false: no client is ended for one that is not there.
 *                   Otherwise make_room(), and accept if that made room;
 *                   if not, return: that client lingers, and leaves later */
void event_loop_accept(struct event_loop *loop)
{
    /* Until you write it, clients are turned away. */
    int fd = accept_nonblocking(loop->worker.server, loop->listener);
    if (fd >= 0)
        close(fd);
}
