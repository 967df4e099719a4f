/*
 * Ten waits; a comment names the call of each, and the function that makes it.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool held;
static int pair[2];

static void pause_ms(int ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL); /* nanosleep in pause_ms */
}

static void *late(void *fd)
{
    pause_ms(100);
    return write(*(int *)fd, "x", 1) == 1 ? NULL : fd;
}

static void send_later(int *fd)
{
    pthread_t thread;
    pthread_create(&thread, NULL, late, fd);
    pthread_detach(thread);
}

static void *holds(void *nothing)
{
    pthread_mutex_lock(&lock);
    atomic_store(&held, 1);
    pause_ms(100);
    pthread_mutex_unlock(&lock);
    return nothing;
}

static void *reads(void *fd)
{
    char byte;
    recv(*(int *)fd, &byte, 1, MSG_WAITALL); /* recvfrom in reads */
    return NULL;
}

static inline __attribute__((always_inline)) void inlined(int fd)
{
    char byte;
    recvfrom(fd, &byte, 1, MSG_NOSIGNAL, NULL, NULL); /* recvfrom in inlined */
}

static int compared(const void *a, const void *b)
{
    poll(NULL, 0, 100); /* poll in compared */
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct epoll_event event = {.events = EPOLLIN};
    struct timespec tenth = {.tv_nsec = 100000000};
    int numbers[2] = {2, 1}, pipes[2], status;
    char byte;
    pthread_t thread;
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pipe(pipes))
        return 1;
    bind(listener, (struct sockaddr *)&address, size);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &size);
    if (fork() == 0) {
        int client = socket(AF_INET, SOCK_STREAM, 0);
        pause_ms(100);
        return connect(client, (struct sockaddr *)&address, size) ||
               (pause_ms(100), 0);
    }
    accept(listener, NULL, NULL); /* accept in main */
    wait4(-1, &status, 0, NULL);  /* wait4 in main */
    send_later(&pair[1]);
    inlined(pair[0]);
    send_later(&pair[1]);
    pthread_create(&thread, NULL, reads, &pair[0]);
    pthread_join(thread, NULL);
    send_later(&pipes[1]);
    if (read(pipes[0], &byte, 1) < 1) /* read in main */
        return 1;
    qsort(numbers, 2, sizeof *numbers, compared);
    pthread_create(&thread, NULL, holds, NULL);
    while (!atomic_load(&held))
        sched_yield();
    pthread_mutex_lock(&lock); /* futex in main */
    pthread_join(thread, NULL);
    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
    send_later(&pair[1]);
    epoll_wait(epoll, &event, 1, -1); /* epoll_wait in main */
    ppoll(NULL, 0, &tenth, NULL);     /* ppoll in main */
    return 0;
}
