/*
 * folder - a temporary folder for a test's files.
 *
 * Unit tests and fuzz targets share it, so it does not use cmocka: an error
 * ends the program with a message.
 */
#ifndef FOLDER_H
#define FOLDER_H

#include <stddef.h>
#include <time.h>

struct folder {
    char path[256];
    int fd; /* for openat(2) */
};

/* Makes a new folder below $TMPDIR, or /tmp. */
void folder_create(struct folder *folder);

/* Deletes it and everything in it. */
void folder_remove(struct folder *folder);

/* Makes a folder in it. */
void folder_add(const struct folder *folder, const char *name);

/* Creates or replaces a file in it. folder_touch() sets its time stamp. */
void folder_write(const struct folder *folder, const char *name,
                  const void *bytes, size_t n);

/* Sets the time of the last modification. */
void folder_touch(const struct folder *folder, const char *name, time_t t);

#endif
