/* Floor of a guestbook page, blocking: the system calls of 01_iterative for one
 * page and nothing between them: accept, read, three times a question to Redis
 * and its reply, write, close.
 *
 *     floor-guestbook PORT REDIS_HOST:REDIS_PORT
 */
#define _GNU_SOURCE
#include "floor.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *const questions[3] = {
    "*4\r\n$6\r\nLRANGE\r\n$17\r\nguestbook_remarks\r\n$4\r\n-100\r\n$2\r\n-1"
    "\r\n",
    "*2\r\n$4\r\nINCR\r\n$13\r\nvisitor_count\r\n",
    "*2\r\n$3\r\nGET\r\n$13\r\nvisitor_count\r\n",
};

/* As long as the page that the servers make around the benchmark's remarks. */
enum { PAGE_SIZE = 2400 };

static int connect_redis(char *address)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    char *colon = strrchr(address, ':');
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (colon == NULL)
        errx(2, "%s is not HOST:PORT", address);
    *colon = '\0';
    addr.sin_port = htons((unsigned short)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, address, &addr.sin_addr) != 1)
        errx(2, "%s is not an IPv4 address", address);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof addr) < 0)
        err(1, "connect to Redis");
    return fd;
}

int main(int argc, char *argv[])
{
    static char page[PAGE_SIZE], buffer[65536];
    int listener, redis;
    int head;

    if (argc != 3)
        errx(2, "usage: floor-guestbook PORT REDIS_HOST:REDIS_PORT");
    signal(SIGPIPE, SIG_IGN);
    memset(page, 'x', sizeof page);
    head = snprintf(page, sizeof page,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
                    "Connection: close\r\nContent-Length: ");
    head += snprintf(page + head, sizeof page - (size_t)head, "%d\r\n\r\n",
                     PAGE_SIZE - head - 8);
    page[head] = 'x';
    redis = connect_redis(argv[2]);
    listener = floor_listen(argv[1]);

    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd < 0 || read(fd, buffer, sizeof buffer) <= 0) {
            close(fd);
            continue;
        }
        for (int i = 0; i < 3; i++)
            if (write(redis, questions[i], strlen(questions[i])) < 0 ||
                read(redis, buffer, sizeof buffer) <= 0)
                err(1, "Redis");
        if (write(fd, page, sizeof page) < 0)
            warn("write");
        close(fd);
    }
}
