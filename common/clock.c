/* clock - the time; see clock.h. */
#include "clock.h"

#include <stdio.h>

void clock_update(struct clock *clock)
{
    struct timespec t;
    /* These two clocks exist on every Linux since 2.6.32: no failure but a bad
     * pointer, so the results are used as they are. */
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    clock->now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    if (t.tv_sec != clock->seconds) {
        clock->seconds = t.tv_sec;
        clock_format_http_date(clock->date, t.tv_sec);
    }
}

int64_t clock_monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void clock_format_http_date(char out[CLOCK_HTTP_DATE_LEN + 1], time_t t)
{
    /* Not strftime's %a and %b: those speak the user's language. */
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed",
                                    "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr",
                                       "May", "Jun", "Jul", "Aug",
                                       "Sep", "Oct", "Nov", "Dec"};
    struct tm tm;
    /* A file may carry any time stamp; the format has room for four-digit
     * years only. */
    if (t < 0 || t > 253402300799 || gmtime_r(&t, &tm) == NULL) {
        t = 0;
        gmtime_r(&t, &tm);
    }
    /* The remainders change nothing; they show the compiler that it fits. */
    snprintf(out, CLOCK_HTTP_DATE_LEN + 1,
             "%s, %02u %s %04u %02u:%02u:%02u GMT", days[tm.tm_wday % 7],
             (unsigned)tm.tm_mday % 100, months[tm.tm_mon % 12],
             (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
             (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}

time_t clock_parse_http_date(struct slice s)
{
    static const char *const formats[] = {
        "%a, %d %b %Y %H:%M:%S GMT", /* IMF-fixdate */
        "%A, %d-%b-%y %H:%M:%S GMT", /* RFC 850 */
        "%a %b %d %H:%M:%S %Y",      /* asctime */
    };
    char text[64];
    if (s.n >= sizeof text)
        return -1;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm tm = {0};
        const char *end = strptime(text, formats[i], &tm);
        if (end != NULL && *end == '\0')
            return timegm(&tm);
    }
    return -1;
}
