/* fatal - errors that end the program; see fatal.h. */
#include "fatal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void warn_user(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* One call for the whole line: standard error is not buffered, so pieces of
     * two processes' lines would mix. */
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}
