/* clock - the time; see common/clock.h. */
#include "clock.h"

#include "unit.h"

TEST(an_update_asks_the_kernel)
{
    struct clock clock = {0};
    time_t before = time(NULL);
    clock_update(&clock);
    assert_in_range(clock.seconds, before - 1, time(NULL));
    int64_t then = clock.now_ms;
    clock_update(&clock);
    assert_true(clock.now_ms >= then);
}

TEST(the_exact_clock_is_never_behind_the_coarse_one)
{
    struct clock clock = {0};
    clock_update(&clock);
    assert_true(clock_monotonic_ms() >= clock.now_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_asks_the_kernel),
        cmocka_unit_test(the_exact_clock_is_never_behind_the_coarse_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
