/*
 * page - what a page is, and what it may ask of Redis.
 *
 * A page answers the requests for one path, in all seven servers. It is a
 * file in pages/ that defines a struct page, and a line in pages/list.h;
 * docs/howto/add_a_page.md builds one.
 *
 * A page never waits. Its function for the request either answers
 * (http_response.h) or asks Redis and returns. Each command names the
 * function to call with its reply. That function answers, asks again, or
 * leaves the answer to a command that it has asked before. So the same page
 * serves a worker that blocks until the reply arrives, and a loop that serves
 * others until then.
 */
#pragma once

#include "http_exchange.h"
#include "text.h"

enum { PAGE_COMMANDS_MAX = 100 }; /* for one answer; with more it is a 500 */

/* A page has three buffers, which are empty when the request arrives:
 * x->scratch for decoded fields, x->kept for text that it collects from
 * several replies, and x->content for an answer that it makes itself. If
 * memory runs out for one of them, the client gets a short 503, and Redis is
 * asked nothing more. (In place of a 503 of the page's own, the connection
 * closes.) A page need not look at `failed`. */
struct page {
    const char *path; /* without escapes: "/guestbook" */
    unsigned methods; /* of enum http_method, besides OPTIONS */
    /* Answers the request, or asks Redis. */
    void (*on_request)(struct http_exchange *x);
    size_t memory; /* bytes that it remembers: page_memory() */
    /* Of a page that computes: where on_request has neither answered nor
     * asked, work() computes, then on_worked() answers or asks. work() uses
     * the page's memory and nothing else that may change, so a variant of
     * 07 can call it in another thread. Both are NULL, or none. */
    void (*work)(void *memory);
    void (*on_worked)(struct http_exchange *x);
    /* Of a page that fills templates/TEMPLATE/index.html: all places that
     * it fills, "$PLACE$", the last followed by NULL; or NULL: none. The
     * server does not start with a template that is missing or has another
     * place. */
    const char *template;
    const char *const *places;
    const char *without_redis; /* trusted HTML of its 503; NULL: the usual */
    bool names_client; /* it may call page_client(), for which the address is
                          looked up; no page of the collection does */
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
 * keep what the page writes there until it has answered: between replies, and
 * for work(). */
void *page_memory(const struct http_exchange *x);

/* Returns the address of the client, such as "127.0.0.1" (behind a balancer,
 * the balancer's), or "unknown" if the client has left. Valid until the
 * answer. Only for a page with `names_client`: the server asks the kernel for
 * addresses, once for each connection, only if such a page or a log needs
 * them. */
const char *page_client(struct http_exchange *x);

/* Returns the time of the request; http_date_format() makes text of it. */
time_t page_time(const struct http_exchange *x);

/* Answers with the page's template, its places replaced by the n values. A
 * browser asks again each time (Cache-Control: no-store). */
void page_show(struct http_exchange *x, int status,
               const struct template_value *values, size_t n);

/* Returns the text of element i of a reply that is an array, valid as long
 * as the reply; `missing` when Redis has no value there (nil). */
struct slice page_element(const struct redisReply *reply, size_t i,
                          const char *missing);

/* ---------------------------------------- for router and http_conn only */

/* Has the page answer the request in x, or ask Redis. A page that does
 * neither, or does it wrong, gets a 500, and x->fault says why. */
void page_begin(struct http_exchange *x, const struct page *page);

/* Returns the next command to send, valid until the next call to this
 * module; NULL when there is none, or none before a reply has arrived. */
const struct redis_command *page_next_command(struct http_exchange *x);

/* Passes on the reply to the oldest command that has none yet; NULL when
 * Redis is away. */
void page_reply(struct http_exchange *x, const struct redisReply *reply);
