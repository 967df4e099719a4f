/* text - forms, templates, UTF-8 and escaping; see common/text.h. */
#include "text.h"

#include <ctype.h>
#include <stdio.h>

#include "unit.h"

/* ------------------------------------------------------------------- forms */

/* What form_get() finds under a name, as text; "(none)" and "(malformed)" for
 * its other results. Valid until the next call. */
static const char *field(const char *encoded, const char *name)
{
    static char text[256];
    struct buffer out = {0};
    size_t n = strlen(encoded);
    struct slice form = {before_guard_page(encoded, n), n};
    int result = form_get(form, slice_of(name), &out);
    const char *other = result == 0 ? "(none)" : "(malformed)";
    struct slice got = result == 1 ? (struct slice){out.data, out.len}
                                   : slice_of(other);
    assert_true(got.n < sizeof text);
    memcpy(text, got.n > 0 ? got.p : "", got.n);
    text[got.n] = '\0';
    buffer_free(&out);
    return text;
}

TEST(a_field_is_found_wherever_it_stands)
{
    assert_string_equal(field("a=1&b=2&c=3", "a"), "1");
    assert_string_equal(field("a=1&b=2&c=3", "b"), "2");
    assert_string_equal(field("a=1&b=2&c=3", "c"), "3");
    assert_string_equal(field("a=1&b=2&c=3", "d"), "(none)");
    assert_string_equal(field("", "a"), "(none)");
}

TEST(the_first_of_several_counts)
{
    assert_string_equal(field("a=1&a=2", "a"), "1");
}

TEST(a_name_has_to_match_whole)
{
    assert_string_equal(field("name=1", "nam"), "(none)");
    assert_string_equal(field("nam=1", "name"), "(none)");
    assert_string_equal(field("Name=1", "name"), "(none)");
}

TEST(a_name_may_be_escaped)
{
    assert_string_equal(field("%6eame=1", "name"), "1");
    assert_string_equal(field("%zz=1&name=2", "name"), "2");
}

TEST(values_may_be_empty_or_left_out)
{
    assert_string_equal(field("a=", "a"), "");
    assert_string_equal(field("a", "a"), "");
    assert_string_equal(field("&&a&", "a"), "");
    assert_string_equal(field("=x", "a"), "(none)");
}

TEST(only_the_first_equals_sign_separates)
{
    assert_string_equal(field("a=b=c", "a"), "b=c");
}

TEST(escapes_and_plus_are_decoded)
{
    assert_string_equal(field("a=%48ello%2C+World%21", "a"), "Hello, World!");
    assert_string_equal(field("a=1%2b1%3D2", "a"), "1+1=2");
    assert_string_equal(field("a=%c3%A9", "a"), "\xc3\xa9");
}

TEST(an_escape_without_two_digits_is_malformed)
{
    const char *forms[] = {"a=%",  "a=%4",  "a=%4&b=1", "a=%g0",
                           "a=%0g", "a=%%41", "a=%-1", "a=%+1"};
    for (size_t i = 0; i < LENGTH(forms); i++)
        if (strcmp(field(forms[i], "a"), "(malformed)") != 0)
            fail_msg("'%s' was accepted", forms[i]);
}

TEST(a_malformed_field_does_no_harm_to_others)
{
    assert_string_equal(field("x=%&a=1", "a"), "1");
}

/* --------------------------------------------------------------- templates */

static const struct template_value values[] = {
    {{"$NAME$", 6}, {"Ada", 3}, false},
    {{"$COUNT$", 7}, {"42", 2}, false},
    {{"$EMPTY$", 7}, {NULL, 0}, false},
    {{"$EVIL$", 6}, {"$NAME$ $COUNT$", 14}, false},
    {{"$BOLD$", 6}, {"<b>", 3}, true},
    {{"$TYPED$", 7}, {"<b>", 3}, false},
};

/* Renders the text and returns whether each of its places had a value. */
static bool renders_to(const char *text, const char *expected)
{
    struct buffer out = {0};
    size_t n = strlen(text);
    bool complete = template_render(
        &out, (struct slice){before_guard_page(text, n), n}, values,
        LENGTH(values));
    assert_slice(((struct slice){out.data, out.len}), expected);
    assert_false(out.failed);
    buffer_free(&out);
    return complete;
}

static void assert_renders_to(const char *text, const char *expected)
{
    assert_true(renders_to(text, expected));
}

TEST(placeholders_are_filled_in)
{
    assert_renders_to("Dear $NAME$, you are number $COUNT$.",
                      "Dear Ada, you are number 42.");
}

TEST(a_value_is_escaped_unless_it_is_html)
{
    assert_renders_to("$BOLD$$TYPED$", "<b>&lt;b&gt;");
}

TEST(they_may_stand_anywhere_and_more_than_once)
{
    assert_renders_to("$NAME$", "Ada");
    assert_renders_to("$NAME$$NAME$$COUNT$", "AdaAda42");
    assert_renders_to("$EMPTY$", "");
}

TEST(text_without_any_stays_as_it_is)
{
    assert_renders_to("", "");
    assert_renders_to("plain", "plain");
}

TEST(a_dollar_that_begins_no_known_name_stays)
{
    assert_renders_to("$", "$");
    assert_renders_to("$$", "$$");
    assert_renders_to("costs 5$", "costs 5$");
    assert_renders_to("$NAME", "$NAME");
    assert_renders_to("$name$", "$name$");
    assert_renders_to("$$NAME$$", "$Ada$");
}

TEST(a_place_without_a_value_stays_and_is_reported)
{
    assert_false(renders_to("$OTHER$", "$OTHER$"));
    assert_false(renders_to("$OTHER$NAME$", "$OTHERAda"));
    assert_false(renders_to("$NAME$ $_$ $NAME$", "Ada $_$ Ada"));
}

TEST(a_value_is_not_searched_for_placeholders)
{
    assert_renders_to("[$EVIL$]", "[$NAME$ $COUNT$]");
}

TEST(a_value_completes_no_placeholder_with_the_text_around_it)
{
    const struct template_value halves[] = {{SLICE("$A$"), SLICE("$B"), true}};
    struct buffer out = {0};
    template_render(&out, SLICE("$A$$"), halves, 1);
    assert_slice(((struct slice){out.data, out.len}), "$B$");
    buffer_free(&out);
}

/* --------------------------------------------------------------- line ends */

TEST(line_ends_become_lf)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", ""}, {"a", "a"}, {"a\nb", "a\nb"}, {"a\r\nb", "a\nb"},
        {"a\rb", "a\nb"}, {"\r\n\r\n", "\n\n"}, {"\r\r\n", "\n\n"},
        {"\n\r", "\n\n"}, {"a\r", "a\n"}, {"a\r\n", "a\n"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        size_t n = strlen(rows[i].text);
        char *text = before_guard_page(rows[i].text, n);
        n = text_unify_line_ends(text, n);
        assert_slice(((struct slice){text, n}), rows[i].expected);
    }
    assert_int_equal(text_unify_line_ends(NULL, 0), 0);
}

/* ------------------------------------------------------ UTF-8 and escaping */

/* Encodes a code point as RFC 3629 says, valid or not. */
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

static bool is_forbidden(unsigned code)
{
    return (code < ' ' && strchr("\t\n\r", (int)code) == NULL) || code == 0 ||
           (code >= 0x7f && code < 0xa0) ||
           (code >= 0xd800 && code <= 0xdfff) ||
           code == 0xfffe || code == 0xffff;
}

TEST(every_character_is_read_as_it_was_written)
{
    for (unsigned code = 0; code <= 0x10ffff; code++) {
        char bytes[4];
        unsigned got = 0xdead;
        size_t n = encode(code, bytes);
        assert_int_equal(text_utf8_next((struct slice){bytes, n}, &got),
                         is_forbidden(code) ? 0 : n);
        if (!is_forbidden(code))
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
    "\x80",             /* a continuation byte alone */
    "\xbf",
    "\xc3(",            /* no continuation byte follows */
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
            fail_msg("row %zu was accepted", i);
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
    assert_int_equal(text_utf8_length(SLICE("a\r\n\tb")), 5);
    assert_int_equal(text_utf8_length(SLICE("a\0b")), -1);
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

TEST(what_xml_and_html_forbid_becomes_the_replacement_character)
{
    assert_escapes_to(SLICE("a\0b"), "a" REPLACEMENT "b");
    assert_escapes_to(SLICE("\x1b[31m"), REPLACEMENT "[31m");
    assert_escapes_to(SLICE("\x7f"), REPLACEMENT);
    assert_escapes_to(SLICE("\xc2\x85|\xc2\x9f|\xc2\xa0"),
                      REPLACEMENT REPLACEMENT "|" REPLACEMENT REPLACEMENT
                      "|\xc2\xa0");
    assert_escapes_to(SLICE("\xef\xbf\xbe"),
                      REPLACEMENT REPLACEMENT REPLACEMENT);
    assert_escapes_to(SLICE("\xef\xbf\xbf"),
                      REPLACEMENT REPLACEMENT REPLACEMENT);
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
        cmocka_unit_test(a_field_is_found_wherever_it_stands),
        cmocka_unit_test(the_first_of_several_counts),
        cmocka_unit_test(a_name_has_to_match_whole),
        cmocka_unit_test(a_name_may_be_escaped),
        cmocka_unit_test(values_may_be_empty_or_left_out),
        cmocka_unit_test(only_the_first_equals_sign_separates),
        cmocka_unit_test(escapes_and_plus_are_decoded),
        cmocka_unit_test(an_escape_without_two_digits_is_malformed),
        cmocka_unit_test(a_malformed_field_does_no_harm_to_others),
        cmocka_unit_test(placeholders_are_filled_in),
        cmocka_unit_test(a_value_is_escaped_unless_it_is_html),
        cmocka_unit_test(they_may_stand_anywhere_and_more_than_once),
        cmocka_unit_test(text_without_any_stays_as_it_is),
        cmocka_unit_test(a_dollar_that_begins_no_known_name_stays),
        cmocka_unit_test(a_place_without_a_value_stays_and_is_reported),
        cmocka_unit_test(a_value_is_not_searched_for_placeholders),
        cmocka_unit_test(
            a_value_completes_no_placeholder_with_the_text_around_it),
        cmocka_unit_test(every_character_is_read_as_it_was_written),
        cmocka_unit_test(
            a_cut_character_is_none_and_nothing_behind_the_end_is_read),
        cmocka_unit_test(what_is_not_utf8_is_refused),
        cmocka_unit_test(length_is_counted_in_characters),
        cmocka_unit_test(markup_becomes_references),
        cmocka_unit_test(other_text_stays_as_it_is),
        cmocka_unit_test(each_printable_character_stays_but_for_five),
        cmocka_unit_test(line_ends_become_lf),
        cmocka_unit_test(what_xml_and_html_forbid_becomes_the_replacement_character),
        cmocka_unit_test(
            each_byte_that_is_not_utf8_becomes_the_replacement_character),
        cmocka_unit_test(a_file_name_becomes_part_of_a_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
