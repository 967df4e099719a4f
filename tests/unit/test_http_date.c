/* Dates as HTTP writes them; see common/http_response.h and static_file.h. */
#include "http_response.h"
#include "static_file.h"

#include "unit.h"

enum { EXAMPLE = 784111777 }; /* RFC 9110's: Sun, 06 Nov 1994 08:49:37 GMT */

static const time_t last_second = 253402300799; /* of the year 9999 */

static const char *formatted(time_t t)
{
    static char text[HTTP_DATE_LENGTH + 1];
    http_date_format(text, t);
    return text;
}

static time_t parsed(const char *text)
{
    size_t n = strlen(text);
    return http_date_parse((struct slice){before_guard_page(text, n), n});
}

TEST(dates_are_written_as_imf_fixdate)
{
    assert_string_equal(formatted(EXAMPLE), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_string_equal(formatted(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_string_equal(formatted(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
    assert_string_equal(formatted(INT32_MAX), "Tue, 19 Jan 2038 03:14:07 GMT");
    assert_string_equal(formatted((time_t)INT32_MAX + 1),
                        "Tue, 19 Jan 2038 03:14:08 GMT");
    assert_string_equal(formatted(last_second),
                        "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST(times_outside_the_format_become_the_nearest_that_fits)
{
    assert_string_equal(formatted(-1), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_string_equal(formatted(INT64_MIN), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_string_equal(formatted(last_second + 1),
                        "Fri, 31 Dec 9999 23:59:59 GMT");
    assert_string_equal(formatted(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST(all_three_formats_of_rfc_9110_are_read)
{
    assert_int_equal(parsed("Sun, 06 Nov 1994 08:49:37 GMT"), EXAMPLE);
    assert_int_equal(parsed("Sunday, 06-Nov-94 08:49:37 GMT"), EXAMPLE);
    assert_int_equal(parsed("Sun Nov  6 08:49:37 1994"), EXAMPLE);
}

TEST(what_was_written_is_read_back)
{
    for (time_t t = 0; t <= last_second; t += 86400 * 11 + 12347)
        assert_int_equal(parsed(formatted(t)), t);
    assert_int_equal(parsed(formatted(last_second)), last_second);
}

TEST(two_digits_of_a_year_mean_1969_to_2068)
{
    assert_int_equal(parsed("Thursday, 01-Jan-70 00:00:00 GMT"), 0);
    assert_int_equal(parsed("Friday, 31-Dec-99 23:59:59 GMT"), 946684799);
    assert_int_equal(parsed("Saturday, 01-Jan-00 00:00:00 GMT"), 946684800);
    assert_int_equal(parsed("Monday, 31-Dec-68 23:59:59 GMT"), 3124223999);
}

TEST(a_leap_day_exists_in_leap_years)
{
    assert_int_equal(parsed("Tue, 29 Feb 2000 00:00:00 GMT"), 951782400);
    assert_int_equal(parsed("Thu, 29 Feb 2024 12:00:00 GMT"), 1709208000);
}

TEST(a_leap_second_exists)
{
    assert_int_equal(parsed("Sat, 31 Dec 2016 23:59:60 GMT"), 1483228800);
    assert_int_equal(parsed("Sat, 31 Dec 2016 23:59:61 GMT"), -1);
}

/* RFC 9110, 5.6.7 and 13.1.3. */
TEST(a_date_that_no_calendar_has_is_refused)
{
    const char *const texts[] = {
        "Thu, 31 Feb 2022 08:49:37 GMT",
        "Tue, 29 Feb 2022 08:49:37 GMT",
        "Tue, 31 Apr 2024 08:49:37 GMT",
        "Wed, 31-Apr-24 08:49:37 GMT",
        "Wed Apr 31 08:49:37 2024",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        /* The weekday is another one. */
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "Monday, 06-Nov-94 08:49:37 GMT",
        "Mon Nov  6 08:49:37 1994",
    };
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (parsed(texts[i]) != (time_t)-1)
            fail_msg("'%s' was read as %lld", texts[i],
                     (long long)parsed(texts[i]));
}

TEST(what_is_no_date_is_refused)
{
    const char *const texts[] = {
        "",
        "yesterday",
        "784111777",
        "Sun, 06 Nov 1994",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "Sun, 06 Nov 1994 08:49:37 GMT and more",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37 GMT; length=1234567890123456789012345678",
    };
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (parsed(texts[i]) != (time_t)-1)
            fail_msg("'%s' was read as %lld", texts[i],
                     (long long)parsed(texts[i]));
}

TEST(no_slice_is_no_date)
{
    assert_int_equal(http_date_parse((struct slice){NULL, 0}), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_written_as_imf_fixdate),
        cmocka_unit_test(times_outside_the_format_become_the_nearest_that_fits),
        cmocka_unit_test(all_three_formats_of_rfc_9110_are_read),
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(two_digits_of_a_year_mean_1969_to_2068),
        cmocka_unit_test(a_leap_day_exists_in_leap_years),
        cmocka_unit_test(a_leap_second_exists),
        cmocka_unit_test(a_date_that_no_calendar_has_is_refused),
        cmocka_unit_test(what_is_no_date_is_refused),
        cmocka_unit_test(no_slice_is_no_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
