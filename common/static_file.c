/* static_file - files below public/; see static_file.h. */
#include "static_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "http_response.h"
#include "server.h"

enum { SETTLED_S = 1 }; /* older than that, a date of change names one change */

struct media_type {
    struct slice ending;
    struct slice type;
};

#define ENDING(e, t) {{(e), sizeof(e) - 1}, {(t), sizeof(t) - 1}}

static const struct media_type media_types[] = {
    ENDING(".html", "text/html; charset=utf-8"),
    ENDING(".css", "text/css; charset=utf-8"),
    ENDING(".js", "text/javascript; charset=utf-8"),
    ENDING(".txt", "text/plain; charset=utf-8"),
    ENDING(".md", "text/markdown; charset=utf-8"),
    ENDING(".csv", "text/csv; charset=utf-8"),
    ENDING(".xml", "text/xml; charset=utf-8"),
    ENDING(".json", "application/json"),
    ENDING(".pdf", "application/pdf"),
    ENDING(".svg", "image/svg+xml; charset=utf-8"),
    ENDING(".png", "image/png"),
    ENDING(".jpg", "image/jpeg"),
    ENDING(".jpeg", "image/jpeg"),
    ENDING(".gif", "image/gif"),
    ENDING(".webp", "image/webp"),
    ENDING(".ico", "image/x-icon"),
    ENDING(".woff2", "font/woff2"),
    ENDING(".mp4", "video/mp4"),
    ENDING(".wasm", "application/wasm"),
};

struct slice static_file_type(struct slice name)
{
    const size_t n = sizeof media_types / sizeof media_types[0];
    for (size_t i = 0; i < n; i++) {
        struct slice ending = media_types[i].ending;
        if (name.n > ending.n &&
            slice_equal_nocase(
                (struct slice){name.p + name.n - ending.n, ending.n}, ending))
            return media_types[i].type;
    }
    return SLICE("application/octet-stream");
}

bool static_file_path_is_fine(struct slice path)
{
    if (path.n == 0 || path.p[0] != '/')
        return false;
    for (size_t i = 0; i + 1 < path.n; i++)
        if (path.p[i] == '/' && (path.p[i + 1] == '.' || path.p[i + 1] == '/'))
            return false;
    return true;
}

/* Reads decimal digits off *s. Returns false when there are none or the number
 * is larger than any file. */
static bool take_number(struct slice *s, off_t *number)
{
    const off_t largest = INT64_MAX / 10 - 1;
    off_t value = 0;
    size_t i = 0;
    for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++) {
        value = value * 10 + (s->p[i] - '0');
        if (value > largest)
            value = largest; /* all the same: behind the end */
    }
    s->p += i;
    s->n -= i;
    *number = value;
    return i > 0;
}

enum range_result static_file_range(struct slice range, off_t size,
                                    off_t *first, off_t *length)
{
    const struct slice unit = SLICE("bytes=");
    off_t from = 0, to = 0;
    if (range.n < unit.n || strncasecmp(range.p, unit.p, unit.n) != 0)
        return RANGE_WHOLE;
    struct slice s = slice_trim(
        (struct slice){range.p + unit.n, range.n - unit.n});
    bool has_from = take_number(&s, &from);
    if (s.n == 0 || s.p[0] != '-')
        return RANGE_WHOLE;
    s.p++;
    s.n--;
    bool has_to = take_number(&s, &to);
    if (s.n > 0 || (!has_from && !has_to) || (has_from && has_to && to < from))
        return RANGE_WHOLE; /* malformed, or a list of ranges */
    if (!has_from) { /* the last `to` bytes */
        if (to == 0 || size == 0)
            return RANGE_UNSATISFIABLE;
        from = to < size ? size - to : 0;
        to = size - 1;
    } else if (from >= size) {
        return RANGE_UNSATISFIABLE;
    } else if (!has_to || to >= size) {
        to = size - 1;
    }
    *first = from;
    *length = to - from + 1;
    return RANGE_PART;
}

/* With `weak`, W/"x" is as good as "x" (RFC 9110, 8.8.3.2). */
static bool line_has_etag(struct slice line, struct slice etag, bool weak)
{
    while (line.n > 0) {
        struct slice one = slice_next_element(&line);
        if (slice_equal(one, SLICE("*")))
            return true;
        if (weak && slice_has_prefix(one, SLICE("W/"))) {
            one.p += 2;
            one.n -= 2;
        }
        if (slice_equal(one, etag))
            return true;
    }
    return false;
}

static bool list_has_etag(const struct http_list *list, struct slice etag,
                          bool weak)
{
    for (size_t i = 0; i < list->count; i++)
        if (line_has_etag(list->lines[i], etag, weak))
            return true;
    return false;
}

bool static_file_is_meant(const struct http_request *request,
                          struct slice etag, time_t modified)
{
    if (request->if_match.count > 0)
        return list_has_etag(&request->if_match, etag, false);
    if (request->if_unmodified_since.p == NULL)
        return true;
    time_t since = http_date_parse(request->if_unmodified_since);
    return since == (time_t)-1 || modified <= since;
}

bool static_file_is_fresh(const struct http_request *request,
                          struct slice etag, time_t modified)
{
    if (request->if_none_match.count > 0)
        return list_has_etag(&request->if_none_match, etag, true);
    if (request->if_modified_since.p == NULL)
        return false;
    time_t since = http_date_parse(request->if_modified_since);
    return since != (time_t)-1 && modified <= since;
}

bool static_file_if_range(struct slice if_range, struct slice etag,
                          time_t modified)
{
    if (if_range.p == NULL)
        return true;
    if (slice_equal(if_range, etag))
        return true;
    time_t date = http_date_parse(if_range);
    return date != (time_t)-1 && date == modified;
}

/* The ETag: changes whenever size or time stamp do, to the nanosecond. */
static struct slice make_etag(const struct cached_file *file, char *room,
                              size_t size)
{
    int n = snprintf(room, size, "\"%" PRIx64 "-%" PRIx64 "%08lx\"",
                     (uint64_t)file->size,
                     (uint64_t)file->status.st_mtim.tv_sec,
                     (unsigned long)file->status.st_mtim.tv_nsec);
    return (struct slice){room, (size_t)n};
}

/* The fields that every answer with this file has; made once, kept with it. */
static void make_fields(struct cached_file *file, struct slice etag)
{
    char date[HTTP_DATE_LENGTH + 1];
    struct slice type = static_file_type(slice_of(file->path));
    http_date_format(date, file->status.st_mtim.tv_sec);
    buffer_printf(&file->fields,
                  "Last-Modified: %s\r\nETag: %.*s\r\nAccept-Ranges: bytes\r\n"
                  "Content-Type: %.*s\r\n",
                  date, (int)etag.n, etag.p, (int)type.n, type.p);
    if (slice_has_prefix(type, SLICE("text/html")))
        buffer_append_literal(&file->fields, HTTP_HTML_FIELDS);
}

/* A file that changes twice in a second keeps its date, and a client that got the
 * first half of the one version would be sent the second half of the other. So
 * for a moment after a change only the ETag counts, which tells nanoseconds. (Like
 * Apache's, that is no proof: the client may have fetched its half in that second
 * and ask for the rest later. RFC 9110, 8.8.2.2.) */
static time_t settled_date(const struct http_exchange *x, time_t modified)
{
    return x->context->clock.seconds - modified > SETTLED_S ? modified
                                                           : (time_t)-1;
}

static void answer_with(struct http_exchange *x, struct cached_file *file)
{
    char room[64];
    struct slice etag = {NULL, 0};
    time_t modified = file->status.st_mtim.tv_sec;
    const struct http_request *r = &x->request;
    off_t first = 0, length = file->size;

    if (file->fields.failed) /* the last time there was no memory */
        buffer_free(&file->fields);
    /* Only who asks a question about the ETag needs it by itself. */
    if (file->fields.len == 0 || r->if_none_match.count > 0 ||
        r->if_match.count > 0 || r->if_range.p != NULL ||
        r->if_modified_since.p != NULL)
        etag = make_etag(file, room, sizeof room);
    if (file->fields.len == 0)
        make_fields(file, etag);
    x->out.failed |= file->fields.failed;

    if (!static_file_is_meant(r, etag, modified)) {
        response_error(x, 412, NULL);
        file_release(file);
        return;
    }
    if (static_file_is_fresh(r, etag, modified)) {
        response_begin(x, 304);
        response_field(x, "ETag", etag);
        response_no_content(x);
        file_release(file);
        return;
    }
    enum range_result range = RANGE_WHOLE;
    if (r->range.p != NULL && r->method == HTTP_GET &&
        static_file_if_range(r->if_range, etag, settled_date(x, modified)))
        range = static_file_range(r->range, file->size, &first, &length);
    if (range == RANGE_UNSATISFIABLE) {
        response_unsatisfiable(x, (uint64_t)file->size);
        file_release(file);
        return;
    }
    response_begin(x, range == RANGE_PART ? 206 : 200);
    buffer_append(&x->out, file->fields.data, file->fields.len);
    if (range == RANGE_PART)
        buffer_printf(&x->out, "Content-Range: bytes %jd-%jd/%jd\r\n",
                      (intmax_t)first, (intmax_t)(first + length - 1),
                      (intmax_t)file->size);
    response_file(x, file, first, (size_t)length);
}

static void answer_error(struct http_exchange *x, int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        response_error(x, 403, NULL);
        return;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
    case EINTR:
        response_error(x, 503, NULL);
        return;
    case EIO:
        response_error(x, 500, NULL);
        return;
    default: /* ENOENT, ELOOP, ENAMETOOLONG: it is not there */
        response_error(x, 404, NULL);
        return;
    }
}

/* Relative links in a folder's index would lead astray without the slash. Path
 * and query are repeated as they came, still percent-encoded: a target holds no
 * byte that could end the field and begin another one. */
static void redirect_to_folder(struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    response_begin(x, 301);
    buffer_append_literal(&x->out, "Location: ");
    buffer_append_slice(&x->out, r->path);
    buffer_append_literal(&x->out, "/");
    if (r->query.p != NULL) {
        buffer_append_literal(&x->out, "?");
        buffer_append_slice(&x->out, r->query);
    }
    buffer_append_literal(&x->out, "\r\n");
    response_content(x, HTTP_TYPE_TEXT, SLICE("It is a folder: add a /\n"));
}

void static_file_answer(struct http_exchange *x)
{
    struct http_context *w = x->context;
    struct cached_file *file;
    size_t n = strlen(x->path);
    const char index[] = "index.html";

    if (!static_file_path_is_fine((struct slice){x->path, n})) {
        response_error(x, 404, NULL);
        return;
    }
    if (x->path[n - 1] == '/') {
        if (n + sizeof index > sizeof x->path) {
            response_error(x, 404, NULL);
            return;
        }
        memcpy(x->path + n, index, sizeof index);
    }
    int error = file_cache_open(&w->files, x->path + 1, w->clock.now_ms, &file);
    if (error == 0) {
        answer_with(x, file);
    } else if (error == EISDIR && x->path[n - 1] != '/') {
        redirect_to_folder(x);
    } else {
        answer_error(x, error);
    }
}
