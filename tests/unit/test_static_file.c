/* static_file - files, and what HTTP has to say; see common/static_file.h. */
#include "static_file.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "conversation.h"

/* ---------------------------------------------------------- media types */

TEST(the_extension_of_a_name_tells_its_type)
{
    static const struct {
        const char *name, *type;
    } rows[] = {
        {"index.html", "text/html; charset=utf-8"},
        {"style.css", "text/css; charset=utf-8"},
        {"which.js", "text/javascript; charset=utf-8"},
        {"robots.txt", "text/plain; charset=utf-8"},
        {"data.json", "application/json"},
        {"a.svg", "image/svg+xml; charset=utf-8"},
        {"a.png", "image/png"},
        {"a.jpg", "image/jpeg"},
        {"a.jpeg", "image/jpeg"},
        {"favicon.ico", "image/x-icon"},
        {"INDEX.HTML", "text/html; charset=utf-8"},
        {"a.b/c.d.pdf", "application/pdf"},
        {"archive.tar.gz", "application/octet-stream"},
        {"README", "application/octet-stream"},
        {"html", "application/octet-stream"},
        {"a.html.", "application/octet-stream"},
        {"", "application/octet-stream"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_string_equal(static_file_type(rows[i].name), rows[i].type);
}

/* --------------------------------------------------------------- paths */

TEST(only_paths_without_dot_segments_are_looked_up)
{
    static const char *const fine[] = {
        "/", "/a", "/a/b", "/a/", "/a.b", "/a..b/c...", "/a/b.c.d", "/-.-"};
    static const char *const not_fine[] = {
        "", "a", "a/b", ".", "..", "/.", "/..", "/./", "/../", "/.git/config",
        "/a/.hidden", "/a/../b", "/a/..", "//", "//a", "/a//b", "/a//"};
    for (size_t i = 0; i < LENGTH(fine); i++)
        if (!static_file_path_allowed(fine[i]))
            fail_msg("'%s' is refused", fine[i]);
    for (size_t i = 0; i < LENGTH(not_fine); i++)
        if (static_file_path_allowed(not_fine[i]))
            fail_msg("'%s' is looked up", not_fine[i]);
}

/* -------------------------------------------------------------- ranges */

TEST(a_range_is_cut_to_the_size_of_the_file)
{
    static const struct {
        const char *range;
        off_t first, length;
    } rows[] = { /* of 10 bytes */
        {"bytes=0-0", 0, 1},   {"bytes=0-9", 0, 10},  {"bytes=9-9", 9, 1},
        {"bytes=2-5", 2, 4},   {"bytes=3-", 3, 7},    {"bytes=0-", 0, 10},
        {"bytes=5-99", 5, 5},  {"bytes=-1", 9, 1},    {"bytes=-10", 0, 10},
        {"bytes=-99", 0, 10},  {"BYTES=1-2", 1, 2},   {"bytes= 1-2 ", 1, 2},
        {"bytes=007-08", 7, 2},
        {"bytes=1-99999999999999999999999999", 1, 9},
        {"bytes=-99999999999999999999999999", 0, 10},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        off_t first = -1, length = -1;
        int result = static_file_range(slice_of(rows[i].range),
                                                     10, &first, &length);
        if (result != 206 || first != rows[i].first ||
            length != rows[i].length)
            fail_msg("%s: %d, %lld, %lld", rows[i].range, (int)result,
                     (long long)first, (long long)length);
    }
}

TEST(a_range_beyond_the_end_cannot_be_satisfied)
{
    static const char *const ranges[] = {
        "bytes=10-", "bytes=10-10", "bytes=99-100", "bytes=-0",
        "bytes=99999999999999999999999999-"};
    off_t first, length;
    for (size_t i = 0; i < LENGTH(ranges); i++)
        if (static_file_range(slice_of(ranges[i]), 10, &first, &length) !=
            416)
            fail_msg("%s", ranges[i]);
    assert_int_equal(static_file_range(SLICE("bytes=0-"), 0, &first, &length),
                     416);
    assert_int_equal(static_file_range(SLICE("bytes=-1"), 0, &first, &length),
                     416);
}

TEST(anything_but_a_single_range_is_ignored)
{
    static const char *const ranges[] = {
        "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5", "bytes=5-4",
        "bytes=1-2,4-5", "bytes=1-2,", "bytes=1-2x", "bytes=+1-2", "bytes=1--2",
        "bytes=--1", "bytes=1 -2", "bytes=0x1-2", "lines=1-2", "bytes 1-2",
        "bytes:1-2"};
    off_t first, length;
    for (size_t i = 0; i < LENGTH(ranges); i++) {
        size_t n = strlen(ranges[i]);
        struct slice range = {before_guard_page(ranges[i], n), n};
        if (static_file_range(range, 10, &first, &length) != 200)
            fail_msg("'%s' is taken", ranges[i]);
    }
}

TEST(a_range_lies_within_the_file_whatever_the_numbers)
{
    static const off_t sizes[] = {1, 2, 7, 4096, INT64_MAX / 20};
    static const off_t numbers[] = {0, 1, 2, 6, 7, 8, 4095, 4096,
                                    INT64_MAX / 20, INT64_MAX};
    for (size_t s = 0; s < LENGTH(sizes); s++)
        for (size_t i = 0; i < LENGTH(numbers); i++)
            for (size_t j = 0; j < LENGTH(numbers); j++) {
                char text[64];
                off_t first, length;
                snprintf(text, sizeof text, "bytes=%lld-%lld",
                         (long long)numbers[i], (long long)numbers[j]);
                if (static_file_range(slice_of(text), sizes[s], &first,
                                      &length) != 206)
                    continue;
                assert_int_equal(first, numbers[i]);
                assert_true(length > 0 && first + length <= sizes[s]);
            }
}

/* --------------------------------------------------------- conditions */

static bool fresh(const char *if_none_match, const char *if_modified_since)
{
    struct http_request request = {0};
    if (if_none_match != NULL)
        request.if_none_match =
            (struct http_list){{slice_of(if_none_match)}, 1};
    if (if_modified_since != NULL)
        request.if_modified_since = slice_of(if_modified_since);
    return static_file_evaluate(&request, SLICE("\"tag\""), WORLD_MODIFIED) ==
           304;
}

TEST(a_copy_is_fresh_when_its_etag_is_among_those_named)
{
    assert_true(fresh("\"tag\"", NULL));
    assert_true(fresh("W/\"tag\"", NULL)); /* the weak comparison */
    assert_true(fresh("\"a\", \"tag\"", NULL));
    assert_true(fresh(" , \"a\" ,W/\"tag\",", NULL));
    assert_true(fresh("*", NULL));
    assert_false(fresh("\"other\"", NULL));
    assert_false(fresh("tag", NULL));
    assert_false(fresh("w/\"tag\"", NULL));
    assert_false(fresh("", NULL));
}

TEST(a_copy_is_fresh_when_the_file_did_not_change_since)
{
    assert_true(fresh(NULL, "Sat, 05 Nov 1994 01:46:40 GMT"));
    assert_true(fresh(NULL, "Sat, 05 Nov 1994 01:46:41 GMT"));
    assert_false(fresh(NULL, "Sat, 05 Nov 1994 01:46:39 GMT"));
    assert_false(fresh(NULL, "no date"));
    assert_false(fresh(NULL, ""));
    assert_false(fresh(NULL, NULL));
}

TEST(the_etag_goes_before_the_date)
{
    assert_false(fresh("\"other\"", "Sat, 05 Nov 1994 01:46:40 GMT"));
    assert_true(fresh("\"tag\"", "Thu, 01 Jan 1970 00:00:00 GMT"));
}

static bool precondition(const char *if_match, const char *if_unmodified_since)
{
    struct http_request request = {0};
    if (if_match != NULL)
        request.if_match = (struct http_list){{slice_of(if_match)}, 1};
    if (if_unmodified_since != NULL)
        request.if_unmodified_since = slice_of(if_unmodified_since);
    return static_file_evaluate(&request, SLICE("\"tag\""), WORLD_MODIFIED) !=
           412;
}

TEST(preconditions_hold_for_the_strong_etag_or_a_late_date)
{
    assert_true(precondition(NULL, NULL));
    assert_true(precondition("\"tag\"", NULL));
    assert_true(precondition("\"a\", \"tag\"", NULL));
    assert_true(precondition("*", NULL));
    assert_false(precondition("W/\"tag\"", NULL));
    assert_false(precondition("\"other\"", NULL));
    assert_false(precondition("", NULL));
    assert_true(precondition(NULL, "Sat, 05 Nov 1994 01:46:40 GMT"));
    assert_false(precondition(NULL, "Sat, 05 Nov 1994 01:46:39 GMT"));
    assert_true(precondition(NULL, "no date")); /* is ignored */
    assert_true(precondition("\"tag\"", "Thu, 01 Jan 1970 00:00:00 GMT"));
    assert_false(precondition("\"other\"", "Sat, 05 Nov 1994 01:46:40 GMT"));
}

/* With a clock two seconds after the file's date. */
static bool ranged(struct slice if_range, time_t modified)
{
    return static_file_if_range(if_range, SLICE("\"tag\""), modified,
                                modified + 2);
}

TEST(if_range_must_match_exactly)
{
    assert_true(ranged((struct slice){NULL, 0}, 0));
    assert_true(ranged(SLICE("\"tag\""), 0));
    assert_false(ranged(SLICE("W/\"tag\""), 0));
    assert_false(ranged(SLICE("\"other\""), 0));
    assert_false(ranged(SLICE(""), 0));
    assert_true(ranged(SLICE("Sat, 05 Nov 1994 01:46:40 GMT"), WORLD_MODIFIED));
    assert_false(ranged(SLICE("Sat, 05 Nov 1994 01:46:41 GMT"),
                        WORLD_MODIFIED));
    assert_false(ranged(SLICE("no date"), -1)); /* the parser's error value */
}

/* ------------------------------------------------------- whole answers */

TEST(a_file_is_sent_with_the_fields_that_describe_it)
{
    struct answer answer = answer_to(GET("/notes.txt"));
    assert_int_equal(answer.status, 200);
    assert_field(&answer, "Content-Type", "text/plain; charset=utf-8");
    assert_field(&answer, "Last-Modified", "Sat, 05 Nov 1994 01:46:40 GMT");
    assert_field(&answer, "Accept-Ranges", "bytes");
    assert_non_null(answer_field(&answer, "ETag").p);
    assert_string_equal(body_of(&answer), "0123456789");
}

TEST(a_large_file_is_sent_whole_or_in_part)
{
    struct answer answer = answer_to(GET("/big.bin"));
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.n, WORLD_BIG_SIZE);
    for (size_t i = 0; i < WORLD_BIG_SIZE; i++)
        assert_int_equal(answer.body.p[i], 'a' + i % 26);
    answer = answer_to("GET /big.bin HTTP/1.1\r\nHost: a\r\n"
                       "Range: bytes=69997-\r\n\r\n");
    assert_int_equal(answer.status, 206);
    assert_field(&answer, "Content-Range", "bytes 69997-69999/70000");
    assert_string_equal(body_of(&answer), "fgh");
}

TEST(an_empty_file_is_a_file)
{
    struct answer answer = answer_to(GET("/empty.txt"));
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.n, 0);
}

TEST(a_folder_shows_its_index)
{
    struct answer answer = answer_to(GET("/"));
    assert_string_equal(body_of(&answer), "home\n");
    assert_field(&answer, "Content-Type", "text/html; charset=utf-8");
    assert_non_null(answer_field(&answer, "Content-Security-Policy").p);
    answer = answer_to(GET("/folder/?query"));
    assert_string_equal(body_of(&answer), "inside\n");
    answer = answer_to(GET("/pictures/")); /* it has none */
    assert_int_equal(answer.status, 404);
}

TEST(a_folder_without_its_slash_is_redirected)
{
    struct answer answer = answer_to(GET("/folder"));
    assert_int_equal(answer.status, 301);
    assert_field(&answer, "Location", "/folder/");
    answer = answer_to(GET("/%66older"));
    assert_int_equal(answer.status, 301);
    assert_field(&answer, "Location", "/%66older/");
}

TEST(such_a_redirect_keeps_the_query)
{
    static const struct {
        const char *target, *location;
    } rows[] = {
        {"/folder?a=b", "/folder/?a=b"},
        {"/folder?", "/folder/?"},
        {"/folder?a?b", "/folder/?a?b"},
        {"/%66older?x=%0d%0aSet-Cookie:%20a", /* as it came, so harmless */
         "/%66older/?x=%0d%0aSet-Cookie:%20a"},
        {"http://example.org/folder?a=b", "/folder/?a=b"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[256];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
                 rows[i].target);
        struct answer answer = answer_to(text);
        assert_int_equal(answer.status, 301);
        assert_field(&answer, "Location", rows[i].location);
        assert_field(&answer, "Set-Cookie", NULL);
    }
}

TEST(hidden_files_and_other_folders_are_404)
{
    static const char *const targets[] = {
        "/nowhere", "/folder/nowhere", "/notes.txt/", "/notes.txt/x",
        "/.hidden", "/folder/.hidden", "/%2ehidden", "/folder%2f.hidden",
        "/..", "/../", "/../templates/guestbook/index.html",
        "/%2e%2e/templates/guestbook/index.html", "/folder/../notes.txt",
        "/..%2ftemplates%2fguestbook%2findex.html", "//notes.txt",
        "//etc/passwd", "/%2fetc/passwd", "/folder//index.html",
        "/notes.txt%00", "/notes.txt%00.html", "/%00", "/NOTES.TXT",
        "/notes.txt%20", "/*", "/notes%2etxt%2f"};
    for (size_t i = 0; i < LENGTH(targets); i++) {
        char text[128];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
                 targets[i]);
        struct answer answer = answer_to(text);
        if (answer.status != 404)
            fail_msg("%s: %d", targets[i], answer.status);
    }
}

TEST(a_path_that_is_too_long_names_nothing)
{
    static const size_t lengths[] = {NAME_MAX, NAME_MAX + 1, HTTP_PATH_MAX - 12,
                                     HTTP_PATH_MAX - 2, HTTP_PATH_MAX - 1,
                                     HTTP_PATH_MAX, 4096, HTTP_TARGET_MAX - 2};
    for (size_t i = 0; i < LENGTH(lengths); i++)
        for (int slash = 0; slash <= 1; slash++) {
            char text[HTTP_TARGET_MAX + 100];
            snprintf(text, sizeof text,
                     "GET /%s%s HTTP/1.1\r\nHost: a\r\n\r\n",
                     many('x', lengths[i]), slash ? "/" : "");
            struct answer answer = answer_to(text);
            assert_int_equal(answer.status, 404);
        }
}

TEST(other_than_regular_files_are_forbidden)
{
    assert_int_equal(mkfifoat(world.folder.fd, "public/pipe", 0644), 0);
    struct answer answer = answer_to(GET("/pipe")); /* without waiting */
    assert_int_equal(answer.status, 403);
}

/* A request for /notes.txt with further fields. */
static struct answer notes_with(const char *fields)
{
    char text[512];
    snprintf(text, sizeof text,
             "GET /notes.txt HTTP/1.1\r\nHost: a\r\n%s\r\n", fields);
    return answer_to(text);
}

TEST(a_part_is_sent_when_a_range_asks_for_it)
{
    struct answer answer = notes_with("Range: bytes=2-4\r\n");
    assert_int_equal(answer.status, 206);
    assert_field(&answer, "Content-Range", "bytes 2-4/10");
    assert_field(&answer, "Content-Type", "text/plain; charset=utf-8");
    assert_string_equal(body_of(&answer), "234");

    answer = notes_with("Range: bytes=10-\r\n");
    assert_int_equal(answer.status, 416);
    assert_field(&answer, "Content-Range", "bytes */10");

    answer = notes_with("Range: bytes=0-1,3-4\r\n");
    assert_int_equal(answer.status, 200);
    assert_field(&answer, "Content-Range", NULL);
}

TEST(head_has_no_use_for_a_range)
{
    client_says(&client, "HEAD /notes.txt HTTP/1.1\r\nHost: a\r\n"
                         "Range: bytes=2-4\r\n\r\n");
    struct slice rest = {client.received.data, client.received.len};
    struct answer answer;
    assert_null(answer_read(&rest, true, &answer));
    assert_int_equal(answer.status, 200);
    assert_field(&answer, "Content-Length", "10");
}

TEST(a_fresh_copy_is_confirmed_and_not_sent)
{
    struct answer answer = answer_to(GET("/notes.txt"));
    struct slice etag = answer_field(&answer, "ETag");
    char fields[256], expected[64];
    snprintf(expected, sizeof expected, "%.*s", (int)etag.n, etag.p);
    snprintf(fields, sizeof fields, "If-None-Match: %s\r\n", expected);
    answer = notes_with(fields);
    assert_int_equal(answer.status, 304);
    assert_field(&answer, "ETag", expected);

    answer = notes_with("If-Modified-Since: Sat, 05 Nov 1994 01:46:40 GMT\r\n");
    assert_int_equal(answer.status, 304);
    answer = notes_with("If-Modified-Since: Sat, 05 Nov 1994 01:46:39 GMT\r\n");
    assert_int_equal(answer.status, 200);

    snprintf(fields, sizeof fields, "If-Range: %s\r\nRange: bytes=1-2\r\n",
             expected);
    answer = notes_with(fields);
    assert_int_equal(answer.status, 206);
    answer = notes_with("If-Range: \"another\"\r\nRange: bytes=1-2\r\n");
    assert_int_equal(answer.status, 200);
}

TEST(etags_may_stand_on_several_lines)
{
    struct answer answer = answer_to(GET("/notes.txt"));
    struct slice etag = answer_field(&answer, "ETag");
    char own[64], fields[256];
    snprintf(own, sizeof own, "%.*s", (int)etag.n, etag.p);
    static const struct {
        const char *name, *first, *second;
        int status;
    } rows[] = { /* NULL: its own */
        {"If-None-Match", NULL, "\"other\"", 304},
        {"If-None-Match", "\"other\"", NULL, 304},
        {"If-None-Match", "\"a\"", "\"b\"", 200},
        {"If-Match", NULL, "\"other\"", 200},
        {"If-Match", "\"other\"", NULL, 200},
        {"If-Match", "\"a\"", "\"b\"", 412},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        snprintf(fields, sizeof fields, "%s: %s\r\n%s: %s\r\n", rows[i].name,
                 rows[i].first ? rows[i].first : own, rows[i].name,
                 rows[i].second ? rows[i].second : own);
        answer = notes_with(fields);
        if (answer.status != rows[i].status)
            fail_msg("row %zu: %d", i, answer.status);
    }
}

TEST(of_two_ranges_none_is_sent)
{
    struct answer answer =
        notes_with("Range: bytes=2-4\r\nRange: bytes=2-4\r\n");
    assert_int_equal(answer.status, 200);
    answer = notes_with("Range: bytes=2-4\r\nRange: bytes=99-\r\n");
    assert_int_equal(answer.status, 200);
}

TEST(two_dates_are_no_condition)
{
    static const char *const names[] = {"If-Modified-Since",
                                        "If-Unmodified-Since"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        char fields[256];
        snprintf(fields, sizeof fields,
                 "%s: Sat, 05 Nov 1994 01:46:%s GMT\r\n"
                 "%s: Sat, 05 Nov 1994 01:46:%s GMT\r\n", names[i],
                 i == 0 ? "40" : "39", names[i], i == 0 ? "40" : "39");
        struct answer answer = notes_with(fields);
        assert_int_equal(answer.status, 200);
    }
}

TEST(a_change_changes_the_etag)
{
    struct answer answer = answer_to(GET("/notes.txt"));
    char before[64];
    struct slice etag = answer_field(&answer, "ETag");
    snprintf(before, sizeof before, "%.*s", (int)etag.n, etag.p);

    folder_touch(&world.folder, "public/notes.txt", WORLD_MODIFIED + 1);
    world_pass(&world, 1000);
    answer = answer_to(GET("/notes.txt"));
    assert_false(slice_equal(answer_field(&answer, "ETag"), slice_of(before)));

    folder_write(&world.folder, "public/notes.txt", "other", 5);
    folder_touch(&world.folder, "public/notes.txt", WORLD_MODIFIED);
    world_pass(&world, 1000);
    answer = answer_to(GET("/notes.txt"));
    assert_false(slice_equal(answer_field(&answer, "ETag"), slice_of(before)));
    assert_string_equal(body_of(&answer), "other");
}

/* ---------------------------------------- files from the future, and past */

/* What the answer says in a field; valid until the next call but one. */
static const char *value_of(const struct answer *answer, const char *name)
{
    static char text[2][64];
    static unsigned next;
    struct slice value = answer_field(answer, name);
    char *copy = text[next++ % 2];
    snprintf(copy, sizeof text[0], "%.*s", (int)value.n, value.p);
    return copy;
}

TEST(a_file_from_the_future_was_modified_when_the_message_was_made)
{
    folder_touch(&world.folder, "public/notes.txt", WORLD_NOW + 10);
    for (int i = 0; i < 3; i++) {
        struct answer answer = answer_to(GET("/notes.txt"));
        assert_field(&answer, "Last-Modified", value_of(&answer, "Date"));
        world_pass(&world, 1000); /* its fields are cached */
    }
    world_pass(&world, 60000);
    struct answer answer = answer_to(GET("/notes.txt"));
    assert_field(&answer, "Last-Modified", "Sun, 06 Nov 1994 08:49:47 GMT");
    answer = notes_with("If-Modified-Since: Sun, 06 Nov 1994 08:49:47 GMT\r\n");
    assert_int_equal(answer.status, 304);
}

TEST(its_conditions_agree_with_the_date_that_was_sent)
{
    folder_touch(&world.folder, "public/notes.txt", 300000000000); /* 11476 */
    struct answer answer = answer_to(GET("/notes.txt"));
    assert_field(&answer, "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT");
    static const struct {
        const char *fields;
        int status, status_later;
    } rows[] = {
        {"If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 304, 200},
        {"If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", 200, 200},
        {"If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 200, 412},
        /* A date that moves is no strong validator. */
        {"Range: bytes=1-2\r\n"
         "If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 200, 200},
        {"If-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT\r\n", 304, 304},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        answer = notes_with(rows[i].fields);
        if (answer.status != rows[i].status)
            fail_msg("row %zu: %d", i, answer.status);
    }
    world_pass(&world, 5000);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        answer = notes_with(rows[i].fields);
        if (answer.status != rows[i].status_later)
            fail_msg("row %zu, later: %d", i, answer.status);
    }
}

TEST(a_file_from_before_1970_has_the_date_that_can_be_written)
{
    folder_touch(&world.folder, "public/notes.txt", -5);
    struct answer answer = answer_to(GET("/notes.txt"));
    assert_field(&answer, "Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT");
    answer = notes_with("If-Unmodified-Since: "
                        "Thu, 01 Jan 1970 00:00:00 GMT\r\n");
    assert_int_equal(answer.status, 200);
    answer = notes_with("Range: bytes=1-2\r\n"
                        "If-Range: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
    assert_int_equal(answer.status, 206);
    answer = notes_with("Range: bytes=1-2\r\nIf-Range: no date\r\n");
    assert_int_equal(answer.status, 200);
}

TEST(a_date_within_the_last_second_is_no_strong_validator)
{
    folder_touch(&world.folder, "public/notes.txt", WORLD_NOW - 1);
    const char *fields = "Range: bytes=1-2\r\n"
                         "If-Range: Sun, 06 Nov 1994 08:49:36 GMT\r\n";
    struct answer answer = notes_with(fields);
    assert_int_equal(answer.status, 200);
    world_pass(&world, 1000);
    answer = notes_with(fields);
    assert_int_equal(answer.status, 206);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_extension_of_a_name_tells_its_type),
        cmocka_unit_test(only_paths_without_dot_segments_are_looked_up),
        cmocka_unit_test(a_range_is_cut_to_the_size_of_the_file),
        cmocka_unit_test(a_range_beyond_the_end_cannot_be_satisfied),
        cmocka_unit_test(anything_but_a_single_range_is_ignored),
        cmocka_unit_test(a_range_lies_within_the_file_whatever_the_numbers),
        cmocka_unit_test(a_copy_is_fresh_when_its_etag_is_among_those_named),
        cmocka_unit_test(a_copy_is_fresh_when_the_file_did_not_change_since),
        cmocka_unit_test(the_etag_goes_before_the_date),
        cmocka_unit_test(
            preconditions_hold_for_the_strong_etag_or_a_late_date),
        cmocka_unit_test(if_range_must_match_exactly),
        TALK(a_file_is_sent_with_the_fields_that_describe_it),
        TALK(a_large_file_is_sent_whole_or_in_part),
        TALK(an_empty_file_is_a_file),
        TALK(a_folder_shows_its_index),
        TALK(a_folder_without_its_slash_is_redirected),
        TALK(such_a_redirect_keeps_the_query),
        TALK(hidden_files_and_other_folders_are_404),
        TALK(a_path_that_is_too_long_names_nothing),
        TALK(other_than_regular_files_are_forbidden),
        TALK(a_part_is_sent_when_a_range_asks_for_it),
        TALK(head_has_no_use_for_a_range),
        TALK(a_fresh_copy_is_confirmed_and_not_sent),
        TALK(etags_may_stand_on_several_lines),
        TALK(of_two_ranges_none_is_sent),
        TALK(two_dates_are_no_condition),
        TALK(a_change_changes_the_etag),
        TALK(a_file_from_the_future_was_modified_when_the_message_was_made),
        TALK(its_conditions_agree_with_the_date_that_was_sent),
        TALK(a_file_from_before_1970_has_the_date_that_can_be_written),
        TALK(a_date_within_the_last_second_is_no_strong_validator),
    };
    need_openat2(LENGTH(tests));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
