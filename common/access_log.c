/* access_log - a line for each answer; see access_log.h. */
#include "access_log.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "http_exchange.h"

enum { LINE_REQUEST_MAX = 1024 }; /* longer request lines are cut, with "..." */

static int open_path(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

int access_log_open(struct access_log *log, const char *path)
{
    *log = (struct access_log){.path = path, .fd = -1};
    if (path == NULL)
        return 0;
    log->fd = strcmp(path, "-") == 0 ? STDOUT_FILENO : open_path(path);
    return log->fd < 0 ? -1 : 0;
}

int access_log_reopen(const struct access_log *log)
{
    if (log->fd < 0 || log->fd == STDOUT_FILENO)
        return 0;
    int fd = open_path(log->path);
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
    /* A full disk costs the line, not the request; there is no better place
     * to complain than the log itself. */
    if (!line.failed && write(log->fd, line.data, line.len) < 0) {
    }
    buffer_free(&line);
}
