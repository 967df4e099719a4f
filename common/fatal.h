/*
 * fatal - errors that end the program, at its start only.
 *
 * Later, an error of one client ends that client only.
 */
#ifndef FATAL_H
#define FATAL_H

/* Prints "PROGRAM: message" to standard error and exits with 1: it cannot run.
 * The message says the cause and the remedy. */
_Noreturn void die(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The same with exit status 2: wrong usage. */
_Noreturn void die_usage(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Prints "PROGRAM: message" and continues. */
void warn_user(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
