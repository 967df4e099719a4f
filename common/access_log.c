/* access_log - a line for each answer; see access_log.h. */
#include "access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fatal.h"
#include "output.h"
#include "signals.h"

/* Longer request lines are cut, with "...". So a line is at most PIPE_BUF
 * bytes long, even if each byte has to be escaped: a pipe takes all of it
 * or nothing. */
enum { LINE_REQUEST_MAX = 960 };

static int open_path(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK,
                0644);
}

int access_log_open(struct access_log *log, const char *path,
                    struct access_log_state *state)
{
    *log = (struct access_log){.path = path, .fd = -1, .state = state};
    if (path == NULL)
        return 0;
    if (strcmp(path, "-") == 0)
        log->fd = STDOUT_FILENO;
    else
        log->fd = open_path(path);
    if (log->fd < 0)
        return -1;
    return 0;
}

int access_log_reopen(const struct access_log *log)
{
    if (log->fd < 0 || log->fd == STDOUT_FILENO)
        return 0;
    int fd = open_path(log->path);
    if (fd < 0)
        return -1;
    /* dup3(2) puts the new file under the old number in one step: other
     * threads write to the old file or to the new one, never to none. */
    int result = dup3(fd, log->fd, O_CLOEXEC);
    close(fd);
    if (result < 0)
        return -1;
    return 0;
}

static void append_escaped(struct buffer *b, struct slice s)
{
    size_t n = s.n < LINE_REQUEST_MAX ? s.n : LINE_REQUEST_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < ' ' || c >= 0x7f || c == '"' || c == '\\')
            buffer_printf(b, "\\x%02x", c);
        else
            buffer_append(b, &s.p[i], 1);
    }
    if (n < s.n)
        buffer_append_literal(b, "...");
}

/* EAGAIN, and EINTR in a server that is stopping, mean that the reader is
 * too slow: see access_log.h. */
static void write_line(const struct access_log *log, struct slice line)
{
    struct access_log_state *state = log->state;
    if (log->fd == STDOUT_FILENO && signals_stopping() &&
        !output_is_writable(log->fd, 0))
        return;
    /* Only one writer ends the line that was cut. */
    bool ends_cut = atomic_load(&state->cut) &&
                    atomic_exchange(&state->cut, false);
    struct iovec parts[] = {{"\n", ends_cut ? 1 : 0},
                            {(char *)(uintptr_t)line.p, line.n}};
    ssize_t wanted = (ssize_t)(parts[0].iov_len + line.n);
    ssize_t n;
    do
        n = writev(log->fd, parts, 2);
    while (n < 0 && errno == EINTR && !signals_stopping());
    if (n == wanted)
        return;
    int error = n < 0 ? errno : 0;
    if (n > (ssize_t)parts[0].iov_len || (ends_cut && n <= 0))
        atomic_store(&state->cut, true);
    if (error != EAGAIN && error != EINTR && warning_due(&state->warned_ms))
        warn_user("cannot write the access log %s: %s; lines are lost",
                  log->path, error != 0 ? strerror(error) : "it is full");
}

void access_log_write(const struct access_log *log, const char *peer,
                      const struct http_logged *entry, time_t now)
{
    struct buffer line = {0};
    struct tm tm;
    char when[64];
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%d/%b/%Y:%H:%M:%S +0000", &tm);
    buffer_printf(&line, "%s - - [%s] \"", peer, when);
    append_escaped(&line, entry->line.p != NULL ? entry->line : SLICE("-"));
    buffer_printf(&line, "\" %d %llu\n", entry->status,
                  (unsigned long long)entry->content_bytes);
    if (!line.failed)
        write_line(log, buffer_slice(&line));
    buffer_free(&line);
}
