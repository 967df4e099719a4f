/* router - the small pages; see common/router.h. */
#include "router.h"

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
