/*
 * fatal - what the operator reads: warnings, and errors that end the
 * program, at its start only.
 *
 * Later, an error of one client ends that client only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Prints "PROGRAM: message", formatted as by printf, to standard error;
 * waits for no reader (output.h). */
void warn_user(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns whether a warning of some kind may be printed again, at most once
 * a minute. *last_ms, 0 at first, remembers the last one; all processes and
 * threads that share it share the minute. */
bool warning_due(_Atomic int64_t *last_ms);

/* warn_user(), then exit(3): with 1 when the server cannot run, with 2
 * after wrong usage. The message says the cause and the remedy. */
#define die(...) (warn_user(__VA_ARGS__), exit(1))
#define die_usage(...) (warn_user(__VA_ARGS__), exit(2))
