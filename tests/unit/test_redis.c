/* store, redis_reply - commands as Redis reads them, and the memory of replies;
 * see common/store.h and common/redis_reply.h. hiredis' own functions do the
 * same with more work: they say what is right. */
#include "redis.h"

#include <stdlib.h>

#include "unit.h"

TEST(commands_are_written_as_hiredis_writes_them)
{
    const struct redis_command commands[] = {
        {1, {"PING"}, {4}},
        {2, {"INCR", "visitor_count"}, {4, 13}},
        {4, {"LRANGE", "guestbook_remarks", "-100", "-1"}, {6, 17, 4, 2}},
        {3, {"RPUSH", "key", ""}, {5, 3, 0}},
        {3, {"RPUSH", "key", "a\r\nb\0c"}, {5, 3, 6}},
        {3, {"RPUSH", "key", many('x', 100000)}, {5, 3, 100000}},
    };
    struct buffer out = {0};
    for (size_t i = 0; i < LENGTH(commands); i++) {
        const struct redis_command *c = &commands[i];
        char *expected;
        long long n = redisFormatCommandArgv(
            &expected, c->argc, (const char **)c->argv, c->argvlen);
        buffer_reset(&out, SIZE_MAX);
        redis_append_command(&out, c);
        assert_int_equal(out.len, n);
        assert_memory_equal(out.data, expected, (size_t)n);
        redisFreeCommand(expected);
    }
    buffer_free(&out);
}

static void assert_same(const redisReply *ours, const redisReply *theirs)
{
    assert_int_equal(ours->type, theirs->type);
    assert_int_equal(ours->integer, theirs->integer);
    assert_int_equal(ours->len, theirs->len);
    assert_int_equal((uintptr_t)ours % _Alignof(redisReply), 0);
    if (theirs->str != NULL)
        assert_memory_equal(ours->str, theirs->str, theirs->len + 1);
    assert_int_equal(ours->elements, theirs->elements);
    for (size_t i = 0; i < theirs->elements; i++)
        assert_same(ours->element[i], theirs->element[i]);
}

/* Gives the same bytes to a reader of each kind, in two pieces cut at `cut`,
 * and compares all replies that they hold. Returns how many. */
static int read_both(struct slice bytes, size_t cut)
{
    struct redis_reply_memory memory = {0};
    redisReader *ours = redisReaderCreate(), *theirs = redisReaderCreate();
    assert_non_null(ours);
    assert_non_null(theirs);
    redis_reply_use(ours, &memory);
    const struct slice pieces[] = {{bytes.p, cut},
                                   {bytes.p + cut, bytes.n - cut}};
    int replies = 0;
    for (size_t i = 0; i < LENGTH(pieces); i++) {
        void *mine, *other;
        redisReaderFeed(ours, pieces[i].p, pieces[i].n);
        redisReaderFeed(theirs, pieces[i].p, pieces[i].n);
        while (redisReaderGetReply(theirs, &other) == REDIS_OK &&
               other != NULL) {
            assert_int_equal(redisReaderGetReply(ours, &mine), REDIS_OK);
            assert_non_null(mine);
            assert_same(mine, other);
            freeReplyObject(other);
            replies++;
        }
        mine = NULL;
        assert_int_equal(redisReaderGetReply(ours, &mine),
                         theirs->err != 0 ? REDIS_ERR : REDIS_OK);
        assert_null(mine);
    }
    redisReaderFree(ours); /* with half a reply in it, for most cuts */
    redisReaderFree(theirs);
    redis_reply_free(&memory);
    return replies;
}

TEST(replies_are_those_of_hiredis_wherever_the_bytes_are_cut)
{
    struct slice bytes = SLICE(
        ":4711\r\n" "+OK\r\n" "-ERR no\r\n" "$5\r\nhello\r\n" "$0\r\n\r\n" "$-1\r\n"
        "*0\r\n" "*-1\r\n" "*3\r\n$1\r\na\r\n:-2\r\n$-1\r\n"
        "*2\r\n*2\r\n+x\r\n:1\r\n*1\r\n*1\r\n$2\r\n\r\n\r\n"
        "$6\r\na\0b\r\nc\r\n");
    for (size_t cut = 0; cut <= bytes.n; cut++)
        assert_int_equal(read_both(bytes, cut), 11);
}

TEST(a_reply_may_be_larger_than_the_block)
{
    struct buffer bytes = {0};
    for (int round = 0; round < 3; round++) {
        buffer_append_literal(&bytes, "*1000\r\n");
        for (unsigned i = 0; i < 1000; i++) {
            unsigned length = i * 7 % 200;
            buffer_printf(&bytes, "$%u\r\n%s\r\n", length, many('y', length));
        }
        buffer_printf(&bytes, "$100000\r\n%s\r\n", many('z', 100000));
        buffer_append_literal(&bytes, ":1\r\n");
    }
    struct slice all = {bytes.data, bytes.len};
    const size_t cuts[] = {0, 5, 15000, 16 * 1024, 100000, 150000};
    for (size_t i = 0; i < LENGTH(cuts); i++)
        assert_int_equal(read_both(all, cuts[i]), 9);
    buffer_free(&bytes);
}

TEST(nonsense_is_an_error_and_not_a_reply)
{
    const char *const lines[] = {"?\r\n", "$x\r\n", "*2\r\n:1\r\n?\r\n"};
    for (size_t i = 0; i < LENGTH(lines); i++)
        assert_int_equal(read_both(slice_of(lines[i]), 0), 0);
}

/* Version 3 of the protocol, which nobody asked for: an error in hiredis 0.14,
 * and since 1.0 a reply, with no element missing. */
TEST(what_redis_says_to_others_is_taken_as_hiredis_takes_it)
{
    struct slice bytes = SLICE(",1.5\r\n#t\r\n*3\r\n,2\r\n#f\r\n_\r\n");
    for (size_t cut = 0; cut <= bytes.n; cut++)
        assert_int_equal(read_both(bytes, cut), HIREDIS_MAJOR >= 1 ? 3 : 0);
}

TEST(one_reply_takes_the_memory_of_the_last)
{
    struct redis_reply_memory memory = {0};
    redisReader *reader = redisReaderCreate();
    void *first, *second;
    assert_non_null(reader);
    redis_reply_use(reader, &memory);
    redisReaderFeed(reader, "+one\r\n+two\r\n", 12);
    assert_int_equal(redisReaderGetReply(reader, &first), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &second), REDIS_OK);
    assert_ptr_equal(first, second);
    assert_string_equal(((redisReply *)second)->str, "two");

    redis_reply_free(&memory);
    redisReaderFeed(reader, "+three\r\n", 8);
    assert_int_equal(redisReaderGetReply(reader, &first), REDIS_OK);
    assert_string_equal(((redisReply *)first)->str, "three");
    redisReaderFree(reader);
    redis_reply_free(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_written_as_hiredis_writes_them),
        cmocka_unit_test(
            replies_are_those_of_hiredis_wherever_the_bytes_are_cut),
        cmocka_unit_test(a_reply_may_be_larger_than_the_block),
        cmocka_unit_test(nonsense_is_an_error_and_not_a_reply),
        cmocka_unit_test(what_redis_says_to_others_is_taken_as_hiredis_takes_it),
        cmocka_unit_test(one_reply_takes_the_memory_of_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
