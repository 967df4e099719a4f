/*
 * file_table - the files that a worker keeps open, below one folder.
 *
 * To open a file, the kernel looks up each part of its path, and openat2(2),
 * fstat(2) and later close(2) cost more than the rest of the answer. So a
 * worker keeps open the 8 files that it used last. They are in a uthash
 * table: when it is full, the file that was not used for longest gives way
 * (an LRU cache, as in the user guide of uthash). After 500 ms a file is
 * not used again, because it may have been replaced or changed; the next
 * look at the table drops it. A worker without work drops all files, and so
 * does one that runs out of descriptors or memory.
 *
 * Of the modules below the drivers only this one opens anything. It may wait
 * for the disk: for regular files, Linux offers no readiness.
 */
#pragma once

#include <sys/stat.h>
#include <uthash.h>

#include "bytes.h"

enum {
    FILE_TABLE_SIZE = 8,       /* files at most, so as many descriptors */
    FILE_TABLE_FRESH_MS = 500, /* how old a descriptor may be */
};

struct open_file {
    int references; /* the table's, and one for each response */
    int fd;
    int64_t opened_ms;
    struct stat status; /* as it was then */
    /* static_file caches here what it says about the file: */
    time_t modified; /* the Last-Modified in `fields` */
    char etag[48];
    char fields[160]; /* empty: not made yet */
    const char *type;
    UT_hash_handle hh; /* uthash: an entry of file_table.files */
    char path[]; /* below the folder, without a leading slash */
};

struct file_table {
    int folder;    /* descriptor, not owned */
    unsigned size; /* files to keep, 1 to FILE_TABLE_SIZE */
    int64_t stale_ms; /* when the first of them is to be dropped; 0: none is
                         open */
    struct open_file *files; /* by path; the least recently used is first */
};

/* Returns whether openat2(2) works below `folder`. If not, errno says why:
 * ENOSYS on a kernel before Linux 5.6; ENOSYS or EPERM in a container whose
 * seccomp profile does not allow the call. */
bool file_table_can_open(int folder);

/* Drops every file; responses in progress keep theirs until they release
 * it. The table is usable again. */
void file_table_empty(struct file_table *table);

/* Drops the files that are too old at now_ms (monotonic, not 0). */
void file_table_expire(struct file_table *table, int64_t now_ms);

/* Finds or opens a regular file. Returns 0 and in *found a file that the
 * caller must release; or the status to answer with: 301 for a folder, 403
 * (also for other things that are no regular file), 404 (also for a path
 * out of the folder), 503 without a descriptor or memory, or while another
 * program holds a lease on the file. */
int file_table_open(struct file_table *table, const char *path, int64_t now_ms,
                    struct open_file **found);

/* Releases one reference; the last one closes and frees. NULL is
 * allowed. */
void file_release(struct open_file *file);
