/*
 * guestbook - a page that needs Redis three times.
 *
 * GET fetches the newest remarks, counts the visit, and fetches the count,
 * one command after the other: each round trip is a wait, and how a server
 * waits is what this collection compares. With --pipeline the three go out
 * together.
 *
 * POST appends "remark - name" to the list, which keeps the newest 10,000,
 * and says thanks once Redis has acknowledged the remark.
 */
#include "guestbook.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

#include "http_response.h"
#include "page.h"

#define REMARKS "guestbook_remarks"
#define VISITORS "visitor_count"

struct guestbook { /* what it remembers between replies */
    struct slice name, text; /* what the guest typed, to show it again */
    const char *message;     /* a sentence for the guest, or NULL */
};

static const char *const places[] = {
    "$GUEST_REMARKS$", "$VISITOR_COUNT$", "$MESSAGE$", "$GUEST_NAME$",
    "$GUEST_TEXT$", "$SERVER$", NULL};

/* --------------------------------------------- the list, in 3 steps */

/* Step 1: keeps the remarks, newest first, as HTML, in x->kept. */
static void on_remarks(struct http_exchange *x, const redisReply *reply)
{
    for (size_t i = reply->elements; i-- > 0;) {
        if (reply->element[i]->type != REDIS_REPLY_STRING)
            continue;
        buffer_append_literal(&x->kept, "<li>");
        text_append_escaped(&x->kept, page_element(reply, i, ""));
        buffer_append_literal(&x->kept, "</li>\n");
    }
}

/* Step 3, after INCR: list, count, message, and what was typed. */
static void on_count(struct http_exchange *x, const redisReply *reply)
{
    const struct guestbook *g = page_memory(x);
    /* A remark that is accepted ends in on_stored(). So if the method is
     * POST, guestbook_check() has refused the remark: show the form again,
     * with what was typed and what to change. */
    const bool refused = x->request.method == HTTP_POST;
    char message[160] = "";
    if (g->message != NULL)
        snprintf(message, sizeof message,
                 "<p class=\"message %s\" role=\"status\">%s</p>",
                 refused ? "error" : "ok", g->message);
    const struct template_value values[] = { /* true: it is HTML */
        {SLICE("$GUEST_REMARKS$"), buffer_slice(&x->kept), true},
        {SLICE("$VISITOR_COUNT$"), {reply->str, reply->len}, false},
        {SLICE("$MESSAGE$"), slice_of(message), true},
        {SLICE("$GUEST_NAME$"), g->name, false},
        {SLICE("$GUEST_TEXT$"), g->text, false},
        {SLICE("$SERVER$"), slice_of(x->context->site->name), false},
    };
    page_show(x, refused ? 400 : 200, values,
              sizeof values / sizeof values[0]);
}

/* Asks for all three steps. Without --pipeline, page.c lets each go when the
 * one before has its reply. The second, INCR, needs no function. Redis' GET
 * returns what INCR has just returned, or a later number; the command is
 * deliberate, as in the article that this collection follows (Shuveb Hussain,
 * "Linux Applications Performance"). */
static void ask_for_list(struct http_exchange *x)
{
    page_ask(x, on_remarks, REDIS_REPLY_ARRAY, "LRANGE", REMARKS, "-100", "-1",
             NULL);
    page_ask(x, NULL, REDIS_REPLY_INTEGER, "INCR", VISITORS, NULL);
    page_ask(x, on_count, REDIS_REPLY_STRING, "GET", VISITORS, NULL);
}

/* ---------------------------------------------------- a new remark */

/* The remark is stored. See Other: the browser gets the page with GET, so
 * that reloading it does not sign again. */
static void on_stored(struct http_exchange *x, const redisReply *reply)
{
    (void)reply;
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

/* Decodes the two fields of the form into x->scratch, one after the other,
 * and points *g at them. Returns 0, or the status of the error. */
static int read_form(struct http_exchange *x, struct guestbook *g)
{
    struct buffer *b = &x->scratch;
    struct slice type = x->request.content_type;
    if (type.n == 0 ||
        !slice_equal_nocase(slice_trim(slice_next(&type, ';')),
                            SLICE("application/x-www-form-urlencoded")))
        return 415;
    if (form_get(x->request_body, SLICE("guest-remarks"), b) < 0)
        return 400;
    size_t n = b->len = text_unify_line_ends(b->data, b->len);
    if (form_get(x->request_body, SLICE("guest-name"), b) < 0)
        return 400;
    if (buffer_reserve(b, 1) == NULL) /* even if both are empty */
        return 503;
    g->text = slice_trim((struct slice){b->data, n});
    g->name = slice_trim((struct slice){b->data + n, b->len - n});
    return 0;
}

static void sign(struct http_exchange *x, struct guestbook *g)
{
    struct buffer *remark = &x->kept;
    int status = read_form(x, g);
    if (status != 0) {
        response_error(x, status, NULL);
        return;
    }
    g->message = guestbook_check(g->name, g->text);
    if (g->message != NULL) {
        ask_for_list(x); /* the form again, with what was typed */
        return;
    }
    buffer_append_slice(remark, g->text);
    buffer_append_literal(remark, " - ");
    buffer_append_slice(remark, g->name);
    buffer_append(remark, "", 1); /* NUL: no remark contains one */
    page_ask(x, on_stored, REDIS_REPLY_INTEGER, "RPUSH", REMARKS, remark->data,
             NULL);
    /* Untrimmed, the list would grow until Redis runs out of memory. If
     * this fails, the next remark makes up for it. */
    page_ask_also(x, NULL, REDIS_REPLY_STATUS, "LTRIM", REMARKS, "-10000", "-1",
                  NULL);
}

static void on_request(struct http_exchange *x)
{
    struct guestbook *g = page_memory(x);
    if (x->request.method == HTTP_POST) {
        sign(x, g);
        return;
    }
    if (slice_equal(x->request.query, SLICE("thanks")))
        g->message = "Thank you! Your remark is in the guestbook.";
    ask_for_list(x);
}

const struct page page_guestbook = {
    .path = "/guestbook",
    .methods = HTTP_GET | HTTP_HEAD | HTTP_POST,
    .on_request = on_request,
    .memory = sizeof(struct guestbook),
    .template = "guestbook",
    .places = places,
    .without_redis =
        "The guestbook keeps its remarks in Redis, which is not answering. "
        "Please try again in a few seconds. The rest of the site works as "
        "usual.",
};
