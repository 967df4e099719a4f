/* clock - the time; see clock.h. */
#include "clock.h"

static int64_t milliseconds(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

/* The clocks below exist since Linux 2.6.32, and clock_gettime(2) fails only
 * for an unknown clock or a bad pointer: its results need no check. */

void clock_update(struct clock *clock)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    clock->now_ms = milliseconds(&t);
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    if (t.tv_sec != clock->seconds) {
        clock->seconds = t.tv_sec;
        http_date_format(clock->date, t.tv_sec);
    }
}

int64_t clock_monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return milliseconds(&t);
}
