/* Forking: a new process for each client. */
#include <signal.h>

#include "smallest.h"

int main(int argc, char **argv)
{
    int listener = listen_on(argv);
    (void)argc;
    signal(SIGCHLD, SIG_IGN); /* the kernel reaps the children */
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        if (fork() == 0) { /* the child: a copy that returns here, too */
            serve(fd);
            _exit(0);
        }
        close(fd); /* the parent's; the child has its own */
    }
}
