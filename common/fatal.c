/* fatal - errors that end the program; see fatal.h. */
#include "fatal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* One fprintf() for the whole line: standard error is not buffered, so pieces of
 * two processes' lines would mix. */
static void print_message(const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, args);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(format, args);
    va_end(args);
    exit(1);
}

void die_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(format, args);
    va_end(args);
    exit(2);
}

void warn_user(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(format, args);
    va_end(args);
}
