/* text - UTF-8 and escaping; see common/text.h. */
#include "text.h"

#include "unit.h"

/* Writes a code point the way RFC 3629 says, and nothing is judged here. */
static size_t encode(unsigned code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[n] | code);
    return n;
}

TEST(every_code_point_is_read_as_it_was_written)
{
    for (unsigned code = 0; code <= 0x10ffff; code++) {
        char bytes[4];
        unsigned got = 0xdead;
        size_t n = encode(code, bytes);
        bool surrogate = code >= 0xd800 && code <= 0xdfff;
        assert_int_equal(text_utf8_next((struct slice){bytes, n}, &got),
                         surrogate ? 0 : n);
        if (!surrogate)
            assert_int_equal(got, code);
    }
}

TEST(a_cut_character_is_none_and_nothing_behind_the_end_is_read)
{
    const char *whole[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < LENGTH(whole); i++)
        for (size_t n = 0; n <= strlen(whole[i]); n++) {
            unsigned code;
            struct slice s = {before_guard_page(whole[i], n), n};
            assert_int_equal(text_utf8_next(s, &code),
                             n == strlen(whole[i]) ? n : 0);
        }
}

static const char *const not_utf8[] = {
    "\x80",             /* continues nothing */
    "\xbf",
    "\xc3(",            /* is not continued */
    "\xe2\x82(",
    "\xf0\x9f\x98(",
    "\xc0\xaf",         /* overlong: a slash in two bytes */
    "\xc1\xbf",
    "\xe0\x80\xaf",     /* ... in three */
    "\xe0\x9f\xbf",
    "\xf0\x80\x80\xaf", /* ... in four */
    "\xf0\x8f\xbf\xbf",
    "\xed\xa0\x80",     /* surrogates, the first and the last */
    "\xed\xbf\xbf",
    "\xf4\x90\x80\x80", /* U+110000 */
    "\xf5\x80\x80\x80",
    "\xf8\x88\x80\x80\x80",
    "\xfe",
    "\xff",
};

TEST(what_is_not_utf8_is_refused)
{
    for (size_t i = 0; i < LENGTH(not_utf8); i++) {
        unsigned code;
        if (text_utf8_next(slice_of(not_utf8[i]), &code) != 0)
            fail_msg("row %zu was taken", i);
        if (text_utf8_length(slice_of(not_utf8[i])) != -1)
            fail_msg("row %zu has a length", i);
    }
}

TEST(length_is_counted_in_characters)
{
    assert_int_equal(text_utf8_length(SLICE("")), 0);
    assert_int_equal(text_utf8_length(SLICE("abc")), 3);
    assert_int_equal(text_utf8_length(SLICE("h\xc3\xa9 \xe2\x82\xac")), 4);
    assert_int_equal(text_utf8_length(SLICE("\xf0\x9f\x98\x80")), 1);
    assert_int_equal(text_utf8_length(SLICE("a\0b")), 3);
    assert_int_equal(text_utf8_length(SLICE("abc\xff")), -1);
}

static void assert_escapes_to(struct slice text, const char *expected)
{
    struct buffer b = {0};
    text_append_escaped(&b, text);
    assert_slice(((struct slice){b.data, b.len}), expected);
    buffer_free(&b);
}

TEST(markup_becomes_references)
{
    assert_escapes_to(SLICE("<script>alert(\"1\" && '2')</script>"),
                      "&lt;script&gt;alert(&quot;1&quot; &amp;&amp; "
                      "&#39;2&#39;)&lt;/script&gt;");
    assert_escapes_to(SLICE("&amp;"), "&amp;amp;");
}

TEST(other_text_stays_as_it_is)
{
    assert_escapes_to(SLICE(""), "");
    assert_escapes_to(SLICE("two\r\nlines\tand a tab"),
                      "two\r\nlines\tand a tab");
    assert_escapes_to(SLICE("na\xc3\xafve \xf0\x9f\x98\x80"),
                      "na\xc3\xafve \xf0\x9f\x98\x80");
    assert_escapes_to(SLICE("$VISITOR_COUNT$"), "$VISITOR_COUNT$");
}

TEST(each_printable_character_stays_but_for_five)
{
    for (int c = ' '; c <= '~'; c++) {
        const char one[] = {(char)c, '\0'};
        const char *reference = c == '&' ? "&amp;" : c == '<' ? "&lt;"
                              : c == '>' ? "&gt;" : c == '"' ? "&quot;"
                              : c == '\'' ? "&#39;" : one;
        assert_escapes_to(slice_of(one), reference);
    }
}

#define REPLACEMENT "\xef\xbf\xbd"

TEST(what_xml_forbids_becomes_the_replacement_character)
{
    assert_escapes_to(SLICE("a\0b"), "a" REPLACEMENT "b");
    assert_escapes_to(SLICE("\x1b[31m"), REPLACEMENT "[31m");
    assert_escapes_to(SLICE("\x7f"), REPLACEMENT);
    assert_escapes_to(SLICE("\xef\xbf\xbe"), REPLACEMENT);
    assert_escapes_to(SLICE("\xef\xbf\xbf"), REPLACEMENT);
}

TEST(each_byte_that_is_not_utf8_becomes_the_replacement_character)
{
    assert_escapes_to(SLICE("\xff<"), REPLACEMENT "&lt;");
    assert_escapes_to(SLICE("\xc0\xbc"), REPLACEMENT REPLACEMENT);
    /* A lead byte does not swallow the markup behind it. */
    assert_escapes_to(SLICE("\xe2\x82<b>"),
                      REPLACEMENT REPLACEMENT "&lt;b&gt;");
}

TEST(a_file_name_becomes_part_of_a_url)
{
    struct buffer b = {0};
    text_append_percent_encoded(&b, SLICE("aZ09-._~"));
    text_append_percent_encoded(&b, SLICE(" /%?#\r\n\"\\"));
    text_append_percent_encoded(&b, (struct slice){"\0\xc3\xbc", 3});
    assert_slice(((struct slice){b.data, b.len}),
                 "aZ09-._~%20%2F%25%3F%23%0D%0A%22%5C%00%C3%BC");
    buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_read_as_it_was_written),
        cmocka_unit_test(
            a_cut_character_is_none_and_nothing_behind_the_end_is_read),
        cmocka_unit_test(what_is_not_utf8_is_refused),
        cmocka_unit_test(length_is_counted_in_characters),
        cmocka_unit_test(markup_becomes_references),
        cmocka_unit_test(other_text_stays_as_it_is),
        cmocka_unit_test(each_printable_character_stays_but_for_five),
        cmocka_unit_test(what_xml_forbids_becomes_the_replacement_character),
        cmocka_unit_test(
            each_byte_that_is_not_utf8_becomes_the_replacement_character),
        cmocka_unit_test(a_file_name_becomes_part_of_a_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
