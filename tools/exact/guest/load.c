// load.c - a client whose every step is the same each time.
//
// It has a ring of connections, each with a request on its way, and always waits for the
// oldest. So the server has the others waiting, as under a load tool with as many clients,
// but no clock and no poll decides which of them is next.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

enum { MAX_REQUEST = 64 << 10, BUFFER = 64 << 10 };
// Of the 28,232 local ports of an address, connect(2) takes the even ones first. When these
// have been taken, it tries all of them in vain before it takes an odd one.
enum { PORTS = 14000 };
enum { SECOND = 1000 * 1000 * 1000, SETTLE = SECOND / 50 }; // nanoseconds

static char request[MAX_REQUEST];
static size_t request_length;
static int *ring;

// Binds to the next address of the loopback network for each PORTS connections.
static int bind_to_source(int fd, int number)
{
    const struct sockaddr_in source = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (in_addr_t)(number / PORTS))};
    // Else bind(2) would choose a port, one that no other address has, either.
    return setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1}, sizeof(int)) != 0
               ? -1
               : bind(fd, (const struct sockaddr *)&source, sizeof source);
}

int connect_to_server(int number)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || (number >= PORTS && bind_to_source(fd, number) != 0) ||
        connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    return fd;
}

static void send_requests(int fd, int count)
{
    size_t length = request_length * (size_t)count;
    for (size_t sent = 0; sent < length;) {
        ssize_t n = send(fd, request + sent, length - sent, MSG_NOSIGNAL);
        if (n < 0)
            fail("send");
        sent += (size_t)n;
    }
}

// Returns the length of the answer that `data` begins with, head and body, or 0 when its
// head is not whole yet.
static size_t answer_length(const char *data, size_t length)
{
    const char *end = memmem(data, length, "\r\n\r\n", 4);
    if (!end)
        return 0;
    int status = 0;
    if (sscanf(data, "HTTP/1.1 %d", &status) != 1 || status < 200 || status > 399) {
        fprintf(stderr, "unexpected answer: %.*s\n", (int)(end - data), data);
        exit(1);
    }
    size_t body = 0;
    for (const char *line = strstr(data, "\r\n"); line < end; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, "content-length:", 15) == 0)
            body = strtoul(line + 17, NULL, 10);
    return (size_t)(end - data) + 4 + body;
}

// Reads `count` answers, and nothing after them.
static void read_answers(int fd, int count)
{
    static char buffer[BUFFER + 1];
    size_t have = 0; // bytes in the buffer
    size_t left = 0; // bytes of the current answer that are still to come, or in the buffer
    while (count > 0) {
        ssize_t n = recv(fd, buffer + have, BUFFER - have, 0);
        if (n <= 0)
            fail(n == 0 ? "the server closed before its answer" : "recv");
        have += (size_t)n;
        buffer[have] = '\0';
        while (have > 0 && (left > 0 || (left = answer_length(buffer, have)) > 0)) {
            size_t taken = left < have ? left : have;
            memmove(buffer, buffer + taken, have - taken + 1);
            have -= taken;
            left -= taken;
            if (left == 0)
                count--;
        }
    }
    if (have > 0 || count < 0)
        fail("the server sent more than was asked for");
}

// Sends `count` requests and reads their answers.
static void ask(const struct cell *cell, int count)
{
    int open = cell->connections;
    if (!cell->keep)
        for (int i = 0; i < open; i++)
            ring[i] = connect_to_server(i);
    for (int i = 0; i < open; i++)
        send_requests(ring[i], cell->pipelined);
    int asked = open * cell->pipelined;
    for (int answered = 0, next = 0; answered < count; next = (next + 1) % open) {
        read_answers(ring[next], cell->pipelined);
        answered += cell->pipelined;
        if (!cell->keep) {
            char byte;
            if (recv(ring[next], &byte, 1, 0) != 0) // until the server closes
                fail("the server did not close");
            close(ring[next]);
        }
        if (asked < count) {
            if (!cell->keep)
                ring[next] = connect_to_server(next);
            send_requests(ring[next], cell->pipelined);
            asked += cell->pipelined;
        }
    }
}

// Nothing else runs when the server's processes have done what the last request left
// to them; 02's parent waits for its child, for instance. Then the machine's clock jumps.
static void settle(void)
{
    const struct timespec pause = {.tv_nsec = SETTLE};
    nanosleep(&pause, NULL);
}

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (long long)time.tv_sec * SECOND + time.tv_nsec;
}

// A server renews the date of its answers each second, in each of its workers. A window in
// which that happens costs more than the next one, so no window lies across the end of a
// second: if less than `need` nanoseconds of this one are left, waits for the next one and
// lets the workers renew the date. Waiting takes no time of the host. A window that needs
// more than a second begins at once.
static void stay_within_a_second(const struct cell *cell, long long need)
{
    long long left = SECOND - now() % SECOND;
    if (left > need || need > SECOND)
        return;
    const struct timespec pause = {.tv_sec = left / SECOND, .tv_nsec = left % SECOND};
    nanosleep(&pause, NULL);
    ask(cell, cell->warm_up);
}

// What the processes of a group have used, in nanoseconds, which are instructions here.
static unsigned long long used(const char *group)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof path, CGROUPS "/%s/cpuacct.usage", group);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        fail(path);
    close(fd);
    return strtoull(text, NULL, 10);
}

void run_cell(const struct cell *cell)
{
    int fd = open(cell->request, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, request, sizeof request);
    if (n <= 0 || (size_t)n * (size_t)cell->pipelined > sizeof request)
        fail(cell->request);
    close(fd);
    ring = calloc((size_t)cell->connections, sizeof *ring); // to the end of the process
    if (!ring)
        fail("calloc");
    request_length = (size_t)n;
    for (int i = 1; i < cell->pipelined; i++)
        memcpy(request + (size_t)i * request_length, request, request_length);

    if (cell->keep)
        for (int i = 0; i < cell->connections; i++)
            ring[i] = connect_to_server(i);
    long long began = now();
    ask(cell, cell->warm_up);
    long long need = (now() - began) * cell->requests / cell->warm_up;
    for (int i = 0; i < cell->windows; i++) {
        stay_within_a_second(cell, need * 5 / 4 + 2 * SETTLE);
        settle();
        unsigned long long server = used("server"), redis = used("redis"), load = used("load");
        MARK(MARK_BEGIN);
        ask(cell, cell->requests);
        settle();
        MARK(MARK_END);
        server = used("server") - server;
        redis = used("redis") - redis;
        load = used("load") - load;
        printf("window %llu %llu %llu\n", server, redis, load);
        fflush(stdout);
    }
}
