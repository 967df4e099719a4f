/* Preforking: a fixed number of processes, made before the clients come. */
#include <sys/wait.h>

#include "smallest.h"

enum { WORKERS = 4 };

static void accept_and_serve(int listener)
{
    for (;;) {
        int fd = accept(listener, NULL, NULL); /* the kernel wakes one worker */
        if (fd < 0)
            continue;
        serve(fd);
        close(fd);
    }
}

int main(int argc, char **argv)
{
    int listener = listen_on(argv);
    (void)argc;
    for (int i = 0; i < WORKERS; i++)
        if (fork() == 0)
            accept_and_serve(listener);
    while (wait(NULL) > 0)
        if (fork() == 0) /* a worker has died: make another */
            accept_and_serve(listener);
}
