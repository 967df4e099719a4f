/*
 * folder - a folder for a test's files, gone when the test is.
 *
 * For unit tests and fuzz targets alike, so nothing here knows cmocka: what
 * goes wrong ends the program with a line that says what.
 */
#ifndef FOLDER_H
#define FOLDER_H

#include <stddef.h>
#include <time.h>

struct folder {
    char path[256];
    int fd; /* to openat() from */
};

/* Makes a new folder below $TMPDIR, or /tmp. */
void folder_create(struct folder *folder);

/* Deletes it and all that is in it. */
void folder_remove(struct folder *folder);

/* Makes a folder in it. */
void folder_add(const struct folder *folder, const char *name);

/* Creates or replaces a file in it. folder_touch() sets its time stamp. */
void folder_write(const struct folder *folder, const char *name,
                  const void *bytes, size_t n);

/* Gives a file another time stamp (of modification). */
void folder_touch(const struct folder *folder, const char *name, time_t t);

#endif
