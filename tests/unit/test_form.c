/* form - urlencoded fields; see common/form.h. */
#include "text.h"

#include <ctype.h>
#include <stdio.h>

#include "unit.h"

/* What form_get() finds under a name, as text; "(none)" and "(malformed)" for
 * its other results. Good until the next call. */
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
    assert_string_equal(field("guest+name=1", "guest name"), "1");
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
            fail_msg("'%s' was taken", forms[i]);
}

TEST(just_the_hexadecimal_digits_are_digits)
{
    for (int high = 0; high < 256; high++)
        for (int low = 0; low < 256; low++) {
            const char text[3] = {'%', (char)high, (char)low};
            struct slice s = {text, sizeof text};
            bool fine = isxdigit(high) && isxdigit(low);
            if ((form_decode_byte(&s, true) >= 0) != fine)
                fail_msg("%%\\x%02x\\x%02x", (unsigned)high, (unsigned)low);
        }
}

TEST(a_malformed_field_that_nobody_asks_for_does_no_harm)
{
    assert_string_equal(field("x=%&a=1", "a"), "1");
}

TEST(a_path_keeps_its_plus)
{
    struct slice s = SLICE("+%2F");
    assert_int_equal(form_decode_byte(&s, false), '+');
    assert_int_equal(form_decode_byte(&s, false), '/');
    assert_int_equal(s.n, 0);
}

TEST(every_byte_can_be_written_as_an_escape)
{
    for (int i = 0; i < 256; i++)
        for (int upper = 0; upper < 2; upper++) {
            char text[4];
            snprintf(text, sizeof text, upper ? "%%%02X" : "%%%02x",
                     (unsigned)i);
            struct slice s = slice_of(text);
            assert_int_equal(form_decode_byte(&s, true), i);
            assert_int_equal(s.n, 0);
        }
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
        cmocka_unit_test(just_the_hexadecimal_digits_are_digits),
        cmocka_unit_test(
            a_malformed_field_that_nobody_asks_for_does_no_harm),
        cmocka_unit_test(a_path_keeps_its_plus),
        cmocka_unit_test(every_byte_can_be_written_as_an_escape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
