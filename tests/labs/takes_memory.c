/* Takes memory that is in no process's anonymous pages: argv[1] says how, argv[2]
 * how many MiB. Prints "done" when it has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static char block[1 << 16];

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static void fill_pair(size_t *left, int kind)
{
    int pair[2], size = 1 << 30;
    if (socketpair(AF_UNIX, kind, 0, pair) < 0)
        exit(fail("socketpair"));
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ssize_t n;
    while (*left > 0 && (n = send(pair[0], block, sizeof block, MSG_DONTWAIT)) > 0)
        *left -= (size_t)n < *left ? (size_t)n : *left;
}

int main(int argc, char **argv)
{
    size_t bytes = argc == 3 ? strtoul(argv[2], NULL, 10) << 20 : 0;
    memset(block, 1, sizeof block);
    if (bytes == 0)
        return 2;
    if (strcmp(argv[1], "shared") == 0) {
        char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            return fail("mmap");
        memset(at, 1, bytes);
    } else if (strcmp(argv[1], "file") == 0) {
        for (size_t left = bytes; left > 0;) {
            int fd = memfd_create("block", 0);
            for (size_t n = 0; n < (32 << 20) && left > 0; n += sizeof block) {
                if (write(fd, block, sizeof block) < 0)
                    return fail("write");
                left -= sizeof block;
            }
        }
    } else {
        for (size_t left = bytes; left > 0;)
            fill_pair(&left, SOCK_STREAM);
    }
    puts("done");
    fflush(stdout);
    pause();
}
