/* Floors of a guestbook page, blocking: the system calls of one of the designs for
 * a page and nothing between them: accept, read, three times a question to Redis
 * and its reply, write, close.
 *
 *     floor-guestbook PORT REDIS_HOST:REDIS_PORT MODEL
 *
 * MODEL is what a client gets, and so what has to be made, woken and ended for it:
 *
 *     one        the one process there is, as in 01
 *     fork       a process of its own, which connects to Redis for itself, as in 02
 *     processes  one of 100 that were made before, as in 03
 *     thread     a thread of its own, with a connection to Redis that is kept, as in 04
 *     threads    one of 100 that were made before, as in 05
 */
#define _GNU_SOURCE
#include "floor.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const char *const questions[3] = {
    "*4\r\n$6\r\nLRANGE\r\n$17\r\nguestbook_remarks\r\n$4\r\n-100\r\n$2\r\n-1"
    "\r\n",
    "*2\r\n$4\r\nINCR\r\n$13\r\nvisitor_count\r\n",
    "*2\r\n$3\r\nGET\r\n$13\r\nvisitor_count\r\n",
};

/* As long as the page that the servers make around the benchmark's remarks. */
enum { PAGE_SIZE = 2400, POOL = 100, AT_A_TIME = 250, STACK_SIZE = 128 * 1024 };

static char page[PAGE_SIZE];
static struct sockaddr_in redis_address = {.sin_family = AF_INET};
static int listener;

static void read_address(char *address)
{
    char *colon = strrchr(address, ':');

    if (colon == NULL)
        errx(2, "%s is not HOST:PORT", address);
    *colon = '\0';
    redis_address.sin_port = htons((unsigned short)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, address, &redis_address.sin_addr) != 1)
        errx(2, "%s is not an IPv4 address", address);
}

static int connect_redis(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&redis_address,
                          sizeof redis_address) < 0)
        err(1, "connect to Redis");
    return fd;
}

static void write_page(void)
{
    int head;

    memset(page, 'x', sizeof page);
    head = snprintf(page, sizeof page,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
                    "Connection: close\r\nContent-Length: ");
    head += snprintf(page + head, sizeof page - (size_t)head, "%d\r\n\r\n",
                     PAGE_SIZE - head - 8);
    page[head] = 'x';
}

static void serve(int fd, int redis)
{
    char buffer[16384];

    if (read(fd, buffer, sizeof buffer) > 0) {
        for (int i = 0; i < 3; i++)
            if (write(redis, questions[i], strlen(questions[i])) < 0 ||
                read(redis, buffer, sizeof buffer) <= 0)
                err(1, "Redis");
        if (write(fd, page, sizeof page) < 0)
            warn("write");
    }
    close(fd);
}

static void serve_all(void)
{
    int redis = connect_redis();

    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd >= 0)
            serve(fd, redis);
    }
}

static void fork_for_each(void)
{
    for (int children = 0;;) {
        int fd = accept(listener, NULL, NULL);
        pid_t pid;

        while (children > 0 &&
               waitpid(-1, NULL, children < AT_A_TIME ? WNOHANG : 0) > 0)
            children--;
        if (fd < 0 || (pid = fork()) < 0)
            err(1, "accept or fork");
        if (pid == 0) {
            serve(fd, connect_redis());
            _exit(0);
        }
        children++;
        close(fd);
    }
}

static void fork_before(void)
{
    for (int i = 1; i < POOL; i++) {
        pid_t pid = fork();

        if (pid < 0)
            err(1, "fork");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM); /* end with the parent */
            break;
        }
    }
    serve_all();
}

static void start(void *(*function)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    errno = pthread_create(&thread, &attributes, function, argument);
    if (errno != 0)
        err(1, "pthread_create");
    pthread_attr_destroy(&attributes);
}

/* Where a thread sits that serves one client; the next one finds the connection. */
struct seat {
    struct seat *next;
    int client, redis;
};

static struct seat *seats;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_free = PTHREAD_COND_INITIALIZER;

static void *serve_one(void *data)
{
    struct seat *seat = data;

    serve(seat->client, seat->redis);
    pthread_mutex_lock(&lock);
    seat->next = seats;
    seats = seat;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&is_free);
    return NULL;
}

static void thread_for_each(void)
{
    static struct seat all[AT_A_TIME];

    for (int i = 0; i < AT_A_TIME; i++) {
        all[i] = (struct seat){.next = seats, .redis = connect_redis()};
        seats = &all[i];
    }
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        struct seat *seat;

        if (fd < 0)
            continue;
        pthread_mutex_lock(&lock);
        while (seats == NULL)
            pthread_cond_wait(&is_free, &lock);
        seat = seats;
        seats = seat->next;
        pthread_mutex_unlock(&lock);
        seat->client = fd;
        start(serve_one, seat);
    }
}

static void *serve_as_thread(void *unused)
{
    (void)unused;
    serve_all();
    return NULL;
}

static void threads_before(void)
{
    for (int i = 1; i < POOL; i++)
        start(serve_as_thread, NULL);
    serve_all();
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void (*run)(void);
    } models[] = {{"one", serve_all},
                  {"fork", fork_for_each},
                  {"processes", fork_before},
                  {"thread", thread_for_each},
                  {"threads", threads_before}};

    if (argc != 4)
        errx(2, "usage: floor-guestbook PORT REDIS_HOST:REDIS_PORT MODEL");
    signal(SIGPIPE, SIG_IGN);
    write_page();
    read_address(argv[2]);
    listener = floor_listen(argv[1]);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(argv[3], models[i].name) == 0)
            models[i].run();
    errx(2, "%s is no model", argv[3]);
}

