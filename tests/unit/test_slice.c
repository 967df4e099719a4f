/* slice - a piece of somebody else's bytes; see common/slice.h. */
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

TEST(trimming_takes_spaces_and_tabs_off_both_ends)
{
    assert_slice(slice_trim(SLICE(" \t a b \t ")), "a b");
    assert_slice(slice_trim(SLICE("a")), "a");
    assert_slice(slice_trim(SLICE(" \t ")), "");
    assert_slice(slice_trim(SLICE("")), "");
    assert_slice(slice_trim(SLICE("\r\n")), "\r\n");
}

TEST(a_list_comes_apart_at_its_commas)
{
    struct slice list = SLICE("close , ,\tkeep-alive,");
    assert_slice(slice_next_element(&list), "close");
    assert_slice(slice_next_element(&list), "");
    assert_slice(slice_next_element(&list), "keep-alive");
    assert_int_equal(list.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality_is_of_all_bytes),
        cmocka_unit_test(equality_may_ignore_the_case_of_letters),
        cmocka_unit_test(a_slice_that_is_not_there_equals_an_empty_one),
        cmocka_unit_test(a_prefix_is_at_most_as_long_as_the_whole),
        cmocka_unit_test(trimming_takes_spaces_and_tabs_off_both_ends),
        cmocka_unit_test(a_list_comes_apart_at_its_commas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
