/* folder - a folder for a test's files; see folder.h. */
#include "folder.h"

#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void folder_create(struct folder *folder)
{
    const char *where = getenv("TMPDIR");
    int n = snprintf(folder->path, sizeof folder->path,
                     "%s/zerohttpd-test-XXXXXX", where ? where : "/tmp");
    if (n >= (int)sizeof folder->path || mkdtemp(folder->path) == NULL)
        err(1, "mkdtemp %s", folder->path);
    folder->fd = open(folder->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0)
        err(1, "open %s", folder->path);
}

static int delete_one(const char *path, const struct stat *status, int type,
                      struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

void folder_remove(struct folder *folder)
{
    close(folder->fd);
    /* Children first, and links are deleted, not followed. */
    if (nftw(folder->path, delete_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
        err(1, "delete %s", folder->path);
}

void folder_add(const struct folder *folder, const char *name)
{
    if (mkdirat(folder->fd, name, 0755) < 0)
        err(1, "mkdir %s", name);
}

void folder_write(const struct folder *folder, const char *name,
                  const void *bytes, size_t n)
{
    int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || close(fd) < 0)
        err(1, "write %s", name);
}

void folder_touch(const struct folder *folder, const char *name, time_t t)
{
    const struct timespec times[2] = {{.tv_sec = t}, {.tv_sec = t}};
    if (utimensat(folder->fd, name, times, 0) < 0)
        err(1, "touch %s", name);
}
