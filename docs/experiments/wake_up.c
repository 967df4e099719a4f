/*
 * wake_up - what waiting for an answer costs on a core that is otherwise idle.
 *
 *     wake_up tcp|unix sleep|look CORE OTHER_CORE ROUNDS
 *
 * Two processes, each on a core of its own, throw a byte to and fro, as the
 * iterative server does with Redis:
 *
 *   sleep  both wait in recv(2); a core whose process waits has nothing to do
 *   look   both ask again and again without waiting, so no core ever sleeps
 *
 * What goes through the kernel is the same, so the difference is the price of
 * sleeping and of being woken. When all rounds are done it prints one line of
 * JSON: the median of a round trip, and what 99 of 100 stay below, in
 * microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1000 * 1000 };

static void stay_on(const char *core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(strtoul(core, NULL, 10), &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        err(1, "core %s", core);
}

static void connect_by_unix(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        err(1, "socketpair");
}

static void connect_by_tcp(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || ends[0] < 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
        connect(ends[0], (struct sockaddr *)&address, length) < 0 ||
        (ends[1] = accept(listener, NULL, NULL)) < 0)
        err(1, "a connection to oneself");
    close(listener);
    for (int i = 0; i < 2; i++)
        if (setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0)
            err(1, "TCP_NODELAY");
}

/* Returns whether a byte came: not when the other end has gone. */
static bool receive(int fd, bool look)
{
    char byte;
    ssize_t n;
    do
        n = recv(fd, &byte, 1, look ? MSG_DONTWAIT : 0);
    while (n < 0 && errno == EAGAIN);
    if (n < 0)
        err(1, "recv");
    return n == 1;
}

static void throw(int fd)
{
    if (send(fd, "x", 1, MSG_NOSIGNAL) != 1)
        err(1, "send");
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double us[ROUNDS_MAX];
    int ends[2];

    if (argc != 6 ||
        (strcmp(argv[1], "tcp") != 0 && strcmp(argv[1], "unix") != 0) ||
        (strcmp(argv[2], "sleep") != 0 && strcmp(argv[2], "look") != 0))
        errx(2, "usage: wake_up tcp|unix sleep|look CORE OTHER_CORE ROUNDS");
    bool look = strcmp(argv[2], "look") == 0;
    size_t rounds = strtoul(argv[5], NULL, 10);
    if (rounds == 0 || rounds > ROUNDS_MAX)
        errx(2, "ROUNDS is 1 to %d", ROUNDS_MAX);
    if (strcmp(argv[1], "unix") == 0)
        connect_by_unix(ends);
    else
        connect_by_tcp(ends);

    pid_t other = fork();
    if (other < 0)
        err(1, "fork");
    if (other == 0) {
        stay_on(argv[4]);
        close(ends[0]);
        while (receive(ends[1], look))
            throw(ends[1]);
        _exit(0);
    }
    stay_on(argv[3]);
    close(ends[1]);
    for (size_t i = 0; i < rounds; i++) {
        double begun = now_us();
        throw(ends[0]);
        if (!receive(ends[0], look))
            errx(1, "the other process has ended");
        us[i] = now_us() - begun;
    }
    close(ends[0]);
    waitpid(other, NULL, 0);
    qsort(us, rounds, sizeof us[0], compare);
    printf("{\"median_us\": %.3f, \"p99_us\": %.3f}\n", us[rounds / 2],
           us[rounds * 99 / 100]);
    return 0;
}
