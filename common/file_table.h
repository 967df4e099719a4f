/*
 * file_table - the files that a worker keeps open, below one folder.
 *
 * Opening a file costs a path walk and three system calls, more than the
 * rest of its answer. So a worker keeps the 8 files open that it used last,
 * in a hash table that is an LRU cache as uthash's user guide describes
 * one. A file that was opened 500 ms ago is dropped, because it may have
 * been replaced or changed. A worker that has nothing to do drops all, and
 * so does one that is short of descriptors or memory.
 *
 * This is the one module below the drivers that makes system calls. It may
 * wait for the disk: for regular files, Linux offers no readiness.
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
    int64_t stale_ms; /* when the oldest is too old; 0: none is open */
    struct open_file *files; /* by path; the least recently used is first */
};

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
