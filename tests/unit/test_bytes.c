/* bytes - slices and buffers; see common/bytes.h. */
#include "bytes.h"

#include <ctype.h>
#include <stdio.h>

#include "unit.h"

TEST(equality_is_of_all_bytes)
{
    assert_true(slice_equal(SLICE("Host"), SLICE("Host")));
    assert_false(slice_equal(SLICE("Host"), SLICE("host")));
    assert_false(slice_equal(SLICE("Host"), SLICE("Hos")));
    assert_true(slice_equal(SLICE("a\0b"), SLICE("a\0b")));
    assert_false(slice_equal(SLICE("a\0b"), SLICE("a\0c")));
}

TEST(equality_may_ignore_the_case_of_letters)
{
    assert_true(slice_equal_nocase(SLICE("Host"), SLICE("hOST")));
    assert_false(slice_equal_nocase(SLICE("Host"), SLICE("Hosts")));
    assert_false(slice_equal_nocase(SLICE("@"), SLICE("`")));
}

TEST(a_slice_that_is_not_there_equals_an_empty_one)
{
    const struct slice none = {NULL, 0};
    assert_true(slice_equal(none, SLICE("")));
    assert_true(slice_equal_nocase(none, none));
    assert_false(slice_equal(none, SLICE("x")));
}

TEST(a_prefix_is_at_most_as_long_as_the_whole)
{
    assert_true(slice_has_prefix(SLICE("text/html"), SLICE("text/")));
    assert_true(slice_has_prefix(SLICE("text/"), SLICE("text/")));
    assert_false(slice_has_prefix(SLICE("text"), SLICE("text/")));
    assert_false(slice_has_prefix(SLICE("texts"), SLICE("text/")));
}

TEST(trimming_takes_white_space_off_both_ends)
{
    assert_slice(slice_trim(SLICE(" \t a b \t ")), "a b");
    assert_slice(slice_trim(SLICE("a")), "a");
    assert_slice(slice_trim(SLICE(" \t ")), "");
    assert_slice(slice_trim(SLICE("")), "");
    assert_slice(slice_trim(SLICE("\r\n a\r\nb \n")), "a\r\nb");
}

TEST(parts_end_at_the_separator)
{
    struct slice s = SLICE("a=1&&b&");
    assert_slice(slice_next(&s, '&'), "a=1");
    assert_slice(slice_next(&s, '&'), "");
    assert_slice(slice_next(&s, '&'), "b");
    assert_int_equal(s.n, 0);
}

TEST(numbers_are_read_up_to_the_first_other_byte)
{
    struct slice s = SLICE("007-x");
    assert_int_equal(slice_next_number(&s), 7);
    assert_slice(s, "-x");
    assert_int_equal(slice_next_number(&s), -1);
    assert_slice(s, "-x");
    s = SLICE("99999999999999999999999999");
    assert_true(slice_next_number(&s) > INT64_MAX / 32);
    assert_int_equal(s.n, 0);
    assert_int_equal(slice_next_number(&s), -1);
}

TEST(only_hexadecimal_digits_follow_a_percent_sign)
{
    for (int high = 0; high < 256; high++)
        for (int low = 0; low < 256; low++) {
            const char text[3] = {'%', (char)high, (char)low};
            struct slice s = {text, sizeof text};
            bool fine = isxdigit(high) && isxdigit(low);
            if ((slice_next_decoded(&s) >= 0) != fine)
                fail_msg("%%\\x%02x\\x%02x", (unsigned)high, (unsigned)low);
        }
}

TEST(decoding_leaves_plus_as_it_is)
{
    struct slice s = SLICE("+%2F");
    assert_int_equal(slice_next_decoded(&s), '+');
    assert_int_equal(slice_next_decoded(&s), '/');
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
            assert_int_equal(slice_next_decoded(&s), i);
            assert_int_equal(s.n, 0);
        }
}

TEST(pieces_are_appended_one_behind_the_other)
{
    struct buffer b = {0};
    buffer_append(&b, "one", 3);
    buffer_append_literal(&b, ", two");
    buffer_append_slice(&b, SLICE(", three"));
    assert_slice(buffer_slice(&b), "one, two, three");
    assert_false(b.failed);
    buffer_free(&b);
}

TEST(nothing_may_be_appended)
{
    struct buffer b = {0};
    buffer_append(&b, "", 0);
    buffer_append_slice(&b, (struct slice){NULL, 0});
    assert_int_equal(b.len, 0);
    assert_false(b.failed);
    buffer_free(&b);
}

TEST(content_survives_growth)
{
    struct buffer b = {0};
    for (unsigned i = 0; i < 100000; i++) {
        char c = (char)(i % 251);
        buffer_append(&b, &c, 1);
    }
    assert_int_equal(b.len, 100000);
    assert_true(b.cap >= b.len);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal((unsigned char)b.data[i], i % 251);
    buffer_free(&b);
}

TEST(room_can_be_had_before_the_bytes)
{
    struct buffer b = {0};
    buffer_append_literal(&b, "ab");
    char *room = buffer_reserve(&b, 10000);
    assert_ptr_equal(room, b.data + 2);
    assert_true(b.cap >= 10002);
    assert_int_equal(b.len, 2);
    buffer_free(&b);
}

TEST(numbers_are_written_in_decimal)
{
    struct buffer b = {0};
    const uint64_t numbers[] = {0, 9, 10, 4711, UINT64_MAX};
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        buffer_append_uint(&b, numbers[i]);
        buffer_append_literal(&b, " ");
    }
    assert_slice(buffer_slice(&b), "0 9 10 4711 18446744073709551615 ");
    buffer_free(&b);
}

TEST(printf_appends_without_its_nul)
{
    struct buffer b = {0};
    buffer_append_literal(&b, "<");
    buffer_printf(&b, "%d of %s", 7, "ten");
    buffer_append_literal(&b, ">");
    assert_slice(buffer_slice(&b), "<7 of ten>");
    buffer_printf(&b, "%s", many('x', 5000));
    assert_int_equal(b.len, 10 + 5000);
    buffer_free(&b);
}

TEST(a_reset_keeps_the_memory_unless_it_is_too_much)
{
    struct buffer b = {0};
    buffer_append_literal(&b, "some text");
    char *data = b.data;
    buffer_reset(&b, b.cap);
    assert_int_equal(b.len, 0);
    assert_ptr_equal(b.data, data);
    buffer_reset(&b, b.cap - 1);
    assert_null(b.data);
    assert_int_equal(b.cap, 0);
}

TEST(once_failed_it_takes_nothing_until_it_is_reset)
{
    struct buffer b = {0};
    buffer_append_literal(&b, "before");
    assert_null(buffer_reserve(&b, SIZE_MAX)); /* more than there is */
    assert_true(b.failed);
    buffer_append_literal(&b, "after");
    buffer_append_uint(&b, 1);
    buffer_printf(&b, "%d", 2);
    assert_slice(buffer_slice(&b), "before");
    buffer_reset(&b, SIZE_MAX);
    assert_false(b.failed);
    buffer_append_literal(&b, "again");
    assert_slice(buffer_slice(&b), "again");
    buffer_free(&b);
}

TEST(freed_it_is_empty_and_usable)
{
    struct buffer b = {0};
    buffer_append_literal(&b, "x");
    buffer_free(&b);
    assert_null(b.data);
    buffer_append_literal(&b, "y");
    assert_slice(buffer_slice(&b), "y");
    buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality_is_of_all_bytes),
        cmocka_unit_test(equality_may_ignore_the_case_of_letters),
        cmocka_unit_test(a_slice_that_is_not_there_equals_an_empty_one),
        cmocka_unit_test(a_prefix_is_at_most_as_long_as_the_whole),
        cmocka_unit_test(trimming_takes_white_space_off_both_ends),
        cmocka_unit_test(parts_end_at_the_separator),
        cmocka_unit_test(numbers_are_read_up_to_the_first_other_byte),
        cmocka_unit_test(only_hexadecimal_digits_follow_a_percent_sign),
        cmocka_unit_test(decoding_leaves_plus_as_it_is),
        cmocka_unit_test(every_byte_can_be_written_as_an_escape),
        cmocka_unit_test(pieces_are_appended_one_behind_the_other),
        cmocka_unit_test(nothing_may_be_appended),
        cmocka_unit_test(content_survives_growth),
        cmocka_unit_test(room_can_be_had_before_the_bytes),
        cmocka_unit_test(numbers_are_written_in_decimal),
        cmocka_unit_test(printf_appends_without_its_nul),
        cmocka_unit_test(a_reset_keeps_the_memory_unless_it_is_too_much),
        cmocka_unit_test(once_failed_it_takes_nothing_until_it_is_reset),
        cmocka_unit_test(freed_it_is_empty_and_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
