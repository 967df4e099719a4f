/* Poll: one process asks about all clients together, and never waits for one. */
#include <poll.h>

#include "smallest.h"

enum { MOST = 1000 };

int main(int argc, char **argv)
{
    static struct pollfd fds[MOST];
    nfds_t n = 1;
    (void)argc;
    fds[0] = (struct pollfd){.fd = listen_on(argv), .events = POLLIN};
    for (;;) {
        if (poll(fds, n, -1) < 0) /* waits for any of them */
            continue;
        if (fds[0].revents != 0 && n < MOST) {
            int fd = accept(fds[0].fd, NULL, NULL);
            if (fd >= 0)
                fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
        for (nfds_t i = n - 1; i > 0; i--)
            if (fds[i].revents != 0) { /* so read() will not wait */
                serve(fds[i].fd);
                close(fds[i].fd);
                fds[i] = fds[--n];
            }
    }
}
