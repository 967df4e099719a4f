/* accept_filter - which client a blocking server takes next; see
 * accept_filter.h. */
#include "accept_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utlist.h>

#include "clock.h"
#include "http_conn.h"
#include "net.h"
#include "signals.h"

enum {
    LOOK_UP_MS = 50,  /* a wait ends after that, to see what has changed */
    ACCEPT_MS = 1000, /* and a wait for a new client after that */
    SHARE_LEAST = 8,  /* silent clients that any worker may hold */
};

struct silent {
    int fd;
    int64_t until_ms;
    struct silent *prev, *next;
};

/* Others may accept from this socket too (03, 05), and be faster between our
 * looking and our accept(2), which would then wait while clients that we hold
 * begin to speak. For accept(2) a time-out for receiving is one for waiting. */
static void limit_waiting(int listener)
{
    const struct timeval most = {.tv_sec = ACCEPT_MS / 1000};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

static bool make_set(struct accept_filter *f, const struct server *server)
{
    if (!f->has_set) {
        limit_waiting(server->listeners[0]);
        f->set = epoll_create1(EPOLL_CLOEXEC);
        f->has_set = f->set >= 0;
    }
    return f->has_set;
}

static struct silent *new_silent(struct accept_filter *f)
{
    struct silent *s = f->spare;
    if (s == NULL)
        return malloc(sizeof *s);
    LL_DELETE(f->spare, s);
    return s;
}

/* Says to the others how many it holds. In a place of its own, not by adding to
 * one number: of a worker that is killed the parent can take that back. */
static void tell(const struct accept_filter *f, const struct server *server)
{
    atomic_store_explicit(&server->shared->stats[f->number].silent, f->held,
                          memory_order_relaxed);
}

bool accept_filter_hold(struct accept_filter *f, const struct server *server,
                        int fd)
{
    struct silent *s = new_silent(f);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    if (s == NULL)
        return false;
    if (!make_set(f, server) ||
        epoll_ctl(f->set, EPOLL_CTL_ADD, fd, &event) < 0) {
        LL_PREPEND(f->spare, s);
        return false;
    }
    s->fd = fd;
    int64_t patience_ms =
        (int64_t)HTTP_SILENCE * server->options.request_timeout_ms;
    s->until_ms = clock_monotonic_ms() + patience_ms;
    DL_APPEND(f->silent, s);
    f->held++;
    tell(f, server);
    return true;
}

/* Returns its socket. It has to be taken out of the set: closing it would do that
 * only when no child of 02 has it, too. */
static int let_go(struct accept_filter *f, const struct server *server,
                  struct silent *s)
{
    int fd = s->fd;
    epoll_ctl(f->set, EPOLL_CTL_DEL, fd, NULL);
    DL_DELETE(f->silent, s);
    LL_PREPEND(f->spare, s);
    f->held--;
    tell(f, server);
    return fd;
}

/* All have the same patience, so the first in the list loses it first. */
static void end_patience(struct accept_filter *f, const struct server *server)
{
    int64_t now_ms = clock_monotonic_ms();
    while (f->silent != NULL && f->silent->until_ms <= now_ms)
        close(let_go(f, server, f->silent));
}

static void watch(struct accept_filter *f, int listener, bool watching)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (watching != f->watching &&
        epoll_ctl(f->set, watching ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener,
                  &event) == 0)
        f->watching = watching;
}

/* Who holds silent clients serves them alone, one after the other, once they
 * speak. If one worker of a pool held most of a crowd, these would wait for it
 * while all others serve who came after them. Who has his share leaves the next
 * ones to the others; but not for long, as these may all be stuck. */
static bool has_its_share(const struct accept_filter *f,
                          const struct server *server)
{
    uint64_t all = 0;
    if (f->held <= SHARE_LEAST) /* no need to look at a thousand workers */
        return false;
    for (unsigned i = 0; i < server->stats_slots; i++)
        all += atomic_load_explicit(&server->shared->stats[i].silent,
                                    memory_order_relaxed);
    /* Twice the mean may come on top of the least. */
    uint64_t on_top = f->held - SHARE_LEAST;
    return on_top * server->stats_slots > 2 * all;
}

/* Waits until a silent client speaks or another one comes. Returns false when
 * the server is stopping and none has spoken. */
static bool look_at_all(struct accept_filter *f, const struct server *server)
{
    bool stopping = signals_stopping();
    f->next = f->count = 0;
    end_patience(f, server);
    if (f->shortage && f->silent != NULL) {
        /* No descriptor is left for those who wait, and may have something to
         * say: the one that has said nothing for longest makes room. */
        close(let_go(f, server, f->silent));
        f->shortage = false;
    }
    if (f->silent == NULL) /* accept(2) can wait for the next one better */
        return true;
    /* Of several that hold silent clients (03, 05) one watches the accept queue
     * as well: a new client would wake all of them. Nobody does for a moment
     * after an accept that failed, as the queue is not empty then. */
    bool watching = !stopping && !f->shortage &&
                    (f->left_alone || !has_its_share(f, server)) &&
                    !atomic_exchange(&server->shared->watched, true);
    watch(f, server->listeners[0], watching);
    int count = epoll_wait(f->set, f->ready, ACCEPT_FILTER_BATCH,
                           stopping ? 0 : LOOK_UP_MS);
    f->shortage = false;
    if (watching)
        atomic_store(&server->shared->watched, false);
    if (count == 0)
        f->left_alone = !watching && net_somebody_waits(server->listeners[0]);
    f->count = count > 0 ? count : 0; /* -1: EINTR */
    return !stopping || f->count > 0;
}

static int take_new_one(struct accept_filter *f, const struct server *server)
{
    if (!net_somebody_waits(server->listeners[0])) /* another was faster */
        return -1;
    int fd = net_try_accept(server);
    f->shortage = fd < 0 && errno != EAGAIN;
    return fd;
}

static bool has_spoken(int fd)
{
    char byte; /* 0: it has hung up, which is a word too */
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

/* Returns a client, or -1: nobody has come, or cannot be accepted now. */
static int take_new_unless_silent(struct accept_filter *f,
                                  const struct server *server, bool spoken)
{
    int fd = f->silent == NULL ? net_accept(server) : take_new_one(f, server);
    if (fd >= 0 && spoken && !has_spoken(fd) &&
        accept_filter_hold(f, server, fd))
        return -1;
    return fd;
}

int accept_filter_next(struct accept_filter *f, const struct server *server,
                       bool spoken)
{
    for (;;) {
        int fd = -1;
        if (f->next < f->count) {
            struct silent *s = f->ready[f->next++].data.ptr;
            fd = s != NULL ? let_go(f, server, s)
                           : take_new_unless_silent(f, server, spoken);
        } else if (f->silent == NULL) {
            fd = take_new_unless_silent(f, server, spoken);
            if (fd < 0 && f->silent == NULL)
                return -1;
        } else if (!look_at_all(f, server)) {
            return -1;
        }
        if (fd >= 0)
            return fd;
        server_housekeeping(server);
    }
}

/* Of these events one may be the accept queue's, which has no client. */
static bool has_client(const struct epoll_event *events, int count)
{
    return count > 1 || (count == 1 && events[0].data.ptr != NULL);
}

bool accept_filter_somebody_speaks(const struct accept_filter *f)
{
    struct epoll_event two[2];
    return f->silent != NULL &&
           (has_client(&f->ready[f->next], f->count - f->next) ||
            has_client(two, epoll_wait(f->set, two, 2, 0)));
}

/* There may be thousands, and a child has one client: not a call for each. */
static void close_run(int first, int last)
{
    if (first < 0 || close_range((unsigned)first, (unsigned)last, 0) == 0)
        return;
    for (int fd = first; fd <= last; fd++) /* before Linux 5.9 */
        close(fd);
}

void accept_filter_leave(struct accept_filter *f)
{
    struct silent *s;
    int first = -1, last = -1;
    DL_FOREACH (f->silent, s) { /* mostly as they came: 10, 11, 12 ... */
        if (s->fd != last + 1 || first < 0) {
            close_run(first, last);
            first = s->fd;
        }
        last = s->fd;
    }
    close_run(first, last);
    if (f->has_set)
        close(f->set);
    *f = (struct accept_filter){0};
}

void accept_filter_free(struct accept_filter *f)
{
    struct silent *s, *next;
    DL_FOREACH_SAFE (f->silent, s, next) {
        close(s->fd);
        free(s);
    }
    LL_FOREACH_SAFE (f->spare, s, next)
        free(s);
    if (f->has_set)
        close(f->set);
    *f = (struct accept_filter){0};
}
