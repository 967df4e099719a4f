/* redis_async - Redis for an event loop; see common/redis_async.h.
 *
 * The tests play both the loop and Redis, on a unix socket. The clock moves only
 * when a test says so. */
#include "redis_async.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "folder.h"
#include "unit.h"

static struct folder folder;
static struct sockaddr_un place = {.sun_family = AF_UNIX};
static struct redis_address address;
static struct clock clock_of_loop;
static struct redis_async redis;
static struct pollfd watched; /* what the loop watches */
static int watch_calls;
static char replies[200];     /* "A=PONG B=NULL " */
static bool ask_again;        /* when a reply is NULL */
static bool ask_next;         /* when it is not */
static int listener, peer;

static const struct redis_command ping = {1, {"PING"}, REDIS_REPLY_STATUS};

static void watch(void *loop, int fd, short events)
{
    assert_ptr_equal(loop, &folder);
    watched = (struct pollfd){.fd = fd, .events = events};
    watch_calls++;
}

static void on_reply(void *loop, void *client, const redisReply *reply)
{
    assert_ptr_equal(loop, &folder);
    size_t n = strlen(replies);
    snprintf(replies + n, sizeof replies - n, "%s=%s ", (const char *)client,
             reply != NULL ? reply->str : "NULL");
    if (reply == NULL ? ask_again : ask_next)
        assert_false(redis_async_queue(&redis, &ping, client));
}

static int begin(void **state)
{
    (void)state;
    folder_create(&folder);
    snprintf(place.sun_path, sizeof place.sun_path, "%.90s/redis", folder.path);
    address = (struct redis_address){.path = place.sun_path};
    clock_of_loop = (struct clock){.now_ms = 1000000};
    redis = (struct redis_async){.address = &address, .clock = &clock_of_loop,
                                 .loop = &folder, .watch = watch,
                                 .deliver = on_reply};
    watched = (struct pollfd){.fd = -1};
    watch_calls = 0;
    replies[0] = '\0';
    ask_again = ask_next = false;
    peer = -1;
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(listener, (struct sockaddr *)&place, sizeof place) |
           listen(listener, 5);
}

static int end(void **state)
{
    (void)state;
    redis_async_close(&redis);
    close(peer);
    close(listener);
    folder_remove(&folder);
    return 0;
}

/* Iterates until nothing is ready any longer. */
static void run_loop(void)
{
    redis_async_flush(&redis);
    while (watched.events != 0 && poll(&watched, 1, 0) > 0) {
        redis_async_ready(&redis, (uint32_t)watched.revents);
        redis_async_flush(&redis);
    }
}

static bool ask(const char *client)
{
    return redis_async_queue(&redis, &ping, (void *)(uintptr_t)client);
}

static void accept_redis(void)
{
    run_loop();
    close(peer);
    peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
}

/* Lets Redis send these bytes, and the loop deliver them. */
static void reply(const char *bytes)
{
    assert_int_equal(send(peer, bytes, strlen(bytes), MSG_NOSIGNAL),
                     strlen(bytes));
    run_loop();
}

static void assert_asked(const char *expected)
{
    char bytes[200] = "";
    assert_true(recv(peer, bytes, sizeof bytes - 1, MSG_DONTWAIT) >= 0);
    assert_string_equal(bytes, expected);
}

#define PING "*1\r\n$4\r\nPING\r\n"

TEST(clients_share_a_connection_and_get_their_replies_in_order)
{
    assert_true(ask("A") && ask("B"));
    accept_redis();
    assert_asked(PING PING);
    assert_true(ask("C"));
    reply("+1\r\n+2");
    assert_string_equal(replies, "A=1 ");
    assert_asked(PING);
    reply("\r\n+3\r\n");
    assert_string_equal(replies, "A=1 B=2 C=3 ");
    assert_int_equal(redis.due, 0);
}

TEST(what_is_queued_in_one_iteration_costs_the_loop_no_further_call)
{
    assert_true(ask("A"));
    accept_redis();
    assert_asked(PING);
    reply("+1\r\n");
    int calls = watch_calls;
    for (int i = 0; i < 3; i++) {
        assert_true(ask("B") && ask("C"));
        redis_async_flush(&redis);
        assert_asked(PING PING);
        reply("+2\r\n+3\r\n");
    }
    assert_int_equal(watch_calls, calls);
}

TEST(a_redis_that_ends_the_connection_owes_nobody_a_reply)
{
    ask_again = true; /* is refused: there is a back-off */
    assert_true(ask("A") && ask("B"));
    accept_redis();
    shutdown(peer, SHUT_RDWR);
    run_loop();
    assert_string_equal(replies, "A=NULL B=NULL ");
    assert_int_equal(watched.events, 0);
    assert_false(ask("C"));
    clock_of_loop.now_ms = redis.backoff.retry_ms;
    assert_true(ask("C"));
    accept_redis();
    reply("+3\r\n");
    assert_string_equal(replies, "A=NULL B=NULL C=3 ");
}

TEST(a_redis_that_closes_an_idle_connection_is_asked_again_at_once)
{
    assert_true(ask("A"));
    accept_redis();
    reply("+1\r\n");
    shutdown(peer, SHUT_RDWR);
    run_loop();
    assert_null(redis.context);
    assert_true(ask("B"));
    accept_redis();
    reply("+2\r\n");
    assert_string_equal(replies, "A=1 B=2 ");
}

TEST(a_reply_that_was_not_asked_for_goes_to_nobody)
{
    assert_true(ask("A"));
    accept_redis();
    reply("+1\r\n+WRONG\r\n");
    assert_null(redis.context);
    clock_of_loop.now_ms = redis.backoff.retry_ms;
    assert_true(ask("B"));
    accept_redis();
    reply("+2\r\n");
    reply("+WRONG\r\n"); /* on its own */
    assert_string_equal(replies, "A=1 B=2 ");
    assert_null(redis.context);
}

TEST(a_page_that_goes_on_after_a_surplus_reply_finds_redis_away)
{
    ask_next = true; /* a connection made now would be forgotten with this one */
    assert_true(ask("A"));
    accept_redis();
    reply("+1\r\n+2\r\n");
    assert_string_equal(replies, "A=1 ");
    assert_null(redis.context);
    assert_int_equal(watched.events, 0);
}

TEST(another_protocol_is_no_reply)
{
    assert_true(ask("A"));
    accept_redis();
    reply("HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_string_equal(replies, "A=NULL ");
    assert_null(redis.context);
}

TEST(what_announces_or_sends_too_much_is_no_reply)
{
    static const char *const begins[] = {"*129\r\n", "*1\r\n*0\r\n",
                                         "*2147483647\r\n",
                                         "$2147483647\r\n", "+"};
    for (size_t i = 0; i < LENGTH(begins); i++) {
        redis.backoff = (struct redis_backoff){0};
        replies[0] = '\0';
        assert_true(ask("A"));
        accept_redis();
        reply(begins[i]);
        for (int n = 0; redis.context != NULL && n < 12; n++) /* 1.2 MB */
            reply(many('x', 100 * 1000));
        if (strcmp(replies, "A=NULL ") != 0 || redis.context != NULL)
            fail_msg("row %zu: '%s'", i, replies);
    }
}

TEST(silence_has_a_limit_that_each_reply_starts_again)
{
    assert_true(redis_async_deadline_ms(&redis) == INT64_MAX);
    assert_true(ask("A") && ask("B"));
    accept_redis();
    assert_int_equal(redis_async_deadline_ms(&redis),
                     clock_of_loop.now_ms + REDIS_TIMEOUT_MS);
    clock_of_loop.now_ms += REDIS_TIMEOUT_MS - 1;
    reply("+1\r\n");
    assert_int_equal(redis_async_deadline_ms(&redis),
                     clock_of_loop.now_ms + REDIS_TIMEOUT_MS);
    clock_of_loop.now_ms += REDIS_TIMEOUT_MS - 1;
    run_loop();
    assert_string_equal(replies, "A=1 ");
    clock_of_loop.now_ms++;
    run_loop();
    assert_string_equal(replies, "A=1 B=NULL ");
    assert_null(redis.context);
}

TEST(without_a_listener_there_is_a_back_off)
{
    close(listener);
    unlink(place.sun_path);
    listener = -1;
    bool sent = ask("A"); /* a unix socket may fail now or a step later */
    run_loop();
    assert_string_equal(replies, sent ? "A=NULL " : "");
    assert_int_equal(redis.backoff.delay_ms, 10);
    assert_false(ask("B"));
    clock_of_loop.now_ms = redis.backoff.retry_ms;
    ask("B");
    run_loop();
    assert_int_equal(redis.backoff.delay_ms, 20);
}

TEST(a_lack_of_descriptors_says_nothing_about_redis)
{
    limit_descriptors();
    assert_false(ask("A"));
    assert_int_equal(errno, EMFILE); /* so that the loop makes room */
    lift_descriptors();
    assert_true(ask("A"));
}

TEST(without_a_guestbook_there_is_no_connection)
{
    address.none = true;
    assert_false(ask("A"));
    assert_int_equal(watch_calls, 0);
}

int main(void)
{
#define REDIS(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        REDIS(clients_share_a_connection_and_get_their_replies_in_order),
        REDIS(what_is_queued_in_one_iteration_costs_the_loop_no_further_call),
        REDIS(a_redis_that_ends_the_connection_owes_nobody_a_reply),
        REDIS(a_redis_that_closes_an_idle_connection_is_asked_again_at_once),
        REDIS(a_reply_that_was_not_asked_for_goes_to_nobody),
        REDIS(a_page_that_goes_on_after_a_surplus_reply_finds_redis_away),
        REDIS(another_protocol_is_no_reply),
        REDIS(what_announces_or_sends_too_much_is_no_reply),
        REDIS(silence_has_a_limit_that_each_reply_starts_again),
        REDIS(without_a_listener_there_is_a_back_off),
        REDIS(a_lack_of_descriptors_says_nothing_about_redis),
        REDIS(without_a_guestbook_there_is_no_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
