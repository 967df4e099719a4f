/*
 * Lab 06 - one process, one loop, all clients together.
 *
 * No call here may wait for a single client. poll(2) gets the descriptors of
 * all and sleeps until some are ready.
 *
 *   .--> wait for events --> each ready client: read, serve, write --.
 *   '----------------------------------------------------------------'
 *
 * TO WRITE here: watch, unwatch, wait_for_events, serve_ready. In event_loop.c:
 * how a ready client is served. In event_loop_accept.c: how one is accepted.
 */

/* TO WRITE. Called whenever a client has to wait for its socket, or for Redis.
 * The first time (client->watched is false), gives it the next free place in the
 * two arrays and stores it in client->index. Every time, sets what
 * poll(2) shall look for at that place: POLLIN if it wants to READ or LINGER,
 * POLLOUT if it wants to WRITE, nothing if it wants REDIS. Returns true. */
static bool watch(struct event_loop *base, struct client *client,
                  enum http_want want, bool share_used)
{
    (void)base;
    (void)client;
    (void)want;
    (void)share_used; /* for epoll: poll reports again what is left unread */
    return false;
}

/* TO WRITE. Called before a client's descriptor is closed; the client may never
 * have been watched. Takes its place out of the two arrays without leaving a
 * hole, in a time that does not depend on the number of clients. Mind the
 * client that moves: its index changes. */
static void unwatch(struct event_loop *base, struct client *client)
{
    (void)base;
    client->watched = false;
}

/* TO WRITE. Calls poll(2) with all descriptors in use, for at most
 * event_loop_timeout_ms() milliseconds. Before that, sets up the place of the
 * listener: POLLIN if event_loop_may_accept(), otherwise nothing. When the
 * server is stopping, base.listener is -1, which poll skips.
 * Returns what poll returns. EINTR only means that a signal has come: -1 is
 * then passed on, and serve_ready() does nothing. */
static int wait_for_events(struct loop *loop)
{
    (void)loop;
    return poll(NULL, 0, 10);
}

/* TO WRITE. Calls event_loop_ready() for each place with `revents`; stops when
 * `ready` of them have been found. A client that ends takes its place out of
 * the arrays while you search them: choose the direction of the search so
 * that none is missed and none is served twice. */
static void serve_ready(struct loop *loop, int ready)
{
    (void)loop;
    (void)ready;
}
