/* file_cache - files opened once and kept; see file_cache.h. */

/* uthash calls exit() when memory runs out, unless told to report it: then an
 * element that could not be added has hh.tbl == NULL. */
#define HASH_NONFATAL_OOM 1
#include "file_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* For kernels before 5.6 and for sandboxes that do not know openat2(2): walk
 * the path ourselves, one folder at a time, following no link and no "..". */
static int open_stepwise(int folder, const char *path, int flags)
{
    int at = folder;
    for (;;) {
        size_t n = strcspn(path, "/");
        char name[NAME_MAX + 1];
        bool last = path[n] == '\0';
        int fd = -1;
        int error = ENOENT;
        if (n > 0 && n <= NAME_MAX) {
            memcpy(name, path, n);
            name[n] = '\0';
            if (strcmp(name, "..") != 0) {
                fd = openat(at, name, O_NOFOLLOW | O_CLOEXEC |
                            (last ? flags : O_PATH | O_DIRECTORY));
                error = errno;
            }
        }
        if (at != folder)
            close(at);
        if (fd < 0) {
            errno = error;
            return -1;
        }
        if (last)
            return fd;
        at = fd;
        path += n + 1;
    }
}

/* The kernel gives up with EAGAIN when something was renamed, anywhere on the
 * machine, while it resolved a "..", as a symbolic link may have one. */
enum { OPEN_ATTEMPTS = 64 };

/* O_NONBLOCK: without it, opening a FIFO would wait for its writer. */
static int open_beneath(int folder, const char *path)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct open_how how = {
        .flags = (uint64_t)flags,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    /* glibc 2.36 has no wrapper for this one, so it is called by number. */
    long fd = -1;
    int attempts = 0;
    do
        fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    while (fd < 0 && (errno == EAGAIN || errno == EINTR) &&
           ++attempts < OPEN_ATTEMPTS);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_stepwise(folder, path, flags);
    return (int)fd;
}

static bool read_all(int fd, char *to, size_t n)
{
    size_t have = 0;
    while (have < n) {
        ssize_t got = pread(fd, to + have, n - have, (off_t)have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int load(struct file_cache *cache, const char *path, int64_t now_ms,
                struct cached_file **loaded)
{
    int error;
    struct cached_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return ENOMEM;
    file->references = 1;
    file->checked_ms = now_ms;
    file->fd = open_beneath(cache->folder, path);
    if (file->fd < 0) {
        error = errno == EXDEV || errno == ENOTDIR ? ENOENT : errno;
        goto fail;
    }
    if (fstat(file->fd, &file->status) < 0) {
        error = errno;
        goto fail;
    }
    if (!S_ISREG(file->status.st_mode)) {
        error = S_ISDIR(file->status.st_mode) ? EISDIR : EACCES;
        goto fail;
    }
    error = ENOMEM;
    file->size = file->status.st_size;
    file->settled = time(NULL) - file->status.st_ctim.tv_sec > 1;
    file->path = strdup(path);
    if (file->path == NULL)
        goto fail;
    if (file->size <= FILE_CONTENT_MAX) {
        file->content = malloc((size_t)file->size + 1); /* never malloc(0) */
        if (file->content == NULL)
            goto fail;
        error = EIO; /* also when it shrinks while we read */
        if (!read_all(file->fd, file->content, (size_t)file->size))
            goto fail;
        close(file->fd);
        file->fd = -1;
    }
    *loaded = file;
    return 0;
fail:
    file_release(file);
    return error;
}

/* Keeps a file for who asks next. Where that cannot be, for want of memory or of
 * descriptors to keep open, it is only served. */
static void keep(struct file_cache *cache, struct cached_file *file)
{
    if (file->fd >= 0 && cache->open >= cache->open_max)
        return;
    HASH_ADD_KEYPTR(hh, cache->table, file->path, strlen(file->path), file);
    if (file->hh.tbl == NULL)
        return;
    file->references++;
    cache->open += file->fd >= 0;
}

static void forget(struct file_cache *cache, struct cached_file *file)
{
    HASH_DEL(cache->table, file);
    cache->open -= file->fd >= 0;
    file_release(file);
}

void file_cache_init(struct file_cache *cache, int folder)
{
    *cache = (struct file_cache){.folder = folder,
                                 .open_max = FILE_CACHE_ENTRIES};
}

void file_cache_free(struct file_cache *cache)
{
    struct cached_file *file, *next;
    HASH_ITER(hh, cache->table, file, next)
        forget(cache, file);
}

static bool is_fresh(const struct cached_file *file, int64_t now_ms)
{
    return now_ms - file->checked_ms < FILE_CACHE_FRESH_MS;
}

bool file_cache_knows(const struct file_cache *cache, const char *path,
                      int64_t now_ms)
{
    const struct cached_file *file;
    HASH_FIND_STR(cache->table, path, file);
    return file != NULL && is_fresh(file, now_ms);
}

int file_cache_open(struct file_cache *cache, const char *path, int64_t now_ms,
                    struct cached_file **found)
{
    struct cached_file *file;
    HASH_FIND_STR(cache->table, path, file);
    if (file != NULL && !is_fresh(file, now_ms)) {
        struct stat now;
        if (file->settled && fstatat(cache->folder, path, &now, 0) == 0 &&
            same_file(&now, &file->status)) {
            file->checked_ms = now_ms;
        } else {
            forget(cache, file); /* responses under way keep the old one */
            file = NULL;
        }
    }
    if (file == NULL) {
        int error = load(cache, path, now_ms, &file);
        if (error != 0)
            return error;
        if (HASH_COUNT(cache->table) >= FILE_CACHE_ENTRIES)
            forget(cache, cache->table); /* the oldest is the first */
        keep(cache, file);
    } else {
        file->references++;
    }
    *found = file;
    return 0;
}

void file_release(struct cached_file *file)
{
    if (file == NULL || --file->references > 0)
        return;
    if (file->fd >= 0)
        close(file->fd);
    free(file->content);
    free(file->path);
    buffer_free(&file->fields);
    free(file);
}
