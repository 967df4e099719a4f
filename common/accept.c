/* accept - how a server gets its next client; see accept.h. */
#include "accept.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "net.h"

enum { PAUSE_MS = 50 }; /* before another attempt, instead of spinning */

/* Reports an errno that a pause follows; keeps it. */
static void warn_failed(const struct server *server)
{
    int saved = errno;
    const char *advice = "";
    if (net_accept_verdict(saved) == NET_NEEDS_ROOM)
        advice = ". A higher descriptor limit (ulimit -n) or more memory would "
                 "help";
    server_warn_rarely(server, "cannot accept more clients now: %s; new "
                       "clients wait in the accept queue%s",
                       strerror(saved), advice);
    errno = saved;
}

int accept_next(const struct server *server, void (*trim)(void *data),
                void *data)
{
    for (;;) {
        /* A signal may have come while no system call was waiting. */
        server_act_on_signals(server);
        if (signals_stopping())
            return -1;
        int fd = accept4(server->listeners[0], NULL, NULL, SOCK_CLOEXEC);
        /* EINVAL: the signal handler has shut the listening socket down. */
        if (fd >= 0 || errno == EINVAL)
            return fd;
        enum net_verdict verdict = net_accept_verdict(errno);
        if (verdict == NET_NEXT)
            continue;
        if (verdict != NET_NOBODY) { /* else net_limit_wait()'s time is up */
            warn_failed(server);
            poll(NULL, 0, PAUSE_MS);
        }
        if (trim != NULL)
            trim(data);
    }
}

int accept_nonblocking(const struct server *server, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && net_accept_verdict(errno) >= NET_NEEDS_ROOM)
        warn_failed(server);
    return fd;
}
