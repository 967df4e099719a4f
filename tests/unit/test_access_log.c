/* access_log - a line for each answer; see common/access_log.h. */
#include "access_log.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conversation.h"

static char path[PATH_MAX];
static struct access_log the_log;
static struct access_log_state state_of_log;

static void log_answer(struct client *from, const struct http_logged *entry)
{
    access_log_write(&the_log, "192.0.2.1", entry,
                     from->world->context.clock.seconds);
}

/* A new client, from 192.0.2.1. */
static void connect_logged_client(void)
{
    client_disconnect(&client);
    client_connect(&client, &world);
    client.on_log = log_answer;
}

/* A server that keeps a log, and a client of it. */
static int log_begin(void **state)
{
    talk_begin(state);
    state_of_log = (struct access_log_state){.warned_ms = 0};
    snprintf(path, sizeof path, "%s/log", world.folder.path);
    assert_int_equal(access_log_open(&the_log, path, &state_of_log), 0);
    connect_logged_client();
    return 0;
}

static int log_end(void **state)
{
    close(the_log.fd);
    return talk_end(state);
}

/* Returns the content of a file of the world, valid until the next call. */
static const char *content_of(const char *name)
{
    static char text[16384];
    int fd = openat(world.folder.fd, name, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    assert_true(n >= 0);
    close(fd);
    text[n] = '\0';
    return text;
}

TEST(each_answer_has_a_line)
{
    if (!has_openat2())
        skip();
    client_says(&client, GET("/hello") REQUEST("HEAD", "/hello")
                         GET("/nowhere?a=b") "nonsense\r\n\r\n");
    const char *log = content_of("log");
    const char *expected =
        "192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] "
        "\"GET /hello HTTP/1.1\" 200 13\n"
        "192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] "
        "\"HEAD /hello HTTP/1.1\" 200 0\n"
        "192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] "
        "\"GET /nowhere?a=b HTTP/1.1\" 404 ";
    assert_memory_equal(log, expected, strlen(expected));
    /* What is no request line is not repeated. */
    assert_non_null(strstr(log, "\n192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] "
                                "\"-\" 400 "));
}

TEST(a_client_cannot_forge_a_line)
{
    if (!has_openat2())
        skip();
    client_says(&client, GET("/\"\\") "GET /\x1b[31m HTTP/1.1\r\n\r\n");
    const char *log = content_of("log");
    assert_non_null(strstr(log, "\"GET /\\x22\\x5c HTTP/1.1\" 404"));
    assert_null(strchr(log, '\x1b'));
}

TEST(a_line_names_its_own_request_whatever_follows)
{
    /* Half a request with a body behind it moves in the input. */
    client_says(&client, GET("/echo?value=attack")
                         "POST /x?innocent HTTP/1.1\r\nHost: a\r\n"
                         "Content-Length: 50\r\n\r\nhalf");
    const char *log = content_of("log");
    assert_non_null(strstr(log, "\"GET /echo?value=attack HTTP/1.1\" 200"));
    assert_null(strstr(log, "innocent"));
}

TEST(a_late_request_behind_another_is_logged_with_its_own_line)
{
    size_t room;
    client_says(&client, GET("/hello") "GET /slow HTTP/1.1\r\nHost:");
    http_conn_input(&client.conn, &room); /* what was read moves to the front */
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    client_run(&client);
    assert_non_null(strstr(content_of("log"), "\"GET /slow HTTP/1.1\" 408"));
}

TEST(a_request_that_times_out_is_logged_as_far_as_it_was_read)
{
    client_says(&client, "POST /guestbook HTTP/1.1\r\nHost: a\r\n"
                         "Content-Length: 5\r\n\r\n1234");
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    client_run(&client);
    connect_logged_client();
    client_says(&client, "GET /slow HTTP/1.1\r\nHost:");
    http_conn_on_timeout(&client.conn, HTTP_DELIVERED);
    client_run(&client);
    const char *log = content_of("log");
    assert_non_null(strstr(log, "\"POST /guestbook HTTP/1.1\" 408"));
    assert_non_null(strstr(log, "\"GET /slow HTTP/1.1\" 408"));
}

TEST(a_long_request_line_is_cut)
{
    char request[HTTP_TARGET_MAX + 100];
    snprintf(request, sizeof request, "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n",
             many('x', 5000));
    client_send(&client, slice_of(request));
    const char *log = content_of("log");
    assert_true(strlen(log) < 1200);
    assert_non_null(strstr(log, "xxx...\" 404 "));
}

TEST(after_a_rotation_lines_go_to_a_new_file)
{
    client_says(&client, GET("/hello"));
    assert_int_equal(renameat(world.folder.fd, "log", world.folder.fd, "old"),
                     0);
    client_says(&client, GET("/answer")); /* still to the old one */
    int fd = the_log.fd;
    assert_int_equal(access_log_reopen(&the_log), 0);
    assert_int_equal(the_log.fd, fd);
    client_says(&client, GET("/"));
    assert_non_null(strstr(content_of("old"), "GET /answer "));
    assert_null(strstr(content_of("old"), "GET / "));
    assert_non_null(strstr(content_of("log"), "GET / "));
}

TEST(if_reopening_fails_the_old_file_stays_in_use)
{
    struct access_log *log = &the_log;
    log->path = "/nowhere/log";
    assert_int_equal(access_log_reopen(log), -1);
    client_says(&client, GET("/hello"));
    assert_non_null(strstr(content_of("log"), "GET /hello "));
}

TEST(a_line_is_made_from_an_entry_an_address_and_a_time)
{
    struct http_logged entry = {.line = SLICE("PUT /x HTTP/1.1"),
                                .status = 501, .content_bytes = 5000000000};
    access_log_write(&the_log, "::1", &entry, 0);
    entry = (struct http_logged){.status = 400};
    access_log_write(&the_log, "::1", &entry, 951782400);
    assert_string_equal(content_of("log"),
                        "::1 - - [01/Jan/1970:00:00:00 +0000] "
                        "\"PUT /x HTTP/1.1\" 501 5000000000\n"
                        "::1 - - [29/Feb/2000:00:00:00 +0000] \"-\" 400 0\n");
}

TEST(a_fifo_that_is_full_costs_lines_but_no_wait)
{
    struct http_logged entry = {.line = SLICE("GET / HTTP/1.1"), .status = 200};
    struct access_log log;
    snprintf(path, sizeof path, "%s/fifo", world.folder.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(access_log_open(&log, path, &state_of_log), 0);
    for (int i = 0; i < 10000; i++) /* 60 bytes each; a FIFO holds 64 KB */
        access_log_write(&log, "192.0.2.1", &entry, WORLD_NOW);
    close(reader);
    close(log.fd);
}

/* What `ulimit -f` does; RLIM_INFINITY lifts it. */
static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(after_a_line_that_was_cut_the_next_one_begins_a_new_one)
{
    if (!has_openat2())
        skip();
    client_says(&client, GET("/hello"));
    rlim_t first = strlen(content_of("log"));
    limit_file_size(first + 20);
    client_says(&client, GET("/answer")); /* 20 bytes of its line fit */
    client_says(&client, GET("/answer")); /* nothing does */
    limit_file_size(RLIM_INFINITY);
    client_says(&client, GET("/") GET("/nowhere"));
    const char *rest = content_of("log") + first;
    assert_memory_equal(rest, "192.0.2.1 - - [06/No\n192.0.2.1 - - [", 36);
    assert_non_null(strstr(rest, "\"GET / HTTP/1.1\" 200 5\n192.0.2.1 - "));
    assert_null(strstr(rest, "\n\n"));
}

TEST(a_line_that_ends_a_cut_one_may_be_cut_itself)
{
    client_says(&client, GET("/hello"));
    rlim_t first = strlen(content_of("log"));
    limit_file_size(first + 20);
    client_says(&client, GET("/answer"));
    limit_file_size(first + 21); /* the end of the line, and no more */
    client_says(&client, GET("/answer"));
    limit_file_size(first + 22);
    client_says(&client, GET("/answer"));
    limit_file_size(RLIM_INFINITY);
    client_says(&client, GET("/"));
    assert_memory_equal(content_of("log") + first,
                        "192.0.2.1 - - [06/No\n1\n192.0.2.1 - - [", 38);
}

TEST(a_lost_line_is_reported_once_a_minute)
{
    limit_file_size(10);
    assert_int_equal(state_of_log.warned_ms, 0);
    client_says(&client, GET("/hello"));
    int64_t warned = state_of_log.warned_ms;
    assert_true(warned > 0);
    client_says(&client, GET("/hello"));
    assert_int_equal(state_of_log.warned_ms, warned);
    state_of_log.warned_ms -= 60 * 1000;
    client_says(&client, GET("/hello"));
    assert_true(state_of_log.warned_ms >= warned);
    limit_file_size(RLIM_INFINITY);
}

TEST(without_a_path_there_is_no_log)
{
    struct access_log log;
    assert_int_equal(access_log_open(&log, NULL, &state_of_log), 0);
    assert_int_equal(log.fd, -1);
    assert_int_equal(access_log_reopen(&log), 0);
    assert_int_equal(access_log_open(&log, "/nowhere/log", &state_of_log), -1);
    assert_int_equal(access_log_open(&log, "-", &state_of_log), 0);
    assert_int_equal(log.fd, STDOUT_FILENO);
    assert_int_equal(access_log_reopen(&log), 0);
}

int main(void)
{
#define LOG(test) cmocka_unit_test_setup_teardown(test, log_begin, log_end)
    const struct CMUnitTest tests[] = {
        LOG(each_answer_has_a_line),
        LOG(a_client_cannot_forge_a_line),
        LOG(a_line_names_its_own_request_whatever_follows),
        LOG(a_late_request_behind_another_is_logged_with_its_own_line),
        LOG(a_request_that_times_out_is_logged_as_far_as_it_was_read),
        LOG(a_long_request_line_is_cut),
        LOG(after_a_rotation_lines_go_to_a_new_file),
        LOG(if_reopening_fails_the_old_file_stays_in_use),
        LOG(a_line_is_made_from_an_entry_an_address_and_a_time),
        LOG(a_fifo_that_is_full_costs_lines_but_no_wait),
        LOG(after_a_line_that_was_cut_the_next_one_begins_a_new_one),
        LOG(a_line_that_ends_a_cut_one_may_be_cut_itself),
        LOG(a_lost_line_is_reported_once_a_minute),
        LOG(without_a_path_there_is_no_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
