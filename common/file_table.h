/*
 * file_cache - regular files below one folder, opened once and kept.
 *
 * Opening a file costs more than answering a request: a path walk, an open, an
 * fstat, a close. A worker therefore keeps the files it has served, found by
 * path in a hash table (uthash), small ones with their content. Whether one
 * has changed on disk is looked at again when the last look is half a second
 * old: one stat(2) then, none in between.
 *
 * The kernel keeps us below the folder: openat2(2) with RESOLVE_BENEATH
 * refuses "..", absolute paths and symbolic links that lead out, whatever the
 * spelling, and without the races that a check of our own would have.
 *
 * Reading a regular file can wait for a disk, and Linux offers no readiness
 * for it: here an event loop may block. (So it may where it writes to a log that
 * is a file, and where it prints its report.)
 */
#ifndef FILE_CACHE_H
#define FILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <uthash.h>

#include "bytes.h"

enum {
    FILE_CACHE_ENTRIES = 24,      /* files a worker keeps; each large one
                                     holds a descriptor */
    FILE_CACHE_FRESH_MS = 500,    /* how long a look at the disk is trusted */
    FILE_CONTENT_MAX = 64 * 1024, /* up to this, the content is kept too */
};

struct cached_file {
    char *path;           /* the key: below the folder, no leading slash */
    int references;       /* the table's, and one for each response under way */
    int fd;               /* -1 when content holds it all */
    char *content;        /* `size` bytes; NULL for a large file */
    off_t size;
    struct stat status;   /* as it was when opened */
    int64_t checked_ms;   /* when the disk was last looked at */
    bool settled;         /* false: changed so recently that a further change
                             could carry the same time stamp */
    struct buffer fields; /* response fields, written once by static_file */
    UT_hash_handle hh;
};

struct file_cache { /* one a worker; file_cache_init() */
    int folder;                /* O_PATH or O_DIRECTORY descriptor, not owned */
    unsigned open, open_max;   /* of those kept, how many hold a descriptor, and
                                  how many may; the owner can lower that */
    struct cached_file *table; /* in the order in which they came */
};

void file_cache_init(struct file_cache *cache, int folder);

/* Drops every file that no response holds. */
void file_cache_free(struct file_cache *cache);

/* Finds or opens a regular file. now_ms is clock.now_ms.
 * Returns 0 and in *found a file that the caller gives back by file_release();
 * or an errno: ENOENT, EACCES, EISDIR, ENOMEM, EMFILE, EAGAIN ... (not a regular file
 * counts as EACCES; a path that leads out of the folder as ENOENT). */
int file_cache_open(struct file_cache *cache, const char *path, int64_t now_ms,
                    struct cached_file **found);

/* Can file_cache_open() answer without looking at the disk? */
bool file_cache_knows(const struct file_cache *cache, const char *path,
                      int64_t now_ms);

/* Gives back one reference; the last one closes and frees. NULL is fine. */
void file_release(struct cached_file *file);

#endif
