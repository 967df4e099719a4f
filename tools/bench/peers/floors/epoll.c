/* Floor of 07: one loop around epoll_wait(2), edge-triggered.
 *
 *     epoll PORT close|keep
 */
#include <sys/epoll.h>

#include "floor_loop.h"

enum { EVENTS_PER_WAIT = 256 };

static const char close_bytes[] = FLOOR_ANSWER("epoll", FLOOR_CLOSE);
static const char keep_bytes[] = FLOOR_ANSWER("epoll", FLOOR_KEEP);

static int epoll_fd;

static void add(int fd, uint32_t events)
{
    struct epoll_event event = {.events = events | EPOLLET, .data.fd = fd};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        err(1, "epoll_ctl");
}

static void floor_watch(int fd)
{
    add(fd, EPOLLIN | EPOLLRDHUP);
    floor_watched++;
}

/* close(2) takes it out of the set. */
static void floor_unwatch(int fd)
{
    (void)fd;
    floor_watched--;
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS_PER_WAIT];

    floor_loop_init(argc, argv,
                    (struct answer){close_bytes, sizeof close_bytes - 1},
                    (struct answer){keep_bytes, sizeof keep_bytes - 1});
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0)
        err(1, "epoll_create1");
    add(floor_listener, EPOLLIN);
    for (;;) {
        int n = epoll_wait(epoll_fd, events, EVENTS_PER_WAIT,
                           floor_timeout_ms());
        for (int i = 0; i < n; i++)
            if (events[i].data.fd == floor_listener)
                floor_accept_pending = true;
            else
                floor_client_ready(events[i].data.fd);
        floor_accept();
    }
}
