/* router - the small pages; see common/router.h. */
#include "router.h"

#include <time.h>

#include "conversation.h"

TEST(the_answer_is_42)
{
    struct answer answer = answer_to(GET("/answer"));
    assert_int_equal(answer.status, 200);
    assert_field(&answer, "Content-Type", "text/plain");
    assert_string_equal(body_of(&answer), "42");
}

TEST(hello_greets_the_world)
{
    struct answer answer = answer_to(GET("/hello"));
    assert_field(&answer, "Content-Type", "text/plain");
    assert_string_equal(body_of(&answer), "Hello, World!");
}

TEST(redirect_names_a_picture_at_random)
{
    static struct dirent a = {.d_name = "a.svg"}, b = {.d_name = "b.svg"};
    static struct dirent *pictures[] = {&a, &b};
    world.site.pictures = pictures;
    world.site.picture_count = 2;
    int seen_a = 0, seen_b = 0;
    for (int i = 0; i < 100; i++) {
        struct answer answer = answer_to(GET("/redirect"));
        assert_int_equal(answer.status, 302);
        struct slice location = answer_field(&answer, "Location");
        seen_a += slice_equal(location, SLICE("/pictures/a.svg"));
        seen_b += slice_equal(location, SLICE("/pictures/b.svg"));
    }
    assert_int_equal(seen_a + seen_b, 100);
    assert_in_range(seen_a, 20, 80);
}

TEST(redirect_without_pictures_is_404)
{
    world.site.picture_count = 0;
    struct answer answer = answer_to(GET("/redirect"));
    assert_int_equal(answer.status, 404);
}

static void assert_echo(const char *request, const char *content)
{
    struct answer answer = answer_to(request);
    assert_int_equal(answer.status, 200);
    assert_field(&answer, "Content-Type", "text/xml; charset=utf-8");
    assert_string_equal(body_of(&answer), content);
}

#define VALUE(text) "<http_test><value>" text "</value></http_test>"
#define NO_VALUE "<http_test><error>no value specified</error></http_test>"

TEST(echo_repeats_its_value)
{
    assert_echo(GET("/echo?value=hello"), VALUE("hello"));
    assert_echo(GET("/echo?a=b&value=a+b%21&value=c"), VALUE("a b!"));
    assert_echo(GET("/echo?value="), VALUE(""));
    assert_echo(GET("/echo?value=caf%C3%A9"), VALUE("caf\xc3\xa9"));
}

TEST(echo_says_when_there_is_none)
{
    assert_echo(GET("/echo"), NO_VALUE);
    assert_echo(GET("/echo?"), NO_VALUE);
    assert_echo(GET("/echo?values=x"), NO_VALUE);
}

TEST(echo_is_well_formed_whatever_the_value)
{
    assert_echo(GET("/echo?value=%3C/value%3E%26%22'"),
                VALUE("&lt;/value&gt;&amp;&quot;&#39;"));
    assert_echo(GET("/echo?value=%00%1b%ff"),
                VALUE("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
    assert_echo(GET("/echo?value=%0d%0aSet-Cookie:+a"),
                VALUE("\r\nSet-Cookie: a"));
}

TEST(echo_refuses_a_malformed_escape)
{
    struct answer answer = answer_to(GET("/echo?value=%"));
    assert_int_equal(answer.status, 400);
}

TEST(compute_is_404_unless_the_server_allows_it)
{
    struct answer answer = answer_to(GET("/compute?ms=1000"));
    assert_int_equal(answer.status, 404);
    answer = answer_to(GET("/compute"));
    assert_int_equal(answer.status, 404);
}

static int64_t cpu_time_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

TEST(compute_uses_the_cpu_time_that_was_asked_for)
{
    world.site.compute = true;
    int64_t before = cpu_time_ms();
    struct answer answer = answer_to(GET("/compute?ms=50"));
    assert_int_equal(answer.status, 200);
    assert_field(&answer, "Content-Type", "text/plain; charset=utf-8");
    assert_field(&answer, "Cache-Control", "no-store");
    assert_string_equal(body_of(&answer), "50 ms of CPU time");
    assert_true(cpu_time_ms() - before >= 50);
}

TEST(compute_does_nothing_for_head)
{
    struct answer answer;
    world.site.compute = true;
    int64_t before = cpu_time_ms();
    client_says(&client, REQUEST("HEAD", "/compute?ms=1000"));
    struct slice received = buffer_slice(&client.received);
    assert_null(answer_read(&received, true, &answer));
    assert_int_equal(answer.status, 200);
    assert_field(&answer, "Content-Length", "19"); /* that of GET */
    assert_true(cpu_time_ms() - before < 1000);
}

TEST(compute_says_what_is_wrong_with_its_number)
{
    static const struct {
        const char *query, *reason;
    } rows[] = {
        {"", "Say once"},          {"?", "Say once"},
        {"?s=20", "Say once"},     {"?ms=1&ms=2", "Say once"},
        {"?ms=1&m%73=2", "Say once"},
        {"?ms", "whole number"},   {"?ms=", "whole number"},
        {"?ms=x", "whole number"}, {"?ms=0", "whole number"},
        {"?ms=1001", "whole number"},
        {"?ms=-5", "whole number"},
        {"?ms=5x", "whole number"},
        {"?ms=1.5", "whole number"},
        {"?ms=+5", "whole number"},
        {"?ms=18446744073709551617", "whole number"},
        {"?ms=1%", "hexadecimal"},
    };
    world.site.compute = true;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char request[128];
        snprintf(request, sizeof request,
                 "GET /compute%s HTTP/1.1\r\nHost: a\r\n\r\n",
                 rows[i].query);
        struct answer answer = answer_to(request);
        if (answer.status != 400 ||
            strstr(body_of(&answer), rows[i].reason) == NULL)
            fail_msg("%s: %d %s", rows[i].query, answer.status,
                     body_of(&answer));
    }
}

TEST(compute_decodes_its_number_and_ignores_other_fields)
{
    static const char *const requests[] = {
        GET("/compute?ms=1"), GET("/compute?ms=001"), GET("/compute?ms=%31"),
        GET("/compute?a=b&ms=1&c")};
    world.site.compute = true;
    for (size_t i = 0; i < LENGTH(requests); i++) {
        struct answer answer = answer_to(requests[i]);
        assert_int_equal(answer.status, 200);
        assert_string_equal(body_of(&answer), "1 ms of CPU time");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TALK(the_answer_is_42),
        TALK(hello_greets_the_world),
        TALK(redirect_names_a_picture_at_random),
        TALK(redirect_without_pictures_is_404),
        TALK(echo_repeats_its_value),
        TALK(echo_says_when_there_is_none),
        TALK(echo_is_well_formed_whatever_the_value),
        TALK(echo_refuses_a_malformed_escape),
        TALK(compute_is_404_unless_the_server_allows_it),
        TALK(compute_uses_the_cpu_time_that_was_asked_for),
        TALK(compute_does_nothing_for_head),
        TALK(compute_says_what_is_wrong_with_its_number),
        TALK(compute_decodes_its_number_and_ignores_other_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
