/* access_log - a line for each answer; see access_log.h. */
#include "access_log.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http_exchange.h"

/* Longer request lines are cut, with "...". Even if each byte of one has to be
 * escaped, its line is no longer than PIPE_BUF: so much goes into a pipe as one
 * piece, and is sure to fit when poll(2) says that there is room. */
enum { LINE_REQUEST_MAX = 960 };

static int open_path(const char *path, int flags)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | flags, 0644);
}

static bool is_regular_file(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

int access_log_open(struct access_log *log, const char *path)
{
    *log = (struct access_log){.path = path, .fd = -1};
    if (path == NULL)
        return 0;
    log->fd = strcmp(path, "-") == 0 ? STDOUT_FILENO : open_path(path, 0);
    log->may_block = log->fd >= 0 && !is_regular_file(log->fd);
    return log->fd < 0 ? -1 : 0;
}

int access_log_reopen(const struct access_log *log)
{
    if (log->fd < 0 || log->fd == STDOUT_FILENO)
        return 0;
    /* A FIFO that nobody reads would have open(2) wait for a reader. */
    int fd = open_path(log->path, O_NONBLOCK);
    if (fd < 0)
        return -1;
    /* dup3 puts the new file under the old number in one step: a thread that
     * writes meanwhile writes to the old or to the new one, never to none. */
    int result = dup3(fd, log->fd, O_CLOEXEC);
    close(fd);
    return result < 0 ? -1 : 0;
}

static void append_escaped(struct buffer *b, struct slice s)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = s.n < LINE_REQUEST_MAX ? s.n : LINE_REQUEST_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < ' ' || c >= 0x7f || c == '"' || c == '\\') {
            char escaped[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
            buffer_append(b, escaped, sizeof escaped);
        } else {
            buffer_append(b, &s.p[i], 1);
        }
    }
    if (n < s.n)
        buffer_append_literal(b, "...");
}

/* O_NONBLOCK would do for a FIFO of our own, but belongs to the open file: set on
 * standard output, it would hit everybody who writes to the same terminal. */
static bool has_room(const struct access_log *log)
{
    struct pollfd reader = {.fd = log->fd, .events = POLLOUT};
    return !log->may_block || poll(&reader, 1, 0) > 0;
}

void access_log_write(const struct access_log *log, const char *peer,
                      const struct http_exchange *x, time_t now)
{
    if (log->fd < 0)
        return;
    struct tm tm;
    char when[64];
    if (gmtime_r(&now, &tm) == NULL ||
        strftime(when, sizeof when, "%d/%b/%Y:%H:%M:%S +0000", &tm) == 0)
        return;
    struct buffer line = {0};
    buffer_printf(&line, "%s - - [%s] \"", peer, when);
    if (x->request.line.p != NULL)
        append_escaped(&line, x->request.line);
    else
        buffer_append_literal(&line, "-");
    buffer_printf(&line, "\" %d %llu\n", x->status,
                  (unsigned long long)x->content_bytes);
    /* A full disk or pipe costs the line, not the request; there is no better
     * place to complain than the log itself. */
    if (!line.failed && has_room(log) &&
        write(log->fd, line.data, line.len) < 0) {
    }
    buffer_free(&line);
}
