/* fatal - errors that end the program; see fatal.h. */
#include "fatal.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "output.h"

enum { WARNING_INTERVAL_MS = 60 * 1000 };

void warn_user(const char *format, ...)
{
    /* Fixed sizes: some warnings are about a lack of memory. */
    char text[1024], line[sizeof text + NAME_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(line, sizeof line, "%.200s: %s\n", program_invocation_short_name,
             text);
    output_line(STDERR_FILENO, slice_of(line));
}

bool warning_due(_Atomic int64_t *last_ms)
{
    int64_t now = clock_monotonic_ms();
    int64_t last = atomic_load(last_ms);
    return (last == 0 || now - last >= WARNING_INTERVAL_MS) &&
           atomic_compare_exchange_strong(last_ms, &last, now);
}
