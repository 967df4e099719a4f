/* Iterative: one client after the other. */
#include "smallest.h"

int main(int argc, char **argv)
{
    int listener = listen_on(argv);
    (void)argc;
    for (;;) {
        int fd = accept(listener, NULL, NULL); /* waits for a client */
        if (fd < 0)
            continue;
        serve(fd); /* waits for this client; all others wait, too */
        close(fd);
    }
}
