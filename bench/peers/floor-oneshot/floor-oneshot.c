/* Floor of a connection for each request, blocking: accept, read, write,
 * close. With PROCESSES, so many do that on the same socket: what waking them by
 * turns costs is a part of what a pool costs.
 *
 *     floor-oneshot PORT [PROCESSES]
 */
#define _GNU_SOURCE
#include "floor.h"

#include <signal.h>
#include <sys/prctl.h>

int main(int argc, char *argv[])
{
    char request[4096];
    int listener;

    if (argc != 2 && argc != 3)
        errx(2, "usage: floor-oneshot PORT [PROCESSES]");
    signal(SIGPIPE, SIG_IGN);
    listener = floor_listen(argv[1]);
    for (long i = argc == 3 ? strtol(argv[2], NULL, 10) : 1; i > 1; i--) {
        pid_t pid = fork();

        if (pid < 0)
            err(1, "fork");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM); /* end with the parent */
            break;
        }
    }

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
