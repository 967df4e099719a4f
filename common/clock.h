/*
 * clock - the time, read once and used often.
 *
 * An event loop that serves 100 requests between two waits gives them all
 * the same time: it calls clock_update() once per iteration and then only
 * reads the struct. There are two times: the monotonic one, which no
 * administrator can set back, is for deadlines; the calendar is for dates.
 */
#pragma once

#include <stdint.h>
#include <time.h>

struct clock { /* all zero, then clock_update() */
    int64_t now_ms; /* monotonic, milliseconds */
    time_t seconds; /* calendar time */
};

/* Returns the exact monotonic time in milliseconds, for code that has no
 * struct clock or has waited since its update. Safe in a signal handler. */
static inline int64_t clock_monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns the monotonic time of the kernel's last tick, in milliseconds. It
 * stands still between two ticks, a few milliseconds, but is copied from a
 * memory page that the kernel shares with every process (vdso(7)). The exact
 * clock also reads a counter of the processor, and where that cannot be
 * trusted it costs a system call. */
static inline int64_t clock_tick_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads both times, as of the last tick. */
static inline void clock_update(struct clock *clock)
{
    struct timespec t;
    clock->now_ms = clock_tick_ms();
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    clock->seconds = t.tv_sec;
}
