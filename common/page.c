/* page - runs pages, and keeps what they ask of Redis; see page.h. */
#include "page.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>

#include "http_response.h"

static const char redis_is_away[] =
    "This page needs Redis, which is not answering. Please try again in a few "
    "seconds. The rest of the site works as usual.";

struct page_command {
    struct redis_command redis;
    page_on_reply *on_reply;
    bool with_previous; /* sent together with the command before it */
};

static const struct page_command *command_at(const struct http_exchange *x,
                                             unsigned i)
{
    /* malloc's memory, aligned for any struct. */
    return (const struct page_command *)(const void *)x->commands.data + i;
}

/* Part of what the page has collected or asked may be missing. */
static bool is_out_of_memory(const struct http_exchange *x)
{
    return x->commands.failed || x->kept.failed || x->scratch.failed;
}

static void add_command(struct http_exchange *x, struct page_command command,
                        va_list words)
{
    struct redis_command *redis = &command.redis;
    const char *word;
    if (x->status != 0)
        return; /* the page has answered */
    if (is_out_of_memory(x))
        return; /* a word may lack its end, or be NULL */
    while ((word = va_arg(words, const char *)) != NULL) {
        if (redis->argc == REDIS_ARGS_MAX) {
            x->fault = "asks Redis a command of too many words";
            return;
        }
        redis->argv[redis->argc++] = word;
    }
    if (x->asked == PAGE_COMMANDS_MAX) {
        x->fault = "asks Redis too many commands";
        return;
    }
    buffer_append(&x->commands, &command, sizeof command);
    if (!x->commands.failed)
        x->asked++;
}

void page_ask(struct http_exchange *x, page_on_reply *on_reply, int reply_type,
              ...)
{
    const struct page_command command = {
        .redis.reply_type = reply_type, .on_reply = on_reply};
    va_list words;
    va_start(words, reply_type);
    add_command(x, command, words);
    va_end(words);
}

void page_ask_also(struct http_exchange *x, page_on_reply *on_reply,
                   int reply_type, ...)
{
    const struct page_command command = {.redis.reply_type = reply_type,
                                         .on_reply = on_reply,
                                         .with_previous = true};
    va_list words;
    va_start(words, reply_type);
    add_command(x, command, words);
    va_end(words);
}

void *page_memory(const struct http_exchange *x)
{
    return x->memory.data;
}

void page_show(struct http_exchange *x, int status,
               const struct template_value *values, size_t n)
{
    const struct site_template *template;
    if (x->page->template == NULL) {
        x->fault = "shows a template that it does not name";
        return;
    }
    /* Sets `template`; site_open() has put those of all pages there. */
    HASH_FIND_STR(x->context->site->templates, x->page->template, template);
    buffer_reset(&x->content, HTTP_KEEP_BUFFER);
    if (!template_render(&x->content, template->text, values, n))
        x->fault = "has no value for a place of its template";
    response_begin(x, status);
    response_field(x, "Cache-Control", SLICE("no-store"));
    response_buffer(x, HTTP_TYPE_HTML);
}

struct slice page_element(const struct redisReply *reply, size_t i,
                          const char *missing)
{
    if (i >= reply->elements ||
        reply->element[i]->type != REDIS_REPLY_STRING)
        return slice_of(missing);
    return (struct slice){reply->element[i]->str, reply->element[i]->len};
}

const char *page_client(struct http_exchange *x)
{
    if (!x->page->names_client)
        x->fault = "asks for its client without names_client";
    return x->peer == NULL ? "unknown" : x->peer;
}

time_t page_time(const struct http_exchange *x)
{
    return x->context->clock.seconds;
}

/* Answers with an error; what the page has begun is not sent. */
static void replace_with_error(struct http_exchange *x, int status,
                               const char *detail)
{
    response_drop(x);
    response_error(x, status, detail);
}

/* A function of the page has returned. Returns what it did wrong, or
 * NULL. */
static const char *find_fault(const struct http_exchange *x)
{
    if (x->fault != NULL)
        return x->fault; /* the function that was misused has said so */
    if (x->status != 0 && !x->ended)
        return "begins an answer and does not end it";
    if (x->status == 0 && x->out.len > x->out_start)
        return "does not begin its answer with a status";
    if (x->status == 0 && !is_out_of_memory(x) && x->asked == x->replied)
        return "neither answers nor asks Redis";
    return NULL;
}

/* A function of the page has returned: it should have answered or asked,
 * unless a reply is still due. */
static void check_page(struct http_exchange *x)
{
    x->fault = find_fault(x);
    if (x->fault != NULL)
        replace_with_error(x, 500, NULL);
    else if (is_out_of_memory(x))
        replace_with_error(x, 503, NULL);
    if (x->status != 0)
        x->asked = x->taken; /* do not send the remaining commands */
}

static const char *type_name(int type)
{
    switch (type) {
    case REDIS_REPLY_STRING: return "a string";
    case REDIS_REPLY_ARRAY: return "an array";
    case REDIS_REPLY_INTEGER: return "an integer";
    case REDIS_REPLY_NIL: return "no value";
    case REDIS_REPLY_STATUS: return "a status";
    case REDIS_REPLY_ERROR: return "an error";
    default: return "another type";
    }
}

/* Returns the fault of a page that asked for another type than the reply's;
 * it names the command and both types. */
static const char *describe(struct http_exchange *x,
                            const struct redisReply *reply)
{
    const struct redis_command *asked = &command_at(x, x->replied - 1u)->redis;
    snprintf(x->wrong_reply, sizeof x->wrong_reply, "gets %s from %.24s, not %s",
             type_name(reply->type), asked->argc > 0 ? asked->argv[0] : "",
             type_name(asked->reply_type));
    return x->wrong_reply;
}

/* Redis is away, or has not replied what the page asked for. */
static void refuse_without_redis(struct http_exchange *x,
                                 const struct redisReply *reply)
{
    const char *detail = x->page->without_redis;
    if (detail == NULL)
        detail = redis_is_away;
    if (reply != NULL)
        x->fault = describe(x, reply);
    replace_with_error(x, 503, detail);
    x->asked = x->taken;
}

/* Has on_request left the answer to work() and on_worked()? */
static bool is_left_to_work(const struct http_exchange *x)
{
    return x->page->work != NULL && x->status == 0 && x->asked == 0 &&
           x->out.len == x->out_start && x->fault == NULL &&
           !is_out_of_memory(x);
}

void page_begin(struct http_exchange *x, const struct page *page)
{
    x->page = page;
    buffer_reset(&x->commands, SIZE_MAX); /* keep it: 16 KiB at most */
    buffer_reset(&x->kept, HTTP_KEEP_BUFFER);
    buffer_reset(&x->scratch, HTTP_KEEP_BUFFER);
    buffer_reset(&x->content, HTTP_KEEP_BUFFER);
    if (page->memory > 0) {
        buffer_reset(&x->memory, HTTP_KEEP_BUFFER);
        if (buffer_reserve(&x->memory, page->memory) == NULL) {
            response_error(x, 503, NULL);
            return;
        }
        memset(x->memory.data, 0, page->memory);
    }
    x->ended = false;
    x->out_start = x->out.len; /* for find_fault(), if no answer begins */
    page->on_request(x);
    if (is_left_to_work(x)) {
        page->work(page_memory(x));
        page->on_worked(x);
    }
    check_page(x);
}

const struct redis_command *page_next_command(struct http_exchange *x)
{
    if (x->taken == x->asked)
        return NULL;
    const struct page_command *next = command_at(x, x->taken);
    if (x->taken > x->replied && !next->with_previous &&
        !x->context->site->pipeline)
        return NULL;
    x->taken++;
    return &next->redis;
}

void page_reply(struct http_exchange *x, const struct redisReply *reply)
{
    const struct page_command *command = command_at(x, x->replied++);
    if (x->status != 0)
        return;
    if (reply == NULL || reply->type != command->redis.reply_type) {
        refuse_without_redis(x, reply);
        return;
    }
    if (command->on_reply != NULL)
        command->on_reply(x, reply);
    check_page(x);
}
