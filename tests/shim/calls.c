/*
 * calls - the functions of glibc that this library replaces; see faults.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

enum kind { OTHER, LISTENER, CLIENT, REDIS };
enum { DESCRIPTORS = 65536 };

static _Atomic unsigned char kinds[DESCRIPTORS];
/* What was last asked of an epoll set about a descriptor; 0: it is in none. */
static struct { int set; struct epoll_event event; } watched[DESCRIPTORS];

/* Points `next` to the function of that name that this library hides. */
#define NEXT(name)                                                            \
    static __typeof__(name) *next;                                            \
    if (next == NULL)                                                         \
        next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                   \
    if (faults != NULL)                                                       \
        atomic_fetch_add(&faults->calls, 1)

static enum kind kind_of(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS ? atomic_load(&kinds[fd]) : OTHER;
}

static void set_kind(int fd, enum kind kind)
{
    if (fd < 0 || fd >= DESCRIPTORS)
        return;
    if (faults != NULL)
        atomic_fetch_add(&faults->clients, (kind == CLIENT) -
                                               (kind_of(fd) == CLIENT));
    atomic_store(&kinds[fd], (unsigned char)kind);
    watched[fd].set = 0;
}

static bool may_wait(int fd)
{
    return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* ------------------------------------------------- epoll, which remembers */

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    NEXT(epoll_ctl);
    enum kind kind = kind_of(fd);
    if (operation == EPOLL_CTL_ADD &&
        ((kind == CLIENT &&
          (faults_hit(epoll_add_watches) || faults_hit(epoll_add_memory))) ||
         (kind == REDIS && faults_hit(redis_epoll_memory))))
        return -1;
    int result = next(set, operation, fd, event);
    if (result == 0 && fd < DESCRIPTORS) {
        watched[fd].set = operation == EPOLL_CTL_DEL ? 0 : set;
        if (event != NULL)
            watched[fd].event = *event;
    }
    return result;
}

/* The rest has come: an epoll set that holds the descriptor reports it. */
static void report_again(int fd)
{
    int saved = errno;
    if (watched[fd].set != 0)
        epoll_ctl(watched[fd].set, EPOLL_CTL_MOD, fd, &watched[fd].event);
    errno = saved;
}

/* EAGAIN for a call that may not wait, EINTR for one that may. */
static bool finds_nothing(int fd, bool waits, enum fault again,
                          enum fault interrupted)
{
    if (!faults_hit(waits ? interrupted : again))
        return false;
    if (!waits)
        report_again(fd);
    return true;
}

/* After a call that was asked for `wanted` bytes instead of `all`. */
static void check_short(enum fault fault, int fd, ssize_t n, size_t wanted,
                        size_t all)
{
    if (wanted == all || n != (ssize_t)wanted)
        return; /* it would have been as short without us */
    faults_count(fault);
    report_again(fd);
}

int epoll_wait(int set, struct epoll_event *events, int most, int timeout)
{
    NEXT(epoll_wait);
    if (timeout != 0 && faults_hit(epoll_wait_interrupted))
        return -1;
    return next(set, events, most, timeout);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    NEXT(poll);
    /* A set of one is hiredis, which waits for its connection, or the server,
     * which waits until standard output has room. */
    enum kind kind = n == 1 ? kind_of(fds[0].fd) : LISTENER;
    if (timeout != 0 && kind != OTHER &&
        faults_hit(kind == REDIS ? redis_connect_interrupted
                                 : poll_interrupted))
        return -1;
    return next(fds, n, timeout);
}

int sem_wait(sem_t *semaphore)
{
    NEXT(sem_wait);
    return faults_hit(sem_wait_interrupted) ? -1 : next(semaphore);
}

/* -------------------------------------------------------------- clients */

int listen(int fd, int backlog)
{
    NEXT(listen);
    set_kind(fd, LISTENER);
    return next(fd, backlog);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    NEXT(accept4);
    if (finds_nothing(fd, may_wait(fd), accept_again, accept_interrupted))
        return -1;
    for (enum fault f = accept_aborted; f <= accept_memory; f++)
        if (faults_hit(f))
            return -1;
    int client = next(fd, address, length, flags);
    set_kind(client, CLIENT);
    return client;
}

int close(int fd)
{
    NEXT(close);
    set_kind(fd, OTHER); /* before another thread can get the number */
    return next(fd);
}

ssize_t recv(int fd, void *data, size_t n, int flags)
{
    NEXT(recv);
    if (kind_of(fd) != CLIENT || (flags & MSG_PEEK))
        return next(fd, data, n, flags);
    bool waits = !(flags & MSG_DONTWAIT) && may_wait(fd);
    if (finds_nothing(fd, waits, recv_again, recv_interrupted) ||
        faults_hit(recv_memory))
        return -1;
    size_t wanted = faults_shorten(recv_short, n);
    ssize_t received = next(fd, data, wanted, flags);
    check_short(recv_short, fd, received, wanted, n);
    return received;
}

ssize_t send(int fd, const void *data, size_t n, int flags)
{
    NEXT(send);
    if (kind_of(fd) != CLIENT)
        return next(fd, data, n, flags);
    if (finds_nothing(fd, may_wait(fd), send_again, send_interrupted) ||
        faults_hit(send_memory))
        return -1;
    size_t wanted = faults_shorten(send_short, n);
    ssize_t sent = next(fd, data, wanted, flags);
    check_short(send_short, fd, sent, wanted, n);
    return sent;
}

ssize_t sendfile64(int fd, int file, off64_t *offset, size_t n)
{
    NEXT(sendfile64);
    /* A signal interrupts it even if it does not wait. */
    if (faults_hit(sendfile_interrupted) || faults_hit(sendfile_memory) ||
        (!may_wait(fd) &&
         finds_nothing(fd, false, sendfile_again, sendfile_interrupted)))
        return -1;
    size_t wanted = faults_shorten(sendfile_short, n);
    ssize_t sent = next(fd, file, offset, wanted);
    check_short(sendfile_short, fd, sent, wanted, n);
    return sent;
}

/* ---------------------------------------------------------------- Redis */

int socket(int domain, int type, int protocol)
{
    NEXT(socket);
    return faults_hit(redis_socket_descriptors)
               ? -1 : next(domain, type, protocol);
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    NEXT(connect);
    if (faults_hit(redis_connect_port))
        return -1;
    set_kind(fd, REDIS);
    return next(fd, address, length);
}

ssize_t read(int fd, void *data, size_t n)
{
    NEXT(read);
    if (kind_of(fd) != REDIS)
        return next(fd, data, n);
    if (finds_nothing(fd, may_wait(fd), redis_read_again,
                      redis_read_interrupted))
        return -1;
    size_t wanted = faults_shorten(redis_read_short, n);
    ssize_t received = next(fd, data, wanted);
    check_short(redis_read_short, fd, received, wanted, n);
    return received;
}

ssize_t write(int fd, const void *data, size_t n)
{
    NEXT(write);
    if (kind_of(fd) != REDIS)
        return next(fd, data, n);
    if (finds_nothing(fd, may_wait(fd), redis_write_again,
                      redis_write_interrupted))
        return -1;
    size_t wanted = faults_shorten(redis_write_short, n);
    ssize_t written = next(fd, data, wanted);
    check_short(redis_write_short, fd, written, wanted, n);
    return written;
}

/* --------------------------------------------- processes, threads, files */

pid_t fork(void)
{
    NEXT(fork);
    if (faults_hit(fork_processes) || faults_hit(fork_memory))
        return -1;
    pid_t pid = next();
    /* The child has a copy of each descriptor. */
    for (int fd = 0; pid == 0 && faults != NULL && fd < DESCRIPTORS; fd++)
        if (kind_of(fd) == CLIENT)
            atomic_fetch_add(&faults->clients, 1);
    return pid;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *data)
{
    NEXT(pthread_create);
    return faults_hit(thread_threads)
               ? EAGAIN : next(thread, attributes, start, data);
}

long syscall(long number, ...)
{
    NEXT(syscall);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_openat2)
        for (enum fault f = openat2_again; f <= openat2_memory; f++)
            if (faults_hit(f))
                return -1;
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ----------------------------------------------------------------- time */

/* A sanitizer asks for the time while it allocates, and dlsym(3) allocates: it
 * is 0 for as long as we look for the function. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static _Thread_local bool looking;

    if (looking) {
        *time = (struct timespec){0};
        return 0;
    }
    looking = true;
    NEXT(clock_gettime);
    looking = false;
    int result = next(clock, time);
    if (result == 0 && faults != NULL &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += atomic_load(&faults->clock);
    return result;
}

/* --------------------------------------------------------------- memory
 *
 * Only for calls from the server's own code: hiredis 0.14 and glibc get what
 * they ask for. glibc's names for its allocator spare us dlsym(3), which
 * allocates. (A sanitizer's allocator goes before this one.) */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static bool no_memory(const void *caller)
{
    return faults_in_program(caller) && faults_hit(malloc_memory);
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    return no_memory(CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return no_memory(CALLER) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return no_memory(CALLER) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return no_memory(CALLER) ? NULL : __libc_memalign(alignment, size);
}
