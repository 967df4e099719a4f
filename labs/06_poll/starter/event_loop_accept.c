/*
 * event_loop_accept - how an event loop accepts clients, and makes room for
 * them; see common/event_loop.h. When your folder has this file, it takes the
 * place of common/event_loop_accept.c.
 *
 * TO WRITE: event_loop_accept, marked below.
 */
#include <unistd.h>
#pragma GCC diagnostic ignored "-Wunused-function" /* until yours calls them */

/* TO WRITE. Accepts the clients that are waiting: while loop->accept_pending
 * and event_loop_may_accept(), at most ACCEPTS_PER_ITERATION in one call.
 * For each, calloc() a struct client first: without memory for it, the socket
 * stays in the accept queue. accept_nonblocking() calls accept4(2), and
 * add_client() takes both. If it fails, free the client. net_accept_verdict()
 * of errno, calloc's too, says what to do:
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
    int fd = accept_nonblocking(loop->base.server, loop->listener);
    if (fd >= 0)
        close(fd);
}
