/* Floor of an event loop with keep-alive: epoll_wait, read, write.
 *
 *     floor PORT WORKERS
 */
#define _GNU_SOURCE
#include "floor.h"
#include "peer.h"

enum {
    MAX_EVENTS = 512
};

/* At end of file, or on an error, close also takes fd out of the epoll set. */
static void answer(int fd)
{
    char request[4096];

    if (read(fd, request, sizeof request) <= 0 ||
        write(fd, floor_answer, sizeof floor_answer - 1) < 0)
        close(fd);
}

int main(int argc, char *argv[])
{
    struct epoll_event events[MAX_EVENTS];
    int listener, ep;

    if (argc != 3)
        errx(2, "usage: floor PORT WORKERS");
    signal(SIGPIPE, SIG_IGN);
    peer_fork_workers(strtoul(argv[2], NULL, 10));
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
