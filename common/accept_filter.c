/* accept_filter - which client a blocking server takes next; see
 * accept_filter.h. */
#include "accept_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"
#include "http_conn.h"
#include "net.h"
#include "signals.h"

enum {
    FIRST_ROOM = 16,
    LOOK_UP_MS = 50, /* a wait ends after that, to see what has changed */
    ACCEPT_MS = 1000, /* and a wait for a new client after that */
    /* poll(2) looks at every descriptor each time. One call for each client that
     * comes would make n silent clients cost n * n / 2 looks; one call for each
     * eighth of them that comes costs eight looks a client. */
    CREDIT_SHARE = 8,
};

static bool make_room(struct accept_filter *f)
{
    size_t room = f->room == 0 ? FIRST_ROOM : f->room * 2;
    struct pollfd *polled = realloc(f->polled, room * sizeof *polled);
    if (polled == NULL)
        return false;
    f->polled = polled;
    int64_t *until_ms = realloc(f->until_ms, room * sizeof *until_ms);
    if (until_ms == NULL)
        return false;
    f->until_ms = until_ms;
    f->room = room;
    return true;
}

/* Others may accept from this socket too (03, 05), and be faster between our
 * poll(2) and our accept(2), which would then wait while clients that we hold
 * begin to speak. For accept(2) a time-out for receiving is one for waiting. */
static void limit_waiting(int listener)
{
    const struct timeval most = {.tv_usec = ACCEPT_MS * 1000L};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

bool accept_filter_hold(struct accept_filter *f, const struct server *server,
                        int fd)
{
    if (f->used == f->room && !make_room(f))
        return false;
    if (f->used == 0) {
        limit_waiting(server->listeners[0]);
        f->polled[f->used++] =
            (struct pollfd){.fd = server->listeners[0], .events = POLLIN};
        f->next = 1;
    }
    f->until_ms[f->used] =
        clock_monotonic_ms() + HTTP_SILENCE * server->options.request_timeout_ms;
    f->polled[f->used++] = (struct pollfd){.fd = fd, .events = POLLIN};
    return true;
}

/* Takes those out that have been taken or have been silent for too long. */
static void tidy_up(struct accept_filter *f)
{
    int64_t now_ms = clock_monotonic_ms();
    size_t kept = 1;
    for (size_t i = 1; i < f->used; i++) {
        if (f->polled[i].fd >= 0 && f->until_ms[i] <= now_ms) {
            close(f->polled[i].fd);
            f->polled[i].fd = -1;
        }
        if (f->polled[i].fd >= 0) {
            f->polled[kept] = f->polled[i];
            f->until_ms[kept++] = f->until_ms[i];
        }
    }
    f->used = kept;
}

/* Waits until a silent client speaks or another one comes. Returns false when
 * the server is stopping and none has spoken. */
static bool look_at_all(struct accept_filter *f, const struct server *server)
{
    bool stopping = signals_stopping();
    tidy_up(f);
    f->next = f->used;
    if (f->used == 1) /* accept(2) can wait for the next one better: it wakes */
        return true;  /* one of those who wait, poll(2) wakes all of them */
    /* Of several that hold silent clients (03, 05) one watches the accept queue
     * as well: poll(2) would wake all of them for each client. Nobody does for a
     * moment after an accept that failed, as the queue is not empty then. */
    bool watching = !stopping && !f->shortage &&
                    !atomic_exchange(&server->shared->watched, true);
    f->polled[0].fd = watching ? server->listeners[0] : -1;
    int ready = poll(f->polled, f->used, stopping ? 0 : LOOK_UP_MS);
    f->shortage = false;
    if (watching)
        atomic_store(&server->shared->watched, false);
    if (ready > 0) /* not: -1, EINTR; then there are no results */
        f->next = 1;
    f->credit = ready > 0 && watching && f->polled[0].revents != 0
                    ? f->used / CREDIT_SHARE + 1
                    : 0;
    return !stopping || ready > 0;
}

/* Returns one that has begun to speak since we looked, or -1. */
static int take_one_that_spoke(struct accept_filter *f)
{
    while (f->next < f->used) {
        struct pollfd *p = &f->polled[f->next++];
        int fd = p->fd;
        if (p->revents != 0) {
            p->fd = -1;
            return fd;
        }
    }
    return -1;
}

/* Returns a new client, or -1: nobody has come, or cannot be accepted now. */
static int take_new_one(struct accept_filter *f, const struct server *server)
{
    int fd = -1;
    if (f->credit > 0 && net_somebody_waits(server->listeners[0])) {
        fd = net_try_accept(server);
        f->shortage = fd < 0 && errno != EAGAIN;
    }
    f->credit = fd >= 0 ? f->credit - 1 : 0;
    return fd;
}

static bool has_spoken(int fd)
{
    char byte; /* 0: it has hung up, which is a word too */
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

int accept_filter_next(struct accept_filter *f, const struct server *server,
                       bool spoken)
{
    for (;;) {
        int fd = take_one_that_spoke(f);
        if (fd >= 0)
            return fd;
        server_housekeeping(server);
        bool alone = f->used <= 1;
        fd = alone ? net_accept(server) : take_new_one(f, server);
        if (fd >= 0 && (!spoken || has_spoken(fd) ||
                        !accept_filter_hold(f, server, fd)))
            return fd;
        if (fd < 0 && (alone || !look_at_all(f, server)))
            return -1;
    }
}

bool accept_filter_somebody_waits(const struct accept_filter *f,
                                  const struct server *server)
{
    return net_somebody_waits(server->listeners[0]) ||
           (f->used > 1 && poll(f->polled + 1, f->used - 1, 0) > 0);
}

void accept_filter_free(struct accept_filter *f)
{
    for (size_t i = 1; i < f->used; i++)
        if (f->polled[i].fd >= 0)
            close(f->polled[i].fd);
    free(f->polled);
    free(f->until_ms);
    *f = (struct accept_filter){0};
}
