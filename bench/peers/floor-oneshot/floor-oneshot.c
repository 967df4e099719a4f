/* Floor of a connection for each request, blocking: accept, read, write,
 * close.
 *
 *     floor-oneshot PORT
 */
#define _GNU_SOURCE
#include "floor.h"

#include <signal.h>

int main(int argc, char *argv[])
{
    char request[4096];
    int listener;

    if (argc != 2)
        errx(2, "usage: floor-oneshot PORT");
    signal(SIGPIPE, SIG_IGN);
    listener = floor_listen(argv[1]);

    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd < 0)
            continue;
        if (read(fd, request, sizeof request) > 0 &&
            write(fd, floor_last_answer, sizeof floor_last_answer - 1) < 0)
            warn("write");
        close(fd);
    }
}
