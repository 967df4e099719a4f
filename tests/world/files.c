/* files - the site, names of hosts, and what the server says; see sim.h. */
#include "sim.h"

#include <errno.h>
#include <linux/openat2.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

const struct site_file site_files[SITE_FILES] = {
    [FILE_INDEX] = {"index.html", 1200, false},
    [FILE_NOTES] = {"notes.txt", 10, false},
    [FILE_EMPTY] = {"empty.txt", 0, false},
    [FILE_BIG] = {"big.bin", 70000, false},
    [FILE_HUGE] = {"huge.bin", 3000000, false},
    [FILE_FOLDER] = {"folder", 0, true},
};

bool site_file_has(int file, size_t offset, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != (char)('a' + (offset + i + (size_t)file) % 26))
            return false;
    return true;
}

long __wrap_syscall(long number, ...);
int __wrap_fstat64(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);

static int open_error(void)
{
    static const int errors[] = {EMFILE, ENFILE, EACCES, EIO, EAGAIN};
    if (!plan_has(&sim.plan, OPEN_ERRORS) || !chance_percent(20))
        return 0;
    rules_fault("openat2 failed");
    return CHANCE_OF(errors);
}

static int open_file(const char *path)
{
    int file = 0;
    while (file < SITE_FILES && strcmp(site_files[file].path, path) != 0)
        file++;
    errno = file == SITE_FILES ? ENOENT : open_error();
    return errno != 0 ? -1 : fd_new(FD_FILE, NULL, file);
}

long __wrap_syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    int folder = va_arg(args, int);
    const char *path = va_arg(args, const char *);
    va_end(args);
    time_call();
    if (number != SYS_openat2 || fd_get(folder)->kind != FD_FOLDER)
        fail("syscall(%ld)", number);
    int fd = open_file(path);
    trace("openat2(%s) = %d", path, fd);
    return fd;
}

int __wrap_fstat64(int fd, struct stat *status)
{
    const struct site_file *file = &site_files[fd_get(fd)->file];
    time_call();
    *status = (struct stat){
        .st_mode = file->folder ? S_IFDIR | 0755 : S_IFREG | 0644,
        .st_size = (off_t)file->size,
        .st_mtim = {784000000, 0}}; /* Sat, 05 Nov 1994 01:46:40 GMT */
    return 0;
}

int __wrap_fstat(int fd, struct stat *status)
{
    return __wrap_fstat64(fd, status);
}

/* -------------------------------------------------------------------- names */

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *length);
int __wrap_getnameinfo(const struct sockaddr *address, socklen_t length,
                       char *host, socklen_t host_room, char *service,
                       socklen_t service_room, int flags);
int __wrap_getaddrinfo(const char *host, const char *service,
                       const struct addrinfo *hints, struct addrinfo **found);
void __wrap_freeaddrinfo(struct addrinfo *found);

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *length)
{
    const struct socket *s = fd_socket(fd);
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = (in_port_t)s->number};
    time_call();
    if (s->reset) {
        errno = ENOTCONN;
        sim.clients[s->number].unlogged = true;
        return -1;
    }
    memcpy(address, &in, sizeof in);
    *length = sizeof in;
    return 0;
}

/* The name of a client is its number, so that a log line tells whose it is. */
int __wrap_getnameinfo(const struct sockaddr *address, socklen_t length,
                       char *host, socklen_t host_room, char *service,
                       socklen_t service_room, int flags)
{
    struct sockaddr_in in;
    (void)length;
    (void)service;
    (void)service_room;
    (void)flags;
    memcpy(&in, address, sizeof in);
    snprintf(host, host_room, "client%d", in.sin_port);
    return 0;
}

int __wrap_getaddrinfo(const char *host, const char *service,
                       const struct addrinfo *hints, struct addrinfo **found)
{
    static struct sockaddr_in address = {.sin_family = AF_INET};
    static struct addrinfo one = {
        .ai_family = AF_INET, .ai_socktype = SOCK_STREAM,
        .ai_addr = (struct sockaddr *)&address, .ai_addrlen = sizeof address};
    (void)host;
    (void)service;
    (void)hints;
    *found = &one;
    return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *found)
{
    (void)found;
}

/* ------------------------------------------------ the process and its words */

void __wrap_warn_user(const char *format, ...);
void __wrap_stats_report(uint64_t requests, uint64_t connections);
int __wrap_access_log_reopen(const struct access_log *log);
_Noreturn void __wrap_exit(int status);
_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap_abort(void);
_Noreturn void __wrap___assert_fail(const char *what, const char *file,
                                    unsigned line, const char *function);

void __wrap_warn_user(const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trace("warning   %s", text);
}

void __wrap_stats_report(uint64_t requests, uint64_t connections)
{
    (void)requests;
    (void)connections;
    trace("report");
}

int __wrap_access_log_reopen(const struct access_log *log)
{
    (void)log;
    trace("log opened again");
    return 0;
}

void __wrap_exit(int status)
{
    fail("the server calls exit(%d)", status);
}

void __wrap__exit(int status)
{
    fail("the server calls _exit(%d)", status);
}

void __wrap_abort(void)
{
    fail("the server calls abort()");
}

void __wrap___assert_fail(const char *what, const char *file, unsigned line,
                          const char *function)
{
    fail("assertion %s in %s, %s:%u", what, function, file, line);
}
