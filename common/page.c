/* page - runs pages, and keeps what they ask of Redis; see page.h. */
#include "page.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>

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

static void queue_command(struct http_exchange *x, struct page_command command,
                          va_list words)
{
    struct redis_command *redis = &command.redis;
    const char *word;
    if (x->status != 0)
        return; /* the page has answered */
    while ((word = va_arg(words, const char *)) != NULL) {
        if (redis->argc == REDIS_ARGS_MAX) {
            x->fault = "asks Redis a command of too many words";
            return;
        }
        redis->argv[redis->argc++] = word;
    }
    if (x->queued == PAGE_COMMANDS_MAX) {
        x->fault = "asks Redis too many commands";
        return;
    }
    buffer_append(&x->commands, &command, sizeof command);
    if (!x->commands.failed)
        x->queued++;
}

void page_ask(struct http_exchange *x, page_on_reply *on_reply, int reply_type,
              ...)
{
    va_list words;
    va_start(words, reply_type);
    queue_command(x, (struct page_command){{.reply_type = reply_type},
                                           on_reply, false}, words);
    va_end(words);
}

void page_ask_also(struct http_exchange *x, page_on_reply *on_reply,
                   int reply_type, ...)
{
    va_list words;
    va_start(words, reply_type);
    queue_command(x, (struct page_command){{.reply_type = reply_type},
                                           on_reply, true}, words);
    va_end(words);
}

void *page_memory(const struct http_exchange *x)
{
    return x->memory.data;
}

void page_fill(struct http_exchange *x, const struct template_value *values,
               size_t n)
{
    const struct site_template *template;
    HASH_FIND_STR(x->context->site->templates, x->page->template, template);
    buffer_reset(&x->content, HTTP_BATCH_MAX);
    template_render(&x->content, template->text, values, n);
}

/* A function of the page has returned: it should have answered or asked. */
static void check_page(struct http_exchange *x)
{
    if (x->status != 0)
        x->fault = NULL; /* an answer counts, whatever else it asked */
    else if (x->fault == NULL && x->commands.failed)
        response_error(x, 503, NULL);
    else if (x->fault == NULL && x->queued == x->replied)
        x->fault = "neither answers nor asks Redis";
    if (x->fault != NULL)
        response_error(x, 500, NULL);
    if (x->status != 0)
        x->queued = x->sent; /* do not send the remaining commands */
}

void page_begin(struct http_exchange *x, const struct page *page)
{
    x->page = page;
    buffer_reset(&x->commands, SIZE_MAX); /* 9 KB at most */
    if (page->memory > 0) {
        buffer_reset(&x->memory, HTTP_BATCH_MAX);
        if (buffer_reserve(&x->memory, page->memory) == NULL) {
            response_error(x, 503, NULL);
            return;
        }
        memset(x->memory.data, 0, page->memory);
    }
    page->on_request(x);
    check_page(x);
}

const struct redis_command *page_next_command(struct http_exchange *x)
{
    if (x->sent == x->queued)
        return NULL;
    const struct page_command *next = command_at(x, x->sent);
    if (x->sent > x->replied && !next->with_previous &&
        !x->context->site->pipeline)
        return NULL;
    x->sent++;
    return &next->redis;
}

void page_reply(struct http_exchange *x, const struct redisReply *reply)
{
    const struct page_command *command = command_at(x, x->replied++);
    if (x->status != 0)
        return;
    const char *detail = x->page->without_redis;
    if (detail == NULL)
        detail = redis_is_away;
    if (reply == NULL || reply->type != command->redis.reply_type)
        response_error(x, 503, detail);
    else if (command->on_reply != NULL)
        command->on_reply(x, reply);
    check_page(x);
}
