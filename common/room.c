/* room - when a client must leave because others wait; see room.h. */
#include "room.h"

#include "net.h"

/* A client may send many requests without waiting for answers
 * (pipelining). */
enum { YIELD_EVERY = 64 };

/* Does the accept queue hold more clients than will be accepted soon? */
static bool others_wait(const struct server *server)
{
    struct server_shared *shared = server->shared;
    int waiting = (int)net_accept_queue_length(server->listeners[0]);
    if (server->architecture->kind == PER_CONNECTION)
        return waiting > 0 && waiting > atomic_load(&shared->room);
    int idle = 0;
    for (unsigned i = 0; waiting > idle && i < server->slots; i++)
        idle += atomic_load_explicit(&shared->slots[i].idle,
                                     memory_order_relaxed);
    return waiting > idle;
}

void room_begin_grace(struct room_looks *looks, int fd, int64_t now_ms)
{
    looks->grace_end_ms = now_ms + FIRST_BYTE_GRACE_MS - net_silent_ms(fd);
}

bool room_is_needed(struct room_looks *looks, const struct server *server,
                    enum http_phase phase, int64_t now_ms)
{
    bool waited = looks->others_waited;
    looks->others_waited = others_wait(server);
    if (phase == HTTP_PHASE_NEW)
        return looks->others_waited && now_ms >= looks->grace_end_ms;
    return looks->others_waited && waited;
}

bool room_for_more(const struct server *server, const struct http_conn *conn)
{
    bool more_here = http_conn_has_pipelined(conn) &&
                     (conn->requests + 1) % YIELD_EVERY != 0;
    return more_here || !others_wait(server);
}
