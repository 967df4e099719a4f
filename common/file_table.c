/* file_table - the files that a worker keeps open; see file_table.h. */
#include "file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* O_NONBLOCK: otherwise opening a FIFO would wait for its writer. */
enum { OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

/* Opens one folder of the path after the other, following no link and no "..".
 * For kernels before 5.6, and sandboxes that do not know openat2(2). */
static int open_stepwise(int folder, const char *path)
{
    int at = folder;
    for (;;) {
        size_t n = strcspn(path, "/");
        bool last = path[n] == '\0';
        int flags = last ? OPEN_FLAGS : O_PATH | O_DIRECTORY | O_CLOEXEC;
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        errno = EXDEV;
        int fd = strcmp(name, "..") == 0
                     ? -1 : openat(at, name, flags | O_NOFOLLOW);
        int error = errno;
        if (at != folder)
            close(at);
        errno = error;
        if (fd < 0 || last)
            return fd;
        at = fd;
        path += n + 1;
    }
}

/* RESOLVE_BENEATH: the kernel itself refuses "..", absolute paths and symbolic
 * links that lead out of the folder, without the race between a check and the
 * open that follows it. glibc has no wrapper for openat2(2). */
static int open_beneath(int folder, const char *path)
{
    struct open_how how = {
        .flags = OPEN_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_stepwise(folder, path);
    return (int)fd;
}

static int status_of(int error)
{
    switch (error) {
    case ENOENT: case ENOTDIR: case ENAMETOOLONG: case ELOOP: case EXDEV:
        return 404;
    case EACCES: case EPERM: case ENXIO: /* ENXIO: a socket */
        return 403;
    default: /* EMFILE, ENFILE, ENOMEM, EIO; EAGAIN: renamed meanwhile */
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
    else if (!S_ISREG(file->status.st_mode))
        status = S_ISDIR(file->status.st_mode) ? 301 : 403;
    *opened = file;
    if (status != 0)
        file_release(file);
    return status;
}

int file_table_open(struct file_table *table, const char *path, int64_t now_ms,
                    struct open_file **found)
{
    for (size_t i = 0; i < FILE_TABLE_SIZE; i++) {
        struct open_file *file = table->files[i];
        if (file != NULL && now_ms - file->opened_ms < FILE_TABLE_FRESH_MS &&
            strcmp(file->path, path) == 0) {
            file->references++;
            *found = file;
            return 0;
        }
    }
    int status = open_new(table, path, now_ms, found);
    if (status == 0) {
        struct open_file **oldest = &table->files[table->next];
        table->next = (table->next + 1) % FILE_TABLE_SIZE;
        file_release(*oldest);
        *oldest = *found;
        (*found)->references++;
    }
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

void file_table_free(struct file_table *table)
{
    for (int i = 0; i < FILE_TABLE_SIZE; i++)
        file_release(table->files[i]);
    *table = (struct file_table){.folder = table->folder};
}
