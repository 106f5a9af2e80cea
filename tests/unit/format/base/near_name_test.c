#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/near_name.h"

static const char *const names[] = {"record", "report",  "filter", "sequence", "dump",
                                    "replay", "recover", "live",   "dhold",    "dgo"};

static const char *nearest(const char *word)
{
    struct tg_near_name near;
    tg_near_name_init(&near, word);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tg_near_name_offer(&near, names[i]);
    return near.best;
}

static void one_edit_is_near(void **state)
{
    (void)state;
    assert_string_equal(nearest("reprot"), "report"); /* swapped */
    assert_string_equal(nearest("repor"), "report");  /* left out */
    assert_string_equal(nearest("reeport"), "report");
    assert_string_equal(nearest("rebort"), "report");
    assert_string_equal(nearest("dmup"), "dump");
    assert_string_equal(nearest("DUMP"), "dump");
}

static void longer_words_may_have_more_edits(void **state)
{
    (void)state;
    assert_string_equal(nearest("seqence"), "sequence");
    assert_string_equal(nearest("sekwence"), "sequence");
    assert_string_equal(nearest("sequnecs"), "sequence");
}

static void beginnings_are_near(void **state)
{
    (void)state;
    assert_string_equal(nearest("seq"), "sequence");
    assert_string_equal(nearest("fil"), "filter");
    assert_string_equal(nearest("rep"), "report"); /* the first of report and replay */
}

static void other_words_are_not(void **state)
{
    (void)state;
    assert_null(nearest("xyzzy"));
    assert_null(nearest("d"));
    assert_null(nearest(""));
    assert_null(nearest("analyze"));
    char huge[1000];
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(nearest(huge));
}

/* A command that a script renamed is unknown, and its own name no help. */
static void a_word_is_not_near_itself(void **state)
{
    (void)state;
    assert_null(nearest("dgo"));
    assert_string_equal(nearest("DGO"), "dgo");
}

static void nearer_wins_over_earlier(void **state)
{
    (void)state;
    assert_string_equal(nearest("replai"), "replay");
    assert_string_equal(nearest("recorf"), "record");
    assert_string_equal(nearest("recovr"), "recover");
}

static void hint_is_a_phrase_or_nothing(void **state)
{
    (void)state;
    char hint[TG_NEAR_NAME_HINT];
    struct tg_near_name near;
    tg_near_name_init(&near, "lvie");
    assert_string_equal(tg_near_name_hint(&near, hint), "");
    tg_near_name_offer(&near, "live");
    assert_string_equal(tg_near_name_hint(&near, hint), "; did you mean 'live'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_edit_is_near),
        cmocka_unit_test(longer_words_may_have_more_edits),
        cmocka_unit_test(beginnings_are_near),
        cmocka_unit_test(other_words_are_not),
        cmocka_unit_test(a_word_is_not_near_itself),
        cmocka_unit_test(nearer_wins_over_earlier),
        cmocka_unit_test(hint_is_a_phrase_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
