#include "format/trace/plain_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void words_of_messages_are_plain(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "the",      "The",        "recorder", "killed.", "start-up", "read-only",   "17", "-1",
        "1.5",      "0x7fff12ab", "64K",      "95%",     "12ms",     "2nd",         "->", "...",
        "MPI_Recv", "PMPI_Wait",  "MPI",      "SIGKILL", "OpenMP",   "PTRACE_CONT", "",   "omp_set_lock"};
    static const char *const own[] = {"alice",       "projectx", "the_secret", "node17",      "thexyzzy",
                                      "he the",      "THE",      "tHe",        "start-alice", "secret-up",
                                      "-alice",      "0xalice",  "12alice",    "10.1.2.3",    "MPI_a.b",
                                      "caf\xc3\xa9", "\xff",     "1x2y"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!tg_plain_word(plain[i], strlen(plain[i])))
            fail_msg("%s is a word of messages", plain[i]);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (tg_plain_word(own[i], strlen(own[i])))
            fail_msg("%s is somebody's", own[i]);
}

static void parts_of_words_and_endless_ones_are_not(void **state)
{
    (void)state;
    char long_word[4096];
    memset(long_word, 'a', sizeof long_word);
    assert_false(tg_plain_word(long_word, sizeof long_word));
    assert_false(tg_plain_word("recorde", 7));
    assert_false(tg_plain_word("ecorder", 7));
    assert_true(tg_plain_word("recorderx", 8)); /* SIZE counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_messages_are_plain),
        cmocka_unit_test(parts_of_words_and_endless_ones_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
