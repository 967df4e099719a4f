/* guestbook - a page that needs Redis three times; see common/pages/guestbook.c. */
#include "pages/guestbook.h"

#include <stdio.h>
#include <unistd.h>

#include "conversation.h"

/* ------------------------------------------------------------- the rules */

static const char *check(const char *name, const char *text)
{
    return guestbook_check(slice_of(name), slice_of(text));
}

TEST(a_name_and_a_remark_within_the_limits_are_fine)
{
    assert_null(check("A", "b"));
    assert_null(check(many('n', 64), many('t', 1000)));
    assert_null(check("Ren\xc3\xa9", "two\r\nlines\tand a tab"));
}

/* n times a character of three bytes. */
static const char *many_euros(size_t n)
{
    static char text[3 * 1001 + 1];
    assert_true(3 * n < sizeof text);
    for (size_t i = 0; i < n; i++)
        memcpy(text + 3 * i, "\xe2\x82\xac", 3);
    text[3 * n] = '\0';
    return text;
}

TEST(characters_are_counted_not_bytes)
{
    assert_null(check(many_euros(64), "b"));
    assert_null(check("A", many_euros(1000)));
    assert_non_null(check(many_euros(65), "b"));
    assert_non_null(check("A", many_euros(1001)));
}

TEST(each_mistake_has_a_sentence_that_says_what_to_change)
{
    static const struct {
        const char *name, *text, *part;
    } rows[] = {
        {"", "b", "tell us your name"},
        {"A", "", "write a remark"},
        {"", "", "tell us your name"},
        {"A\x01", "b", "control characters"},
        {"A", "b\x7f", "control characters"},
        {"\xff", "b", "UTF-8"},
        {"A", "\xc3", "UTF-8"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *sentence = check(rows[i].name, rows[i].text);
        if (sentence == NULL || strstr(sentence, rows[i].part) == NULL)
            fail_msg("row %zu: %s", i, sentence ? sentence : "taken");
    }
    assert_non_null(strstr(check(many('n', 65), "b"), "64 characters"));
    assert_non_null(strstr(check("A", many('t', 1001)), "1,000 characters"));
    assert_non_null(guestbook_check(SLICE("A"), SLICE("a\0b")));
}

/* -------------------------------------------------------------- the page */

TEST(the_page_shows_the_newest_remark_first_and_the_count)
{
    struct answer answer = answer_to(GET("/guestbook"));
    assert_int_equal(answer.status, 200);
    assert_field(&answer, "Content-Type", "text/html; charset=utf-8");
    assert_field(&answer, "Cache-Control", "no-store");
    assert_string_equal(body_of(&answer), "[][][][1]"
                                          "<li>second - Grace</li>\n"
                                          "<li>first - Ada</li>\n");
    answer = answer_to(GET("/guestbook"));
    assert_non_null(strstr(body_of(&answer), "[2]"));
}

static char asked[256]; /* the commands, a line each */
static int replies;     /* that are given before Redis goes away */

static const redisReply *listening_redis(struct world *w,
                                         const struct redis_command *command)
{
    for (int i = 0; i < command->argc; i++) {
        size_t n = strlen(asked);
        snprintf(asked + n, sizeof asked - n, "%s%s", command->argv[i],
                 i + 1 < command->argc ? " " : "\n");
    }
    return replies-- > 0 ? world_redis(w, command) : NULL;
}

static void listen_to_redis(int replies_given)
{
    asked[0] = '\0';
    replies = replies_given;
    world.redis = listening_redis;
}

static redisReply oddity; /* instead of the reply number odd_at */
static int odd_at;

static const redisReply *odd_redis(struct world *w,
                                   const struct redis_command *command)
{
    const redisReply *usual = world_redis(w, command);
    return w->commands == odd_at ? &oddity : usual;
}

static const char three_commands[] = "LRANGE guestbook_remarks -100 -1\n"
                                     "INCR visitor_count\n"
                                     "GET visitor_count\n";

TEST(three_commands_go_out_one_after_the_other)
{
    listen_to_redis(3);
    client.unread = SLICE(GET("/guestbook"));
    client_step(&client); /* reads the request */
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_REDIS);
        client_step(&client);
        assert_int_equal(world.commands, i);
    }
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_WRITE);
    assert_string_equal(asked, three_commands);
    client_run(&client);
    assert_statuses("200");
}

TEST(or_together_with_pipeline)
{
    world.site.pipeline = true;
    listen_to_redis(3);
    client.unread = SLICE(GET("/guestbook"));
    client_step(&client);
    client_step(&client);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_WRITE);
    assert_string_equal(asked, three_commands);
    client_run(&client);
    assert_statuses("200");
}

TEST(it_says_thanks_after_signing)
{
    struct answer answer = answer_to(GET("/guestbook?thanks"));
    assert_int_equal(answer.status, 200);
    assert_non_null(strstr(body_of(&answer),
                           "[<p class=\"message ok\" role=\"status\">"
                           "Thank you!"));
}

/* ------------------------------------------------------------- signing it */

#define POST_FORM \
    "POST /guestbook HTTP/1.1\r\nHost: a\r\n" \
    "Content-Type: application/x-www-form-urlencoded\r\n" \
    "Content-Length: 30\r\n\r\nguest-name=Ada&guest-remarks=a"

/* POSTs a form to the guestbook; returns the answer. */
static struct answer post(const char *form)
{
    char request[8192];
    snprintf(request, sizeof request,
             "POST /guestbook HTTP/1.1\r\nHost: a\r\n"
             "Content-Type: application/x-www-form-urlencoded\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             strlen(form), form);
    return answer_to(request);
}

static void assert_signed_with(const char *remark)
{
    assert_slice(((struct slice){world.signed_with.data,
                                 world.signed_with.len}), remark);
}

TEST(a_remark_is_stored_and_thanked_for)
{
    listen_to_redis(2);
    struct answer answer = post("guest-name=Ada&guest-remarks=Hello%21");
    assert_int_equal(answer.status, 303);
    assert_field(&answer, "Location", "/guestbook?thanks");
    assert_string_equal(body_of(&answer), "Thank you for your remark.\n");
    assert_string_equal(asked, "RPUSH guestbook_remarks Hello! - Ada\n"
                               "LTRIM guestbook_remarks -10000 -1\n");
}

TEST(the_list_is_cut_in_the_same_round_trip)
{
    client.unread = SLICE(POST_FORM);
    client_step(&client); /* reads the request */
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_REDIS);
    client_step(&client);
    assert_int_equal(world.commands, 2);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_WRITE);
    client_run(&client);
    assert_statuses("303");
}

TEST(thanks_depends_on_the_remark_alone)
{
    listen_to_redis(1); /* LTRIM gets no reply */
    struct answer answer = post("guest-name=Ada&guest-remarks=a");
    assert_int_equal(answer.status, 303);

    static char text[] = "OOM command not allowed";
    oddity = (redisReply){.type = REDIS_REPLY_ERROR, .str = text,
                          .len = sizeof text - 1};
    odd_at = 2; /* LTRIM fails */
    world.redis = odd_redis;
    world.commands = 0;
    answer = post("guest-name=Ada&guest-remarks=a");
    assert_int_equal(answer.status, 303);
    odd_at = 1; /* RPUSH fails, LTRIM works */
    world.commands = 0;
    answer = post("guest-name=Ada&guest-remarks=a");
    assert_int_equal(answer.status, 503);
    assert_int_equal(world.commands, 2);
    client_says(&client, POST_FORM POST_FORM GET("/hello"));
    assert_statuses("503 303 303 200");
}

TEST(the_fields_may_come_in_any_order_and_with_others)
{
    post("x=y&guest-remarks=a+%26+b&z&guest-name=Ada");
    assert_signed_with("a & b - Ada");
}

TEST(blanks_around_them_are_removed)
{
    post("guest-name=+%09Ada+&guest-remarks=%0D%0A+two%0D%0Alines%0D%0A");
    assert_signed_with("two\nlines - Ada");
}

TEST(the_content_type_may_have_parameters)
{
    struct answer answer =
        answer_to("POST /guestbook HTTP/1.1\r\nHost: a\r\nContent-Type: "
                  "Application/X-www-form-urlencoded ; charset=UTF-8\r\n"
                  "Content-Length: 30\r\n\r\nguest-name=Ada&guest-remarks=a");
    assert_int_equal(answer.status, 303);
}

TEST(another_content_type_is_415)
{
    static const char *const types[] = {
        "", "Content-Type:\r\n", "Content-Type: text/plain\r\n",
        "Content-Type: multipart/form-data; boundary=x\r\n",
        "Content-Type: application/x-www-form-urlencodedx\r\n"};
    for (size_t i = 0; i < LENGTH(types); i++) {
        char request[256];
        snprintf(request, sizeof request,
                 "POST /guestbook HTTP/1.1\r\nHost: a\r\n%s"
                 "Content-Length: 30\r\n\r\nguest-name=Ada&guest-remarks=a",
                 types[i]);
        struct answer answer = answer_to(request);
        assert_int_equal(answer.status, 415);
    }
    assert_int_equal(world.commands, 0);
}

TEST(a_malformed_escape_is_400)
{
    struct answer answer = post("guest-name=%&guest-remarks=a");
    assert_int_equal(answer.status, 400);
    assert_int_equal(world.commands, 0);
}

TEST(the_page_says_what_is_wrong_and_keeps_what_was_typed)
{
    struct answer answer = post("guest-name=&guest-remarks=%3Cb%3E%20%22hi%22");
    assert_int_equal(answer.status, 400);
    assert_field(&answer, "Content-Type", "text/html; charset=utf-8");
    assert_string_equal(
        body_of(&answer),
        "[<p class=\"message error\" role=\"status\">"
        "Please tell us your name.</p>]"
        "[][&lt;b&gt; &quot;hi&quot;][1]"
        "<li>second - Grace</li>\n<li>first - Ada</li>\n");
    assert_int_equal(world.signed_with.len, 0);
    answer = post("");
    assert_int_equal(answer.status, 400);
}

TEST(a_placeholder_that_was_typed_stays_text)
{
    struct answer answer = post("guest-name=%24VISITOR_COUNT%24");
    assert_int_equal(answer.status, 400);
    assert_non_null(strstr(body_of(&answer), "[$VISITOR_COUNT$]"));
}

/* ------------------------------------- Redis away, or replying unexpectedly */

TEST(the_page_is_503_whenever_redis_goes_away)
{
    for (int pipeline = 0; pipeline <= 1; pipeline++)
        for (int n = 0; n < 3; n++) {
            world.site.pipeline = pipeline != 0;
            listen_to_redis(n);
            struct answer answer = answer_to(GET("/guestbook"));
            assert_int_equal(answer.status, 503);
            assert_field(&answer, "Retry-After", "1");
            assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_READ);
            /* No further command once one is known to have failed. */
            assert_int_equal(replies, pipeline ? n - 3 : -1);
        }
    listen_to_redis(0);
    struct answer answer = post("guest-name=Ada&guest-remarks=a");
    assert_int_equal(answer.status, 503);
}

TEST(it_is_back_as_soon_as_redis_is)
{
    listen_to_redis(0);
    client_says(&client, GET("/guestbook"));
    listen_to_redis(3);
    client_says(&client, GET("/guestbook"));
    assert_statuses("503 200");
}

TEST(pipelined_requests_after_a_failed_page_are_answered)
{
    for (int pipeline = 0; pipeline <= 1; pipeline++) {
        world.site.pipeline = pipeline != 0;
        listen_to_redis(4); /* enough for the first page, not for the second */
        client_forget(&client);
        client_says(&client, GET("/guestbook") GET("/guestbook") GET("/hello")
                             GET("/guestbook") GET("/hello"));
        assert_statuses("200 503 200 503 200");
    }
}

TEST(a_reply_of_another_type_is_503)
{
    static char text[] = "ERR no such thing";
    const redisReply oddities[] = {
        {.type = REDIS_REPLY_NIL},
        {.type = REDIS_REPLY_ERROR, .str = text, .len = sizeof text - 1},
        {.type = REDIS_REPLY_STATUS, .str = text, .len = sizeof text - 1},
        {.type = REDIS_REPLY_STRING, .str = text, .len = sizeof text - 1},
        {.type = REDIS_REPLY_INTEGER, .integer = -1},
        {.type = REDIS_REPLY_ARRAY},
        {.type = 99},
    };
    const int wanted[] = {REDIS_REPLY_ARRAY, REDIS_REPLY_INTEGER,
                          REDIS_REPLY_STRING};
    world.redis = odd_redis;
    for (int pipeline = 0; pipeline <= 1; pipeline++)
        for (size_t i = 0; i < LENGTH(oddities); i++)
            for (odd_at = 1; odd_at <= 3; odd_at++) {
                world.site.pipeline = pipeline != 0;
                world.commands = 0;
                oddity = oddities[i];
                struct answer answer = answer_to(GET("/guestbook"));
                bool fine = oddity.type == wanted[odd_at - 1];
                if (answer.status != (fine ? 200 : 503))
                    fail_msg("oddity %zu at %d: %d", i, odd_at, answer.status);
            }
    odd_at = 1;
    for (size_t i = 0; i < LENGTH(oddities); i++) {
        world.commands = 0;
        oddity = oddities[i];
        struct answer answer = post("guest-name=Ada&guest-remarks=a");
        assert_int_equal(answer.status,
                         oddity.type == REDIS_REPLY_INTEGER ? 303 : 503);
    }
}

TEST(other_entries_of_the_list_are_shown_as_text_or_not_at_all)
{
    static char markup[] = "<script>$SERVER$</script>", zero[] = "a\0b";
    redisReply nested = {.type = REDIS_REPLY_ARRAY};
    redisReply nil = {.type = REDIS_REPLY_NIL};
    redisReply text = {.type = REDIS_REPLY_STRING, .str = markup,
                       .len = sizeof markup - 1};
    redisReply nul = {.type = REDIS_REPLY_STRING, .str = zero, .len = 3};
    redisReply *list[] = {&nested, &text, &nil, &nul};
    oddity = (redisReply){.type = REDIS_REPLY_ARRAY, .elements = 4,
                          .element = list};
    odd_at = 1;
    world.redis = odd_redis;
    struct answer answer = answer_to(GET("/guestbook"));
    assert_string_equal(
        body_of(&answer),
        "[][][][1]<li>a\xef\xbf\xbd" "b</li>\n"
        "<li>&lt;script&gt;$SERVER$&lt;/script&gt;</li>\n");
}

TEST(a_hundred_long_remarks_make_one_long_page)
{
    static redisReply *list[100];
    redisReply remark = {.type = REDIS_REPLY_STRING, .len = 60000};
    remark.str = (char *)(uintptr_t)many('<', remark.len);
    for (size_t i = 0; i < LENGTH(list); i++)
        list[i] = &remark;
    oddity = (redisReply){.type = REDIS_REPLY_ARRAY, .elements = LENGTH(list),
                          .element = list};
    odd_at = 1;
    world.redis = odd_redis;
    struct answer answer = answer_to(GET("/guestbook"));
    assert_int_equal(answer.status, 200);
    assert_true(answer.body.n > LENGTH(list) * 4 * remark.len);
    /* One huge page must not make the pool huge for ever. */
    const struct http_exchange *x = world.context.spare;
    assert_non_null(x);
    const size_t most = 65536;
    assert_true(x->out.cap <= most && x->content.cap <= most);
    assert_true(x->scratch.cap <= most && x->kept.cap <= most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_and_a_remark_within_the_limits_are_fine),
        cmocka_unit_test(characters_are_counted_not_bytes),
        cmocka_unit_test(each_mistake_has_a_sentence_that_says_what_to_change),
        TALK(the_page_shows_the_newest_remark_first_and_the_count),
        TALK(three_commands_go_out_one_after_the_other),
        TALK(or_together_with_pipeline),
        TALK(it_says_thanks_after_signing),
        TALK(a_remark_is_stored_and_thanked_for),
        TALK(the_list_is_cut_in_the_same_round_trip),
        TALK(thanks_depends_on_the_remark_alone),
        TALK(the_fields_may_come_in_any_order_and_with_others),
        TALK(blanks_around_them_are_removed),
        TALK(the_content_type_may_have_parameters),
        TALK(another_content_type_is_415),
        TALK(a_malformed_escape_is_400),
        TALK(the_page_says_what_is_wrong_and_keeps_what_was_typed),
        TALK(a_placeholder_that_was_typed_stays_text),
        TALK(the_page_is_503_whenever_redis_goes_away),
        TALK(it_is_back_as_soon_as_redis_is),
        TALK(pipelined_requests_after_a_failed_page_are_answered),
        TALK(a_reply_of_another_type_is_503),
        TALK(other_entries_of_the_list_are_shown_as_text_or_not_at_all),
        TALK(a_hundred_long_remarks_make_one_long_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
