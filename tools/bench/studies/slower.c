/* Makes 07 cost 5 % more: LD_PRELOAD puts this epoll_wait(2) before libc's.
 *
 * Each TURNS-th time that the server asks for events, it first spins for 5 % of
 * the CPU time that it used since it last did. A share, not a fixed time: it is
 * 5 % on each machine, and stays so when the machine gets slower. Not each time:
 * this clock is a system call of half a microsecond, which would be another 4 %
 * of a turn that serves a few clients. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#define SHARE 20 /* a twentieth: 5 % */
#define TURNS 32

static long long cpu_time_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    static int (*real)(int, struct epoll_event *, int, int);
    static long long spun_at;
    static int turn;

    if (!real && !(*(void **)&real = dlsym(RTLD_NEXT, "epoll_wait")))
        abort();
    if (turn++ % TURNS == 0) {
        long long until = cpu_time_ns();
        until += (until - spun_at) / SHARE;
        while ((spun_at = cpu_time_ns()) < until)
            ;
    }
    return real(epoll, events, most, timeout);
}
