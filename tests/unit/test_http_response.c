/* http_response - the answer; see common/http_response.h. */
#include "http_response.h"

#include "conversation.h"

static struct http_exchange *x;

/* An exchange as http_conn passes it to a page. */
static int lend_exchange(void **state)
{
    talk_begin(state);
    x = http_exchange_acquire(&world.context);
    x->request = (struct http_request){.method = HTTP_GET, .minor_version = 1};
    return 0;
}

static int give_exchange_back(void **state)
{
    http_exchange_release(&x);
    return talk_end(state);
}

#define EXCHANGE(test) \
    cmocka_unit_test_setup_teardown(test, lend_exchange, give_exchange_back)

/* Reads x->out, which must hold one answer. */
static struct answer answer_in_out(void)
{
    struct slice rest = {x->out.data, x->out.len};
    struct answer answer;
    assert_null(answer_read(&rest, x->request.method == HTTP_HEAD, &answer));
    assert_int_equal(rest.n, 0);
    return answer;
}

TEST(a_field_cannot_bring_further_fields_with_it)
{
    response_begin(x, 302);
    response_field(x, "Location", SLICE("/a\r\nSet-Cookie: b\r\n\r\n<html>"));
    response_content(x, HTTP_TYPE_TEXT, SLICE(""));
    struct answer answer = answer_in_out();
    assert_field(&answer, "Location", "/aSet-Cookie: b<html>");
    assert_field(&answer, "Set-Cookie", NULL);
}

TEST(control_bytes_are_left_out_of_a_field)
{
    response_begin(x, 302);
    response_field(x, "Location", SLICE("\0/\x1b[0m\x7f\ta\xc3\xa9"));
    response_content(x, HTTP_TYPE_TEXT, SLICE(""));
    struct answer answer = answer_in_out();
    assert_field(&answer, "Location", "/[0ma\xc3\xa9");
}

TEST(an_error_says_what_is_wrong_and_what_to_do)
{
    static const int statuses[] = {400, 403, 404, 408, 413, 414, 415,
                                   417, 431, 500, 501, 503, 505};
    for (size_t i = 0; i < LENGTH(statuses); i++) {
        buffer_reset(&x->out, SIZE_MAX);
        response_error(x, statuses[i], NULL);
        struct answer answer = answer_in_out();
        assert_int_equal(answer.status, statuses[i]);
        assert_int_equal(x->status, statuses[i]);
        assert_field(&answer, "Content-Type", "text/html; charset=utf-8");
        assert_field(&answer, "Retry-After", statuses[i] == 503 ? "1" : NULL);
        const char *body = body_of(&answer);
        const char *sentence = strstr(body, "<p>");
        assert_non_null(sentence);
        assert_true(strlen(sentence) > 60);
        assert_non_null(strstr(body, "<h1>"));
    }
}

TEST(an_error_may_have_a_sentence_of_its_own)
{
    response_error(x, 404, "No pictures.");
    struct answer answer = answer_in_out();
    assert_non_null(strstr(body_of(&answer), "<p>No pictures.</p>"));
}

static void answer_text(int status, struct slice text)
{
    response_begin(x, status);
    response_content(x, HTTP_TYPE_TEXT, text);
}

TEST(an_unknown_status_becomes_500)
{
    answer_text(299, SLICE("?"));
    struct answer answer = answer_in_out();
    assert_int_equal(answer.status, 500);
}

TEST(the_connection_field_is_there_only_when_needed)
{
    static const struct {
        bool close;
        int minor_version;
        const char *connection;
    } rows[] = {{false, 1, NULL}, {true, 1, "close"},
                {false, 0, "keep-alive"}, {true, 0, "close"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        buffer_reset(&x->out, SIZE_MAX);
        x->close = rows[i].close;
        x->request.minor_version = rows[i].minor_version;
        answer_text(200, SLICE("x"));
        struct answer answer = answer_in_out();
        assert_field(&answer, "Connection", rows[i].connection);
    }
}

TEST(the_date_follows_the_clock)
{
    answer_text(200, SLICE("x"));
    struct answer answer = answer_in_out();
    assert_field(&answer, "Date", "Sun, 06 Nov 1994 08:49:37 GMT");
    world_pass(&world, 1000);
    buffer_reset(&x->out, SIZE_MAX);
    answer_text(200, SLICE("x"));
    answer = answer_in_out();
    assert_field(&answer, "Date", "Sun, 06 Nov 1994 08:49:38 GMT");
}

TEST(no_content_means_none)
{
    response_begin(x, 204);
    response_no_content(x);
    struct answer answer = answer_in_out();
    assert_int_equal(answer.status, 204);
    assert_field(&answer, "Content-Length", NULL);
    buffer_reset(&x->out, SIZE_MAX);
    response_begin(x, 304);
    response_no_content(x);
    answer = answer_in_out();
    assert_int_equal(answer.status, 304);
}

TEST(the_log_is_told_how_much_content_there_was)
{
    answer_text(200, SLICE("12345"));
    assert_int_equal(x->content_bytes, 5);
    x->request.method = HTTP_HEAD;
    answer_text(200, SLICE("12345"));
    assert_int_equal(x->content_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EXCHANGE(a_field_cannot_bring_further_fields_with_it),
        EXCHANGE(control_bytes_are_left_out_of_a_field),
        EXCHANGE(an_error_says_what_is_wrong_and_what_to_do),
        EXCHANGE(an_error_may_have_a_sentence_of_its_own),
        EXCHANGE(an_unknown_status_becomes_500),
        EXCHANGE(the_connection_field_is_there_only_when_needed),
        EXCHANGE(the_date_follows_the_clock),
        EXCHANGE(no_content_means_none),
        EXCHANGE(the_log_is_told_how_much_content_there_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
