/*
 * accept_window - limits gcov's counters to one client.
 *
 * tests/shape.py links this file into a build of 01_iterative with
 * `-Wl,--wrap=accept,--wrap=accept4,--wrap=syscall`, so that each call of these
 * functions comes here first. The second client that the server accepts resets
 * the counters; the third one writes them to build/gcov. What they show is what
 * the server executed between the two: one client, from the return of accept to
 * the next return of accept.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* From libgcov, which has no header. */
void __gcov_dump(void);
void __gcov_reset(void);

int __real_accept(int listener, struct sockaddr *peer, socklen_t *size);
int __real_accept4(int listener, struct sockaddr *peer, socklen_t *size,
                   int flags);
long __real_syscall(long number, long a, long b, long c, long d, long e,
                    long f);
int __wrap_accept(int listener, struct sockaddr *peer, socklen_t *size);
int __wrap_accept4(int listener, struct sockaddr *peer, socklen_t *size,
                   int flags);
long __wrap_syscall(long number, long a, long b, long c, long d, long e,
                    long f);

static int accepted(int fd)
{
    static int clients;

    if (fd >= 0) {
        clients++;
        if (clients == 2)
            __gcov_reset();
        if (clients == 3)
            __gcov_dump();
    }
    return fd;
}

int __wrap_accept(int listener, struct sockaddr *peer, socklen_t *size)
{
    return accepted(__real_accept(listener, peer, size));
}

int __wrap_accept4(int listener, struct sockaddr *peer, socklen_t *size,
                   int flags)
{
    return accepted(__real_accept4(listener, peer, size, flags));
}

/* Landlock would forbid libgcov to write its files: act like a kernel that does
 * not have it. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef SYS_landlock_create_ruleset
    if (number == SYS_landlock_create_ruleset) {
        errno = ENOSYS;
        return -1;
    }
#endif
    return __real_syscall(number, a, b, c, d, e, f);
}
