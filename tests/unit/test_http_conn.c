/* http_conn - bytes in, bytes out; see common/http_conn.h. */
#include <limits.h>
#include <stdio.h>

#include "conversation.h"

#define FORM_TYPE "Content-Type: application/x-www-form-urlencoded\r\n"
#define HELLO GET("/hello")

/* ---------------------------------------------------- one after the other */

TEST(a_request_is_answered_to_the_byte)
{
    client_says(&client, HELLO);
    assert_slice(((struct slice){client.received.data, client.received.len}),
                 "HTTP/1.1 200 OK\r\n"
                 "Server: made-up\r\n"
                 "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                 "Content-Type: text/plain\r\n"
                 "Content-Length: 13\r\n"
                 "\r\n"
                 "Hello, World!");
}

TEST(the_connection_is_kept_for_the_next_request)
{
    if (!has_openat2())
        skip();
    assert_int_equal(client_says(&client, HELLO), HTTP_WANT_READ);
    assert_int_equal(client_says(&client, GET("/nowhere")), HTTP_WANT_READ);
    assert_int_equal(client_says(&client, HELLO), HTTP_WANT_READ);
    assert_statuses("200 404 200");
}

TEST(it_closes_when_the_client_says_so)
{
    assert_int_equal(client_says(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n"
                                          "Connection: close\r\n\r\n"),
                     HTTP_WANT_CLOSE);
    struct answer answer = only_answer();
    assert_field(&answer, "Connection", "close");
}

TEST(http_1_0_closes_unless_asked_to_keep)
{
    assert_int_equal(client_says(&client, "GET /hello HTTP/1.0\r\n\r\n"),
                     HTTP_WANT_CLOSE);
    struct answer answer = only_answer();
    assert_field(&answer, "Connection", "close");

    answer = answer_to("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_field(&answer, "Connection", "keep-alive");
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_READ);
}

TEST(the_fin_comes_with_the_last_answer_and_no_other)
{
    struct http_output output;
    client_says(&client, HELLO);
    assert_false(client.finished);
    client.unread = slice_of("GET /hello HTTP/1.0\r\n\r\n");
    assert_true(client_step(&client));
    http_conn_output(&client.conn, &output);
    assert_true(output.more);
    assert_true(client_step(&client));
    assert_false(client.finished);
    assert_true(client_step(&client));
    assert_true(client.finished);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_CLOSE);
}

TEST(it_closes_when_the_driver_does_not_let_it_stay_open)
{
    world.may_keep = false;
    assert_int_equal(client_says(&client, HELLO), HTTP_WANT_CLOSE);
    struct answer answer = only_answer();
    assert_field(&answer, "Connection", "close");
}

TEST(head_gets_what_get_gets_without_the_content)
{
    const char *const targets[] = {"/hello", "/", "/big.bin", "/nowhere",
                                   "/echo?value=x", "/guestbook", "/redirect",
                                   "/empty.txt"};
    for (size_t i = 0; i < LENGTH(targets); i++) {
        char text[128];
        struct buffer head = {0};
        world.visitors = 0;
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
                 targets[i]);
        struct answer get = answer_to(text);
        buffer_append(&head, client.received.data,
                      (size_t)(get.body.p - client.received.data));

        client_forget(&client);
        world.visitors = 0;
        snprintf(text, sizeof text, "HEAD %s HTTP/1.1\r\nHost: a\r\n\r\n",
                 targets[i]);
        client_send(&client, slice_of(text));
        buffer_append_literal(&head, "\0");
        assert_slice(
            ((struct slice){client.received.data, client.received.len}),
            head.data);
        assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_READ);
        buffer_free(&head);
    }
}

TEST(the_body_of_a_request_is_not_taken_for_the_next_one)
{
    client_says(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n"
                         "Content-Length: 5\r\n\r\nHELLO" HELLO);
    client_says(&client, "DELETE /hello HTTP/1.1\r\nHost: a\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n"
                         "5\r\nHELLO\r\n0\r\n\r\n" HELLO);
    assert_statuses("200 200 405 200");
}

TEST(empty_lines_between_requests_do_no_harm)
{
    client_says(&client, HELLO "\r\n" HELLO "\r\n\r\n" HELLO);
    assert_statuses("200 200 200");
}

/* RFC 9112, 2.2: such a line is to be ignored. It begins nothing that could be
 * late, and occupies no buffer. */
TEST(an_empty_line_after_a_request_begins_no_request)
{
    const char *const lines[] = {"\r\n", "\n", "\r\n\r\n\n"};
    for (size_t i = 0; i < LENGTH(lines); i++) {
        client_says(&client, HELLO);
        client_send(&client, slice_of(lines[i]));
        assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_IDLE);
        assert_null(client.conn.x);
        client_says(&client, HELLO "\r\n"); /* in the same packet */
        assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_IDLE);
        assert_null(client.conn.x);
    }
    client_says(&client, "\r"); /* half of one */
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_IDLE);
    client_says(&client, "\n");
    assert_null(client.conn.x);
    client_says(&client, "\r");
    client_forget(&client);
    client_says(&client, "\n" HELLO);
    assert_statuses("200");
}

TEST(on_a_new_connection_it_starts_the_clock)
{
    client_says(&client, "\r\n");
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_REQUEST);
    client_says(&client, HELLO);
    assert_statuses("200");
}

/* -------------------------------- the line that ends an old client's form */

#define FORM_AND_CRLF \
    "POST /guestbook HTTP/1.1\r\nHost: a\r\n" FORM_TYPE \
    "Content-Length: 30\r\n\r\nguest-name=Ada&guest-remarks=a\r\n"

TEST(what_follows_such_a_line_is_a_request_like_any_other)
{
    client_says(&client, FORM_AND_CRLF HELLO "\r\nGET /hel");
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_REQUEST);
    client_says(&client, "lo HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_statuses("303 200 200");
    client_says(&client, "\rX");
    assert_statuses("303 200 200 400");
}

/* -------------------------------------------- pipelines, and bytes in bits */

TEST(fifty_pipelined_requests_get_fifty_answers_in_one_write)
{
    struct buffer requests = {0};
    for (int i = 0; i < 50; i++)
        buffer_printf(&requests,
                      "GET /echo?value=%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
    client.unread = (struct slice){requests.data, requests.len};
    assert_true(client_step(&client)); /* one read */
    assert_true(client_step(&client)); /* one write */
    assert_false(client_step(&client));

    struct slice rest = {client.received.data, client.received.len};
    for (int i = 0; i < 50; i++) {
        char expected[64];
        struct answer answer;
        assert_null(answer_read(&rest, false, &answer));
        snprintf(expected, sizeof expected,
                 "<http_test><value>%d</value></http_test>", i);
        assert_slice(answer.body, expected);
    }
    assert_int_equal(rest.n, 0);
    buffer_free(&requests);
}

/* Every way through the machine, one behind the other. */
static const char mixture[] =
    HELLO GET("/") GET("/big.bin") REQUEST("HEAD", "/notes.txt") GET("/nowhere")
    "POST /guestbook HTTP/1.1\r\nHost: a\r\n" FORM_TYPE
    "Content-Length: 30\r\n\r\nguest-name=Ada&guest-remarks=a"
    GET("/guestbook")
    "POST /guestbook HTTP/1.1\r\nHost: a\r\n" FORM_TYPE
    "Transfer-Encoding: chunked\r\n\r\n"
    "5\r\nguest\r\n19;x\r\n-name=Ada&guest-remarks=b\r\n0\r\nX: y\r\n\r\n"
    GET("/folder") REQUEST("OPTIONS", "*") GET("/redirect")
    "\r\nGET /echo?value=last HTTP/1.1\r\nHost: a\r\n"
    "Connection: close\r\n\r\n";

/* What a client gets for the mixture when it is sent and received in such
 * portions. */
static struct buffer got_in_portions(size_t (*portion)(void *, size_t),
                                     void *data)
{
    client_disconnect(&client);
    client_connect(&client, &world);
    client.portion = portion;
    client.portion_data = data;
    world.visitors = 0;
    assert_int_equal(client_send(&client, SLICE(mixture)), HTTP_WANT_CLOSE);
    struct buffer got = client.received;
    client.received = (struct buffer){0};
    return got;
}

static void assert_same(const struct buffer *got, const struct buffer *whole,
                        size_t cut)
{
    if (got->len != whole->len || memcmp(got->data, whole->data, got->len) != 0)
        fail_msg("cut at %zu, the answers are others", cut);
}

TEST(the_mixture_is_answered_as_expected)
{
    if (!has_openat2())
        skip();
    struct buffer got = got_in_portions(NULL, NULL);
    struct slice rest = {got.data, got.len};
    const int statuses[] = {200, 200, 200, 200, 404, 303,
                            200, 303, 301, 204, 302, 200};
    for (size_t i = 0; i < LENGTH(statuses); i++) {
        struct answer answer;
        assert_null(answer_read(&rest, i == 3, &answer));
        assert_int_equal(answer.status, statuses[i]);
    }
    assert_int_equal(rest.n, 0);
    buffer_free(&got);
}

static size_t first_portion(void *data, size_t n)
{
    size_t *left = data;
    size_t take = *left > 0 && *left < n ? *left : n;
    *left = 0;
    return take;
}

TEST(it_does_not_matter_where_the_bytes_are_cut)
{
    struct buffer whole = got_in_portions(NULL, NULL);
    for (size_t cut = 1; cut < sizeof mixture - 1; cut++) {
        size_t left = cut;
        struct buffer got = got_in_portions(first_portion, &left);
        assert_same(&got, &whole, cut);
        buffer_free(&got);
    }
    buffer_free(&whole);
}

static size_t fixed_portion(void *data, size_t n)
{
    const size_t *most = data;
    return *most < n ? *most : n;
}

TEST(it_does_not_matter_how_small_the_pieces_are)
{
    struct buffer whole = got_in_portions(NULL, NULL);
    for (size_t size = 1; size < 40; size++) {
        struct buffer got = got_in_portions(fixed_portion, &size);
        assert_same(&got, &whole, size);
        buffer_free(&got);
    }
    buffer_free(&whole);
}

TEST(a_flood_of_requests_is_answered_in_batches)
{
    struct buffer requests = {0};
    for (int i = 0; i < 3000; i++)
        buffer_append_literal(&requests, HELLO);
    client.unread = (struct slice){requests.data, requests.len};
    while (client_step(&client)) {
        struct http_exchange *x = client.conn.x;
        if (x != NULL)
            assert_true(x->out.len < HTTP_BATCH_MAX + 1024);
    }
    struct slice rest = {client.received.data, client.received.len};
    struct answer answer;
    int answers = 0;
    while (answer_read(&rest, false, &answer) == NULL)
        answers++;
    assert_int_equal(answers, 3000);
    buffer_free(&requests);
}

TEST(bodies_of_full_size_can_be_pipelined)
{
    struct buffer requests = {0};
    for (int i = 0; i < 5; i++) {
        buffer_append_literal(&requests, "POST /guestbook HTTP/1.1\r\n"
                                         "Host: a\r\n" FORM_TYPE
                                         "Content-Length: 65536\r\n\r\n"
                                         "guest-name=A&guest-remarks=b&x=");
        buffer_append(&requests, many('x', HTTP_BODY_MAX - 31),
                      HTTP_BODY_MAX - 31);
        buffer_append_literal(&requests, "POST /guestbook HTTP/1.1\r\n"
                                         "Host: a\r\n" FORM_TYPE
                                         "Transfer-Encoding: chunked\r\n\r\n"
                                         "1F\r\nguest-name=A&guest-remarks=b&x="
                                         "\r\nFFE1\r\n");
        buffer_append(&requests, many('x', HTTP_BODY_MAX - 31),
                      HTTP_BODY_MAX - 31);
        buffer_append_literal(&requests, "\r\n0\r\n\r\n");
    }
    for (size_t size = 16384; size > 3000; size -= 1021) {
        client_disconnect(&client);
        client_connect(&client, &world);
        client.portion = fixed_portion;
        client.portion_data = &size;
        client_send(&client, (struct slice){requests.data, requests.len});
        assert_statuses("303 303 303 303 303 303 303 303 303 303");
    }
    buffer_free(&requests);
}

/* ----------------------------------------------------------- 100-continue */

#define EXPECT "Expect: 100-continue\r\n"
#define CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"

TEST(a_client_that_waits_with_its_body_gets_100_continue)
{
    client_says(&client, "POST /guestbook HTTP/1.1\r\nHost: a\r\n" FORM_TYPE
                         EXPECT "Content-Length: 30\r\n\r\n");
    assert_slice(((struct slice){client.received.data, client.received.len}),
                 CONTINUE);
    client_says(&client, "guest-name=Ada&guest-remarks=a");
    assert_statuses("100 303");
}

TEST(so_does_one_with_chunks)
{
    client_says(&client, HELLO "POST /guestbook HTTP/1.1\r\nHost: a\r\n"
                         FORM_TYPE EXPECT "Transfer-Encoding: chunked\r\n\r\n");
    assert_statuses("200 100");
    client_says(&client, "1e\r\nguest-name=Ada&guest-remarks=a\r\n0\r\n\r\n");
    assert_statuses("200 100 303");
}

TEST(one_that_does_not_wait_gets_none)
{
    client_says(&client, "POST /guestbook HTTP/1.1\r\nHost: a\r\n" FORM_TYPE
                         EXPECT "Content-Length: 30\r\n\r\ng");
    assert_int_equal(client.received.len, 0);
    client_says(&client, "uest-name=Ada&guest-remarks=a");
    assert_statuses("303");
}

TEST(one_without_a_body_gets_none)
{
    client_says(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n" EXPECT "\r\n");
    assert_statuses("200");
}

TEST(one_with_too_large_a_body_need_not_send_it)
{
    client_says(&client, "POST /guestbook HTTP/1.1\r\nHost: a\r\n" EXPECT
                         "Content-Length: 65537\r\n\r\n");
    assert_statuses("413");
}

/* -------------------------------------------------------- wrong requests */

TEST(a_wrong_request_gets_its_status_and_no_further_one_is_read)
{
    static const struct {
        const char *request, *statuses;
    } rows[] = {
        {"nonsense\r\n\r\n" HELLO, "400"},
        {HELLO "GET / HTTP/1.1\r\n\r\n" HELLO, "200 400"},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n" HELLO, "505"},
        {"GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n" HELLO, "417"},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n" HELLO,
         "413"},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
         "nonsense\r\n" HELLO, "400"},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
         "1ffff\r\n" HELLO, "413"},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n"
         "\r\n" HELLO, "501"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        client_disconnect(&client);
        client_connect(&client, &world);
        client_send(&client, slice_of(rows[i].request));
        assert_statuses(rows[i].statuses);
        assert_int_equal(client.conn.state, HTTP_CONN_LINGER);
    }
}

TEST(an_unknown_method_is_no_wrong_request)
{
    assert_int_equal(client_says(&client, REQUEST("BREW", "/pot") HELLO),
                     HTTP_WANT_READ);
    assert_statuses("501 200");
}

TEST(a_chunked_body_beyond_the_limit_is_refused_when_it_gets_there)
{
    struct buffer request = {0};
    buffer_append_literal(&request, "POST /guestbook HTTP/1.1\r\nHost: a\r\n"
                                    "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 17; i++) {
        buffer_append_literal(&request, "1000\r\n");
        buffer_append(&request, many('x', 4096), 4096);
        buffer_append_literal(&request, "\r\n");
    }
    client_send(&client, (struct slice){request.data, request.len});
    assert_statuses("413");
    buffer_free(&request);
}

TEST(input_after_a_refusal_is_discarded)
{
    client_says(&client, "nonsense\r\n\r\n");
    assert_int_equal(client.conn.state, HTTP_CONN_LINGER);
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_LINGER);
    client_forget(&client);
    for (int i = 0; i < 100; i++)
        assert_int_equal(client_send(&client, slice_of(many('x', 60000))),
                         HTTP_WANT_LINGER);
    assert_null(client.conn.x); /* it occupies no buffer */
    assert_int_equal(client.received.len, 0);
    http_conn_abort(&client.conn);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_CLOSE);
}

TEST(lingering_ends_with_its_deadline)
{
    client_says(&client, "nonsense\r\n\r\n");
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_CLOSE);
}

TEST(a_client_that_sends_more_after_the_last_request_gets_the_answer)
{
    /* Closing over unread bytes would make the kernel send RST. */
    client.undelivered = true;
    client_says(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n"
                         "Connection: close\r\n\r\n" HELLO);
    assert_statuses("200");
    assert_int_equal(client.conn.state, HTTP_CONN_LINGER);
}

/* ----------------------------------------------- nothing begun is lost */

TEST(a_client_that_announced_its_last_request_costs_no_lingering)
{
    client.undelivered = true;
    assert_int_equal(client_says(&client, "GET /hello HTTP/1.0\r\n\r\n"),
                     HTTP_WANT_CLOSE);
    assert_true(client.finished);
    client_disconnect(&client);
    client_connect(&client, &world);
    client.undelivered = true;
    client_says(&client, HELLO); /* it could go on, but then it says so */
    assert_int_equal(client_says(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n"
                                          "Connection: close\r\n\r\n"),
                     HTTP_WANT_CLOSE);
}

TEST(one_that_did_not_is_closed_when_it_has_its_answer)
{
    world.may_keep = false;
    client.undelivered = true;
    assert_int_equal(client_says(&client, HELLO), HTTP_WANT_LINGER);
    assert_true(client.finished);
    assert_null(client.conn.x);
    client.undelivered = false;
    assert_int_equal(client_run(&client), HTTP_WANT_CLOSE);
}

TEST(one_that_sends_another_request_meanwhile_is_given_time)
{
    world.may_keep = false;
    client.undelivered = true;
    client_says(&client, HELLO);
    client.undelivered = false;
    assert_int_equal(client_says(&client, HELLO), HTTP_WANT_LINGER);
    assert_statuses("200");
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_CLOSE);
}

TEST(time_alone_does_not_take_an_answer_away)
{
    world.may_keep = false;
    client.undelivered = true;
    client_says(&client, HELLO);
    for (int i = 0; i < 5; i++) {
        http_conn_on_timeout(&client.conn, HTTP_UNDER_WAY);
        assert_int_equal(client_run(&client), HTTP_WANT_LINGER);
    }
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    assert_int_equal(client_run(&client), HTTP_WANT_CLOSE);
}

TEST(an_idle_client_too_is_closed_when_it_has_its_answer)
{
    client.undelivered = true;
    client_says(&client, HELLO);
    http_conn_on_timeout(&client.conn, HTTP_UNDER_WAY);
    assert_int_equal(client_run(&client), HTTP_WANT_LINGER);
    assert_true(client.finished);
    client.undelivered = false;
    assert_int_equal(client_run(&client), HTTP_WANT_CLOSE);
}

/* --------------------------------------------------- phases and deadlines */

TEST(permission_to_send_the_body_does_not_stop_the_clock)
{
    const char head[] = "POST /guestbook HTTP/1.1\r\nHost: a\r\n" EXPECT
                        "Content-Length: 30\r\n\r\n";
    client.unread = slice_of(head);
    client_step(&client);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_WRITE);
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_REQUEST);
    client_run(&client);
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_REQUEST);
}

TEST(behind_an_earlier_answer_it_is_part_of_that)
{
    client.unread = SLICE(HELLO "POST /guestbook HTTP/1.1\r\nHost: a\r\n" EXPECT
                          "Content-Length: 30\r\n\r\n");
    client_step(&client);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_WRITE);
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_DELIVER);
    client_run(&client);
    assert_statuses("200 100");
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_REQUEST);
}

TEST(each_phase_has_its_timeout)
{
    const struct site s = {.keep_alive_ms = 5000,
                           .request_timeout_ms = 10000};
    assert_int_equal(http_phase_timeout_ms(&s, HTTP_PHASE_NEW), 60000);
    assert_int_equal(http_phase_timeout_ms(&s, HTTP_PHASE_IDLE), 5000);
    assert_int_equal(http_phase_timeout_ms(&s, HTTP_PHASE_REQUEST), 10000);
    assert_int_equal(http_phase_timeout_ms(&s, HTTP_PHASE_DELIVER), 1000);
    assert_int_equal(http_stall_timeout_ms(&s), 20000);
    assert_int_equal(http_phase_timeout_ms(&s, HTTP_PHASE_LINGER), 1000);
}

TEST(a_request_goes_through_its_phases)
{
    struct http_conn *c = &client.conn;
    assert_int_equal(http_conn_phase(c), HTTP_PHASE_NEW);
    client_says(&client, "POST /guestbook HTTP/1.1\r\n");
    assert_int_equal(http_conn_phase(c), HTTP_PHASE_REQUEST);
    client_says(&client, "Host: a\r\n" FORM_TYPE "Content-Length: 30\r\n\r\n");
    assert_int_equal(http_conn_phase(c), HTTP_PHASE_REQUEST);
    client.unread = SLICE("guest-name=Ada&guest-remarks=a");
    client_step(&client);
    assert_int_equal(http_conn_phase(c), HTTP_PHASE_DELIVER);
    client_step(&client);
    assert_int_equal(http_conn_phase(c), HTTP_PHASE_DELIVER);
    client_step(&client);
    assert_int_equal(http_conn_phase(c), HTTP_PHASE_IDLE);
}

TEST(a_refusal_that_nobody_waits_for_is_not_the_next_client_s)
{
    struct http_conn *c = &client.conn;
    size_t room;
    memcpy(http_conn_input(c, &room), "nonsense\r\n\r\n", 12);
    http_conn_received(c, 12);
    assert_int_equal(http_conn_want(c), HTTP_WANT_ANSWER);
    http_conn_abort(c); /* the exchange goes back to the pool */
    answer_to(HELLO);
    assert_statuses("200");
}

TEST(a_complete_request_has_no_deadline)
{
    struct http_conn *c = &client.conn;
    size_t room;
    client_says(&client, HELLO);
    memcpy(http_conn_input(c, &room), HELLO, sizeof HELLO - 1);
    http_conn_received(c, sizeof HELLO - 1);
    assert_int_equal(http_conn_want(c), HTTP_WANT_ANSWER);
    assert_int_equal(http_conn_phase(c), HTTP_PHASE_DELIVER);
}

TEST(an_idle_connection_owns_no_buffer)
{
    assert_null(client.conn.x);
    client_says(&client, "GET /hello HTTP/1.1\r\n");
    assert_non_null(client.conn.x);
    client_says(&client, "Host: a\r\n\r\n");
    assert_null(client.conn.x);
    assert_int_equal(world.context.spares, 1);
}

TEST(a_read_that_brings_nothing_gives_the_buffer_back)
{
    size_t room;
    assert_non_null(http_conn_input(&client.conn, &room));
    assert_true(room > 0);
    http_conn_received(&client.conn, 0);
    assert_null(client.conn.x);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_READ);
}

TEST(an_idle_connection_times_out_without_an_answer)
{
    client_says(&client, HELLO);
    client_forget(&client);
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    assert_int_equal(client_run(&client), HTTP_WANT_CLOSE);
    assert_int_equal(client.received.len, 0);
}

TEST(half_a_head_times_out_with_408)
{
    client_says(&client, HELLO "GET /hello HTTP/1.1\r\nHost:");
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    client_run(&client);
    assert_statuses("200 408");
}

TEST(half_a_body_times_out_with_408)
{
    client_says(&client, "POST /guestbook HTTP/1.1\r\nHost: a\r\n"
                         "Content-Length: 30\r\n\r\nguest-name");
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    client_run(&client);
    assert_statuses("408");
}

TEST(so_does_a_body_that_100_continue_asked_for)
{
    client_says(&client, "POST /guestbook HTTP/1.1\r\nHost: a\r\n" EXPECT
                         "Transfer-Encoding: chunked\r\n\r\n");
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    client_run(&client);
    assert_statuses("100 408");
}

TEST(a_late_head_request_gets_no_content_either)
{
    static const char *const requests[] = {
        "HEAD /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n1234",
        "HEAD /hello HTTP/1.1\r\nHo",
    };
    for (size_t i = 0; i < LENGTH(requests); i++) {
        client_disconnect(&client);
        client_connect(&client, &world);
        client_send(&client, slice_of(requests[i]));
        http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
        client_run(&client);
        struct slice rest = {client.received.data, client.received.len};
        struct answer answer;
        assert_null(answer_read(&rest, true, &answer));
        assert_int_equal(answer.status, 408);
        assert_int_equal(rest.n, 0);
    }
}

TEST(a_client_that_takes_nothing_is_closed_when_it_stalls)
{
    client.unread = SLICE(GET("/big.bin"));
    client_step(&client);
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_DELIVER);
    http_conn_on_timeout(&client.conn, HTTP_UNDER_WAY);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_WRITE);
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_WRITE);
    http_conn_on_timeout(&client.conn, HTTP_STALLED);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_CLOSE);
}

TEST(so_is_one_that_does_not_take_the_end_of_its_last_answer)
{
    world.may_keep = false;
    client.undelivered = true;
    client_says(&client, HELLO);
    http_conn_on_timeout(&client.conn, HTTP_STALLED);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_CLOSE);
}

TEST(a_client_whose_page_waits_for_redis_has_not_stalled)
{
    client.unread = SLICE(GET("/guestbook"));
    client_step(&client);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_REDIS);
    http_conn_on_timeout(&client.conn, HTTP_STALLED);
    assert_int_equal(http_conn_want(&client.conn), HTTP_WANT_REDIS);
}

TEST(an_old_client_that_ends_its_form_with_an_empty_line_gets_the_answer)
{
    client.undelivered = true; /* the line may still be on its way */
    client_says(&client, "POST /guestbook HTTP/1.0\r\n" FORM_TYPE
                         "Content-Length: 30\r\n\r\n"
                         "guest-name=Ada&guest-remarks=a");
    assert_statuses("303");
    assert_int_equal(client.conn.state, HTTP_CONN_LINGER);
}

TEST(a_client_that_leaves_gets_nothing)
{
    client_says(&client, "GET /hello HTTP/1.1\r\n");
    http_conn_abort(&client.conn);
    assert_int_equal(client_run(&client), HTTP_WANT_CLOSE);
    assert_int_equal(client.received.len, 0);
    assert_null(client.conn.x);
}

/* --------------------------------------- the driver decides on keep-alive */

TEST(without_leave_to_stay_open_the_next_answer_is_the_last)
{
    world.may_keep = false;
    client.undelivered = true;
    client_says(&client, HELLO HELLO HELLO);
    assert_statuses("200"); /* read on, so that no RST destroys the answer */
    assert_int_equal(client.conn.state, HTTP_CONN_LINGER);
}

TEST(a_driver_can_ask_for_pipelined_requests_before_it_decides)
{
    struct http_conn *c = &client.conn;
    size_t room;
    char *input = http_conn_input(c, &room);
    memcpy(input, HELLO HELLO, sizeof HELLO HELLO - 1);
    http_conn_received(c, sizeof HELLO HELLO - 1);
    for (int left = 1; left >= 0; left--) {
        assert_int_equal(http_conn_want(c), HTTP_WANT_ANSWER);
        assert_int_equal(http_conn_has_pipelined(c), left);
        assert_true(http_conn_answer(c, http_conn_has_pipelined(c)));
    }
    assert_int_equal(client_run(&client), HTTP_WANT_CLOSE);
    assert_statuses("200 200");
}

TEST(a_request_that_has_begun_is_answered_before_the_close)
{
    client_says(&client, HELLO "GET /hello HTTP");
    world.may_keep = false;
    assert_int_equal(client_says(&client, "/1.1\r\nHost: a\r\n\r\n"),
                     HTTP_WANT_CLOSE);
    assert_statuses("200 200");
}

TEST(a_connection_that_closes_is_not_idle)
{
    /* The deadline of IDLE passes immediately with --keep-alive 0. */
    world.may_keep = false;
    client_says(&client, HELLO);
    assert_int_equal(http_conn_phase(&client.conn), HTTP_PHASE_LINGER);
}

/* ------------------------------------------------------- what the log needs */

TEST(each_complete_answer_leaves_its_log_entry)
{
    if (!has_openat2())
        skip();
    struct http_conn *c = &client.conn;
    size_t room;
    memcpy(http_conn_input(c, &room), GET("/nowhere"),
           sizeof GET("/nowhere") - 1);
    http_conn_received(c, sizeof GET("/nowhere") - 1);
    assert_true(http_conn_answer(c, true));
    assert_slice(c->x->logged.line, "GET /nowhere HTTP/1.1");
    assert_int_equal(c->x->logged.status, 404);
    assert_true(c->x->logged.content_bytes > 0);
    assert_int_equal(c->requests, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TALK(a_request_is_answered_to_the_byte),
        TALK(the_connection_is_kept_for_the_next_request),
        TALK(it_closes_when_the_client_says_so),
        TALK(http_1_0_closes_unless_asked_to_keep),
        TALK(the_fin_comes_with_the_last_answer_and_no_other),
        TALK(it_closes_when_the_driver_does_not_let_it_stay_open),
        TALK(head_gets_what_get_gets_without_the_content),
        TALK(the_body_of_a_request_is_not_taken_for_the_next_one),
        TALK(empty_lines_between_requests_do_no_harm),
        TALK(an_empty_line_after_a_request_begins_no_request),
        TALK(on_a_new_connection_it_starts_the_clock),
        TALK(what_follows_such_a_line_is_a_request_like_any_other),
        TALK(fifty_pipelined_requests_get_fifty_answers_in_one_write),
        TALK(the_mixture_is_answered_as_expected),
        TALK(it_does_not_matter_where_the_bytes_are_cut),
        TALK(it_does_not_matter_how_small_the_pieces_are),
        TALK(a_flood_of_requests_is_answered_in_batches),
        TALK(bodies_of_full_size_can_be_pipelined),
        TALK(a_client_that_waits_with_its_body_gets_100_continue),
        TALK(so_does_one_with_chunks),
        TALK(one_that_does_not_wait_gets_none),
        TALK(one_without_a_body_gets_none),
        TALK(one_with_too_large_a_body_need_not_send_it),
        TALK(a_wrong_request_gets_its_status_and_no_further_one_is_read),
        TALK(an_unknown_method_is_no_wrong_request),
        TALK(a_chunked_body_beyond_the_limit_is_refused_when_it_gets_there),
        TALK(input_after_a_refusal_is_discarded),
        TALK(lingering_ends_with_its_deadline),
        TALK(a_client_that_sends_more_after_the_last_request_gets_the_answer),
        TALK(a_client_that_announced_its_last_request_costs_no_lingering),
        TALK(one_that_did_not_is_closed_when_it_has_its_answer),
        TALK(one_that_sends_another_request_meanwhile_is_given_time),
        TALK(time_alone_does_not_take_an_answer_away),
        TALK(an_idle_client_too_is_closed_when_it_has_its_answer),
        cmocka_unit_test(each_phase_has_its_timeout),
        TALK(permission_to_send_the_body_does_not_stop_the_clock),
        TALK(behind_an_earlier_answer_it_is_part_of_that),
        TALK(a_request_goes_through_its_phases),
        TALK(a_refusal_that_nobody_waits_for_is_not_the_next_client_s),
        TALK(a_complete_request_has_no_deadline),
        TALK(an_idle_connection_owns_no_buffer),
        TALK(a_read_that_brings_nothing_gives_the_buffer_back),
        TALK(an_idle_connection_times_out_without_an_answer),
        TALK(half_a_head_times_out_with_408),
        TALK(half_a_body_times_out_with_408),
        TALK(so_does_a_body_that_100_continue_asked_for),
        TALK(a_late_head_request_gets_no_content_either),
        TALK(a_client_that_takes_nothing_is_closed_when_it_stalls),
        TALK(so_is_one_that_does_not_take_the_end_of_its_last_answer),
        TALK(a_client_whose_page_waits_for_redis_has_not_stalled),
        TALK(an_old_client_that_ends_its_form_with_an_empty_line_gets_the_answer),
        TALK(a_client_that_leaves_gets_nothing),
        TALK(without_leave_to_stay_open_the_next_answer_is_the_last),
        TALK(a_driver_can_ask_for_pipelined_requests_before_it_decides),
        TALK(a_request_that_has_begun_is_answered_before_the_close),
        TALK(a_connection_that_closes_is_not_idle),
        TALK(each_complete_answer_leaves_its_log_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
