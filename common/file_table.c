/* file_table - the files that a worker keeps open; see file_table.h. */
#include "file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* O_NONBLOCK: otherwise opening a FIFO would wait for its writer. */
    OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
    OPEN_ATTEMPTS = 64,
};

/* Opens one folder of the path after the other, following no link and no "..".
 * For kernels before 5.6, and sandboxes that do not know openat2(2). */
static int open_stepwise(int folder, const char *path)
{
    int at = folder;
    for (;;) {
        size_t n = strcspn(path, "/");
        bool last = path[n] == '\0';
        char name[NAME_MAX + 1] = "";
        int fd = -1;
        errno = ENOENT;
        if (n <= NAME_MAX)
            memcpy(name, path, n);
        if (strcmp(name, "..") != 0)
            fd = openat(at, name, O_NOFOLLOW | O_CLOEXEC |
                                  (last ? OPEN_FLAGS : O_PATH | O_DIRECTORY));
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
 * open that follows it. It returns EAGAIN when a rename, anywhere, crosses a
 * ".." in a symbolic link. glibc has no wrapper for openat2(2). */
static int open_beneath(int folder, const char *path)
{
    struct open_how how = {
        .flags = OPEN_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long fd = -1;
    errno = EAGAIN;
    for (int i = 0; fd < 0 && errno == EAGAIN && i < OPEN_ATTEMPTS; i++)
        fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
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
    default: /* EMFILE, ENFILE, ENOMEM, EAGAIN, EIO */
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
    struct open_file **place = &table->files[0]; /* a free one, or the oldest */
    for (size_t i = 0; i < FILE_TABLE_SIZE; i++) {
        struct open_file **file = &table->files[i];
        if (*file != NULL &&
            now_ms - (*file)->opened_ms >= FILE_TABLE_FRESH_MS) {
            file_release(*file);
            *file = NULL;
        }
        if (*file != NULL && strcmp((*file)->path, path) == 0) {
            (*file)->references++;
            *found = *file;
            return 0;
        }
        if (*place != NULL &&
            (*file == NULL || (*file)->opened_ms < (*place)->opened_ms))
            place = file;
    }
    int status = open_new(table, path, now_ms, found);
    if (status == 0) {
        file_release(*place);
        *place = *found;
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

void file_table_init(struct file_table *table, int folder)
{
    *table = (struct file_table){.folder = folder};
}

void file_table_free(struct file_table *table)
{
    for (int i = 0; i < FILE_TABLE_SIZE; i++)
        file_release(table->files[i]);
    file_table_init(table, table->folder);
}
