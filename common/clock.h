/*
 * clock - the time, read once and used often.
 *
 * An event loop that serves 100 requests between two waits gives them all the
 * same time: it calls clock_update() once per iteration and then only reads the
 * struct. There are two times: the monotonic one, which no administrator can
 * set back, is for deadlines; the calendar is for dates.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "http_date.h"

struct clock { /* all zero, then clock_update() */
    int64_t now_ms; /* monotonic, milliseconds */
    time_t seconds; /* calendar time */
    char date[HTTP_DATE_LENGTH + 1]; /* `seconds` for the Date field */
};

/* Reads both COARSE clocks: a few milliseconds old, but read from a page that
 * the kernel shares with every process (vdso(7)), without a system call. */
void clock_update(struct clock *clock);

/* Returns the exact monotonic time in milliseconds, for code that has no struct
 * clock or has waited since its update. Safe in a signal handler. */
int64_t clock_monotonic_ms(void);
