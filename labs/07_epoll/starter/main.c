/*
 * Lab 07 - one loop, all clients together, and the kernel remembers them.
 *
 * A client is added to the kernel's set once, and epoll_wait(2) returns those
 * that are ready, and only those. Client sockets and the listener are watched
 * edge-triggered (EPOLLET): the kernel reports a change once, and not again
 * because data is left.
 *
 *   .--> wait for events --> each ready client: read, serve, write --.
 *   '----------------------------------------------------------------'
 *
 * TO WRITE here: watch, watch_redis, wait_for_events, serve_ready, loop_init,
 * and the workers in main. event_loop.c and event_loop_accept.c are the files
 * of lab 06: bring your own, and check that they go on until EAGAIN.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

/* TO WRITE. Called whenever a client has to wait for its socket, or for Redis.
 * The first time (client->watched is false), adds its descriptor to the set with
 * epoll_ctl(2): for reading and the end of file, edge-triggered. The event shall
 * name the client, and client->watched becomes true. When it first wants
 * HTTP_WANT_WRITE, epoll_ctl(2) adds room to write to what the set watches
 * (client->to_write); not before, because a new socket has room, and the kernel
 * would report it immediately. Else there is nothing to change, with one
 * exception. `share_used`: the loop has left the client although its socket may
 * be ready. No new edge would come: make the kernel report it once more. Returns
 * false when epoll_ctl fails. */
static bool watch(struct event_loop *base, struct client *client,
                  enum http_want want, bool share_used)
{
    (void)base;
    (void)client;
    (void)want;
    (void)share_used;
    return false;
}

/* TO WRITE. Watches Redis' socket for `events` (POLLIN and so on, or 0; epoll's
 * constants have the same values), level-triggered, because hiredis does not
 * promise to read until EAGAIN. The socket may be a new one, with the number of
 * an old one that close(2) took out of the set. The event shall name
 * &loop->base.redis. */
static void watch_redis(void *base, int fd, short events)
{
    (void)base;
    (void)fd;
    (void)events;
}

/* TO WRITE. Calls epoll_wait(2) for at most event_loop_timeout_ms()
 * milliseconds. Returns what it returns. EINTR only means that a signal has
 * come: -1 is then passed on, and serve_ready() does nothing. */
static int wait_for_events(struct loop *loop)
{
    (void)loop;
    return poll(NULL, 0, 10);
}

/* TO WRITE. Passes each of the `ready` events to event_loop_ready(). */
static void serve_ready(struct loop *loop, int ready)
{
    (void)loop;
    (void)ready;
}

/* TO WRITE. Makes the set (epoll_create1(2)) and puts the listener into it,
 * edge-triggered; its event shall name &loop->base.listener. Failure ends the
 * program: die(), see common/fatal.h. */
static void loop_init(struct loop *loop)
{
    loop->epoll = -1;
}

/* TO WRITE in main: with --workers N above 1, N processes, each with a loop of
 * its own (serve_clients() with its number, and server.listeners[number]); the
 * parent serves no client, and replaces a worker that dies. In lab 03 you wrote
 * this yourself. Here use common/worker_processes.h. In the child,
 * record_fork() has already called signals_in_child(). */
int main(int argc, char **argv)
{
    static struct server server; /* reachable at exit, for leak checkers */

    server_start(&server, &architecture, argc, argv);
    server_ready(&server, "%d worker%s", server.options.workers,
                 server.options.workers == 1 ? "" : "s");
    serve_clients(&server, 0);
    return server_finish(&server);
}
