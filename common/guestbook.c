/* guestbook - a page that needs Redis three times; see guestbook.h. */
#include "guestbook.h"

#include <stdio.h>
#include <stdlib.h>

#include "http_response.h"
#include "server.h"
#include "text.h"

#define REMARKS "guestbook_remarks"
#define VISITORS "visitor_count"

static const char redis_is_away[] =
    "The guestbook keeps its remarks in Redis, which is not answering. Please "
    "try again in a few seconds. The rest of the site works as usual.";

/* What the page asks Redis, and the type of reply that it needs. GET returns
 * the number that INCR has just returned; the third command is deliberate, as
 * in the article that this collection follows. */
static const struct {
    struct redis_command command;
    int reply;
} steps[] = {
    {{4, {"LRANGE", REMARKS, "-100", "-1"}, {0}}, REDIS_REPLY_ARRAY},
    {{2, {"INCR", VISITORS}, {0}}, REDIS_REPLY_INTEGER},
    {{2, {"GET", VISITORS}, {0}}, REDIS_REPLY_STRING},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

/* An argvlen of 0 stands for strlen(argv). */
static void queue_command(struct http_exchange *x, struct redis_command command)
{
    for (int i = 0; i < command.argc; i++)
        if (command.argvlen[i] == 0)
            command.argvlen[i] = strlen(command.argv[i]);
    x->commands[x->queued++] = command;
}

/* Answers with the page: list, count, message, and what was typed. */
static void answer_page(struct http_exchange *x, int status)
{
    const struct guestbook_page *page = &x->guestbook;
    const struct server *server = x->context->server;
    char count[24], message[160] = "";
    snprintf(count, sizeof count, "%jd", (intmax_t)page->visitors);
    if (page->message != NULL)
        snprintf(message, sizeof message,
                 "<p class=\"message %s\" role=\"status\">%s</p>",
                 page->is_error ? "error" : "ok", page->message);
    const struct template_value values[] = {
        {SLICE("$GUEST_REMARKS$"), buffer_slice(&page->remarks), true},
        {SLICE("$VISITOR_COUNT$"), slice_of(count), true},
        {SLICE("$MESSAGE$"), slice_of(message), true},
        {SLICE("$GUEST_NAME$"), page->name, false},
        {SLICE("$GUEST_TEXT$"), page->text, false},
        {SLICE("$SERVER$"), slice_of(server->architecture->name), false},
    };
    buffer_reset(&x->page, HTTP_BATCH_MAX);
    template_render(&x->page, server->guestbook_template, values,
                    sizeof values / sizeof values[0]);
    x->page.failed |= page->remarks.failed;
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

/* Called with the reply to each step. One that is missing, or not of the type
 * needed, such as an error, makes the page a 503; later replies are ignored. */
static void on_page_reply(struct http_exchange *x, const redisReply *reply)
{
    int step = x->replied - 1;
    if (x->status != 0)
        return;
    if (reply == NULL || reply->type != steps[step].reply) {
        response_error(x, 503, redis_is_away);
        return;
    }
    if (step == 0)
        append_remarks(&x->guestbook.remarks, reply);
    if (step + 1 < STEPS && x->queued == x->replied) /* no --pipeline */
        queue_command(x, steps[step + 1].command);
    if (step + 1 == STEPS) {
        x->guestbook.visitors = strtoll(reply->str, NULL, 10);
        answer_page(x, x->guestbook.is_error ? 400 : 200);
    }
}

static void begin_page(struct http_exchange *x)
{
    x->on_reply = on_page_reply;
    for (int i = 0; i < (x->context->server->options.pipeline ? STEPS : 1); i++)
        queue_command(x, steps[i].command);
}

/* Called with the replies to RPUSH and LTRIM. The remark is stored when RPUSH
 * says so; a failed LTRIM is made up for by the next one. */
static void on_sign_reply(struct http_exchange *x, const redisReply *reply)
{
    if (x->status != 0)
        return;
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER) {
        response_error(x, 503, redis_is_away);
        return;
    }
    /* See Other: the browser gets the page with GET, so that reloading it does
     * not sign again. */
    response_begin(x, 303);
    response_field(x, "Location", SLICE("/guestbook?thanks"));
    response_content(x, HTTP_TYPE_TEXT, SLICE("Thank you for your remark.\n"));
}

const char *guestbook_check(struct slice name, struct slice text)
{
    long name_length = text_utf8_length(name);
    long text_length = text_utf8_length(text);
    if (name_length < 0 || text_length < 0)
        return "Please send your name and your remark as UTF-8 text without "
               "control characters.";
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

/* Decodes the two fields of the form into x->scratch, one after the other, and
 * points x->guestbook at them. Returns 0, or the status of the error. */
static int read_form(struct http_exchange *x)
{
    struct buffer *b = &x->scratch;
    buffer_reset(b, HTTP_BATCH_MAX);
    if (form_get(x->request_body, SLICE("guest-remarks"), b) < 0)
        return 400;
    size_t text_end = b->len;
    if (form_get(x->request_body, SLICE("guest-name"), b) < 0)
        return 400;
    if (b->failed)
        return 503;
    if (b->len > 0) { /* else both are empty, and there is no memory */
        x->guestbook.text = slice_trim((struct slice){b->data, text_end});
        x->guestbook.name = slice_trim(
            (struct slice){b->data + text_end, b->len - text_end});
    }
    return 0;
}

static bool is_form(struct slice type)
{
    return type.n > 0 &&
           slice_equal_nocase(slice_trim(slice_next(&type, ';')),
                              SLICE("application/x-www-form-urlencoded"));
}

static void sign(struct http_exchange *x)
{
    struct guestbook_page *page = &x->guestbook;
    int status = is_form(x->request.content_type) ? read_form(x) : 415;
    if (status != 0) {
        response_error(x, status, NULL);
        return;
    }
    page->message = guestbook_check(page->name, page->text);
    page->is_error = page->message != NULL;
    if (page->is_error) {
        begin_page(x); /* the form again, with what was typed */
        return;
    }
    buffer_reset(&x->page, HTTP_BATCH_MAX); /* free until there is an answer */
    buffer_append_slice(&x->page, page->text);
    buffer_append_literal(&x->page, " - ");
    buffer_append_slice(&x->page, page->name);
    if (x->page.failed) {
        response_error(x, 503, NULL);
        return;
    }
    x->on_reply = on_sign_reply;
    queue_command(x, (struct redis_command){3,
        {"RPUSH", REMARKS, x->page.data}, {0, 0, x->page.len}});
    /* Untrimmed, the list would grow until Redis runs out of memory. */
    queue_command(x, (struct redis_command){4,
        {"LTRIM", REMARKS, "-10000", "-1"}, {0}});
}

void guestbook_answer(struct http_exchange *x)
{
    struct guestbook_page *page = &x->guestbook;
    buffer_reset(&page->remarks, HTTP_BATCH_MAX);
    *page = (struct guestbook_page){.remarks = page->remarks};
    if (x->request.method == HTTP_POST) {
        sign(x);
        return;
    }
    if (slice_equal(x->request.query, SLICE("thanks")))
        page->message = "Thank you! Your remark is in the guestbook.";
    begin_page(x);
}
