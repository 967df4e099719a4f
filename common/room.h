/*
 * room - when a client of 01 to 05 must leave because others wait.
 *
 * Here a client occupies a process or a thread, also while nothing comes
 * from it. It may, as long as no other client needs that. The rules:
 *
 *   1. Others wait when more clients are in the accept queue than will be
 *      accepted soon: by idle workers, or by children or threads that may
 *      still be made (server_shared.room).
 *   2. A worker looks for others only before an answer and while nothing
 *      comes: no request and no answer that has begun is given up for them.
 *   3. A client that has sent nothing yet must leave when others wait and
 *      FIRST_BYTE_GRACE_MS have passed since its handshake.
 *   4. Any other client from which nothing comes must leave when others
 *      wait at two looks in a row: at the first, an idle worker may have
 *      been about to accept them.
 *   5. After an answer a client may stay if no other waits, or if its next
 *      request is already here; but at every YIELD_EVERYth request only if
 *      no other waits.
 *
 * In 06 and 07 a client occupies a descriptor, and one has to leave only
 * when there is no room for another: see event_loop_accept.c. The grace is
 * the same.
 */
#pragma once

#include "http_conn.h"
#include "server.h"

/* One lost packet costs a client 1 s (RFC 6298), and a load tool that opens
 * 15,000 connections needs 1.2 s to write to the last. */
enum { FIRST_BYTE_GRACE_MS = 3000 };

/* What earlier looks have seen. */
struct room_looks {
    bool others_waited;
    int64_t grace_end_ms; /* of a client that has sent nothing; monotonic */
};

/* Begins the grace of the client with this socket. It counts from the
 * handshake, not from now: otherwise 500 silent clients in the accept queue
 * would hold the worker for 3 seconds each, one after the other. */
void room_begin_grace(struct room_looks *looks, int fd, int64_t now_ms);

/* Looks whether this client, from which nothing comes, must leave. */
bool room_is_needed(struct room_looks *looks, const struct server *server,
                    enum http_phase phase, int64_t now_ms);

/* Looks whether the client may stay after the request it has just sent. */
bool room_for_more(const struct server *server, const struct http_conn *conn);
