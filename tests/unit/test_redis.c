/* redis - the blocking connection to Redis; see common/redis.h.
 *
 * The tests play Redis, on a unix socket and in the same thread: connecting
 * needs no accept(2), so a reply can be in the socket before it is read. */
#include "redis.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "folder.h"
#include "unit.h"

static struct folder folder;
static struct sockaddr_un place = {.sun_family = AF_UNIX};
static struct redis_address address;
static struct redis redis;
static int listener, peer; /* peer: our end of the connection, or -1 */

static const struct redis_command ping = {1, {"PING"}, REDIS_REPLY_STATUS};
static const struct redis_command get = {2, {"GET", "a b"}, REDIS_REPLY_STRING};

static int begin(void **state)
{
    (void)state;
    folder_create(&folder);
    snprintf(place.sun_path, sizeof place.sun_path, "%.90s/redis", folder.path);
    address = (struct redis_address){.path = place.sun_path};
    redis = (struct redis){.address = &address};
    peer = -1;
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(listener, (struct sockaddr *)&place, sizeof place) |
           listen(listener, 5);
}

static int end(void **state)
{
    (void)state;
    redis_close(&redis);
    close(peer);
    close(listener);
    folder_remove(&folder);
    return 0;
}

/* Connects, with our end in `peer`. */
static void connect_redis(void)
{
    assert_true(redis_begin(&redis, clock_monotonic_ms()));
    close(peer);
    peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
}

static void reply(const char *bytes)
{
    assert_int_equal(send(peer, bytes, strlen(bytes), MSG_NOSIGNAL),
                     strlen(bytes));
}

static void assert_asked(const char *expected)
{
    char bytes[200] = "";
    assert_true(recv(peer, bytes, sizeof bytes - 1, MSG_DONTWAIT) >= 0);
    assert_string_equal(bytes, expected);
}

static void assert_receives(int type, const char *text)
{
    redisReply *r = redis_receive(&redis);
    assert_non_null(r);
    assert_int_equal(r->type, type);
    assert_string_equal(r->str, text);
    freeReplyObject(r);
}

static void assert_receives_nothing(void)
{
    assert_null(redis_receive(&redis));
    assert_null(redis.context);
}

/* Does a connection wait in the accept queue? */
static bool is_connecting(void)
{
    struct pollfd fd = {.fd = listener, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

TEST(a_command_is_sent_when_its_reply_is_awaited)
{
    connect_redis();
    assert_true(redis_queue(&redis, &get));
    reply("$3\r\nx\ry\r\n");
    assert_receives(REDIS_REPLY_STRING, "x\ry");
    assert_asked("*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
}

TEST(several_commands_are_sent_together_and_replies_keep_their_order)
{
    connect_redis();
    assert_true(redis_queue(&redis, &ping));
    assert_true(redis_queue(&redis, &get));
    reply("+PONG\r\n-ERR no\r\n");
    assert_receives(REDIS_REPLY_STATUS, "PONG");
    assert_receives(REDIS_REPLY_ERROR, "ERR no");
    assert_asked("*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
}

TEST(a_connection_is_used_again)
{
    connect_redis();
    for (int i = 0; i < 3; i++) {
        /* 1000 ms later: it is not trusted any longer, and is examined. */
        assert_true(redis_begin(&redis, clock_monotonic_ms() + 1000));
        assert_true(redis_queue(&redis, &ping));
        reply("+PONG\r\n");
        assert_receives(REDIS_REPLY_STATUS, "PONG");
    }
    assert_false(is_connecting());
}

TEST(a_connection_that_redis_has_closed_is_replaced_before_use)
{
    connect_redis();
    shutdown(peer, SHUT_RDWR);
    connect_redis();
    assert_true(redis_queue(&redis, &ping));
    reply("+PONG\r\n");
    assert_receives(REDIS_REPLY_STATUS, "PONG");
}

TEST(a_reply_that_was_not_asked_for_is_not_taken_for_the_next_one)
{
    connect_redis();
    reply("+WRONG\r\n"); /* it arrives on its own */
    connect_redis();
    assert_true(redis_queue(&redis, &ping));
    reply("+PONG\r\n+WRONG\r\n"); /* it arrives with the right one */
    assert_receives(REDIS_REPLY_STATUS, "PONG");
    connect_redis();
}

TEST(no_reply_comes_from_a_connection_that_ends_or_speaks_another_protocol)
{
    static const char *const bytes[] = {"", "HTTP/1.1 400\r\n", "$5\r\nab",
                                        "*2\r\n+OK\r\n", "$-7\r\n"};
    for (size_t i = 0; i < LENGTH(bytes); i++) {
        redis.backoff = (struct redis_backoff){0};
        connect_redis();
        assert_true(redis_queue(&redis, &ping));
        reply(bytes[i]);
        shutdown(peer, SHUT_WR);
        assert_receives_nothing();
        assert_false(redis_queue(&redis, &ping));
        assert_null(redis_receive(&redis));
    }
}

enum { MEBIBYTE = 1024 * 1024 };

/* A reply of n elements, or of one string if n is 0, with `size` bytes each. */
static size_t make_reply(char *bytes, size_t room, size_t n, size_t size)
{
    size_t used = n > 0 ? (size_t)snprintf(bytes, room, "*%zu\r\n", n) : 0;
    for (size_t i = 0; i < n || i == 0; i++) {
        used += (size_t)snprintf(bytes + used, room - used, "$%zu\r\n", size);
        memset(bytes + used, 'x', size);
        used += size;
        used += (size_t)snprintf(bytes + used, room - used, "\r\n");
    }
    return used;
}

/* Sends what fits into the socket again and again, from a process of its own:
 * the reply is longer than the socket's buffer. */
static void reply_at_length(const char *bytes, size_t n)
{
    if (fork() == 0) {
        close(redis.context->fd); /* of our parent's end it is a copy */
        while (n > 0) {
            ssize_t sent = send(peer, bytes, n, MSG_NOSIGNAL);
            if (sent < 0)
                _exit(1); /* the other side has closed */
            bytes += sent;
            n -= (size_t)sent;
        }
        _exit(0);
    }
}

TEST(a_reply_that_holds_more_than_any_page_asks_for_is_refused)
{
    static const struct {
        size_t n, size;
        bool refused;
    } rows[] = {
        {128, 1, false}, {129, 1, true},
        {128, MEBIBYTE / 128, false}, {128, MEBIBYTE / 128 + 1, true},
        {0, MEBIBYTE / 2, false}, {0, MEBIBYTE + 1, true},
        {1, MEBIBYTE, false}, {1, MEBIBYTE + 1, true},
        {1, MEBIBYTE + 9999, true},
    };
    static char bytes[3 * MEBIBYTE / 2];
    for (size_t i = 0; i < LENGTH(rows); i++) {
        redis.backoff = (struct redis_backoff){0};
        redis_close(&redis);
        connect_redis();
        assert_true(redis_queue(&redis, &ping));
        reply_at_length(bytes, make_reply(bytes, sizeof bytes, rows[i].n,
                                          rows[i].size));
        redisReply *r = redis_receive(&redis);
        if ((r == NULL) != rows[i].refused)
            fail_msg("row %zu was %s", i, r == NULL ? "refused" : "taken");
        freeReplyObject(r);
        close(peer);
        peer = -1;
        redis_close(&redis); /* or the other process would wait for us */
        assert_true(wait(NULL) > 0);
    }
}

TEST(what_announces_too_much_or_does_not_end_is_refused)
{
    static const char *const begins[] = {"*1\r\n*1\r\n:1\r\n",
                                         "*2147483647\r\n",
                                         "$2147483647\r\n", "+"};
    static char bytes[MEBIBYTE + 100];
    for (size_t i = 0; i < LENGTH(begins); i++) {
        redis.backoff = (struct redis_backoff){0};
        connect_redis();
        assert_true(redis_queue(&redis, &ping));
        memset(bytes, 'x', sizeof bytes);
        memcpy(bytes, begins[i], strlen(begins[i]));
        reply_at_length(bytes, sizeof bytes);
        assert_receives_nothing();
        assert_true(wait(NULL) > 0);
    }
}

TEST(a_redis_that_does_not_reply_is_given_up_after_one_wait)
{
    connect_redis();
    assert_true(redis_queue(&redis, &ping));
    int64_t began = clock_monotonic_ms();
    assert_receives_nothing();
    assert_true(clock_monotonic_ms() - began >= REDIS_WAIT_MS - 20);
}

TEST(replies_that_come_after_the_page_s_deadline_are_of_no_use)
{
    assert_true(redis_begin(&redis,
                            clock_monotonic_ms() - REDIS_TIMEOUT_MS - 1));
    peer = accept(listener, NULL, NULL);
    assert_true(redis_queue(&redis, &get));
    reply("$3\r\na"); /* the rest could come byte by byte */
    assert_receives_nothing();
}

TEST(without_a_listener_nothing_is_tried_until_the_back_off_is_over)
{
    shutdown(listener, SHUT_RDWR);
    int64_t now = clock_monotonic_ms();
    assert_false(redis_begin(&redis, now));
    assert_int_equal(redis.backoff.delay_ms, 10);
    assert_false(redis_begin(&redis, now)); /* no second attempt */
    assert_int_equal(redis.backoff.delay_ms, 10);
    assert_false(redis_begin(&redis, redis.backoff.retry_ms));
    assert_int_equal(redis.backoff.delay_ms, 20);
}

TEST(a_lack_of_descriptors_says_nothing_about_redis)
{
    int64_t now = clock_monotonic_ms();
    limit_descriptors();
    assert_false(redis_begin(&redis, now));
    assert_int_equal(errno, EMFILE); /* so that the caller makes room */
    lift_descriptors();
    assert_true(redis_begin(&redis, now));
}

TEST(the_back_off_doubles_up_to_a_limit_and_only_a_reply_resets_it)
{
    static const int delays[] = {10, 20, 40, 80, 160, 320, 500, 500};
    for (size_t i = 0; i < LENGTH(delays); i++) {
        redis_backoff_failed(&redis.backoff, 1000);
        assert_int_equal(redis.backoff.delay_ms, delays[i]);
        assert_int_equal(redis.backoff.retry_ms, 1000 + delays[i]);
    }
    redis.backoff.retry_ms = 0;
    connect_redis();
    assert_int_equal(redis.backoff.delay_ms, 500);
    assert_true(redis_queue(&redis, &ping));
    reply("+PONG\r\n");
    assert_receives(REDIS_REPLY_STATUS, "PONG");
    assert_int_equal(redis.backoff.delay_ms, 0);
}

TEST(without_a_guestbook_there_is_no_connection)
{
    address.none = true;
    assert_false(redis_begin(&redis, clock_monotonic_ms()));
    assert_false(redis_queue(&redis, &ping));
    assert_null(redis_receive(&redis));
    assert_false(is_connecting());
}

int main(void)
{
#define REDIS(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        REDIS(a_command_is_sent_when_its_reply_is_awaited),
        REDIS(several_commands_are_sent_together_and_replies_keep_their_order),
        REDIS(a_connection_is_used_again),
        REDIS(a_connection_that_redis_has_closed_is_replaced_before_use),
        REDIS(a_reply_that_was_not_asked_for_is_not_taken_for_the_next_one),
        REDIS(no_reply_comes_from_a_connection_that_ends_or_speaks_another_protocol),
        REDIS(a_reply_that_holds_more_than_any_page_asks_for_is_refused),
        REDIS(what_announces_too_much_or_does_not_end_is_refused),
        REDIS(a_redis_that_does_not_reply_is_given_up_after_one_wait),
        REDIS(replies_that_come_after_the_page_s_deadline_are_of_no_use),
        REDIS(without_a_listener_nothing_is_tried_until_the_back_off_is_over),
        REDIS(a_lack_of_descriptors_says_nothing_about_redis),
        REDIS(the_back_off_doubles_up_to_a_limit_and_only_a_reply_resets_it),
        REDIS(without_a_guestbook_there_is_no_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
