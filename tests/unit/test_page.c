/* page - what a page may ask, remember and forget; see common/page.h. */
#include "page.h"

#include <stdio.h>

#include "conversation.h"
#include "http_response.h"

enum { PING = REDIS_REPLY_INTEGER }; /* the type of the replies below */

static char asked[1024];   /* the commands that Redis got, a word each */
static int replies_to_give;
static int on_reply_calls;

static const redisReply *number_redis(struct world *w,
                                      const struct redis_command *command)
{
    static redisReply reply = {.type = REDIS_REPLY_INTEGER};
    size_t n = strlen(asked);
    w->commands++;
    reply.integer = w->commands;
    snprintf(asked + n, sizeof asked - n, "%s ", command->argv[0]);
    return replies_to_give-- > 0 ? &reply : NULL;
}

static const redisReply *(*redis)(struct world *,
                                  const struct redis_command *) = number_redis;

static void answer_with(struct http_exchange *x, long long number)
{
    buffer_reset(&x->content, HTTP_BATCH_MAX);
    buffer_printf(&x->content, "%lld", number);
    response_begin(x, 200);
    response_buffer(x, SLICE("text/plain"));
}

static void answer_number(struct http_exchange *x, const redisReply *reply)
{
    on_reply_calls++;
    answer_with(x, reply->integer);
}

/* Runs a request to a page, as router and driver would, until it is answered
 * or Redis has nothing more to say. Returns its exchange. */
static struct http_exchange *run(const struct page *page)
{
    const struct redis_command *next;
    static size_t room;
    asked[0] = '\0';
    on_reply_calls = 0;
    world.commands = 0;
    http_conn_input(&client.conn, &room);
    struct http_exchange *x = client.conn.x;
    x->request = (struct http_request){.method = HTTP_GET, .minor_version = 1};
    x->status = 0;
    x->fault = NULL;
    x->asked = x->taken = x->replied = 0;
    page_begin(x, page);
    while (x->replied < x->asked) {
        struct redis_command due[PAGE_COMMANDS_MAX];
        int n = 0;
        while ((next = page_next_command(x)) != NULL)
            due[n++] = *next;
        assert_true(n > 0); /* otherwise nothing would ever happen */
        for (int i = 0; i < n; i++)
            page_reply(x, redis(&world, &due[i]));
    }
    return x;
}

static void assert_body(const struct http_exchange *x, const char *text)
{
    assert_true(x->content_bytes == strlen(text));
    assert_slice(((struct slice){x->out.data + x->out.len - strlen(text),
                                 strlen(text)}), text);
}

/* --------------------------------------------------------------- commands */

static void ask_fifty_in_turn(struct http_exchange *x)
{
    for (int i = 0; i < 49; i++)
        page_ask(x, NULL, PING, "A", NULL);
    page_ask(x, answer_number, PING, "B", NULL);
}

TEST(a_page_may_ask_more_than_a_few_commands)
{
    const struct page page = {.path = "/x", .on_request = ask_fifty_in_turn};
    replies_to_give = 50;
    struct http_exchange *x = run(&page);
    assert_int_equal(x->status, 200);
    assert_body(x, "50");
}

static void ask_two(struct http_exchange *x)
{
    page_ask(x, NULL, PING, "A", NULL);
    page_ask(x, answer_number, PING, "B", NULL);
}

static void ask_two_together(struct http_exchange *x)
{
    page_ask(x, NULL, PING, "A", NULL);
    page_ask_also(x, answer_number, PING, "B", NULL);
}

TEST(a_command_waits_for_the_one_before_unless_they_go_together)
{
    const struct page in_turn = {.path = "/x", .on_request = ask_two};
    const struct page together = {.path = "/x", .on_request = ask_two_together};
    const struct {
        const struct page *page;
        bool pipeline;
        int sent; /* before the first reply */
    } rows[] = {{&in_turn, false, 1}, {&in_turn, true, 2},
                {&together, false, 2}, {&together, true, 2}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        world.site.pipeline = rows[i].pipeline;
        replies_to_give = 0; /* what was sent is asked, and no more */
        struct http_exchange *x = run(rows[i].page);
        assert_int_equal(world.commands, rows[i].sent);
        assert_int_equal(x->status, 503);
        assert_int_equal(on_reply_calls, 0);
    }
}

static void ask_then_answer(struct http_exchange *x)
{
    page_ask(x, answer_number, PING, "A", NULL);
    answer_with(x, 7);
    page_ask(x, answer_number, PING, "B", NULL);
}

TEST(an_answer_ends_what_was_asked)
{
    const struct page page = {.path = "/x", .on_request = ask_then_answer};
    replies_to_give = 9;
    struct http_exchange *x = run(&page);
    assert_body(x, "7");
    assert_null(x->fault);
    assert_int_equal(world.commands, 0);
}

static void ask_for_text(struct http_exchange *x)
{
    page_ask(x, answer_number, REDIS_REPLY_STRING, "A", NULL);
}

TEST(a_reply_of_another_type_does_not_reach_the_page)
{
    const struct page page = {.path = "/x", .on_request = ask_for_text};
    replies_to_give = 1;
    struct http_exchange *x = run(&page);
    assert_int_equal(x->status, 503);
    assert_int_equal(on_reply_calls, 0);
    assert_non_null(x->fault);
    assert_non_null(strstr(x->fault, "gets an integer from A, not a string"));
    assert_non_null(memmem(x->content.data, x->content.len, "needs Redis",
                           strlen("needs Redis")));
}

static const redisReply *refusing_redis(struct world *w,
                                        const struct redis_command *command)
{
    static redisReply reply = {.type = REDIS_REPLY_ERROR};
    (void)w, (void)command;
    return &reply;
}

TEST(an_error_of_redis_does_not_reach_the_page_and_is_told)
{
    const struct page page = {.path = "/x", .on_request = ask_two};
    redis = refusing_redis;
    struct http_exchange *x = run(&page);
    redis = number_redis;
    assert_int_equal(x->status, 503);
    assert_int_equal(on_reply_calls, 0);
    assert_non_null(x->fault);
    assert_non_null(strstr(x->fault, "gets an error from "));
}

/* -------------------------------------------------------------- computing */

static int works; /* how often double_it() was called */

static void remember_21(struct http_exchange *x)
{
    *(int *)page_memory(x) = 21;
}

static void double_it(void *memory)
{
    *(int *)memory *= 2;
    works++;
}

static void answer_memory(struct http_exchange *x)
{
    answer_with(x, *(int *)page_memory(x));
}

TEST(a_page_computes_between_request_and_answer)
{
    const struct page page = {.path = "/x", .on_request = remember_21,
                              .memory = sizeof(int), .work = double_it,
                              .on_worked = answer_memory};
    struct http_exchange *x = run(&page);
    assert_int_equal(x->status, 200);
    assert_body(x, "42");
}

TEST(a_page_that_has_computed_may_ask_redis)
{
    const struct page page = {.path = "/x", .on_request = remember_21,
                              .memory = sizeof(int), .work = double_it,
                              .on_worked = ask_two};
    replies_to_give = 2;
    struct http_exchange *x = run(&page);
    assert_int_equal(x->status, 200);
    assert_body(x, "2");
}

static void answer_7(struct http_exchange *x)
{
    answer_with(x, 7);
}

static void begin_and_return(struct http_exchange *x)
{
    response_begin(x, 200);
}

TEST(a_page_that_answers_asks_or_fails_does_not_compute)
{
    const struct {
        void (*on_request)(struct http_exchange *x);
        int status;
    } rows[] = {{answer_7, 200}, {ask_two, 200}, {begin_and_return, 500}};
    works = 0;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct page page = {.path = "/x", .memory = sizeof(int),
                                  .on_request = rows[i].on_request,
                                  .work = double_it,
                                  .on_worked = answer_memory};
        replies_to_give = 2;
        assert_int_equal(run(&page)->status, rows[i].status);
        assert_int_equal(works, 0);
    }
}

/* ------------------------------------------------------------------ faults */

static void ask_again(struct http_exchange *x, const redisReply *reply)
{
    (void)reply;
    page_ask(x, ask_again, PING, "A", NULL);
}

static void ask_for_ever(struct http_exchange *x)
{
    page_ask(x, ask_again, PING, "A", NULL);
}

static void ask_all(struct http_exchange *x)
{
    for (int i = 0; i < PAGE_COMMANDS_MAX + 1; i++)
        page_ask_also(x, NULL, PING, "A", NULL);
}

static void ask_many_words(struct http_exchange *x)
{
    page_ask(x, answer_number, PING, "1", "2", "3", "4", "5", "6", "7", "8",
             "9", NULL);
}

static void do_nothing(struct http_exchange *x)
{
    (void)x;
}

static void ask_and_forget(struct http_exchange *x)
{
    page_ask(x, NULL, PING, "A", NULL);
}

static void begin_only(struct http_exchange *x)
{
    response_begin(x, 200);
    response_field(x, "X", SLICE("y"));
}

static void begin_and_ask(struct http_exchange *x)
{
    begin_only(x);
    page_ask(x, answer_number, PING, "A", NULL);
}

static void on_reply_begin(struct http_exchange *x, const redisReply *reply)
{
    (void)reply;
    begin_only(x);
}

static void begin_in_reply(struct http_exchange *x)
{
    page_ask(x, on_reply_begin, PING, "A", NULL);
}

static void end_only(struct http_exchange *x)
{
    response_content(x, HTTP_TYPE_TEXT, SLICE("torn"));
}

static void ask_too_much_and_answer(struct http_exchange *x)
{
    ask_all(x);
    answer_with(x, 1);
}

static void add_a_field_behind_the_end(struct http_exchange *x)
{
    answer_with(x, 1);
    response_field(x, "X", SLICE("y"));
}

static void end_twice(struct http_exchange *x)
{
    answer_with(x, 1);
    end_only(x);
}

static void end_and_ask(struct http_exchange *x)
{
    response_field(x, "X", SLICE("y"));
    page_ask(x, answer_number, PING, "A", NULL);
}

static void show_no_template(struct http_exchange *x)
{
    page_show(x, 200, NULL, 0);
}

TEST(a_faulty_page_is_500_and_its_fault_is_told)
{
    static const struct {
        void (*on_request)(struct http_exchange *x);
        const char *fault;
        int commands;
    } rows[] = {
        {ask_for_ever, "too many commands", PAGE_COMMANDS_MAX},
        {ask_all, "too many commands", 0},
        {ask_many_words, "too many words", 0},
        {do_nothing, "neither answers nor asks", 0},
        {ask_and_forget, "neither answers nor asks", 1},
        {begin_only, "does not end", 0},
        {begin_and_ask, "does not end", 0},
        {begin_in_reply, "does not end", 1},
        {end_only, "does not begin its answer", 0},
        {end_and_ask, "does not begin its answer", 0},
        {add_a_field_behind_the_end, "that it has ended", 0},
        {end_twice, "that it has ended", 0},
        {ask_too_much_and_answer, "too many commands", 0},
        {show_no_template, "a template that it does not name", 0},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct page page = {.path = "/x",
                                  .on_request = rows[i].on_request};
        replies_to_give = 1000;
        struct http_exchange *x = run(&page);
        assert_int_equal(x->status, 500);
        assert_int_equal(world.commands, rows[i].commands);
        assert_non_null(x->fault);
        if (strstr(x->fault, rows[i].fault) == NULL)
            fail_msg("row %zu: %s", i, x->fault);
        /* Nothing of what the page began is sent. */
        size_t n = x->out.len - x->out_start;
        const char *answer = x->out.data + x->out_start;
        assert_int_equal(x->out_start, 0);
        assert_memory_equal(answer, "HTTP/1.1 500 ", 13);
        assert_null(memmem(answer + 13, n - 13, "HTTP/1.1", 8));
        assert_null(memmem(answer, n, "X: y", 4));
        assert_null(memmem(answer, n, "torn", 4));
        x->out.len = 0;
    }
}

static void answer_twice(struct http_exchange *x)
{
    answer_with(x, 1);
    answer_with(x, 2);
}

TEST(a_second_answer_replaces_the_first)
{
    const struct page page = {.path = "/x", .on_request = answer_twice};
    struct http_exchange *x = run(&page);
    assert_body(x, "2");
    assert_int_equal(x->out_start, 0);
    assert_null(memmem(x->out.data + 8, x->out.len - 8, "HTTP/1.1", 8));
    x->out.len = 0;
}

/* ------------------------------------------------------------------ memory */

struct remembered { /* larger than what a buffer begins with */
    long long sum;
    char rest[5000];
};

static void add(struct http_exchange *x, const redisReply *reply)
{
    struct remembered *memory = page_memory(x);
    memory->sum += reply->integer;
}

static void add_and_answer(struct http_exchange *x, const redisReply *reply)
{
    add(x, reply);
    answer_with(x, ((struct remembered *)page_memory(x))->sum);
}

static void ask_for_sum(struct http_exchange *x)
{
    page_ask(x, add, PING, "A", NULL);
    page_ask(x, add, PING, "B", NULL);
    page_ask(x, add_and_answer, PING, "C", NULL);
}

TEST(a_page_remembers_between_replies_and_not_between_requests)
{
    const struct page page = {.path = "/x", .on_request = ask_for_sum,
                              .memory = sizeof(struct remembered)};
    for (int i = 0; i < 3; i++) {
        replies_to_give = 3;
        assert_body(run(&page), "6");
    }
}

static void answer_from_half_a_text(struct http_exchange *x)
{
    buffer_append_literal(&x->scratch, "half");
    x->scratch.failed = true; /* as if memory had run out */
    buffer_append_literal(&x->scratch, " a text");
    answer_with(x, 1);
}

static void answer_from_half_a_list(struct http_exchange *x)
{
    x->kept.failed = true;
    answer_with(x, 1);
}

static void ask_with_half_a_word(struct http_exchange *x)
{
    x->scratch.failed = true;
    page_ask(x, answer_number, PING, "SET", x->scratch.data, NULL);
}

static void run_out_of_memory(struct http_exchange *x)
{
    x->scratch.failed = true;
}

TEST(half_of_what_a_page_collects_is_neither_sent_nor_asked)
{
    void (*const requests[])(struct http_exchange *) = {
        answer_from_half_a_text, answer_from_half_a_list,
        ask_with_half_a_word, run_out_of_memory};
    for (size_t i = 0; i < LENGTH(requests); i++) {
        const struct page page = {.path = "/x", .on_request = requests[i]};
        replies_to_give = 1;
        struct http_exchange *x = run(&page);
        assert_int_equal(x->status, 503);
        assert_int_equal(world.commands, 0);
        assert_null(x->fault);
        assert_memory_equal(x->out.data, "HTTP/1.1 503 ", 13);
        x->out.len = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TALK(a_page_may_ask_more_than_a_few_commands),
        TALK(a_command_waits_for_the_one_before_unless_they_go_together),
        TALK(an_answer_ends_what_was_asked),
        TALK(a_page_computes_between_request_and_answer),
        TALK(a_page_that_has_computed_may_ask_redis),
        TALK(a_page_that_answers_asks_or_fails_does_not_compute),
        TALK(a_reply_of_another_type_does_not_reach_the_page),
        TALK(an_error_of_redis_does_not_reach_the_page_and_is_told),
        TALK(a_faulty_page_is_500_and_its_fault_is_told),
        TALK(a_second_answer_replaces_the_first),
        TALK(a_page_remembers_between_replies_and_not_between_requests),
        TALK(half_of_what_a_page_collects_is_neither_sent_nor_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
