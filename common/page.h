/*
 * page - what a page is, and what it may ask of Redis.
 *
 * A page answers the requests for one path, in all seven servers. It is a
 * file in pages/ that defines a struct page, and a line in pages/list.h;
 * docs/howto/add_a_page.md builds one.
 *
 * A page never waits. Its function for the request either answers
 * (http_response.h) or asks Redis and returns. Each command names the
 * function to call with its reply. That function answers, or asks again. So
 * the same page serves a worker that blocks until the reply arrives, and a
 * loop that serves others until then.
 */
#pragma once

#include "http_exchange.h"
#include "text.h"

enum { PAGE_COMMANDS_MAX = 100 }; /* that a page may ask for one answer: 500 */

struct page {
    const char *path; /* without escapes: "/guestbook" */
    unsigned methods; /* of enum http_method, besides OPTIONS */
    /* Answers the request, or asks Redis. */
    void (*on_request)(struct http_exchange *x);
    size_t memory; /* bytes that it remembers between replies */
    /* Of a page that fills templates/TEMPLATE/index.html: all places that
     * it fills, "$PLACE$", the last followed by NULL. The server does not
     * start with a template that is missing or has another place. */
    const char *template;
    const char *const *places;
    const char *without_redis; /* trusted HTML of its 503; NULL: the usual */
};

/* Called with the reply to a command, which stays the caller's. It has the
 * type that the page asked for: when Redis is away or replies anything
 * else, the client gets a 503, and the page is not called again. */
typedef void page_on_reply(struct http_exchange *x,
                           const struct redisReply *reply);

/* Asks Redis. The words of the command end with NULL; they stay the page's
 * and must live until the answer. reply_type is a REDIS_REPLY_... of
 * hiredis. on_reply may be NULL if the reply does not matter.
 *
 * The command is sent when the commands before it have their replies; with
 * --pipeline it is sent together with them. A page that has answered gets
 * no further reply, and commands that have not been sent are dropped. */
__attribute__((sentinel)) void page_ask(struct http_exchange *x,
                                        page_on_reply *on_reply,
                                        int reply_type, ...);

/* The same for a command that is always sent with the one before. */
__attribute__((sentinel)) void page_ask_also(struct http_exchange *x,
                                             page_on_reply *on_reply,
                                             int reply_type, ...);

/* Returns page->memory bytes. They are zero when the request arrives, and
 * keep what the page writes there until it has answered. */
void *page_memory(const struct http_exchange *x);

/* Puts the page's template into x->content, with its places replaced by the
 * n values. response_page() sends it. */
void page_fill(struct http_exchange *x, const struct template_value *values,
               size_t n);

/* ---------------------------------------- for router and http_conn only */

/* Has the page answer the request in x, or ask Redis. If it forgets both or
 * asks too much, the answer is a 500 and x->fault says why. */
void page_begin(struct http_exchange *x, const struct page *page);

/* Returns the next command to send, valid until the next call to this
 * module; NULL when there is none, or none before a reply has arrived. */
const struct redis_command *page_next_command(struct http_exchange *x);

/* Passes on the reply to the oldest command that has none yet; NULL when
 * Redis is away. */
void page_reply(struct http_exchange *x, const struct redisReply *reply);
