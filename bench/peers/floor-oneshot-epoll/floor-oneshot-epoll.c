/* Floor of a connection for each request in an event loop that puts every
 * client into the epoll set: accept, epoll_ctl, epoll_wait, read, write, close.
 *
 *     floor-oneshot-epoll PORT
 */
#define _GNU_SOURCE
#include "floor.h"

#include <signal.h>

enum {
    MAX_EVENTS = 512
};

static void answer(int fd)
{
    char request[4096];

    if (read(fd, request, sizeof request) > 0 &&
        write(fd, floor_last_answer, sizeof floor_last_answer - 1) < 0)
        warn("write");
    close(fd);
}

int main(int argc, char *argv[])
{
    struct epoll_event events[MAX_EVENTS];
    int listener, ep;

    if (argc != 2)
        errx(2, "usage: floor-oneshot-epoll PORT");
    signal(SIGPIPE, SIG_IGN);
    listener = floor_listen(argv[1]);
    ep = epoll_create1(0);
    if (ep < 0)
        err(1, "epoll_create1");
    floor_watch(ep, listener);

    for (;;) {
        int n = epoll_wait(ep, events, MAX_EVENTS, -1);

        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;

            if (fd != listener)
                answer(fd);
            else if ((fd = accept(listener, NULL, NULL)) >= 0)
                floor_watch(ep, fd);
        }
    }
}
