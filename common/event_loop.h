/*
 * event_loop - serves many clients with non-blocking calls.
 *
 * For 06 and 07. The steps are those of the switch in http_conn.h, as in
 * serve_blocking.h, but where a call would have to wait (EAGAIN), the client
 * stays as it is, and the loop serves others until the kernel says that the
 * call would not have to wait now.
 *
 * A loop embeds struct event_loop and fills in three functions: how it
 * watches a client, how it stops watching one, how it watches Redis'
 * socket. Everything that poll and epoll do differently is behind them.
 */
#pragma once

#include "net.h"
#include "redis_async.h"
#include "worker.h"

/* One client: all the memory that an idle one costs, but for `peer`. */
struct client {
    struct http_conn conn;
    int fd;
    int index;                 /* 06: of its entry in poll's array */
    unsigned char replies_due; /* from Redis */
    unsigned char phase;       /* of its deadline, enum http_phase, at first
                                  NEW; it is in no queue if prev is NULL */
    bool readable;             /* recv() may find data: false for a new client,
                                  after EAGAIN and after a short read */
    bool hangup;               /* the client has closed its side: read to the
                                  end of file */
    bool watched;              /* the loop has been told of its socket */
    bool to_write;             /* 07: it is watched for writing, too */
    bool closed;               /* its socket is; freed when no reply is due */
    char *peer;                /* its address, or NULL: not needed */
    struct net_delivery delivery; /* of its answer */
    int64_t deadline_ms;
    struct client *prev, *next; /* in that queue; next in loop->ended, too */
};

/* The clients of one phase all have the same timeout. So a queue in order
 * of arrival is in order of deadline too: setting a deadline appends,
 * checking looks at the head, however many clients there are. */
struct event_loop {
    struct worker base;     /* what a worker of any server has; this struct is
                               in turn the `base` of the struct loop of 06
                               and 07 */
    struct redis_async redis;
    int listener;           /* -1 when the server stops: poll(2) would report
                               at every call that it has been shut down */
    struct client *deadline_queues[HTTP_PHASES];
    struct client *ended;   /* freed at the end of this iteration */
    int clients, max_clients;
    bool accept_pending;    /* the accept queue may not be empty */
    bool accept_exhausted;  /* accept failed, mostly for lack of descriptors or
                               memory: pause before the next attempt */

    /* Watches the client's socket for writing (HTTP_WANT_WRITE) or for
     * reading (READ, LINGER). With REDIS the socket does not matter: 06
     * asks for nothing, or poll(2) would report it again and again while
     * the reply is due; 07 leaves it, since an edge is reported once.
     * `share_used`: the client had its share of this iteration, and its
     * socket may still be ready.
     * Returns false, with errno, when the kernel has no room for another
     * client. */
    bool (*watch)(struct event_loop *loop, struct client *client,
                  enum http_want want, bool share_used);
    /* Stops watching it; its descriptor is closed next. */
    void (*unwatch)(struct event_loop *loop, struct client *client);
    /* Watches Redis' socket for `events`, level-triggered; 0: no longer. It
     * is the redis_async's `watch`, which knows no event_loop: hence void. */
    void (*watch_redis)(void *loop, int fd, short events);
};

/* Initializes worker `number`. The three functions must be set. */
void event_loop_init(struct event_loop *loop, const struct server *server,
                     int number);

/* Ends all clients and the connection to Redis. */
void event_loop_free(struct event_loop *loop);

/* May another client be accepted? If not, clients wait in the accept queue.
 * (This and event_loop_accept() are in event_loop_accept.c.) */
bool event_loop_may_accept(const struct event_loop *loop);

/* Passes on what the kernel reported. `source` is a client, &loop->redis or
 * &loop->listener; `events` are POLLIN and so on, and epoll's constants
 * have the same values. A client is served until its next step would have
 * to wait, or its share of this iteration is used up. It may be gone
 * afterwards. */
void event_loop_ready(struct event_loop *loop, void *source, uint32_t events);

/* Serves a client as far as it goes, then sets its deadline and watches it.
 * event_loop_ready() and event_loop_accept() call it; the client may be gone
 * afterwards. */
void event_loop_serve(struct event_loop *loop, struct client *client);

/* Accepts clients that are waiting, and watches them. None is read before
 * the kernel reports it: a request comes after its connection, so mostly
 * recv() would find nothing. Stops after a fixed number. */
void event_loop_accept(struct event_loop *loop);

/* Returns for how many milliseconds the loop may wait; -1: without
 * limit. */
int event_loop_timeout_ms(const struct event_loop *loop);

/* Begins an iteration, right after the wait: looks at the clock and at what
 * signal handlers recorded. */
void event_loop_begin_iteration(struct event_loop *loop);

/* Ends an iteration: acts on deadlines that have passed, sends what was
 * queued for Redis, gives Redis up if it has been silent for too long, frees
 * clients that ended, closes files that no client asked for lately. Records
 * how long the iteration has taken, if none took longer. */
void event_loop_end_iteration(struct event_loop *loop);

/* Is the server stopping, with no client left or no time to wait for
 * one? */
bool event_loop_is_over(const struct event_loop *loop);
