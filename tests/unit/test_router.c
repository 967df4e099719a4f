/* router - which page answers a request; see common/router.h. */
#include "router.h"

#include <stdio.h>

#include "conversation.h"

/* ------------------------------------------------------- decoding a path */

/* Decodes a path next to a guard page; returns its status, the text is in
 * decoded. */
static char decoded[64];

static int decode(const char *raw)
{
    size_t n = strlen(raw);
    return router_decode_path((struct slice){before_guard_page(raw, n), n},
                              decoded, sizeof decoded);
}

TEST(escapes_in_a_path_are_decoded_once)
{
    static const struct {
        const char *raw, *path;
    } rows[] = {
        {"/", "/"},
        {"/a%20b", "/a b"},
        {"/%41%5a%7e", "/AZ~"},
        {"/%2e%2E%2fx", "/../x"},
        {"/a+b", "/a+b"}, /* a plus is a space in forms only */
        {"/%2541", "/%41"},
        {"/%c3%a9", "/\xc3\xa9"},
        {"/%ff", "/\xff"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_int_equal(decode(rows[i].raw), 0);
        assert_string_equal(decoded, rows[i].path);
    }
}

TEST(malformed_escapes_are_400)
{
    static const char *const raws[] = {"/%",   "/%4",   "/%4g", "/%g4",
                                       "/%%41", "/a%2", "/%-1", "/% 1"};
    for (size_t i = 0; i < LENGTH(raws); i++)
        if (decode(raws[i]) != 400)
            fail_msg("'%s' was taken", raws[i]);
}

TEST(nul_names_no_file)
{
    assert_int_equal(decode("/%00"), 404);
    assert_int_equal(decode("/a%00.html"), 404);
}

TEST(a_path_that_does_not_fit_names_no_file)
{
    char raw[2 * sizeof decoded] = "/";
    memset(raw + 1, 'a', sizeof decoded - 2);
    assert_int_equal(decode(raw), 0); /* with its NUL it fits just so */
    assert_int_equal(strlen(decoded), sizeof decoded - 1);
    raw[sizeof decoded - 1] = 'a';
    assert_int_equal(decode(raw), 404);
}

/* ------------------------------------------------------------ dispatching */

TEST(each_page_takes_its_methods)
{
    if (!has_openat2())
        skip();
    static const struct {
        const char *target, *allow;
        int get, post;
    } rows[] = {
        {"/answer", "GET, HEAD, OPTIONS", 200, 405},
        {"/hello", "GET, HEAD, OPTIONS", 200, 405},
        {"/echo", "GET, HEAD, OPTIONS", 200, 405},
        {"/redirect", "GET, HEAD, OPTIONS", 302, 405},
        {"/guestbook", "GET, HEAD, POST, OPTIONS", 200, 415},
        {"/notes.txt", "GET, HEAD, OPTIONS", 200, 405},
        {"/nowhere", "GET, HEAD, OPTIONS", 404, 405},
    };
    static const struct {
        const char *method;
        int status; /* 0, -1: what the row says for GET, for POST */
    } methods[] = {{"GET", 0},      {"POST", -1},    {"OPTIONS", 204},
                   {"PUT", 405},    {"DELETE", 405}, {"PATCH", 405},
                   {"TRACE", 405},  {"BREW", 501},   {"get", 501},
                   {"CONNECT", 501}};
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (size_t j = 0; j < LENGTH(methods); j++) {
            char text[128];
            snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: a\r\n\r\n",
                     methods[j].method, rows[i].target);
            struct answer answer = answer_to(text);
            int expected = methods[j].status == 0    ? rows[i].get
                           : methods[j].status == -1 ? rows[i].post
                                                     : methods[j].status;
            if (answer.status != expected)
                fail_msg("%s %s: %d", methods[j].method, rows[i].target,
                         answer.status);
            if (expected == 405 || expected == 204)
                assert_field(&answer, "Allow", rows[i].allow);
        }
}

TEST(options_may_ask_about_the_whole_server)
{
    struct answer answer = answer_to(REQUEST("OPTIONS", "*"));
    assert_int_equal(answer.status, 204);
    assert_field(&answer, "Allow", "GET, HEAD, POST, OPTIONS");
}

TEST(a_page_is_found_however_its_path_is_written)
{
    if (!has_openat2())
        skip();
    static const char *const targets[] = {
        "/hello", "/hello?", "/hello?a=b", "/%68ello", "/%68%65%6c%6c%6F",
        "http://example.org/hello", "http://example.org/hello?x"};
    for (size_t i = 0; i < LENGTH(targets); i++) {
        char text[128];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
                 targets[i]);
        struct answer answer = answer_to(text);
        if (answer.status != 200)
            fail_msg("%s: %d", targets[i], answer.status);
        assert_string_equal(body_of(&answer), "Hello, World!");
    }
    struct answer answer = answer_to(GET("http://example.org"));
    assert_string_equal(body_of(&answer), "home\n");
}

TEST(nearly_its_path_is_not_its_path)
{
    if (!has_openat2())
        skip();
    static const char *const targets[] = {
        "/hello/", "/Hello", "/hell", "/helloo", "//hello", "/./hello",
        "/hello%00", "/hello%20", "/hello%3f"};
    for (size_t i = 0; i < LENGTH(targets); i++) {
        char text[128];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
                 targets[i]);
        struct answer answer = answer_to(text);
        if (answer.status != 404)
            fail_msg("%s: %d", targets[i], answer.status);
    }
}

TEST(a_malformed_path_is_400_and_the_connection_goes_on)
{
    client_says(&client, GET("/%") GET("/%zz") GET("/hello"));
    assert_statuses("400 400 200");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_in_a_path_are_decoded_once),
        cmocka_unit_test(malformed_escapes_are_400),
        cmocka_unit_test(nul_names_no_file),
        cmocka_unit_test(a_path_that_does_not_fit_names_no_file),
        TALK(each_page_takes_its_methods),
        TALK(options_may_ask_about_the_whole_server),
        TALK(a_page_is_found_however_its_path_is_written),
        TALK(nearly_its_path_is_not_its_path),
        TALK(a_malformed_path_is_400_and_the_connection_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
