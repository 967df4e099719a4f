/* http_chunked - the chunked transfer coding; see common/http_chunked.h. */
#include "bytes.h"
#include "http_chunked.h"
#include "unit.h"

/* Decodes raw bytes in pieces, split at the offsets in `cuts` (rising order).
 * Decodes them in place, as a connection does: the data of each piece follows
 * the data of the piece before it, and the next piece is read from there.
 * Returns minus a status, or the number of raw bytes that were read. *data is
 * valid until the next call. */
static ssize_t decode_in_pieces(struct slice raw, const size_t *cuts,
                                size_t n_cuts, struct http_chunked *decoder,
                                struct slice *data)
{
    static char room[256 * 1024];
    size_t used = 0, have = 0;
    if (raw.p == NULL)
        return -1; /* the test ran out of memory */
    *decoder = (struct http_chunked){0};
    for (size_t i = 0; i <= n_cuts; i++) {
        size_t end = i < n_cuts ? cuts[i] : raw.n;
        size_t consumed, written;
        assert_true(have + end - used <= sizeof room);
        memcpy(room + have, raw.p + used, end - used);
        int status = http_chunked_decode(decoder, room + have, room + have,
                                         end - used, &consumed, &written);
        if (status != 0)
            return status;
        assert_true(written <= consumed && consumed <= end - used);
        have += written;
        used += consumed;
        if (decoder->state == CHUNK_DONE)
            break;
        assert_int_equal(used, end); /* reads all until the body ends */
    }
    *data = (struct slice){room, have};
    return (ssize_t)used;
}

struct body {
    const char *raw; /* has no byte after the body */
    const char *data;
};

static const struct body bodies[] = {
    {"0\r\n\r\n", ""},
    {"5\r\nHello\r\n0\r\n\r\n", "Hello"},
    {"5\r\nHello\r\n7\r\n, World\r\n1\r\n!\r\n0\r\n\r\n", "Hello, World!"},
    {"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"},
    {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
    {"0005\r\nHello\r\n000\r\n\r\n", "Hello"},
    {"5;name=value\r\nHello\r\n0;last\r\n\r\n", "Hello"},
    {"5;a;b=c;d\r\nHello\r\n0\r\n\r\n", "Hello"},
    /* Bad white space (BWS): RFC 9112, 7.1.1. */
    {"5 ;a\r\nHello\r\n0\t ;a\r\n\r\n", "Hello"},
    {"5; a\r\nHello\r\n0; \ta\r\n\r\n", "Hello"},
    {"5;a =b\r\nHello\r\n0;a\t= b\r\n\r\n", "Hello"},
    {"5 ; a = b ; c ; d = \"e\" ;f\r\nHello\r\n0\r\n\r\n", "Hello"},
    /* Quoted strings with quoted pairs: RFC 9110, 5.6.4. */
    {"5;a=\"b;c\"\r\nHello\r\n0\r\n\r\n", "Hello"},
    {"5;a=\"\"\r\nHello\r\n0;a=\"\";b\r\n\r\n", "Hello"},
    {"5;a=\"\\\"\"\r\nHello\r\n0;a=\"\\\\\"\r\n\r\n", "Hello"},
    {"5;a=\"\t\xc3\xa9=\\\xc3\"\r\nHello\r\n0\r\n\r\n", "Hello"},
    {"5\r\nHello\r\n0\r\nTrailer: x\r\nOther:\r\n\r\n", "Hello"},
};

TEST(the_data_of_all_chunks_is_joined)
{
    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct http_chunked decoder;
        struct slice data, raw = slice_of(bodies[i].raw);
        ssize_t used = decode_in_pieces(raw, NULL, 0, &decoder, &data);
        assert_int_equal(used, raw.n);
        assert_int_equal(decoder.state, CHUNK_DONE);
        assert_slice(data, bodies[i].data);
    }
}

TEST(a_body_may_be_split_at_any_two_offsets)
{
    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct slice data, raw = slice_of(bodies[i].raw);
        for (size_t first = 0; first <= raw.n; first++)
            for (size_t second = first; second <= raw.n; second++) {
                struct http_chunked decoder;
                const size_t cuts[] = {first, second};
                ssize_t used =
                    decode_in_pieces(raw, cuts, 2, &decoder, &data);
                if (used != (ssize_t)raw.n || decoder.state != CHUNK_DONE)
                    fail_msg("row %zu, cut at %zu and %zu: %zd", i, first,
                             second, used);
                assert_slice(data, bodies[i].data);
            }
    }
}

TEST(a_body_may_arrive_byte_by_byte)
{
    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct http_chunked decoder;
        struct slice data, raw = slice_of(bodies[i].raw);
        size_t cuts[128];
        for (size_t n = 0; n < raw.n; n++)
            cuts[n] = n;
        assert_int_equal(decode_in_pieces(raw, cuts, raw.n, &decoder, &data),
                         raw.n);
        assert_slice(data, bodies[i].data);
    }
}

TEST(a_prefix_of_a_body_is_incomplete_and_not_read_past_its_end)
{
    for (size_t i = 0; i < LENGTH(bodies); i++)
        for (size_t n = 0; n < strlen(bodies[i].raw); n++) {
            struct http_chunked decoder = {0};
            size_t consumed, written;
            char *bytes = before_guard_page(bodies[i].raw, n);
            assert_int_equal(http_chunked_decode(&decoder, bytes, bytes, n,
                                                 &consumed, &written), 0);
            assert_int_equal(consumed, n);
            assert_int_not_equal(decoder.state, CHUNK_DONE);
        }
}

TEST(bytes_after_the_body_are_not_consumed)
{
    struct http_chunked decoder;
    struct slice data;
    struct slice raw = SLICE("3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n");
    assert_int_equal(decode_in_pieces(raw, NULL, 0, &decoder, &data), 13);
    assert_slice(data, "abc");
}

TEST(a_malformed_body_is_refused_wherever_it_is_split)
{
    static const struct {
        const char *name;
        struct slice raw;
    } rows[] = {
        {"no size", SLICE("\r\n\r\n")},
        {"no digit", SLICE("g\r\n")},
        {"a sign", SLICE("+5\r\nHello\r\n")},
        {"a minus", SLICE("-5\r\nHello\r\n")},
        {"0x", SLICE("0x5\r\nHello\r\n")},
        {"an underscore", SLICE("1_0\r\nHello\r\n")},
        {"a space before the size", SLICE(" 5\r\nHello\r\n")},
        {"a space after the size", SLICE("5 \r\nHello\r\n")},
        {"bare LF after the size", SLICE("5\nHello\r\n0\r\n\r\n")},
        {"bare CR after the size", SLICE("5\rHello\r\n0\r\n\r\n")},
        {"bare LF after an extension", SLICE("5;a\nHello\r\n0\r\n\r\n")},
        {"NUL in an extension", SLICE("5;a\0\r\nHello\r\n0\r\n\r\n")},
        {"a semicolon alone", SLICE("5;\r\nHello\r\n0\r\n\r\n")},
        {"a semicolon and a space", SLICE("5; \r\nHello\r\n0\r\n\r\n")},
        {"two semicolons", SLICE("5;;a\r\nHello\r\n0\r\n\r\n")},
        {"a semicolon at the end", SLICE("5;a;\r\nHello\r\n0\r\n\r\n")},
        {"an extension after a space", SLICE("5 a\r\nHello\r\n0\r\n\r\n")},
        {"two extension names", SLICE("5;a b\r\nHello\r\n0\r\n\r\n")},
        {"a space after a name", SLICE("5;a \r\nHello\r\n0\r\n\r\n")},
        {"a space after a value", SLICE("5;a=b \r\nHello\r\n0\r\n\r\n")},
        {"an extension without name", SLICE("5;=b\r\nHello\r\n0\r\n\r\n")},
        {"an extension name that is not a token",
         SLICE("5;a\xe9\r\nHello\r\n0\r\n\r\n")},
        {"no value", SLICE("5;a=\r\nHello\r\n0\r\n\r\n")},
        {"no value before a semicolon",
         SLICE("5;a=;b\r\nHello\r\n0\r\n\r\n")},
        {"two equals signs", SLICE("5;a=b=c\r\nHello\r\n0\r\n\r\n")},
        {"two values", SLICE("5;a=b c\r\nHello\r\n0\r\n\r\n")},
        {"an open quote", SLICE("5;a=\"\r\nHello\r\n0\r\n\r\n")},
        {"an open quote after a quoted pair",
         SLICE("5;a=\"b\\\"\r\nHello\r\n0\r\n\r\n")},
        {"a quoted CR", SLICE("5;a=\"\\\r\n\"\r\nHello\r\n0\r\n\r\n")},
        {"a quote inside a token", SLICE("5;a=b\"\r\nHello\r\n0\r\n\r\n")},
        {"text after a quoted string",
         SLICE("5;a=\"b\"c\r\nHello\r\n0\r\n\r\n")},
        {"NUL in a quoted string",
         SLICE("5;a=\"\0\"\r\nHello\r\n0\r\n\r\n")},
        {"less data than the size says", SLICE("6\r\nHello\r\n0\r\n\r\n")},
        {"more data than the size says", SLICE("4\r\nHello\r\n0\r\n\r\n")},
        {"bare LF after the data", SLICE("5\r\nHello\n0\r\n\r\n")},
        {"bare LF at the end", SLICE("0\r\n\n")},
        {"another byte than LF at the end", SLICE("0\r\n\rX")},
        {"an empty trailer name", SLICE("0\r\n: x\r\n\r\n")},
        {"a trailer without colon", SLICE("0\r\nx\r\n\r\n")},
        {"a folded trailer", SLICE("0\r\nX: x\r\n y\r\n\r\n")},
        {"a folded first trailer", SLICE("0\r\n X: y\r\n\r\n")},
        {"a space before the colon", SLICE("0\r\nX : x\r\n\r\n")},
        {"NUL in a trailer", SLICE("0\r\nX: \0\r\n\r\n")},
        {"bare LF after a trailer", SLICE("0\r\nX: x\n\r\n")},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (size_t cut = 0; cut <= rows[i].raw.n; cut++) {
            struct http_chunked decoder;
            struct slice data;
            ssize_t status =
                decode_in_pieces(rows[i].raw, &cut, 1, &decoder, &data);
            if (status != -400)
                fail_msg("%s, cut at %zu: %zd", rows[i].name, cut, status);
        }
}

/* Decodes prefix, n times c, suffix. */
static ssize_t decode_long(const char *prefix, char c, size_t n,
                           const char *suffix)
{
    struct buffer raw = {0};
    struct http_chunked decoder;
    struct slice data;
    buffer_append_slice(&raw, slice_of(prefix));
    buffer_append(&raw, many(c, n), n);
    buffer_append_slice(&raw, slice_of(suffix));
    ssize_t result = decode_in_pieces((struct slice){raw.data, raw.len}, NULL,
                                      0, &decoder, &data);
    buffer_free(&raw);
    return result;
}

TEST(a_size_cannot_overflow)
{
    assert_int_equal(decode_long("", 'f', 16, "\r\n"), -413);
    assert_int_equal(decode_long("", 'f', 17, "\r\n"), -413);
    assert_int_equal(decode_long("1", '0', 16, "\r\n"), -413);
}

TEST(extensions_trailers_and_leading_zeros_have_a_limit)
{
    size_t limit = HTTP_CHUNK_OVERHEAD;
    assert_true(decode_long("0;", 'x', limit - 64, "\r\n\r\n") > 0);
    assert_int_equal(decode_long("0;", 'x', limit + 1, "\r\n\r\n"), -413);
    assert_true(decode_long("0\r\nX:", 'x', limit - 64, "\r\n\r\n") > 0);
    assert_int_equal(decode_long("0\r\nX:", 'x', limit, "\r\n\r\n"), -413);
    assert_int_equal(decode_long("0\r\n", 'X', limit + 1, ":\r\n\r\n"), -413);
    assert_true(decode_long("", '0', limit - 64, "\r\n\r\n") > 0);
    assert_int_equal(decode_long("", '0', limit + 1, "\r\n\r\n"), -413);
}

TEST(the_size_lines_of_small_chunks_are_not_overhead)
{
    /* Some clients send one chunk for each byte. */
    struct buffer raw = {0};
    struct http_chunked decoder;
    struct slice data;
    for (int i = 0; i < HTTP_BODY_MAX / 2; i++)
        buffer_append_literal(&raw, "1\r\nx\r\n");
    buffer_append_literal(&raw, "0\r\n\r\n");
    assert_int_equal(decode_in_pieces((struct slice){raw.data, raw.len}, NULL,
                                      0, &decoder, &data), raw.len);
    assert_int_equal(data.n, HTTP_BODY_MAX / 2);
    buffer_free(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_data_of_all_chunks_is_joined),
        cmocka_unit_test(a_body_may_be_split_at_any_two_offsets),
        cmocka_unit_test(a_body_may_arrive_byte_by_byte),
        cmocka_unit_test(
            a_prefix_of_a_body_is_incomplete_and_not_read_past_its_end),
        cmocka_unit_test(bytes_after_the_body_are_not_consumed),
        cmocka_unit_test(a_malformed_body_is_refused_wherever_it_is_split),
        cmocka_unit_test(a_size_cannot_overflow),
        cmocka_unit_test(extensions_trailers_and_leading_zeros_have_a_limit),
        cmocka_unit_test(the_size_lines_of_small_chunks_are_not_overhead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
