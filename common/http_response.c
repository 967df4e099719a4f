/* http_response - the answer; see http_response.h. */
#include "http_response.h"

#include "server.h"

/* A status, its line, and for errors: what was wrong, and what to do. */
struct status_text {
    int status;
    struct slice line;
    const char *explanation;
};

#define LINE(text) {"HTTP/1.1 " text "\r\n", sizeof("HTTP/1.1 " text "\r\n") - 1}

static const struct status_text statuses[] = {
    {200, LINE("200 OK"), ""},
    {204, LINE("204 No Content"), ""},
    {206, LINE("206 Partial Content"), ""},
    {301, LINE("301 Moved Permanently"), ""},
    {302, LINE("302 Found"), ""},
    {303, LINE("303 See Other"), ""},
    {304, LINE("304 Not Modified"), ""},
    {400, LINE("400 Bad Request"),
     "What your program sent is not a well-formed HTTP request, so it cannot be "
     "answered. If you typed the address by hand, check it; otherwise the "
     "program that you use has a fault."},
    {403, LINE("403 Forbidden"),
     "There is something here, but it is not for reading. If it is your file, "
     "make it a regular file that the server may read."},
    {404, LINE("404 Not Found"),
     "There is no page at this address. Check the spelling, or start from the "
     "<a href=\"/\">home page</a>."},
    {405, LINE("405 Method Not Allowed"),
     "The page is here, but does not take this method. The Allow field of this "
     "answer lists those that it takes."},
    {408, LINE("408 Request Timeout"),
     "The request did not arrive in time, so the server stopped waiting for the "
     "rest of it. Please send it again."},
    {413, LINE("413 Content Too Large"),
     "You sent more than this server takes at once (64 KiB). Please send "
     "less."},
    {412, LINE("412 Precondition Failed"),
     "The file is no longer the one that you asked about with If-Match or "
     "If-Unmodified-Since. Please fetch it anew."},
    {414, LINE("414 URI Too Long"),
     "The address is longer than this server takes (8,000 bytes). Please "
     "shorten it."},
    {415, LINE("415 Unsupported Media Type"),
     "The page takes the fields of a form "
     "(application/x-www-form-urlencoded) and nothing else. Please use the form "
     "on the page."},
    {416, LINE("416 Range Not Satisfiable"),
     "The part that you asked for lies behind the end of the file. The "
     "Content-Range field of this answer says how long it is."},
    {417, LINE("417 Expectation Failed"),
     "The request expects something that this server does not do. Leave out "
     "its Expect field, or send 100-continue."},
    {431, LINE("431 Request Header Fields Too Large"),
     "The request's header fields are too large or too many (16 KiB, 100 "
     "fields). Deleting this site's cookies often helps."},
    {500, LINE("500 Internal Server Error"),
     "The server has a fault, and it is not yours. Its error output says what "
     "it was."},
    {501, LINE("501 Not Implemented"),
     "The server does not know this method, or this coding of the content. Use "
     "GET, HEAD, POST or OPTIONS."},
    {503, LINE("503 Service Unavailable"),
     "The server cannot do this just now. Please try again in a few seconds."},
    {505, LINE("505 HTTP Version Not Supported"),
     "This server speaks HTTP/1.0 and HTTP/1.1, and the request is in another "
     "version. Please use a program that speaks one of these."},
};

static const struct status_text *text_of(int status)
{
    const size_t n = sizeof statuses / sizeof statuses[0];
    for (size_t i = 0; i < n; i++)
        if (statuses[i].status == status)
            return &statuses[i];
    return text_of(500);
}

/* Server and Date are the same for all answers within a second. */
static void refresh_fields(struct http_context *w)
{
    struct buffer b = {.data = w->fields, .cap = sizeof w->fields};
    buffer_append_literal(&b, "Server: ");
    buffer_append_slice(&b, slice_of(w->server->signature));
    buffer_append_literal(&b, "\r\nDate: ");
    buffer_append(&b, w->clock.date, HTTP_DATE_LENGTH);
    buffer_append_literal(&b, "\r\n");
    w->fields_length = b.len;
    w->fields_time = w->clock.seconds;
}

void response_begin(struct http_exchange *x, int status)
{
    struct http_context *w = x->context;
    if (w->fields_time != w->clock.seconds)
        refresh_fields(w);
    x->status = status;
    x->content_bytes = 0;
    x->out_start = x->out.len;
    buffer_append_slice(&x->out, text_of(status)->line);
    buffer_append(&x->out, w->fields, w->fields_length);
    if (x->close)
        buffer_append_literal(&x->out, "Connection: close\r\n");
    else if (x->request.minor_version == 0)
        buffer_append_literal(&x->out, "Connection: keep-alive\r\n");
}

static void append_field_value(struct buffer *out, struct slice value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if (c >= ' ' && c != 0x7f)
            buffer_append(out, &value.p[i], 1);
    }
}

void response_field(struct http_exchange *x, const char *name,
                    struct slice value)
{
    buffer_append_slice(&x->out, slice_of(name));
    buffer_append_literal(&x->out, ": ");
    append_field_value(&x->out, value);
    buffer_append_literal(&x->out, "\r\n");
}

/* Memory ran out on the way: what was begun is of no use. A short 503 may fit
 * into what the buffer has, or else the connection ends without a word. */
static void end_of_answer(struct http_exchange *x)
{
    if (!x->out.failed)
        return;
    static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
                                 "Connection: close\r\nRetry-After: 1\r\n"
                                 "Content-Length: 0\r\n\r\n";
    file_release(x->body.file);
    x->body = (struct http_body){0};
    x->out.failed = false;
    x->out.len = x->out_start;
    buffer_append_literal(&x->out, answer);
    x->out.failed = false;
    x->status = 503;
    x->close = true;
}

static void append_type_and_length(struct http_exchange *x, struct slice type,
                                   size_t length)
{
    buffer_append_literal(&x->out, "Content-Type: ");
    buffer_append_slice(&x->out, type);
    if (slice_has_prefix(type, SLICE("text/html")))
        buffer_append_literal(&x->out, "\r\n" HTTP_HTML_FIELDS
                                       "Content-Length: ");
    else
        buffer_append_literal(&x->out, "\r\nContent-Length: ");
    buffer_append_uint(&x->out, length);
    buffer_append_literal(&x->out, "\r\n\r\n");
}

void response_content(struct http_exchange *x, struct slice type,
                      struct slice content)
{
    append_type_and_length(x, type, content.n);
    if (x->request.method != HTTP_HEAD) {
        x->content_bytes = content.n;
        buffer_append_slice(&x->out, content);
    }
    end_of_answer(x);
}

void response_page(struct http_exchange *x, struct slice type)
{
    x->out.failed |= x->page.failed;
    append_type_and_length(x, type, x->page.len);
    if (x->request.method != HTTP_HEAD) {
        x->content_bytes = x->page.len;
        x->body = (struct http_body){.memory = x->page.data,
                                     .left = x->page.len};
    }
    end_of_answer(x);
}

void response_file(struct http_exchange *x, struct cached_file *file,
                   off_t offset, size_t length)
{
    buffer_append_literal(&x->out, "Content-Length: ");
    buffer_append_uint(&x->out, length);
    buffer_append_literal(&x->out, "\r\n\r\n");
    if (x->request.method == HTTP_HEAD || length == 0) {
        file_release(file);
    } else {
        x->content_bytes = length;
        x->body = (struct http_body){.file = file, .offset = offset,
                                     .left = length};
        if (file->content != NULL)
            x->body.memory = file->content + offset;
    }
    end_of_answer(x);
}

void response_no_content(struct http_exchange *x)
{
    buffer_append_literal(&x->out, "\r\n");
    end_of_answer(x);
}

void response_text(struct http_exchange *x, int status, struct slice type,
                   struct slice content)
{
    response_begin(x, status);
    response_content(x, type, content);
}

static void finish_error(struct http_exchange *x, const char *detail)
{
    const struct status_text *text = text_of(x->status);
    /* The reason phrase: the status line without "HTTP/1.1 404 " and CRLF. */
    struct slice title = {text->line.p + 9, text->line.n - 11};
    buffer_reset(&x->page, HTTP_BATCH_MAX);
    buffer_append_literal(&x->page,
                          "<!DOCTYPE html>\n<html lang=\"en\">\n"
                          "<meta charset=\"utf-8\">\n"
                          "<meta name=\"viewport\" "
                          "content=\"width=device-width, initial-scale=1\">\n"
                          "<title>");
    buffer_append_slice(&x->page, title);
    buffer_append_literal(&x->page,
                          "</title>\n"
                          "<link rel=\"stylesheet\" href=\"/style.css\">\n"
                          "<main class=\"error\">\n<h1>");
    buffer_append_slice(&x->page, title);
    buffer_append_literal(&x->page, "</h1>\n<p>");
    buffer_append_slice(&x->page, slice_of(detail ? detail : text->explanation));
    buffer_append_literal(&x->page, "</p>\n</main>\n</html>\n");
    if (x->status == 503)
        buffer_append_literal(&x->out, "Retry-After: 1\r\n");
    x->out.failed |= x->page.failed;
    response_content(x, HTTP_TYPE_HTML,
                     (struct slice){x->page.data, x->page.len});
}

void response_error(struct http_exchange *x, int status, const char *detail)
{
    response_begin(x, status);
    finish_error(x, detail);
}

static void append_allow(struct http_exchange *x, unsigned methods)
{
    buffer_append_literal(&x->out, "Allow: ");
    if (methods & HTTP_GET)
        buffer_append_literal(&x->out, "GET, HEAD, ");
    if (methods & HTTP_POST)
        buffer_append_literal(&x->out, "POST, ");
    buffer_append_literal(&x->out, "OPTIONS\r\n");
}

void response_not_allowed(struct http_exchange *x, unsigned methods)
{
    response_begin(x, 405);
    append_allow(x, methods);
    finish_error(x, NULL);
}

void response_unsatisfiable(struct http_exchange *x, uint64_t size)
{
    response_begin(x, 416);
    buffer_append_literal(&x->out, "Content-Range: bytes */");
    buffer_append_uint(&x->out, size);
    buffer_append_literal(&x->out, "\r\n");
    finish_error(x, NULL);
}

void response_options(struct http_exchange *x, unsigned methods)
{
    response_begin(x, 204);
    append_allow(x, methods);
    response_no_content(x);
}
