/* file_table - the files that a worker keeps open; see file_table.h. */

/* Without memory for an entry, uthash would end the process. Instead the
 * file is served and not kept. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(file) ((file)->references--)
#include "file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shortage.h"

enum { OPEN_ATTEMPTS = 8 }; /* while openat2(2) fails with EAGAIN */

/* O_NONBLOCK: otherwise opening a FIFO would wait for its writer. */
enum { OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

/* RESOLVE_BENEATH: the kernel itself refuses "..", absolute paths and
 * symbolic links that lead out of the folder, without the race between a
 * check and the open that follows it. glibc has no wrapper for openat2(2).
 *
 * It fails with EAGAIN for two reasons. A rename, anywhere, has crossed a
 * ".." in a symbolic link: trying again helps. Or another program holds a
 * lease on the file (fcntl(2)), and O_NONBLOCK asks not to wait for its
 * end, which may take 45 seconds: then the client has to try again. */
static int open_beneath(int folder, const char *path)
{
    struct open_how how = {
        .flags = OPEN_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long fd = -1;
    errno = EAGAIN;
    for (int i = 0; i < OPEN_ATTEMPTS && fd < 0 && errno == EAGAIN; i++)
        fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    return (int)fd;
}

bool file_table_can_open(int folder)
{
    int fd = open_beneath(folder, ".");
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

static int status_of(int error)
{
    switch (error) {
    case ENOENT: case ENOTDIR: case ENAMETOOLONG: case ELOOP: case EXDEV:
        return 404;
    case EACCES: case EPERM: case ENXIO: /* ENXIO: a socket */
        return 403;
    default: /* EMFILE, ENFILE, ENOMEM, EIO, EAGAIN */
        return 503;
    }
}

static int open_new(const struct file_table *table, const char *path,
                    int64_t now_ms, struct open_file **opened)
{
    int status = 0;
    size_t n = strlen(path) + 1;
    struct open_file *file = calloc(1, sizeof *file + n);
    if (file == NULL)
        return 503;
    memcpy(file->path, path, n);
    file->references = 1;
    file->opened_ms = now_ms;
    file->fd = open_beneath(table->folder, path);
    if (file->fd < 0 || fstat(file->fd, &file->status) < 0)
        status = status_of(errno);
    else if (S_ISDIR(file->status.st_mode))
        status = 301;
    else if (!S_ISREG(file->status.st_mode))
        status = 403;
    *opened = file;
    if (status != 0)
        file_release(file);
    return status;
}

/* Takes a file out of the table, which releases it. */
static void drop(struct file_table *table, struct open_file *file)
{
    HASH_DEL(table->files, file);
    file_release(file);
}

/* Finds a file by its path. uthash keeps the order in which entries were
 * added, so one that is used is added again: the first is the least
 * recently used. */
static struct open_file *find(struct file_table *table, const char *path)
{
    struct open_file *file;
    HASH_FIND_STR(table->files, path, file);
    if (file != NULL && file->hh.next != NULL) { /* not the last already */
        HASH_DEL(table->files, file);
        HASH_ADD_KEYPTR(hh, table->files, file->path, strlen(file->path), file);
    }
    return file;
}

/* Keeps a file that has just been opened, in place of the one that has not
 * been used for longest. */
static void keep(struct file_table *table, struct open_file *file)
{
    if (HASH_COUNT(table->files) == table->size)
        drop(table, table->files);
    file->references++;
    HASH_ADD_KEYPTR(hh, table->files, file->path, strlen(file->path), file);
    if (table->stale_ms == 0)
        table->stale_ms = file->opened_ms + FILE_TABLE_FRESH_MS;
}

int file_table_open(struct file_table *table, const char *path, int64_t now_ms,
                    struct open_file **found)
{
    file_table_expire(table, now_ms);
    *found = find(table, path);
    if (*found != NULL) {
        (*found)->references++;
        return 0;
    }
    int status = open_new(table, path, now_ms, found);
    if (status == 503 && is_shortage(errno)) {
        file_table_empty(table); /* files kept for later go */
        status = open_new(table, path, now_ms, found);
    }
    if (status == 0)
        keep(table, *found);
    return status;
}

void file_release(struct open_file *file)
{
    if (file == NULL || --file->references > 0)
        return;
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}

void file_table_expire(struct file_table *table, int64_t now_ms)
{
    struct open_file *file, *next;
    if (table->stale_ms == 0 || now_ms < table->stale_ms)
        return;
    table->stale_ms = 0;
    HASH_ITER (hh, table->files, file, next) {
        int64_t stale_ms = file->opened_ms + FILE_TABLE_FRESH_MS;
        if (stale_ms <= now_ms)
            drop(table, file);
        else if (table->stale_ms == 0 || stale_ms < table->stale_ms)
            table->stale_ms = stale_ms;
    }
}

void file_table_empty(struct file_table *table)
{
    file_table_expire(table, INT64_MAX);
}
