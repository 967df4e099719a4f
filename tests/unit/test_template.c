/* template - a text with placeholders; see common/template.h. */
#include "text.h"

#include "unit.h"

static const struct template_value values[] = {
    {{"$NAME$", 6}, {"Ada", 3}},
    {{"$COUNT$", 7}, {"42", 2}},
    {{"$EMPTY$", 7}, {NULL, 0}},
    {{"$EVIL$", 6}, {"$NAME$ $COUNT$", 14}},
};

static void assert_renders_to(const char *text, const char *expected)
{
    struct buffer out = {0};
    size_t n = strlen(text);
    template_render(&out, (struct slice){before_guard_page(text, n), n},
                    values, LENGTH(values));
    assert_slice(((struct slice){out.data, out.len}), expected);
    assert_false(out.failed);
    buffer_free(&out);
}

TEST(placeholders_are_filled_in)
{
    assert_renders_to("Dear $NAME$, you are number $COUNT$.",
                      "Dear Ada, you are number 42.");
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
    assert_renders_to("$OTHER$", "$OTHER$");
    assert_renders_to("$$NAME$$", "$Ada$");
    assert_renders_to("$OTHER$NAME$", "$OTHERAda");
}

TEST(what_was_filled_in_is_not_looked_at_again)
{
    assert_renders_to("[$EVIL$]", "[$NAME$ $COUNT$]");
}

TEST(a_value_completes_no_placeholder_with_the_text_around_it)
{
    const struct template_value halves[] = {{SLICE("$A$"), SLICE("$B")}};
    struct buffer out = {0};
    template_render(&out, SLICE("$A$$"), halves, 1);
    assert_slice(((struct slice){out.data, out.len}), "$B$");
    buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_are_filled_in),
        cmocka_unit_test(they_may_stand_anywhere_and_more_than_once),
        cmocka_unit_test(text_without_any_stays_as_it_is),
        cmocka_unit_test(a_dollar_that_begins_no_known_name_stays),
        cmocka_unit_test(what_was_filled_in_is_not_looked_at_again),
        cmocka_unit_test(
            a_value_completes_no_placeholder_with_the_text_around_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
