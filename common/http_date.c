/* http_date - dates as HTTP writes them; see http_date.h. */
#include "http_date.h"

#include <stdio.h>

void http_date_format(char out[HTTP_DATE_LENGTH + 1], time_t t)
{
    /* Not strftime's %a and %b, which depend on the locale. */
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed",
                                    "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr",
                                       "May", "Jun", "Jul", "Aug",
                                       "Sep", "Oct", "Nov", "Dec"};
    const time_t last = 253402300799; /* Fri, 31 Dec 9999 23:59:59 GMT */
    struct tm tm = {0};
    t = t < 0 ? 0 : t > last ? last : t; /* a file can carry any time stamp */
    gmtime_r(&t, &tm);
    /* The remainders change nothing; they show the compiler that it fits. */
    snprintf(out, HTTP_DATE_LENGTH + 1,
             "%s, %02u %s %04u %02u:%02u:%02u GMT", days[tm.tm_wday % 7],
             (unsigned)tm.tm_mday % 100, months[tm.tm_mon % 12],
             (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
             (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}

time_t http_date_parse(struct slice s)
{
    static const char *const formats[] = {
        "%a, %d %b %Y %H:%M:%S GMT", /* IMF-fixdate */
        "%A, %d-%b-%y %H:%M:%S GMT", /* RFC 850 */
        "%a %b %d %H:%M:%S %Y",      /* asctime */
    };
    char text[64];
    if (s.p == NULL || s.n >= sizeof text)
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
