/*
 * clock - the time, asked for once and used often.
 *
 * A loop that serves a hundred requests between two looks at the kernel gives
 * them all the same time: clock_update() once per round, then only reads. It
 * keeps the two kinds of time apart: the monotonic one for deadlines, which no
 * administrator can set back, and the calendar for the Date field.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "bytes.h"

enum { CLOCK_HTTP_DATE_LEN = 29 }; /* Sun, 06 Nov 1994 08:49:37 GMT */

struct clock { /* all zero, then clock_update() */
    int64_t now_ms;  /* monotonic, milliseconds; for deadlines */
    time_t seconds;  /* calendar time */
    char date[CLOCK_HTTP_DATE_LEN + 1]; /* `seconds` as an IMF-fixdate */
};

/* Asks the kernel. Uses the COARSE clocks: their last tick, some ms old,
 * read from a page that the kernel shares (vdso(7)), so no system call. */
void clock_update(struct clock *clock);

/* The monotonic time now, in milliseconds: exact, for one who has no struct clock
 * or has waited since. Safe in a signal handler. */
int64_t clock_monotonic_ms(void);

/* Writes the IMF-fixdate of RFC 9110, 5.6.7 and a NUL. */
void clock_format_http_date(char out[CLOCK_HTTP_DATE_LEN + 1], time_t t);

/* Reads any of the three date formats of RFC 9110, 5.6.7. Returns the time, or
 * (time_t)-1 when s is none of them. */
time_t clock_parse_http_date(struct slice s);
