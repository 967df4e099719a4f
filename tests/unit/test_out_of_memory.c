/* Running out of memory: each allocation that serves a request fails, first
 * alone, then together with all that follow it. The client gets a well-formed
 * answer or the end of the connection, everything is released, and the next
 * request is answered as usual.
 *
 * The linker replaces aligned_alloc, calloc, malloc, realloc and strdup by the
 * functions below in everything that is linked into this program (ld --wrap). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "conversation.h"

void *__real_aligned_alloc(size_t alignment, size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t n);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

static bool armed;    /* allocations are counted, and some fail */
static int countdown; /* until the one that fails: 0 is the next */
static bool for_good; /* all that follow fail too */
static int failures;
static bool without_exchange; /* an exchange could not be allocated */

static bool fails(void)
{
    if (!armed || countdown-- > 0 || (!for_good && failures > 0))
        return false;
    failures++;
    return true;
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    if (!fails())
        return __real_aligned_alloc(alignment, n);
    without_exchange = true; /* nothing else is aligned */
    return NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

#define POST_FORM(form, length) \
    "POST /guestbook HTTP/1.1\r\nHost: a\r\n" \
    "Content-Type: application/x-www-form-urlencoded\r\n" \
    "Content-Length: " length "\r\n\r\n" form

/* Each needs memory in a way of its own. */
static const struct {
    const char *request;
    const char *statuses; /* when there is enough */
} rows[] = {
    {GET("/hello"), "200"},
    {GET("/"), "200"},
    {GET("/big.bin"), "200"},
    {GET("/folder"), "301"},
    {GET("/nowhere"), "404"},
    {GET("/echo?value=%3Cx%3E"), "200"},
    {GET("/compute?ms=1"), "200"},
    {GET("/guestbook"), "200"},
    {POST_FORM("guest-name=Ada&guest-remarks=a", "30"), "303"},
    {POST_FORM("guest-name=&guest-remarks=a", "27"), "400"},
    {"GET /notes.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=2-4\r\n\r\n", "206"},
    {"POST /hello HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
     "Content-Length: 1\r\n\r\n", "100"},
    {REQUEST("OPTIONS", "*"), "204"},
    {"nonsense\r\n\r\n", "400"},
    {GET("/hello") GET("/") GET("/guestbook") GET("/nowhere") GET("/hello"),
     "200 200 200 404 200"},
};

/* Connects a new client, whose receive buffer needs no further memory. */
static void reconnect(void)
{
    client_disconnect(&client);
    client_connect(&client, &world);
    assert_non_null(buffer_reserve(&client.received, (size_t)256 << 10));
}

/* How many requests the row has: a status for each. */
static int requests(size_t row)
{
    int n = 1;
    for (const char *p = rows[row].statuses; (p = strchr(p, ' ')) != NULL; p++)
        n++;
    return n;
}

/* Fails unless all that was received is whole answers, none behind one that
 * said close. */
static void assert_well_formed(size_t row, int at)
{
    struct slice rest = {client.received.data, client.received.len};
    struct answer answer = {0};
    int answers = 0;
    for (; rest.n > 0; answers++) {
        const char *complaint = answer.close
                                    ? "an answer after the last one"
                                    : answer_read(&rest, false, &answer);
        if (complaint != NULL)
            fail_msg("row %zu, allocation %d: %s", row, at, complaint);
    }
    bool over = client_is_over(&client);
    /* A single failure leaves memory for a 503, also of a later request. */
    if (over && !for_good && !without_exchange && answers < requests(row))
        fail_msg("row %zu, allocation %d: a request without an answer", row, at);
    /* Half a request, 100 Continue not sent, has its deadline. */
    if (answer.status == 0 && !over &&
        http_conn_phase(&client.conn) != HTTP_PHASE_REQUEST)
        fail_msg("row %zu, allocation %d: neither answer nor end", row, at);
    if (answer.close && !over)
        fail_msg("row %zu, allocation %d: it said close, and goes on", row, at);
}

/* Serves a row with the allocation number `at` failing. Returns whether there
 * was such an allocation. */
static bool serve_with_failure(size_t row, int at)
{
    reconnect();
    armed = true;
    countdown = at;
    failures = 0;
    without_exchange = false;
    client_send(&client, slice_of(rows[row].request));
    armed = false;
    assert_well_formed(row, at);

    reconnect();
    client_send(&client, slice_of(rows[row].request));
    assert_statuses(rows[row].statuses);
    return failures > 0;
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

/* Fails each allocation of each row in turn, with all caches cold. */
static void fail_each(void)
{
    int failed = 0, before = -1;
    for (size_t row = 0; row < LENGTH(rows); row++)
        for (int at = 0;; at++) {
            talk_end(NULL);
            talk_begin(NULL);
            world.site.compute = true;
            if (before < 0)
                before = open_descriptors();
            assert_int_equal(open_descriptors(), before); /* no file leaks */
            if (!serve_with_failure(row, at))
                break;
            failed++;
        }
    assert_true(failed > 3 * (int)LENGTH(rows));
}

TEST(an_allocation_that_fails_costs_one_request_at_most)
{
    if (!has_openat2())
        skip();
    for_good = false;
    fail_each();
}

TEST(when_all_fail_it_recovers_as_soon_as_there_is_memory)
{
    if (!has_openat2())
        skip();
    for_good = true;
    fail_each();
}

TEST(a_connection_without_a_buffer_has_no_input)
{
    size_t room;
    armed = for_good = true;
    countdown = 0;
    assert_null(http_conn_input(&client.conn, &room));
    armed = false;
    assert_non_null(http_conn_input(&client.conn, &room));
    http_conn_received(&client.conn, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TALK(an_allocation_that_fails_costs_one_request_at_most),
        TALK(when_all_fail_it_recovers_as_soon_as_there_is_memory),
        TALK(a_connection_without_a_buffer_has_no_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
