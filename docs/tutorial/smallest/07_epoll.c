/* Epoll: as poll, but the kernel remembers the clients and lists the ready. */
#include <sys/epoll.h>

#include "smallest.h"

static void watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct epoll_event ready[64];
    int listener = listen_on(argv), epoll = epoll_create1(0);
    (void)argc;
    watch(epoll, listener);
    for (;;) {
        int n = epoll_wait(epoll, ready, 64, -1); /* waits for any of them */
        for (int i = 0; i < n; i++) {
            int fd = ready[i].data.fd;
            if (fd == listener) {
                watch(epoll, accept(listener, NULL, NULL));
            } else {
                serve(fd); /* read() will not wait */
                close(fd); /* and so leaves the set */
            }
        }
    }
}
