/* guestbook - a page that needs Redis three times; see guestbook.h. */
#include "guestbook.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

#include "http_response.h"
#include "text.h"

#define REMARKS "guestbook_remarks"
#define VISITORS "visitor_count"

static const char redis_is_away[] =
    "The guestbook keeps its remarks in Redis, which is not answering. Please "
    "try again in a few seconds. The rest of the site works as usual.";

/* What the page asks Redis. GET returns the number that INCR has just returned;
 * the third command is deliberate, as in the article that this collection
 * follows. */
static const struct redis_command steps[] = {
    {4, {"LRANGE", REMARKS, "-100", "-1"}, REDIS_REPLY_ARRAY},
    {2, {"INCR", VISITORS}, REDIS_REPLY_INTEGER},
    {2, {"GET", VISITORS}, REDIS_REPLY_STRING},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

/* Answers with the page: list, count, message, and what was typed. */
static void answer_page(struct http_exchange *x, struct slice count)
{
    const struct guestbook_page *page = &x->guestbook;
    const struct site *site = x->context->site;
    const bool is_error = x->request.method == HTTP_POST; /* else it says 303 */
    char message[160] = "";
    if (page->message != NULL)
        snprintf(message, sizeof message,
                 "<p class=\"message %s\" role=\"status\">%s</p>",
                 is_error ? "error" : "ok", page->message);
    const struct template_value values[] = {
        {SLICE("$GUEST_REMARKS$"), buffer_slice(&page->remarks), true},
        {SLICE("$VISITOR_COUNT$"), count, false},
        {SLICE("$MESSAGE$"), slice_of(message), true},
        {SLICE("$GUEST_NAME$"), page->name, false},
        {SLICE("$GUEST_TEXT$"), page->text, false},
        {SLICE("$SERVER$"), slice_of(site->name), false},
    };
    buffer_reset(&x->page, HTTP_BATCH_MAX);
    template_render(&x->page, site->guestbook_template, values,
                    sizeof values / sizeof values[0]);
    x->page.failed |= page->remarks.failed;
    response_begin(x, is_error ? 400 : 200);
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
        text_append_escaped(list, (struct slice){remark->str, remark->len});
        buffer_append_literal(list, "</li>\n");
    }
}

/* Queues the next command of the page, or with --pipeline all of them. */
static void queue_page(struct http_exchange *x)
{
    do
        x->commands[x->queued] = steps[x->queued];
    while (++x->queued < STEPS && x->context->site->pipeline);
}

/* The remark is stored. See Other: the browser gets the page with GET, so that
 * reloading it does not sign again. */
static void answer_thanks(struct http_exchange *x)
{
    response_begin(x, 303);
    response_field(x, "Location", SLICE("/guestbook?thanks"));
    response_content(x, HTTP_TYPE_TEXT, SLICE("Thank you for your remark.\n"));
}

/* Called with each reply. One that is missing, or of another type, such as an
 * error, makes the answer a 503. Replies after the answer are ignored: the next
 * LTRIM makes up for one that failed. */
static void guestbook_on_reply(struct http_exchange *x, const redisReply *reply)
{
    const struct redis_command *command = &x->commands[x->replied - 1];
    if (x->status != 0)
        return;
    if (reply == NULL || reply->type != command->reply_type)
        response_error(x, 503, redis_is_away);
    else if (x->replied == STEPS)
        answer_page(x, (struct slice){reply->str, reply->len});
    else if (reply->type == REDIS_REPLY_ARRAY)
        append_remarks(&x->guestbook.remarks, reply);
    else if (strcmp(command->argv[0], "RPUSH") == 0)
        answer_thanks(x);
    if (x->status == 0 && x->queued == x->replied)
        queue_page(x);
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
    struct slice type = x->request.content_type;
    if (type.n == 0 ||
        !slice_equal_nocase(slice_trim(slice_next(&type, ';')),
                            SLICE("application/x-www-form-urlencoded")))
        return 415;
    buffer_reset(b, HTTP_BATCH_MAX);
    if (form_get(x->request_body, SLICE("guest-remarks"), b) < 0)
        return 400;
    size_t n = b->len = text_unify_line_ends(b->data, b->len);
    if (form_get(x->request_body, SLICE("guest-name"), b) < 0)
        return 400;
    if (buffer_reserve(b, 1) == NULL) /* even if both are empty */
        return 503;
    x->guestbook.text = slice_trim((struct slice){b->data, n});
    x->guestbook.name = slice_trim((struct slice){b->data + n, b->len - n});
    return 0;
}

static void sign(struct http_exchange *x)
{
    struct guestbook_page *page = &x->guestbook;
    int status = read_form(x);
    if (status != 0) {
        response_error(x, status, NULL);
        return;
    }
    page->message = guestbook_check(page->name, page->text);
    if (page->message != NULL) {
        queue_page(x); /* the form again, with what was typed */
        return;
    }
    buffer_reset(&x->page, HTTP_BATCH_MAX); /* free until there is an answer */
    buffer_append_slice(&x->page, page->text);
    buffer_append_literal(&x->page, " - ");
    buffer_append_slice(&x->page, page->name);
    buffer_append(&x->page, "", 1); /* NUL: no remark contains one */
    if (x->page.failed) {
        response_error(x, 503, NULL);
        return;
    }
    x->commands[x->queued++] = (struct redis_command){
        3, {"RPUSH", REMARKS, x->page.data}, REDIS_REPLY_INTEGER};
    /* Untrimmed, the list would grow until Redis runs out of memory. */
    x->commands[x->queued++] = (struct redis_command){
        4, {"LTRIM", REMARKS, "-10000", "-1"}, REDIS_REPLY_STATUS};
}

void guestbook_answer(struct http_exchange *x)
{
    struct guestbook_page *page = &x->guestbook;
    buffer_reset(&page->remarks, HTTP_BATCH_MAX);
    *page = (struct guestbook_page){.remarks = page->remarks};
    x->on_reply = guestbook_on_reply;
    if (x->request.method == HTTP_POST) {
        sign(x);
        return;
    }
    if (slice_equal(x->request.query, SLICE("thanks")))
        page->message = "Thank you! Your remark is in the guestbook.";
    queue_page(x);
}
