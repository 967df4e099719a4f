/*
 * nonblocking - drives connections with calls that never wait.
 *
 * For event loops, 06 and 07. The same steps as blocking.h, but where a call
 * would have to wait (EAGAIN), the client is left as it is and the loop goes on
 * with the others until the kernel says that the call would succeed now.
 *
 * A loop embeds a struct event_loop and fills in its four functions: how it
 * watches a client, lets go of one, frees one, how it watches Redis' socket. All
 * that poll and epoll do differently is behind them.
 */
#ifndef NONBLOCKING_H
#define NONBLOCKING_H

#include <signal.h>

#include "http_conn.h"
#include "redis_async.h"
#include "worker.h"

struct event_loop;

/* One client: all that an idle one costs in memory. */
struct client {
    struct http_conn conn;
    int fd;
    int unsent;                 /* net_unsent() when it began to wait for room */
    unsigned replies_due : 8;   /* Redis still has to call us back */
    unsigned readable : 1;      /* the kernel said so, and no short read since */
    unsigned writable : 1;
    unsigned hangup : 1;        /* the other side is (half) closed: read on to
                                   the end, a short read proves nothing */
    unsigned dead : 1;          /* over, but replies are due */
    unsigned moved : 1;         /* it took bytes since the deadline was set */
    unsigned list : 4;          /* enum http_phase: which deadline list */
    int64_t deadline_ms;
    struct client *prev, *next; /* in that list */
};

/* Lists of clients ordered by deadline: all in one list have the same patience,
 * so who comes later ends later, and a new one goes to the end. To set or to
 * check a deadline costs the same with ten clients and with ten thousand. */
struct event_loop {
    struct worker *worker;
    struct redis_async store;
    struct client *deadlines[HTTP_PHASES];
    struct client *ended;  /* to be freed at the end of this turn */
    unsigned clients;      /* that are there, or for whom replies are due */
    bool somebody_waits;   /* the accept queue may not be empty */
    int64_t accept_ms;     /* after an accept failed: not before this time */
    int64_t signals_ms;    /* when signals were last let in */

    /* The client waits to read, to write (HTTP_WANT_REDIS: for neither). With
     * `again`, it has had its share of this turn though the socket may be ready
     * for more. Returns false when that cannot be done for want of memory. */
    bool (*watch)(struct event_loop *loop, struct client *client,
                  enum http_want want, bool again);
    /* Stop watching; the descriptor is closed right after. */
    void (*forget)(struct event_loop *loop, struct client *client);
    /* Free the memory that held the client. */
    void (*release)(struct client *client);
    void (*watch_store)(void *loop, int fd, bool read, bool write);
};

/* Needs the four functions to be set. */
void event_loop_init(struct event_loop *loop, struct worker *worker);

/* After each wait: sees to the signals. ppoll(2) and epoll_pwait(2) let them in
 * only when they have to sleep, so that clients who keep the loop busy would
 * keep a SIGTERM from it: now and then they are let in here. `mask` is the one
 * for waiting; `interrupted`, that a signal has just ended the wait. */
void event_loop_see_to_signals(struct event_loop *loop, const sigset_t *mask,
                               bool interrupted);

/* May one more client be accepted? Not at --max-connections, unless somebody is
 * idle whose place he can take; nor just after an accept has failed for want of
 * descriptors or memory, nor when stopping. Those that wait stay in the accept
 * queue. */
bool event_loop_may_accept(const struct event_loop *loop);

/* Accepts one client and serves it at once: with TCP_DEFER_ACCEPT its request
 * is already here, and many a client is answered and gone before poll or epoll
 * would have heard of it. `client` is memory of the loop's own, or NULL if there
 * was none. Returns false, and has not taken the memory, when there is nobody to
 * accept or nobody may be; loop->somebody_waits says which. */
bool event_loop_accept(struct event_loop *loop, int listener,
                       struct client *client);

/* What the kernel said about a client. `hangup`: the peer has closed its side;
 * `broken`: both sides are down. The client may be gone afterwards. */
void event_loop_event(struct event_loop *loop, struct client *client,
                      bool readable, bool writable, bool hangup, bool broken);

/* Ends every client that is left, and the connection to Redis. */
void event_loop_free(struct event_loop *loop);

/* For how many milliseconds the loop may wait; -1: until something happens. */
int event_loop_timeout(const struct event_loop *loop);

/* The end of a turn: ends what is over its deadline, writes to Redis what was
 * queued, frees clients that ended. While the server drains, ends who is idle. */
void event_loop_finish_turn(struct event_loop *loop);

/* Stopping, and nobody is left (or the time to finish in is over). */
bool event_loop_is_over(const struct event_loop *loop);

#endif
