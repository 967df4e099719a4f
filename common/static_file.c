/* static_file - files below public/; see static_file.h. */
#include "static_file.h"

#include <errno.h>
#include <stdio.h>

#include "http_response.h"

#define UTF8 "; charset=utf-8"

const char *static_file_type(const char *path)
{
    static const struct {
        const char *extension, *type;
    } types[] = {
        {"html", "text/html" UTF8}, {"css", "text/css" UTF8},
        {"js", "text/javascript" UTF8}, {"txt", "text/plain" UTF8},
        {"md", "text/markdown" UTF8}, {"csv", "text/csv" UTF8},
        {"xml", "text/xml" UTF8}, {"svg", "image/svg+xml" UTF8},
        {"json", "application/json"}, {"pdf", "application/pdf"},
        {"png", "image/png"}, {"jpg", "image/jpeg"}, {"jpeg", "image/jpeg"},
        {"gif", "image/gif"}, {"webp", "image/webp"}, {"ico", "image/x-icon"},
        {"woff2", "font/woff2"}, {"mp4", "video/mp4"},
        {"wasm", "application/wasm"},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (dot != NULL && dot != path &&
            strcasecmp(dot + 1, types[i].extension) == 0)
            return types[i].type;
    return "application/octet-stream";
}

bool static_file_path_allowed(const char *path)
{
    return path[0] == '/' && strstr(path, "//") == NULL &&
           strstr(path, "/.") == NULL;
}

/* Reads a decimal number at the start of *s and removes it. Returns false if
 * there is none. A number too large for off_t stops growing: no file is as
 * large as that either. */
static bool take_number(struct slice *s, off_t *number)
{
    const char *start = s->p;
    *number = 0;
    while (s->n > 0 && s->p[0] >= '0' && s->p[0] <= '9') {
        if (*number < INT64_MAX / 10)
            *number = *number * 10 + (s->p[0] - '0');
        slice_skip(s, 1);
    }
    return s->p > start;
}

enum range_result static_file_range(struct slice range, off_t size,
                                    off_t *first, off_t *length)
{
    const struct slice unit = SLICE("bytes=");
    off_t from, to;
    if (range.n < unit.n || strncasecmp(range.p, unit.p, unit.n) != 0)
        return RANGE_WHOLE;
    slice_skip(&range, unit.n);
    range = slice_trim(range);
    bool has_from = take_number(&range, &from);
    if (range.n == 0 || range.p[0] != '-')
        return RANGE_WHOLE;
    slice_skip(&range, 1);
    bool has_to = take_number(&range, &to);
    if (range.n > 0 || (!has_from && !has_to) ||
        (has_from && has_to && to < from))
        return RANGE_WHOLE; /* malformed, or a list of ranges */
    if (!has_from) { /* the last `to` bytes */
        from = to < size ? size - to : 0;
        to = to > 0 ? size - 1 : -1;
    } else if (!has_to || to >= size) {
        to = size - 1;
    }
    if (from > to)
        return RANGE_UNSATISFIABLE;
    *first = from;
    *length = to - from + 1;
    return RANGE_PART;
}

/* With `weak`, W/"x" matches "x" (RFC 9110, 8.8.3.2). */
static bool list_has_etag(const struct http_list *list, struct slice etag,
                          bool weak)
{
    for (size_t i = 0; i < list->count; i++) {
        struct slice line = list->lines[i];
        while (line.n > 0) {
            struct slice element = slice_next_element(&line);
            if (weak && slice_has_prefix(element, SLICE("W/")))
                slice_skip(&element, 2);
            if (slice_equal(element, etag) || slice_equal(element, SLICE("*")))
                return true;
        }
    }
    return false;
}

int static_file_evaluate(const struct http_request *request, struct slice etag,
                         time_t modified)
{
    time_t since = http_date_parse(request->if_unmodified_since);
    if (request->if_match.count > 0) {
        if (!list_has_etag(&request->if_match, etag, false))
            return 412;
    } else if (since != -1 && modified > since) {
        return 412;
    }
    if (request->if_none_match.count > 0)
        return list_has_etag(&request->if_none_match, etag, true) ? 304 : 200;
    since = http_date_parse(request->if_modified_since);
    return since != -1 && modified <= since ? 304 : 200;
}

bool static_file_if_range(struct slice if_range, struct slice etag,
                          time_t modified, time_t now)
{
    if (if_range.p == NULL || slice_equal(if_range, etag))
        return true;
    /* A file that changes twice within a second keeps its date, and the client
     * would join halves of two versions. (Even later it may have fetched its
     * half within that second: RFC 9110, 8.8.2.2 accepts the risk.) */
    time_t date = http_date_parse(if_range);
    return date != -1 && date == modified && now - modified > 1;
}

/* The fields that every answer with this file has; cached with the file. */
static void make_fields(struct open_file *file, time_t modified)
{
    char date[HTTP_DATE_LENGTH + 1];
    const char *type = static_file_type(file->path);
    const struct stat *status = &file->status;
    http_date_format(date, modified);
    /* From the size and the time stamp, to the nanosecond. */
    snprintf(file->etag, sizeof file->etag, "\"%jx-%jx%08lx\"",
             (intmax_t)status->st_size, (intmax_t)status->st_mtim.tv_sec,
             status->st_mtim.tv_nsec);
    buffer_free(&file->fields);
    buffer_printf(&file->fields,
                  "Last-Modified: %s\r\nETag: %s\r\nAccept-Ranges: bytes\r\n"
                  "Content-Type: %s\r\n%s", date, file->etag, type,
                  strncmp(type, "text/html", 9) == 0 ? HTTP_HTML_FIELDS : "");
    file->fields_modified = modified;
}

/* Answers with the file and takes over the caller's reference. */
static void answer_with(struct http_exchange *x, struct open_file *file)
{
    const struct http_request *r = &x->request;
    const time_t now = x->context->clock.seconds;
    off_t first = 0, size = file->status.st_size, length = size;
    /* Last-Modified must not be later than Date (RFC 9110, 8.8.2.1), and cannot
     * be before 1970. The conditions compare what is sent. */
    time_t modified = file->status.st_mtim.tv_sec;
    modified = modified < 0 ? 0 : modified > now ? now : modified;
    if (file->fields.len == 0 || file->fields_modified != modified)
        make_fields(file, modified);
    x->out.failed |= file->fields.failed;

    struct slice etag = slice_of(file->etag);
    enum range_result range = RANGE_WHOLE;
    int status = static_file_evaluate(r, etag, modified);
    if (status == 200 && r->range.p != NULL && r->method == HTTP_GET &&
        static_file_if_range(r->if_range, etag, modified, now))
        range = static_file_range(r->range, size, &first, &length);
    if (status == 412) {
        response_error(x, 412, NULL);
    } else if (status == 304) {
        response_begin(x, 304);
        response_field(x, "ETag", etag);
        response_no_content(x);
    } else if (range == RANGE_UNSATISFIABLE) {
        response_unsatisfiable(x, (uint64_t)size);
    } else {
        response_begin(x, range == RANGE_PART ? 206 : 200);
        buffer_append_slice(&x->out, buffer_slice(&file->fields));
        if (range == RANGE_PART)
            buffer_printf(&x->out, "Content-Range: bytes %jd-%jd/%jd\r\n",
                          (intmax_t)first, (intmax_t)(first + length - 1),
                          (intmax_t)size);
        response_file(x, file, first, (size_t)length);
        return;
    }
    file_release(file);
}

static int status_of(int error)
{
    switch (error) {
    case EACCES: case EPERM:
        return 403;
    case EMFILE: case ENFILE: case ENOMEM: case EAGAIN: case EINTR:
        return 503;
    case EIO:
        return 500;
    default: /* ENOENT, ELOOP, ENAMETOOLONG */
        return 404;
    }
}

/* Without the slash, relative links in the folder's index would name other
 * paths. Path and query are repeated as they came, still percent-encoded: they
 * hold no byte that could end this field. */
static void redirect_to_folder(struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    response_begin(x, 301);
    buffer_append_literal(&x->out, "Location: ");
    buffer_append_slice(&x->out, r->path);
    buffer_append_literal(&x->out, "/");
    if (r->query.p != NULL)
        buffer_append_literal(&x->out, "?");
    buffer_append_slice(&x->out, r->query);
    buffer_append_literal(&x->out, "\r\n");
    response_content(x, HTTP_TYPE_TEXT, SLICE("It is a folder: add a /\n"));
}

void static_file_answer(struct http_exchange *x)
{
    static const char index[] = "index.html";
    struct http_context *context = x->context;
    struct open_file *file;
    size_t n = strlen(x->path);
    bool folder = n > 0 && x->path[n - 1] == '/';
    int error = ENOENT;
    if (folder && n + sizeof index <= sizeof x->path)
        memcpy(x->path + n, index, sizeof index);
    if (static_file_path_allowed(x->path))
        error = file_table_open(&context->files, x->path + 1,
                                context->clock.now_ms, &file);
    if (error == 0)
        answer_with(x, file);
    else if (error == EISDIR && !folder)
        redirect_to_folder(x);
    else
        response_error(x, status_of(error), NULL);
}
