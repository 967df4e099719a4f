/* http_response - the answer; see http_response.h. */
#include "http_response.h"

#include <stdio.h>

/* Fields for every HTML answer: a page loads from this server only and runs
 * no inline script or style, so markup that slips through escaping does
 * nothing. */
#define HTML_FIELDS                                                            \
    "Content-Security-Policy: default-src 'none'; style-src 'self'; "          \
    "img-src 'self'; script-src 'self'; connect-src 'self'; "                  \
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n"          \
    "X-Content-Type-Options: nosniff\r\n"

#define LINE(text) SLICE("HTTP/1.1 " text "\r\n")

static const struct status_text {
    int status;
    struct slice line;
    const char *explanation; /* of an error: what is wrong, and what to do */
} statuses[] = {
    {200, LINE("200 OK"), ""}, {204, LINE("204 No Content"), ""},
    {206, LINE("206 Partial Content"), ""},
    {301, LINE("301 Moved Permanently"), ""}, {302, LINE("302 Found"), ""},
    {303, LINE("303 See Other"), ""}, {304, LINE("304 Not Modified"), ""},
    {400, LINE("400 Bad Request"),
     "This is not a valid HTTP request. Please check the address you typed."},
    {403, LINE("403 Forbidden"),
     "The server may not read this file, or it is not a regular file."},
    {404, LINE("404 Not Found"),
     "There is no page at this address. Check the spelling, or start from the "
     "<a href=\"/\">home page</a>."},
    {405, LINE("405 Method Not Allowed"),
     "This page does not accept this method. Allow names those it accepts."},
    {408, LINE("408 Request Timeout"),
     "The request did not arrive completely in time. Please send it again."},
    {412, LINE("412 Precondition Failed"),
     "The file is not the version that the request is for. Fetch it again."},
    {413, LINE("413 Content Too Large"),
     "The request has more than 64 KiB of content. Please send less."},
    {414, LINE("414 URI Too Long"),
     "The address has more than 8,000 bytes. Please shorten it."},
    {415, LINE("415 Unsupported Media Type"),
     "This page accepts only form fields. Please use the form on the page."},
    {416, LINE("416 Range Not Satisfiable"),
     "The range starts beyond the end of the file; see Content-Range."},
    {417, LINE("417 Expectation Failed"),
     "The server cannot do what the Expect field asks for. Please remove it."},
    {431, LINE("431 Request Header Fields Too Large"),
     "The header fields exceed 16 KiB. Deleting this site's cookies may help."},
    {500, LINE("500 Internal Server Error"),
     "The server could not answer because of a problem on its side."},
    {501, LINE("501 Not Implemented"),
     "The server does not support this method or this transfer coding."},
    {503, LINE("503 Service Unavailable"),
     "The server is short of resources. Please try again in a few seconds."},
    {505, LINE("505 HTTP Version Not Supported"),
     "This server supports HTTP/1.0 and HTTP/1.1. Please use one of these."},
};

static const struct status_text *text_of(int status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].status == status)
            return &statuses[i];
    return text_of(500);
}

void http_date_format(char out[HTTP_DATE_LENGTH + 1], time_t t)
{
    const time_t last = 253402300799; /* Fri, 31 Dec 9999 23:59:59 GMT */
    struct tm tm;
    if (t < 0) /* a file can carry any time stamp */
        t = 0;
    if (t > last)
        t = last;
    gmtime_r(&t, &tm);
    /* English names of days and months: no server calls setlocale(3). */
    strftime(out, HTTP_DATE_LENGTH + 1, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

void response_update_fields(struct http_context *context)
{
    char date[HTTP_DATE_LENGTH + 1];
    if (context->fields_time == context->clock.seconds)
        return;
    http_date_format(date, context->clock.seconds);
    context->fields_time = context->clock.seconds;
    context->fields_length = (size_t)snprintf(
        context->fields, sizeof context->fields, /* a signature is short */
        "Server: %s\r\nDate: %s\r\n", context->site->signature, date);
}

void response_drop(struct http_exchange *x)
{
    file_release(x->file_part.file);
    x->file_part = (struct http_file_part){0};
    x->out.failed = false;
    x->out.len = x->out_start;
}

void response_begin(struct http_exchange *x, int status)
{
    struct http_context *context = x->context;
    response_update_fields(context);
    if (x->status != 0)
        response_drop(x);
    x->ended = false;
    x->status = status;
    x->content_bytes = 0;
    x->out_start = x->out.len;
    buffer_append_slice(&x->out, text_of(status)->line);
    buffer_append(&x->out, context->fields, context->fields_length);
    if (x->close)
        buffer_append_literal(&x->out, "Connection: close\r\n");
    else if (x->request.minor_version == 0)
        buffer_append_literal(&x->out, "Connection: keep-alive\r\n");
}

/* The client would take what follows a complete answer for the start of the
 * next one. */
static void check_not_ended(struct http_exchange *x)
{
    if (x->ended)
        x->fault = "adds to an answer that it has ended";
}

void response_field(struct http_exchange *x, const char *name,
                    struct slice value)
{
    check_not_ended(x);
    buffer_append_slice(&x->out, slice_of(name));
    buffer_append_literal(&x->out, ": ");
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] >= ' ' && value.p[i] != 0x7f)
            buffer_append(&x->out, &value.p[i], 1);
    buffer_append_literal(&x->out, "\r\n");
}

static void end_response_head(struct http_exchange *x, struct slice type,
                              size_t length)
{
    check_not_ended(x);
    buffer_append_literal(&x->out, "Content-Type: ");
    buffer_append_slice(&x->out, type);
    buffer_append_literal(&x->out, "\r\n");
    if (slice_has_prefix(type, SLICE("text/html")))
        buffer_append_literal(&x->out, HTML_FIELDS);
    buffer_append_literal(&x->out, "Content-Length: ");
    buffer_append_uint(&x->out, length);
    buffer_append_literal(&x->out, "\r\n\r\n");
}

/* If memory ran out on the way, a 503 replaces this answer: it is short, and
 * the buffers that could not grow are still there. If memory runs out for a
 * 503, too, the connection closes without an answer. */
static void complete_answer(struct http_exchange *x)
{
    x->ended = true;
    if (!x->out.failed)
        return;
    if (x->status != 503) {
        response_error(x, 503, NULL);
        return;
    }
    response_drop(x);
    x->content_bytes = 0;
    x->close = true;
}

void response_content(struct http_exchange *x, struct slice type,
                      struct slice content)
{
    end_response_head(x, type, content.n);
    if (x->request.method != HTTP_HEAD) {
        x->content_bytes = content.n;
        buffer_append_slice(&x->out, content);
    }
    complete_answer(x);
}

void response_buffer(struct http_exchange *x, struct slice type)
{
    x->out.failed |= x->content.failed;
    response_content(x, type, buffer_slice(&x->content));
}

void response_file(struct http_exchange *x, struct slice type,
                   struct open_file *file, off_t offset, size_t length)
{
    end_response_head(x, type, length);
    if (x->request.method != HTTP_HEAD && length > 0) {
        x->content_bytes = length;
        x->file_part = (struct http_file_part){file, offset, length};
    } else {
        file_release(file);
    }
    complete_answer(x);
}

void response_no_content(struct http_exchange *x)
{
    check_not_ended(x);
    buffer_append_literal(&x->out, "\r\n");
    complete_answer(x);
}

void response_error_page(struct http_exchange *x, const char *detail)
{
    const struct status_text *text = text_of(x->status);
    /* "404 Not Found": the status line without "HTTP/1.1 " and CRLF. */
    const char *title = text->line.p + 9;
    int n = (int)text->line.n - 11;
    if (detail == NULL)
        detail = text->explanation;
    buffer_reset(&x->content, HTTP_KEEP_BUFFER);
    buffer_printf(&x->content,
                  "<!DOCTYPE html>\n<html lang=\"en\">\n"
                  "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                  "content=\"width=device-width, initial-scale=1\">\n"
                  "<title>%.*s</title>\n"
                  "<link rel=\"stylesheet\" href=\"/style.css\">\n"
                  "<main class=\"error\">\n<h1>%.*s</h1>\n<p>%s</p>\n</main>\n"
                  "</html>\n",
                  n, title, n, title, detail);
    if (x->status == 503)
        buffer_append_literal(&x->out, "Retry-After: 1\r\n");
    response_buffer(x, HTTP_TYPE_HTML);
}

void response_error(struct http_exchange *x, int status, const char *detail)
{
    response_begin(x, status);
    response_error_page(x, detail);
}
