/* Floor of 03: 100 processes that were forked before the clients came, and
 * accept from one socket.
 *
 *     preforking PORT
 */
#include <sys/prctl.h>

#include "floor.h"

enum { WORKERS = 100 };

static const char bytes[] = FLOOR_ANSWER("preforking", FLOOR_CLOSE);

int main(int argc, char **argv)
{
    if (argc != 2)
        errx(2, "usage: preforking PORT");
    int listener = floor_listen(argv[1], FLOOR_KEEPS_FILES);
    pid_t parent = getpid();
    for (int i = 0; i < WORKERS; i++) {
        pid_t pid = fork();
        if (pid < 0)
            err(1, "fork");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(1); /* it died before the call above */
            floor_serve_clients(listener,
                                (struct answer){bytes, sizeof bytes - 1});
        }
    }
    pause();
}
