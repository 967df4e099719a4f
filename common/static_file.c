/* static_file - files below public/; see static_file.h. */
#include "static_file.h"

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
        if (dot != NULL && strcasecmp(dot + 1, types[i].extension) == 0)
            return types[i].type;
    return "application/octet-stream";
}

bool static_file_path_allowed(const char *path)
{
    return path[0] == '/' && strstr(path, "//") == NULL &&
           strstr(path, "/.") == NULL;
}

int static_file_range(struct slice range, off_t size, off_t *first,
                      off_t *length)
{
    if (!slice_equal_nocase(slice_next(&range, '='), SLICE("bytes")))
        return 200;
    range = slice_trim(range);
    off_t from = slice_next_number(&range); /* -1: none */
    if (range.n == 0 || range.p[0] != '-')
        return 200;
    slice_skip(&range, 1);
    off_t to = slice_next_number(&range);
    if (range.n > 0 || (from < 0 && to < 0) || (to >= 0 && to < from))
        return 200; /* malformed, or a list of ranges */
    if (from < 0) { /* "-5": the last 5 bytes */
        from = size - to;
        if (from < 0)
            from = 0;
        to = -1;
    }
    if (to < 0 || to >= size)
        to = size - 1;
    if (from > to)
        return 416;
    *first = from;
    *length = to - from + 1;
    return 206;
}

/* strptime(3) accepts any day from 1 to 31 and any weekday; timegm(3) turns
 * the 31st of February into the 3rd of March and computes the weekday. A
 * leap second is the only 60th of its minute. */
static bool is_in_calendar(const struct tm *tm)
{
    struct tm day = {.tm_mday = tm->tm_mday, .tm_mon = tm->tm_mon,
                     .tm_year = tm->tm_year};
    timegm(&day);
    return day.tm_mday == tm->tm_mday && day.tm_wday == tm->tm_wday &&
           tm->tm_sec <= 60;
}

time_t http_date_parse(struct slice s)
{
    static const char *const formats[] = {
        "%a, %d %b %Y %H:%M:%S GMT", /* IMF-fixdate */
        "%A, %d-%b-%y %H:%M:%S GMT", /* RFC 850 */
        "%a %b %d %H:%M:%S %Y",      /* asctime */
    };
    char text[64];
    if (s.p == NULL)
        return -1;
    snprintf(text, sizeof text, "%.*s", (int)s.n, s.p);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm tm = {0};
        const char *end = strptime(text, formats[i], &tm);
        if (end != NULL && *end == '\0' && is_in_calendar(&tm))
            return timegm(&tm);
    }
    return -1;
}

/* With `weak`, W/"x" matches "x" (RFC 9110, 8.8.3.2). */
static bool list_has_etag(const struct http_list *list, struct slice etag,
                          bool weak)
{
    for (size_t i = 0; i < list->count; i++) {
        struct slice line = list->lines[i];
        while (line.n > 0) {
            struct slice element = slice_trim(slice_next(&line, ','));
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
    bool unchanged;
    if (request->if_none_match.count > 0) {
        unchanged = list_has_etag(&request->if_none_match, etag, true);
    } else {
        since = http_date_parse(request->if_modified_since);
        unchanged = since != -1 && modified <= since;
    }
    if (unchanged)
        return 304;
    return 200;
}

bool static_file_if_range(struct slice if_range, struct slice etag,
                          time_t modified, time_t now)
{
    if (if_range.p == NULL || slice_equal(if_range, etag))
        return true;
    /* Two versions of a file may have the same date, if it changed twice
     * within a second. The client would then join parts of both. So a date
     * counts when that second is over (RFC 9110, 8.8.2.2). */
    time_t date = http_date_parse(if_range);
    return date != -1 && date == modified && now - modified > 1;
}

/* What every answer with this file says about it. */
static void make_fields(struct open_file *file, time_t modified)
{
    char date[HTTP_DATE_LENGTH + 1];
    const struct stat *status = &file->status;
    http_date_format(date, modified);
    /* From the size and the time stamp, to the nanosecond. */
    snprintf(file->etag, sizeof file->etag, "\"%jx-%jx%08lx\"",
             (intmax_t)status->st_size, (intmax_t)status->st_mtim.tv_sec,
             status->st_mtim.tv_nsec);
    snprintf(file->fields, sizeof file->fields,
             "Last-Modified: %s\r\nETag: %s\r\nAccept-Ranges: bytes\r\n", date,
             file->etag);
    file->modified = modified;
    file->type = static_file_type(file->path);
}

/* Answers with the file and takes over the caller's reference. */
static void answer_with(struct http_exchange *x, struct open_file *file)
{
    const struct http_request *r = &x->request;
    const time_t now = x->context->clock.seconds;
    const off_t size = file->status.st_size;
    off_t first = 0, length = size;
    /* Last-Modified must not be later than Date (RFC 9110, 8.8.2.1), and
     * cannot be before 1970. The client's conditions repeat what it was
     * sent, so they are compared with the same value. */
    time_t modified = file->status.st_mtim.tv_sec;
    if (modified > now)
        modified = now;
    if (modified < 0)
        modified = 0;
    if (file->fields[0] == '\0' || file->modified != modified)
        make_fields(file, modified);

    struct slice etag = slice_of(file->etag);
    int status = static_file_evaluate(r, etag, modified);
    if (status == 200 && r->range.p != NULL && r->method == HTTP_GET &&
        static_file_if_range(r->if_range, etag, modified, now))
        status = static_file_range(r->range, size, &first, &length);
    response_begin(x, status);
    if (status == 200 || status == 206) {
        buffer_append_slice(&x->out, slice_of(file->fields));
        if (status == 206)
            buffer_printf(&x->out, "Content-Range: bytes %jd-%jd/%jd\r\n",
                          (intmax_t)first, (intmax_t)(first + length - 1),
                          (intmax_t)size);
        response_file(x, slice_of(file->type), file, first, (size_t)length);
        return;
    }
    if (status == 416)
        buffer_printf(&x->out, "Content-Range: bytes */%jd\r\n",
                      (intmax_t)size);
    if (status == 304) {
        response_field(x, "ETag", etag);
        response_no_content(x);
    } else {
        response_error_page(x, NULL); /* 412 or 416 */
    }
    file_release(file);
}

/* Without the slash, relative links in the folder's index would name other
 * paths. Path and query are repeated as they came, still percent-encoded:
 * they hold no byte that could end this field. */
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
    int status = 404;
    if (folder && n + sizeof index <= sizeof x->path)
        memcpy(x->path + n, index, sizeof index);
    if (static_file_path_allowed(x->path))
        status = file_table_open(&context->files, x->path + 1,
                                 context->clock.now_ms, &file);
    if (status == 301 && folder) /* index.html is a folder */
        status = 404;
    if (status == 0)
        answer_with(x, file);
    else if (status == 301)
        redirect_to_folder(x);
    else
        response_error(x, status, NULL);
}
