/*
 * file_table - the files that a worker keeps open, below one folder.
 *
 * Opening a file costs a path walk and three system calls, more than the rest
 * of its answer. So a worker keeps the last 8 files open. One that was opened
 * 500 ms ago is opened again, because it may have been replaced or changed.
 *
 * This is the one module below the drivers that makes system calls. It may wait
 * for the disk: for regular files, Linux offers no readiness.
 */
#pragma once

#include <sys/stat.h>

#include "bytes.h"

enum {
    FILE_TABLE_SIZE = 8,        /* files, so at most as many descriptors */
    FILE_TABLE_FRESH_MS = 500,  /* how old a descriptor may be */
    FILE_TEXT_MAX = 64 * 1024,  /* bytes that file_table_open_text() reads */
};

struct open_file {
    int references; /* the table's, and one for each response */
    int fd;
    int64_t opened_ms;
    struct stat status; /* as it was then */
    char *text; /* the content, after file_table_open_text() */
    /* static_file caches its response fields here: */
    struct buffer fields;
    time_t fields_modified; /* the Last-Modified in them */
    char etag[48];
    char path[]; /* below the folder, without a leading slash */
};

struct file_table {
    int folder; /* descriptor, not owned */
    struct open_file *files[FILE_TABLE_SIZE]; /* NULL: free */
};

void file_table_init(struct file_table *table, int folder);

/* Drops every file; responses in progress keep theirs until they release it. */
void file_table_free(struct file_table *table);

/* Finds or opens a regular file. Returns 0 and in *found a file that the caller
 * must release; or an errno: ENOENT (also for a path out of the folder),
 * EISDIR, EACCES (also for other things that are no regular file), EMFILE,
 * ENOMEM ... */
int file_table_open(struct file_table *table, const char *path, int64_t now_ms,
                    struct open_file **found);

/* The same, with the content in (*found)->text. EFBIG: larger than
 * FILE_TEXT_MAX; EAGAIN: it shrank while it was read. */
int file_table_open_text(struct file_table *table, const char *path,
                         int64_t now_ms, struct open_file **found);

/* Releases one reference; the last one closes and frees. NULL is allowed. */
void file_release(struct open_file *file);
