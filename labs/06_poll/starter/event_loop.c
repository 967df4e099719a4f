/*
 * event_loop - serves many clients with non-blocking calls; see
 * common/event_loop.h. When your folder has this file, it takes the place of
 * common/event_loop.c.
 *
 * TO WRITE: read_request, write_response and event_loop_serve, all marked
 * below. Everything else is complete: deadlines, Redis, the end of a client.
 * Compare with common/serve_blocking.c, which takes the same steps and waits in
 * each of them. How clients are accepted is in event_loop_accept.c.
 */
#pragma GCC diagnostic ignored "-Wunused-function" /* until yours call them */

/* TO WRITE. Called when the client's connection wants bytes. Reads once, with
 * recv(2), into http_conn_input(), and tells the connection what came.
 * Returns true when the next step can be taken now; false when the client has
 * to wait for its socket.
 *
 *   bytes              http_conn_received(), true. Fewer than there was room
 *                      for? Then the socket is empty now: see client->readable
 *                      in common/event_loop.h, which saves the next recv
 *   EAGAIN             nothing is there. http_conn_received() with 0, so that
 *                      an idle client needs no buffer; true
 *   end of file, error http_conn_abort(); true: the next step closes it
 *   no memory          http_conn_input() returns NULL: http_conn_finish(),
 *                      which ends the connection without a reset; true
 *
 * Do not call recv when client->readable is false: return false. After
 * client->hangup, read the socket to its end of file, whatever a short
 * read says. */
static bool read_request(struct event_loop *loop, struct client *client)
{
    (void)loop;
    http_conn_abort(&client->conn);
    return true;
}

/* TO WRITE. Called when the connection has an answer to send. Sends as much as
 * the socket takes: http_conn_output() names it, net_send() sends it.
 * Returns true when the next step can be taken now; false when the client has
 * to wait until its socket has room.
 *
 *   bytes taken   if http_conn_phase() is HTTP_PHASE_DELIVER,
 *                 remove_deadline(): the next phase has its own. ("100
 *                 Continue" is part of a request, whose deadline stays.) Then
 *                 net_delivery_begin(), because the answer makes progress, and
 *                 http_conn_sent()
 *   EAGAIN        the send buffer is full
 *   EINTR         a signal came while sendfile(2) sent a file; true: try again
 *   other errors  http_conn_finish(), true: this client gets no more, but what
 *                 it was sent may still arrive. No other client is concerned */
static bool write_response(struct event_loop *loop, struct client *client)
{
    (void)loop;
    http_conn_abort(&client->conn);
    return true;
}

/* TO WRITE. Serves one client until it has to wait, or until it has used up its
 * share of this iteration. Calls step() with what http_conn_want() says while
 * step() returns true. Three rules:
 *
 *   1. After STEPS_PER_ITERATION steps, a client that wants READ, WRITE or
 *      LINGER is left for the next iteration: its socket brings it back. With
 *      any other want, go on: no event of the socket would bring it back.
 *   2. step() may have ended the client: client->closed. Return then.
 *   3. At the end: set_deadline(), if the client is in no deadline queue
 *      (client->prev) or its phase has changed (client->phase). Then
 *      loop->watch(), with `share_used` true if the client was left by rule 1; if it
 *      returns false, watch_failed(). A client that wants REDIS and is not
 *      watched yet needs no watch: the reply brings it back. */
void event_loop_serve(struct event_loop *loop, struct client *client)
{
    end_client(loop, client);
}
