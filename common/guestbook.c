/* guestbook - a page that needs Redis three times; see guestbook.h. */
#include "guestbook.h"

#include <errno.h>
#include <stdlib.h>

#include "text.h"
#include "http_response.h"
#include "server.h"

#define KEY_REMARKS "guestbook_remarks"
#define KEY_VISITORS "visitor_count"
#define FIRST_SHOWN "-100" /* the hundredth from the end */

#define REDIS_IS_AWAY                                                          \
    "The guestbook keeps its remarks in Redis, and Redis does not answer just " \
    "now. Please try again in a few seconds; the rest of the site is there as " \
    "always."

static void queue_command(struct http_exchange *x, struct redis_command command)
{
    for (int i = 0; i < command.argc; i++)
        if (command.argvlen[i] == 0)
            command.argvlen[i] = strlen(command.argv[i]);
    x->commands[x->queued++] = command;
}

static void ask_remarks(struct http_exchange *x)
{
    queue_command(x, (struct redis_command){
                         4, {"LRANGE", KEY_REMARKS, FIRST_SHOWN, "-1"}, {0}});
}

static void count_visitor(struct http_exchange *x)
{
    queue_command(x, (struct redis_command){2, {"INCR", KEY_VISITORS}, {0}});
}

/* Asked for in a command of its own on purpose, as in the article that this
 * collection follows: INCR has just said the same number. */
static void ask_visitors(struct http_exchange *x)
{
    queue_command(x, (struct redis_command){2, {"GET", KEY_VISITORS}, {0}});
}

/* The page around what is known: the list, the count, what the guest typed. */
static void answer_page(struct http_exchange *x, int status)
{
    struct http_context *w = x->context;
    struct guestbook_page *page = &x->guestbook;
    struct cached_file *template = NULL;
    int error = file_cache_open(&w->templates, GUESTBOOK_TEMPLATE,
                                w->clock.now_ms, &template);
    if (error == EMFILE || error == ENFILE || error == ENOMEM) {
        response_error(x, 503, NULL); /* it is there, but not just now */
        return;
    }
    if (error != 0 || template->content == NULL) {
        response_error(x, 500, "The template of this page, "
                               "templates/guestbook/index.html, cannot be read "
                               "(or is larger than 64 KiB).");
        file_release(template);
        return;
    }

    /* The count goes behind the list: a buffer of its own would be allocated for
     * each page. The other three are empty for most guests, and cost nothing. */
    struct buffer *list = &page->remarks;
    size_t list_end = list->len;
    const char *count = buffer_reserve(list, BUFFER_UINT_MAX);
    buffer_append_uint(list, (uint64_t)page->visitors);
    struct buffer message = {0}, name = {0}, text = {0};
    if (page->message != NULL)
        buffer_printf(&message, "<p class=\"message %s\" role=\"status\">%s</p>",
                      page->is_error ? "error" : "ok", page->message);
    text_append_escaped(&name, page->name);
    text_append_escaped(&text, page->text);
    const struct template_value values[] = {
        {SLICE("$GUEST_REMARKS$"), {list->data, list_end}},
        {SLICE("$VISITOR_COUNT$"), {count, list->len - list_end}},
        {SLICE("$MESSAGE$"), {message.data, message.len}},
        {SLICE("$GUEST_NAME$"), {name.data, name.len}},
        {SLICE("$GUEST_TEXT$"), {text.data, text.len}},
        {SLICE("$SERVER$"), slice_of(w->server->architecture->name)},
    };
    buffer_reset(&x->page, HTTP_BATCH_MAX);
    template_render(&x->page,
                    (struct slice){template->content, (size_t)template->size},
                    values, sizeof values / sizeof values[0]);
    x->page.failed |= message.failed | name.failed | text.failed |
                      list->failed;
    buffer_free(&message);
    buffer_free(&name);
    buffer_free(&text);
    file_release(template);

    response_begin(x, status);
    response_field(x, "Cache-Control", SLICE("no-store"));
    response_page(x, HTTP_TYPE_HTML);
}

static void append_remarks(struct buffer *list, const redisReply *reply)
{
    for (size_t i = reply->elements; i-- > 0;) {
        const redisReply *remark = reply->element[i];
        if (remark->type != REDIS_REPLY_STRING)
            continue;
        buffer_append_literal(list, "<li>");
        text_append_escaped(list,
                            (struct slice){remark->str, (size_t)remark->len});
        buffer_append_literal(list, "</li>\n");
    }
}

/* One reply for each of the three commands, told apart by their number. Any
 * reply that is not what was asked for, an error of Redis included, makes the
 * page a 503; replies that still come after that are only counted. */
static void page_reply(struct http_exchange *x, const redisReply *reply)
{
    struct guestbook_page *page = &x->guestbook;
    bool one_by_one = !x->context->server->options.pipeline;
    bool fine = false;
    if (x->status != 0)
        return;
    switch (x->replied) {
    case 1:
        fine = reply != NULL && reply->type == REDIS_REPLY_ARRAY;
        if (fine) {
            append_remarks(&page->remarks, reply);
            if (one_by_one)
                count_visitor(x);
        }
        break;
    case 2:
        fine = reply != NULL && reply->type == REDIS_REPLY_INTEGER;
        if (fine && one_by_one)
            ask_visitors(x);
        break;
    case 3:
        fine = reply != NULL && reply->type == REDIS_REPLY_STRING;
        if (fine) {
            page->visitors = strtoll(reply->str, NULL, 10);
            answer_page(x, page->is_error ? 400 : 200);
        }
        break;
    }
    if (!fine)
        response_error(x, 503, REDIS_IS_AWAY);
}

static void begin_page(struct http_exchange *x)
{
    buffer_reset(&x->guestbook.remarks, HTTP_BATCH_MAX);
    x->on_reply = page_reply;
    ask_remarks(x);
    if (x->context->server->options.pipeline) {
        count_visitor(x);
        ask_visitors(x);
    }
}

static void sign_reply(struct http_exchange *x, const redisReply *reply)
{
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER) {
        response_error(x, 503, REDIS_IS_AWAY);
        return;
    }
    /* See Other: the browser fetches the page with GET, so that reloading it
     * does not sign a second time. */
    response_begin(x, 303);
    response_field(x, "Location", SLICE("/guestbook?thanks"));
    response_content(x, HTTP_TYPE_TEXT, SLICE("Thank you for your remark.\n"));
}

/* Control characters other than the line's end would only spoil the page. */
static bool has_control(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
            return true;
    }
    return false;
}

const char *guestbook_check(struct slice name, struct slice text)
{
    long name_length = text_utf8_length(name);
    long text_length = text_utf8_length(text);
    if (name_length < 0 || text_length < 0)
        return "Please send your name and your remark as UTF-8 text.";
    if (has_control(name) || has_control(text))
        return "Please take the control characters out of your name and your "
               "remark.";
    if (name_length == 0)
        return "Please tell us your name.";
    if (name_length > GUESTBOOK_NAME_MAX)
        return "Please shorten your name to at most 64 characters.";
    if (text_length == 0)
        return "Please write a remark.";
    if (text_length > GUESTBOOK_TEXT_MAX)
        return "Please shorten your remark to at most 1,000 characters.";
    return NULL;
}

static struct slice trim_blank(struct slice s)
{
    while (s.n > 0 && strchr(" \t\r\n", s.p[0]) != NULL && s.p[0] != '\0') {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]) != NULL &&
           s.p[s.n - 1] != '\0')
        s.n--;
    return s;
}

/* Puts the two fields of the form, decoded, into x->guestbook. Returns false
 * when an escape is malformed. They stand in x->scratch one behind the other,
 * with the separator between: "remark - name" is built once both are known. */
static bool read_form(struct http_exchange *x)
{
    struct buffer *b = &x->scratch;
    buffer_reset(b, HTTP_BATCH_MAX);
    if (form_get(x->request_body, SLICE("guest-remarks"), b) < 0)
        return false;
    size_t text_end = b->len;
    if (form_get(x->request_body, SLICE("guest-name"), b) < 0)
        return false;
    size_t name_end = b->len;
    buffer_append_literal(b, "\0"); /* data is never NULL from here on */
    if (b->failed || b->data == NULL)
        return true; /* noticed by who goes on */
    x->guestbook.text = trim_blank((struct slice){b->data, text_end});
    x->guestbook.name = trim_blank(
        (struct slice){b->data + text_end, name_end - text_end});
    return true;
}

static void sign(struct http_exchange *x)
{
    struct guestbook_page *page = &x->guestbook;
    struct slice type = x->request.content_type;
    const char *semicolon = type.n > 0 ? memchr(type.p, ';', type.n) : NULL;
    if (semicolon != NULL)
        type.n = (size_t)(semicolon - type.p);
    if (!slice_equal_nocase(slice_trim(type),
                            SLICE("application/x-www-form-urlencoded"))) {
        response_error(x, 415, NULL);
        return;
    }
    if (!read_form(x)) {
        response_error(x, 400, NULL);
        return;
    }
    if (x->scratch.failed) {
        response_error(x, 503, NULL);
        return;
    }
    page->message = guestbook_check(page->name, page->text);
    page->is_error = page->message != NULL;
    if (page->is_error) {
        begin_page(x); /* the form again, with what was typed */
        return;
    }
    /* x->page is free until there is an answer. */
    buffer_reset(&x->page, HTTP_BATCH_MAX);
    buffer_append_slice(&x->page, page->text);
    buffer_append_literal(&x->page, " - ");
    buffer_append_slice(&x->page, page->name);
    if (x->page.failed) {
        response_error(x, 503, NULL);
        return;
    }
    x->on_reply = sign_reply;
    queue_command(x, (struct redis_command){
                         3, {"RPUSH", KEY_REMARKS, x->page.data},
                         {0, 0, x->page.len}});
}

void guestbook_answer(struct http_exchange *x)
{
    struct guestbook_page *page = &x->guestbook;
    page->name = page->text = (struct slice){NULL, 0};
    page->message = NULL;
    page->is_error = false;
    page->visitors = 0;
    if (x->request.method == HTTP_POST) {
        sign(x);
        return;
    }
    if (slice_equal(x->request.query, SLICE("thanks")))
        page->message = "Thank you! Your remark is in the guestbook.";
    begin_page(x);
}

void guestbook_load_template(struct http_context *context)
{
    struct cached_file *file;
    if (file_cache_open(&context->templates, GUESTBOOK_TEMPLATE,
                        context->clock.now_ms, &file) == 0)
        file_release(file);
}
