/* http_parser - the head of a request; see common/http_parser.h. */
#include "http_parser.h"

#include <stdio.h>

#include "bytes.h"
#include "unit.h"

static struct http_request request; /* what the last parse() found */

/* Parses n bytes before a guard page: reading one byte too many crashes. */
static ssize_t parse_bytes(const char *bytes, size_t n)
{
    return http_parse_head(before_guard_page(bytes, n), n, &request);
}

static ssize_t parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

#define HOST "Host: a\r\n"

/* --------------------------------------- complete and incomplete heads */

static const char *const valid[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\nHost: a\n\n", /* typed with nc(1) */
    "GET / HTTP/1.1\nHost: a\r\n\n",
    /* Old clients send an empty line after a POST. */
    "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /index.html HTTP/1.1\r\nhost:a\r\n\r\n",
    "POST /guestbook HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n", /* ignored: RFC 9112, 3.2.2 */
    "GET / HTTP/1.0\r\nHost:\r\n\r\n",
    "GET http://example.org HTTP/1.1\r\nHost: b\r\n\r\n",
    "GET HTTP://example.org:80/a?b HTTP/1.1\r\nHost: b\r\n\r\n",
    "GET http://[::1]:8000?x HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n",
    "GET /~!$&'()*+,;=:@-._%00{}|\\^`\"<>[] HTTP/1.1\r\nHost: a\r\n\r\n",
    "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n",
    "M-SEARCH * HTTP/1.1\r\nHost: a\r\n\r\n",
    "CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.9\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \t \r\nZ: z \t\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: caf\xc3\xa9 \xff\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
    "GET / HTTP/1.0\r\nContent-Length: 7\r\nContent-Length: 007\r\n\r\n",
};

TEST(every_prefix_of_a_valid_request_is_incomplete)
{
    for (size_t i = 0; i < LENGTH(valid); i++)
        for (size_t n = 0; n < strlen(valid[i]); n++)
            if (parse_bytes(valid[i], n) != 0)
                fail_msg("row %zu, %zu bytes: %zd", i, n,
                         parse_bytes(valid[i], n));
}

TEST(bytes_after_a_complete_head_do_not_change_its_length)
{
    for (size_t i = 0; i < LENGTH(valid); i++) {
        size_t n = strlen(valid[i]);
        if (parse(valid[i]) != (ssize_t)n)
            fail_msg("row %zu: %zd for %zu bytes", i, parse(valid[i]), n);
        char followed[512];
        snprintf(followed, sizeof followed, "%s%s", valid[i],
                 "\r\n\0garbage");
        if (parse_bytes(followed, n + 10) != (ssize_t)n)
            fail_msg("row %zu: bytes after it change its length", i);
    }
}

/* ------------------------------------------------ what a head contains */

TEST(every_part_of_a_request_is_stored)
{
    assert_true(parse("POST /a/b%20c?d=e?f HTTP/1.1\r\n"
                      "Host: example.org:8000\r\n"
                      "Content-Type: \ttext/plain \r\n"
                      "Range: bytes=0-1\r\n"
                      "If-Range: \"r\"\r\n"
                      "If-None-Match: \"n\"\r\n"
                      "If-Modified-Since: yesterday\r\n"
                      "If-Match: \"m\"\r\n"
                      "If-Unmodified-Since: today\r\n"
                      "Content-Length: 12\r\n\r\n") > 0);
    assert_int_equal(request.method, HTTP_POST);
    assert_int_equal(request.minor_version, 1);
    assert_slice(request.line, "POST /a/b%20c?d=e?f HTTP/1.1");
    assert_slice(request.path, "/a/b%20c");
    assert_slice(request.query, "d=e?f");
    assert_slice(request.content_type, "text/plain");
    assert_slice(request.range, "bytes=0-1");
    assert_slice(request.if_range, "\"r\"");
    assert_int_equal(request.if_none_match.count, 1);
    assert_slice(request.if_none_match.lines[0], "\"n\"");
    assert_slice(request.if_modified_since, "yesterday");
    assert_int_equal(request.if_match.count, 1);
    assert_slice(request.if_match.lines[0], "\"m\"");
    assert_slice(request.if_unmodified_since, "today");
    assert_int_equal(request.content_length, 12);
    assert_false(request.chunked);
    assert_false(request.expect_continue);
}

TEST(a_field_that_was_not_sent_is_null)
{
    assert_true(parse("GET / HTTP/1.0\r\n\r\n") > 0);
    assert_null(request.query.p);
    assert_null(request.content_type.p);
    assert_null(request.range.p);
    assert_null(request.if_range.p);
    assert_int_equal(request.if_none_match.count, 0);
    assert_null(request.if_modified_since.p);
    assert_int_equal(request.if_match.count, 0);
    assert_null(request.if_unmodified_since.p);
    assert_int_equal(request.content_length, 0);
    assert_true(parse("GET /? HTTP/1.0\r\n\r\n") > 0);
    assert_non_null(request.query.p); /* empty, but sent */
}

TEST(all_lines_of_a_list_are_kept_in_order)
{
    assert_true(parse("GET / HTTP/1.1\r\n" HOST
                      "If-Match: \"a\", \"b\"\r\nIf-None-Match:\r\n"
                      "if-match: \"c\"\r\nIf-None-Match: \"d\"\r\n\r\n") > 0);
    assert_int_equal(request.if_match.count, 2);
    assert_slice(request.if_match.lines[0], "\"a\", \"b\"");
    assert_slice(request.if_match.lines[1], "\"c\"");
    assert_int_equal(request.if_none_match.count, 2);
    assert_slice(request.if_none_match.lines[0], "");
    assert_slice(request.if_none_match.lines[1], "\"d\"");
}

TEST(a_single_value_field_with_two_lines_is_empty)
{
    static const char fields[] =
        "Range: bytes=0-1\r\nIf-Range: \"r\"\r\n"
        "If-Modified-Since: Sat, 05 Nov 1994 01:46:40 GMT\r\n"
        "If-Unmodified-Since: Sat, 05 Nov 1994 01:46:40 GMT\r\n";
    for (int lines = 2; lines <= 3; lines++) {
        char text[1024];
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST "%s%s%s\r\n",
                 fields, fields, lines == 3 ? fields : "");
        assert_true(parse(text) > 0);
        assert_slice(request.range, "");
        assert_slice(request.if_range, "");
        assert_slice(request.if_modified_since, "");
        assert_slice(request.if_unmodified_since, "");
        assert_non_null(request.range.p); /* not NULL: it was sent */
    }
}

TEST(every_method_is_recognized)
{
    static const struct {
        const char *name;
        enum http_method method;
    } rows[] = {
        {"GET", HTTP_GET},         {"HEAD", HTTP_HEAD},
        {"POST", HTTP_POST},       {"OPTIONS", HTTP_OPTIONS},
        {"PUT", HTTP_REFUSED},     {"DELETE", HTTP_REFUSED},
        {"PATCH", HTTP_REFUSED},   {"TRACE", HTTP_REFUSED},
        {"get", HTTP_UNKNOWN},     {"GETS", HTTP_UNKNOWN},
        {"GE", HTTP_UNKNOWN},      {"PROPFIND", HTTP_UNKNOWN},
        {"CONNECT", HTTP_UNKNOWN}, {"!", HTTP_UNKNOWN},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s /x HTTP/1.1\r\n" HOST "\r\n",
                 rows[i].name);
        assert_true(parse(text) > 0);
        if (request.method != rows[i].method)
            fail_msg("%s: %d", rows[i].name, request.method);
    }
}

TEST(a_target_may_name_a_host)
{
    static const struct {
        const char *target, *path, *query;
    } rows[] = {
        {"http://example.org/a?b", "/a", "b"},
        {"http://example.org", "/", NULL},
        {"http://example.org?b", "/", "b"},
        {"HTTP://example.org:80//", "//", NULL},
        {"http://[::1]/", "/", NULL},
        {"/http://example.org/", "/http://example.org/", NULL},
        {"//example.org/", "//example.org/", NULL},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[128];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
                 rows[i].target);
        assert_true(parse(text) > 0);
        assert_slice(request.path, rows[i].path);
        if (rows[i].query == NULL)
            assert_null(request.query.p);
        else
            assert_slice(request.query, rows[i].query);
    }
}

TEST(a_host_is_a_name_or_an_address_with_an_optional_port)
{
    static const char *const hosts[] = {
        "a", "example.org", "example.org.", "127.0.0.1", "127.0.0.1:8000",
        "a:80", "a:0", "a:65535", "a:00080", "a:", /* RFC 3986, 3.2.3 */
        "[::1]", "[::1]:80", "[::1]:", "[::]", "[2001:db8::7:0]",
        "[1:2:3:4:5:6:7:8]", "[::ffff:192.0.2.1]", "[FE80::A]:8000",
        "a_b-c~d", "!$&'()*+,;=", "caf%C3%a9", "%00", "%41:80"};
    for (size_t i = 0; i < LENGTH(hosts); i++) {
        char text[128];
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n",
                 hosts[i]);
        if (parse(text) <= 0)
            fail_msg("Host: %s is refused", hosts[i]);
        snprintf(text, sizeof text, "GET http://%s?b HTTP/1.1\r\n" HOST
                 "\r\n", hosts[i]);
        if (parse(text) <= 0)
            fail_msg("http://%s is refused", hosts[i]);
        assert_slice(request.path, "/");
    }
}

TEST(a_host_is_named_by_the_target_or_by_the_host_field)
{
    /* Both make the URI http:///, which has no host (RFC 9110, 4.2.1). */
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost:\r\n\r\n"), -400);
    assert_int_equal(parse("GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n"), -400);
    /* The field is ignored where the target names a host, but not invalid. */
    assert_true(parse("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n") > 0);
    assert_true(parse("GET http://a/ HTTP/1.1\r\nHost: :80\r\n\r\n") > 0);
    assert_int_equal(parse("GET http://a/ HTTP/1.1\r\nHost: [\r\n\r\n"), -400);
    /* HTTP/1.0 knows no Host, so an empty one says as much as none. */
    assert_true(parse("GET / HTTP/1.0\r\nHost:\r\n\r\n") > 0);
}

TEST(an_asterisk_is_a_target_only_for_options)
{
    assert_true(parse("OPTIONS * HTTP/1.1\r\n" HOST "\r\n") > 0);
    assert_slice(request.path, "*");
    assert_int_equal(parse("GET * HTTP/1.1\r\n" HOST "\r\n"), -400);
}

TEST(persistence_follows_version_and_connection_field)
{
    static const struct {
        const char *version, *connection;
        bool keep_alive;
    } rows[] = {
        {"1.1", "", true},
        {"1.1", "close", false},
        {"1.1", "keep-alive", true},
        {"1.1", "keep-alive, close", false},
        {"1.1", "Upgrade,\tCLOSE ,", false},
        {"1.1", "closed", true},
        {"1.1", "\"close\"", true},
        {"1.0", "", false},
        {"1.0", "close", false},
        {"1.0", "Keep-Alive", true},
        {"1.0", "keep-alive, close", false},
        {"1.7", "", true},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "GET / HTTP/%s\r\n" HOST "Connection: %s\r\n\r\n",
                 rows[i].version, rows[i].connection);
        assert_true(parse(text) > 0);
        if (request.keep_alive != rows[i].keep_alive)
            fail_msg("HTTP/%s with Connection: %s", rows[i].version,
                     rows[i].connection);
    }
    assert_true(parse("GET / HTTP/1.1\r\n" HOST "Connection: keep-alive\r\n"
                      "Connection: close\r\n\r\n") > 0);
    assert_false(request.keep_alive);
}

TEST(the_body_is_framed_by_length_or_by_chunks)
{
    assert_true(parse("POST / HTTP/1.1\r\n" HOST
                      "content-LENGTH: 0042\r\n\r\n") > 0);
    assert_int_equal(request.content_length, 42);
    assert_false(request.chunked);
    assert_true(parse("POST / HTTP/1.1\r\n" HOST
                      "transfer-encoding:\tCHUNKED \r\n\r\n") > 0);
    assert_true(request.chunked);
}

/* RFC 9110, 5.6.1.2. */
TEST(empty_list_elements_of_transfer_encoding_are_ignored)
{
    static const char *const values[] = {", chunked", ",,chunked", "chunked,",
                                         " , chunked ,\t, "};
    for (size_t i = 0; i < LENGTH(values); i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: %s\r\n\r\n",
                 values[i]);
        if (parse(text) <= 0 || !request.chunked)
            fail_msg("Transfer-Encoding: %s is refused", values[i]);
    }
}

TEST(a_huge_content_length_does_not_wrap_around)
{
    static const char *const lengths[] = {
        "65537", "4294967296", "18446744073709551615", "18446744073709551616",
        "99999999999999999999999999999999999999999999999999999999999999999"};
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "POST / HTTP/1.1\r\n" HOST "Content-Length: %s\r\n\r\n",
                 lengths[i]);
        assert_true(parse(text) > 0);
        assert_true(request.content_length > HTTP_BODY_MAX);
    }
}

TEST(expect_100_continue_is_ignored_in_http_1_0)
{
    assert_true(parse("POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
                      "Expect: 100-Continue\r\n\r\n") > 0);
    assert_true(request.expect_continue);
    assert_true(parse("POST / HTTP/1.0\r\n" HOST "Content-Length: 1\r\n"
                      "Expect: 100-continue\r\n\r\n") > 0);
    assert_false(request.expect_continue);
}

/* ------------------------------------------------------- invalid requests */

struct refusal {
    const char *name;
    struct slice bytes;
    int status;
};

#define ROW(name, bytes, status) {name, {bytes, sizeof(bytes) - 1}, status}
#define LINE(name, line, status) ROW(name, line "\r\n" HOST "\r\n", status)
#define FIELD(name, field, status) \
    ROW(name, "POST / HTTP/1.1\r\n" HOST field "\r\n\r\n", status)
#define HOST_IS(name, host, status) \
    ROW(name, "GET / HTTP/1.1\r\nHost: " host "\r\n\r\n", status)

static const struct refusal refusals[] = {
    /* The request line. */
    ROW("a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ROW("an SSH client", "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 400),
    ROW("bytes without a line", "\x80\x81\x82\x83", 400),
    ROW("NUL first", "\0\x01\x02\x03\xff\xfe\r\n\r\n", 400),
    LINE("no method", " / HTTP/1.1", 400),
    LINE("a space before the method", " GET / HTTP/1.1", 400),
    LINE("a method that is not a token", "G(T / HTTP/1.1", 400),
    LINE("NUL in the method", "G\0T / HTTP/1.1", 400),
    LINE("no target", "GET HTTP/1.1", 400),
    LINE("an empty target", "GET  HTTP/1.1", 400),
    LINE("two spaces", "GET  / HTTP/1.1", 400),
    LINE("two spaces before the version", "GET /  HTTP/1.1", 400),
    LINE("a tab instead of a space", "GET\t/ HTTP/1.1", 400),
    LINE("a space in the target", "GET /a b HTTP/1.1", 400),
    LINE("a fragment", "GET /#a HTTP/1.1", 400),
    LINE("NUL in the target", "GET /\0 HTTP/1.1", 400),
    LINE("DEL in the target", "GET /\x7f HTTP/1.1", 400),
    LINE("escape in the target", "GET /\x1b[31m HTTP/1.1", 400),
    LINE("bare CR after the target", "GET /\r HTTP/1.1", 400),
    LINE("raw UTF-8 in the target", "GET /caf\xc3\xa9 HTTP/1.1", 400),
    LINE("a target without slash", "GET a HTTP/1.1", 400),
    LINE("a host and port as target", "GET a:80 HTTP/1.1", 400),
    LINE("another scheme", "GET ftp://a/ HTTP/1.1", 400),
    LINE("only a scheme", "GET http:// HTTP/1.1", 400),
    LINE("no host in the target", "GET http:///a HTTP/1.1", 400),
    LINE("only a port in the target", "GET http://:80/a HTTP/1.1", 400),
    LINE("a user in the target", "GET http://u@a/ HTTP/1.1", 400),
    LINE("no version", "GET /", 400),
    LINE("a space and no version", "GET / ", 400),
    LINE("a lower-case version", "GET / http/1.1", 400),
    LINE("another protocol", "GET / RTSP/1.0", 400),
    LINE("a version in letters", "GET / HTTP/x.y", 400),
    LINE("a version without minor digit", "GET / HTTP/1", 400),
    LINE("a version that ends in a dot", "GET / HTTP/1.", 400),
    LINE("HTTP/3", "GET / HTTP/3", 400),
    LINE("a version in three parts", "GET / HTTP/1.1.1", 400),
    LINE("a version of many digits", "GET / HTTP/1.10", 400),
    LINE("a sign in the version", "GET / HTTP/+1.1", 400),
    LINE("text after the version", "GET / HTTP/1.1 ", 400),
    LINE("HTTP/0.9", "GET / HTTP/0.9", 505),
    LINE("HTTP/2", "PRI * HTTP/2.0", 505),
    LINE("HTTP/9", "GET / HTTP/9.9", 505),
    ROW("bare CR ends the line", "GET / HTTP/1.1\rHost: a\r\n\r\n", 400),
    ROW("bare CR before the request", "\rGET / HTTP/1.1\r\n" HOST "\r\n", 400),
    ROW("two CR before the request",
        "\r\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 400),

    /* Fields. */
    FIELD("no colon", "X", 400),
    FIELD("an empty name", ": x", 400),
    FIELD("a space before the colon", "X : x", 400),
    FIELD("a space before the colon of a length", "Content-Length : 5", 400),
    FIELD("a tab before the colon", "X\t: x", 400),
    FIELD("a space before the name", " X: x", 400),
    FIELD("a folded line", "X: x\r\n folded", 400),
    ROW("a folded first line", "GET / HTTP/1.1\r\n " HOST "\r\n", 400),
    FIELD("a line folded with a tab", "X: x\r\n\tfolded", 400),
    FIELD("a line of spaces", "X: x\r\n  ", 400),
    FIELD("a name that is not a token", "X(y): x", 400),
    FIELD("a name beyond ASCII", "X\xc3\xa9: x", 400),
    FIELD("NUL in a name", "X\0: x", 400),
    FIELD("NUL in a value", "X: \0", 400),
    FIELD("escape in a value", "X: \x1b[0m", 400),
    FIELD("a control byte in a value", "X: y\x01z", 400),
    FIELD("DEL in a value", "X: \x7f", 400),
    FIELD("bare CR in a value", "X: a\rb", 400),
    FIELD("two CR at the end", "X: a\r", 400),
    ROW("bare CR at the end of the head", "GET / HTTP/1.1\r\n" HOST "\rX", 400),

    /* Host. */
    ROW("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
    ROW("no Host, though the target has one",
        "GET http://a/ HTTP/1.1\r\n\r\n", 400),
    FIELD("two Hosts", "Host: b", 400),
    FIELD("the same Host twice", "Host: a", 400),
    HOST_IS("an empty Host", "", 400),
    HOST_IS("a Host of spaces", "  \t", 400),
    HOST_IS("a Host that is only a port", ":80", 400),
    ROW("an empty Host of OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n", 400),
    ROW("two Hosts in HTTP/1.0",
        "GET / HTTP/1.0\r\n" HOST HOST "\r\n", 400),
    ROW("a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ROW("a Host with a slash", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ROW("a Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
    ROW("two Hosts in a list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    ROW("a Host with markup", "GET / HTTP/1.1\r\nHost: <b>\r\n\r\n", 400),

    HOST_IS("an empty IP literal", "[]", 400),
    HOST_IS("a bracket that opens", "[", 400),
    HOST_IS("a bracket that closes", "]", 400),
    HOST_IS("an IP literal without its end", "[::1", 400),
    HOST_IS("text after an IP literal", "[::1]a", 400),
    HOST_IS("a name in brackets", "[example.org]", 400),
    HOST_IS("an IPv4 address in brackets", "[127.0.0.1]", 400),
    HOST_IS("nine groups of IPv6", "[1:2:3:4:5:6:7:8:9]", 400),
    HOST_IS("two gaps in IPv6", "[1::2::3]", 400),
    HOST_IS("an IPv6 address that is too long",
            "[0000000000:0000000000:0000000000:0000000000:00000000:1]", 400),
    HOST_IS("an IPv6 address with a zone", "[fe80::1%25eth0]", 400),
    HOST_IS("an IP literal of a future version", "[v1.a]", 400),
    HOST_IS("IPv6 without brackets", "::1", 400),
    HOST_IS("only colons", "::::", 400),
    HOST_IS("two ports", "a:1:2", 400),
    HOST_IS("a port in letters", "a:b", 400),
    HOST_IS("a port with a sign", "a:+1", 400),
    HOST_IS("a port beyond 65535", "a:65536", 400),
    HOST_IS("a port that wraps to 80", "a:18446744073709551696", 400),
    HOST_IS("an escape without digits", "%zz", 400),
    HOST_IS("half an escape", "a%4", 400),
    HOST_IS("a percent sign alone", "%", 400),
    LINE("a bracket in the target", "GET http://[/ HTTP/1.1", 400),
    LINE("text after an IP literal in the target",
         "GET http://[::1]a/ HTTP/1.1", 400),
    LINE("a target with a port in letters", "GET http://a:b/ HTTP/1.1", 400),
    LINE("a target with a port beyond 65535", "GET http://a:99999?b HTTP/1.1",
         400),
    LINE("a target with a bad escape in its host", "GET http://%zz HTTP/1.1",
         400),

    /* Framing that two parsers could read in two ways. */
    FIELD("an empty length", "Content-Length:", 400),
    FIELD("a signed length", "Content-Length: +1", 400),
    FIELD("a negative length", "Content-Length: -1", 400),
    FIELD("a hexadecimal length", "Content-Length: 0x10", 400),
    FIELD("a length with a fraction", "Content-Length: 1.0", 400),
    FIELD("words in a length", "Content-Length: 1 2", 400),
    FIELD("a list of lengths", "Content-Length: 1, 1", 400),
    FIELD("two lengths", "Content-Length: 1\r\nContent-Length: 2", 400),
    FIELD("length and chunks",
          "Content-Length: 1\r\nTransfer-Encoding: chunked", 400),
    FIELD("chunks and length",
          "Transfer-Encoding: chunked\r\nContent-Length: 1", 400),
    FIELD("chunks and no length",
          "Transfer-Encoding: chunked\r\nContent-Length: 0", 400),
    FIELD("chunked twice",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
    FIELD("chunked twice in a list", "Transfer-Encoding: chunked, chunked", 501),
    FIELD("a coding that does not end", "Transfer-Encoding: gzip", 400),
    FIELD("chunked not last", "Transfer-Encoding: chunked, gzip", 400),
    FIELD("an empty Transfer-Encoding", "Transfer-Encoding:", 400),
    FIELD("only empty list elements", "Transfer-Encoding: , ,", 400),
    FIELD("identity", "Transfer-Encoding: identity", 400),
    FIELD("a name that ends in chunked", "Transfer-Encoding: xchunked", 400),
    FIELD("chunked in quotes", "Transfer-Encoding: \"chunked\"", 400),
    FIELD("chunked with a vertical tab", "Transfer-Encoding: \x0b" "chunked",
          400),
    FIELD("chunked with a parameter", "Transfer-Encoding: chunked;x=1", 400),
    FIELD("a coding that the server does not support",
          "Transfer-Encoding: gzip, chunked", 501),
    ROW("chunks in HTTP/1.0",
        "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 400),

    FIELD("an unknown expectation", "Expect: 200-ok", 417),
    FIELD("an empty expectation", "Expect:", 417),
};

TEST(each_malformed_request_gets_its_status)
{
    for (size_t i = 0; i < LENGTH(refusals); i++) {
        const struct refusal *r = &refusals[i];
        ssize_t status = parse_bytes(r->bytes.p, r->bytes.n);
        if (status != -r->status)
            fail_msg("%s: %zd instead of %d", r->name, status, -r->status);
    }
}

TEST(an_error_status_does_not_change_when_more_bytes_arrive)
{
    for (size_t i = 0; i < LENGTH(refusals); i++) {
        const struct refusal *r = &refusals[i];
        ssize_t verdict = 0;
        for (size_t n = 0; n <= r->bytes.n; n++) {
            ssize_t now = parse_bytes(r->bytes.p, n);
            if (now > 0 || (verdict != 0 && now != verdict))
                fail_msg("%s: %zd with %zu bytes, %zd before", r->name, now, n,
                         verdict);
            verdict = now;
        }
    }
}

TEST(the_order_of_invalid_fields_does_not_change_the_status)
{
    static const char *const faults[] = {
        "Expect: 200-ok\r\n",                   /* 417 */
        "Transfer-Encoding: gzip, chunked\r\n", /* 501 */
        "Content-Length: x\r\n",                /* 400 */
    };
    for (size_t i = 0; i < LENGTH(faults); i++)
        for (size_t j = 0; j < i; j++) {
            char text[256];
            snprintf(text, sizeof text, "POST / HTTP/1.1\r\n" HOST "%s%s\r\n",
                     faults[i], faults[j]);
            ssize_t status = parse(text);
            snprintf(text, sizeof text, "POST / HTTP/1.1\r\n" HOST "%s%s\r\n",
                     faults[j], faults[i]);
            if (parse(text) != status)
                fail_msg("faults %zu and %zu: %zd, else %zd", i, j, status,
                         parse(text));
        }
}

/* RFC 9112, 3.2 demands 400, even if another field is invalid, too. The status
 * of each of these fields alone is 501, 417 or 431. */
TEST(a_missing_or_doubled_host_is_400_whatever_else_is_wrong)
{
    static const char *const faults[] = {
        "Transfer-Encoding: deflate, chunked\r\n",
        "Expect: x\r\n",
        "If-Match:\r\nIf-Match:\r\nIf-Match:\r\nIf-Match:\r\nIf-Match:\r\n",
    };
    for (size_t i = 0; i < LENGTH(faults); i++) {
        char text[256];
        snprintf(text, sizeof text, "POST / HTTP/1.1\r\n%s\r\n", faults[i]);
        assert_int_equal(parse(text), -400);
        snprintf(text, sizeof text, "POST / HTTP/1.1\r\n" HOST "%s" HOST "\r\n",
                 faults[i]);
        assert_int_equal(parse(text), -400);
        snprintf(text, sizeof text, "POST / HTTP/1.1\r\n" HOST "%s\r\n",
                 faults[i]);
        assert_true(parse(text) < -400);
    }
}

/* -------------------------------------------------------------- limits */

/* Parses prefix, n times c, suffix. */
static ssize_t parse_long(const char *prefix, char c, size_t n,
                          const char *suffix)
{
    static struct buffer text;
    buffer_reset(&text, SIZE_MAX);
    buffer_append_slice(&text, slice_of(prefix));
    buffer_append(&text, many(c, n), n);
    buffer_append_slice(&text, slice_of(suffix));
    return parse_bytes(text.data, text.len);
}

TEST(a_target_has_at_most_8000_bytes)
{
    const char *rest = " HTTP/1.1\r\n" HOST "\r\n";
    assert_true(parse_long("GET /", 'a', HTTP_TARGET_MAX - 1, rest) > 0);
    assert_int_equal(parse_long("GET /", 'a', HTTP_TARGET_MAX, rest), -414);
    assert_int_equal(parse_long("GET /", 'a', HTTP_TARGET_MAX - 1, ""), 0);
    assert_int_equal(parse_long("GET /", 'a', HTTP_HEAD_MAX, ""), -414);
}

TEST(a_head_has_at_most_16384_bytes)
{
    const char *start = "GET / HTTP/1.1\r\n" HOST "X: ";
    const char *end = "\r\n\r\n";
    size_t fits = HTTP_HEAD_MAX - strlen(start) - strlen(end);
    assert_int_equal(parse_long(start, 'a', fits, end), HTTP_HEAD_MAX);
    assert_int_equal(parse_long(start, 'a', fits + 1, end), -431);
    assert_int_equal(parse_long(start, 'a', fits, ""), 0);
    assert_int_equal(parse_long(start, 'a', fits + strlen(end), ""), -431);
    /* Empty lines before the request count too: without a limit, a client
     * could send them forever. */
    assert_int_equal(parse_long("", '\n', HTTP_HEAD_MAX - 1, ""), 0);
    assert_int_equal(parse_long("", '\n', HTTP_HEAD_MAX, ""), -414);
    assert_int_equal(parse_long("", 'M', HTTP_HEAD_MAX, ""), -501);
    assert_int_equal(parse_long("", 'M', HTTP_HEAD_MAX - 1, " "), -414);
}

TEST(a_list_has_at_most_4_lines)
{
    static const char *const names[] = {"If-Match", "If-None-Match"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        struct buffer text = {0};
        buffer_append_literal(&text, "GET / HTTP/1.1\r\n" HOST);
        for (int n = 0; n < HTTP_LIST_LINES_MAX; n++)
            buffer_printf(&text, "%s: \"x\"\r\n", names[i]);
        buffer_append_literal(&text, "\r\n");
        assert_true(parse_bytes(text.data, text.len) > 0);
        text.len -= 2;
        buffer_printf(&text, "%s: \"x\"\r\n\r\n", names[i]);
        assert_int_equal(parse_bytes(text.data, text.len), -431);
        buffer_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_of_a_valid_request_is_incomplete),
        cmocka_unit_test(
            bytes_after_a_complete_head_do_not_change_its_length),
        cmocka_unit_test(every_part_of_a_request_is_stored),
        cmocka_unit_test(a_field_that_was_not_sent_is_null),
        cmocka_unit_test(all_lines_of_a_list_are_kept_in_order),
        cmocka_unit_test(
            a_single_value_field_with_two_lines_is_empty),
        cmocka_unit_test(every_method_is_recognized),
        cmocka_unit_test(a_target_may_name_a_host),
        cmocka_unit_test(a_host_is_a_name_or_an_address_with_an_optional_port),
        cmocka_unit_test(
            a_host_is_named_by_the_target_or_by_the_host_field),
        cmocka_unit_test(an_asterisk_is_a_target_only_for_options),
        cmocka_unit_test(persistence_follows_version_and_connection_field),
        cmocka_unit_test(the_body_is_framed_by_length_or_by_chunks),
        cmocka_unit_test(
            empty_list_elements_of_transfer_encoding_are_ignored),
        cmocka_unit_test(
            a_huge_content_length_does_not_wrap_around),
        cmocka_unit_test(expect_100_continue_is_ignored_in_http_1_0),
        cmocka_unit_test(each_malformed_request_gets_its_status),
        cmocka_unit_test(
            an_error_status_does_not_change_when_more_bytes_arrive),
        cmocka_unit_test(
            the_order_of_invalid_fields_does_not_change_the_status),
        cmocka_unit_test(
            a_missing_or_doubled_host_is_400_whatever_else_is_wrong),
        cmocka_unit_test(a_target_has_at_most_8000_bytes),
        cmocka_unit_test(a_head_has_at_most_16384_bytes),
        cmocka_unit_test(a_list_has_at_most_4_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
