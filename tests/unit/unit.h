/*
 * unit - what every unit test needs: cmocka, and a little more.
 *
 * A test is a function whose name is a sentence; cmocka prints it when it
 * fails. Tables of cases are walked by a test, which names the row that failed.
 */
#ifndef UNIT_H
#define UNIT_H

/* cmocka.h wants these four, and in front of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bytes.h"

#define TEST(sentence) \
    static void sentence(void **state __attribute__((unused)))

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Fails unless the slice holds exactly the text. */
#define assert_slice(slice, text) assert_slice_at((slice), (text), __LINE__)
void assert_slice_at(struct slice slice, const char *text, int line);

/* Copies n bytes to the end of a page whose next page is protected: reading one
 * byte too many ends the program. Valid until the next call; n is at most
 * 256 KiB. */
char *before_guard_page(const void *bytes, size_t n);

/* Is there an openat2(2)? Emulators have none, and a test that opens files of a
 * site is skipped there. */
bool has_openat2(void);
/* For a program that does nothing else: says so, and ends it with status 0. */
void need_openat2(size_t tests);

/* Leaves the process no free descriptor: a call that opens one fails with
 * EMFILE until lift_descriptors(). */
void limit_descriptors(void);
void lift_descriptors(void);

/* Returns n times the same character, with a NUL, valid for the next three
 * calls; n is at most 128 KiB. */
const char *many(char c, size_t n);

#endif
