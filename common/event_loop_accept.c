/*
 * event_loop_accept - how an event loop accepts clients, and makes room for
 * them; see event_loop.h.
 */
#include "event_loop.h"

#include <errno.h>
#include <stdlib.h>

#include "accept.h"
#include "net.h"
#include "room.h"

enum { ACCEPTS_PER_ITERATION = 64 };

static bool at_capacity(const struct event_loop *loop)
{
    return loop->clients >= loop->max_clients;
}

/* Has a client that was never read been silent for its grace (room.h)?
 * What it has sent counts even if this iteration has not come to it. */
static bool is_silent(const struct client *client)
{
    return net_silent_ms(client->fd) >= FIRST_BYTE_GRACE_MS &&
           !net_has_input(client->fd);
}

/* Returns the client that makes room when others wait, or NULL: the one
 * that has been idle longest; if none is, the one that has been silent
 * longest. NULL while another is closing (LINGER): that one makes room. */
static struct client *least_needed(const struct event_loop *loop)
{
    struct client *idle = loop->deadline_queues[HTTP_PHASE_IDLE];
    struct client *silent = loop->deadline_queues[HTTP_PHASE_NEW];
    if (loop->deadline_queues[HTTP_PHASE_LINGER] != NULL)
        return NULL;
    if (idle != NULL || silent == NULL)
        return idle;
    if (!is_silent(silent))
        return NULL;
    return silent;
}

bool event_loop_may_accept(const struct event_loop *loop)
{
    return !loop->base.draining && !loop->accept_exhausted &&
           (!at_capacity(loop) || least_needed(loop) != NULL);
}

/* Closes a client, if one may go: now, or when it has acknowledged its last
 * answer. */
static void make_room(struct event_loop *loop)
{
    struct client *client = least_needed(loop);
    if (client == NULL)
        return;
    http_conn_finish(&client->conn);
    event_loop_serve(loop, client);
}

/* Lets event_loop_serve() watch a new client with this socket. */
static void add_client(struct event_loop *loop, struct client *client, int fd)
{
    client->fd = fd;
    client->peer = worker_peer_name(&loop->base, fd);
    http_conn_open(&client->conn, &loop->base.http);
    stats_add(&loop->base.slot->connections, 1);
    loop->clients++;
    event_loop_serve(loop, client);
}

static void accept_client(struct event_loop *loop)
{
    const struct server *server = loop->base.server;
    if (at_capacity(loop)) {
        /* No client is closed for one that is not there. */
        loop->accept_pending = net_accept_queue_length(loop->listener) > 0;
        if (loop->accept_pending)
            make_room(loop);
        if (!loop->accept_pending || at_capacity(loop))
            return;
    }
    struct client *client = calloc(1, sizeof *client);
    int fd = client == NULL ? -1
                            : accept_nonblocking(server, loop->listener);
    if (fd < 0) {
        enum net_verdict verdict = net_accept_verdict(errno); /* or calloc's */
        loop->accept_exhausted = verdict >= NET_NEEDS_ROOM;
        loop->accept_pending = verdict != NET_NOBODY;
        free(client);
        if (verdict == NET_NEEDS_ROOM) { /* for the next attempt */
            http_context_trim(&loop->base.http);
            make_room(loop);
        }
        return;
    }
    add_client(loop, client, fd);
}

void event_loop_accept(struct event_loop *loop)
{
    for (int i = 0; i < ACCEPTS_PER_ITERATION && loop->accept_pending &&
                    event_loop_may_accept(loop); i++)
        accept_client(loop);
}
