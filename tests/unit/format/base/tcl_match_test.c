/* Tcl's `string match` against a table of its rules, and against libtcl itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tcl.h>

#include "format/base/tcl_match.h"

struct match_case {
    const char *pattern;
    const char *text;
    bool expected;
};

static const struct match_case cases[] = {
    /* stars and question marks */
    {"", "", true},
    {"", "a", false},
    {"a", "", false},
    {"**", "", true},
    {"***", "anything", true},
    {"*", "/usr/lib/libc.so.6", true},
    {"*.", "", false},
    {"?", "", false},
    {"?", "a", true},
    {"?", "ab", false},
    {"a?c", "abc", true},
    {"*?", "", false},
    {"*?*", "x", true},
    {"a*c", "abcbc", true},
    {"a*c", "abcb", false},
    {"a**b", "ab", true},
    {"*/libfoo.so", "/lib/libfoo.so", true},
    {"*/libfoo.so", "/usr/lib/libfoo.so", true},
    {"*/libfoo.so", "libfoo.so", false},
    {"*/libcuda.so*", "/usr/lib/libcuda.so.1", true},
    {"/lib/libfoo*", "/lib/libfoo.so.1", true},
    {"Lib*", "libc", false},
    {" *", "/lib/a.so", false},
    {"*a*b*c", "xxaxxbxxbxxc", true},
    {"*ab*ab", "abab", true},
    {"*ab*ab", "ab", false},
    /* sets */
    {"[a", "a", true},
    {"[a", "b", false},
    {"[]", "[]", false},
    {"[]", "", false},
    {"[", "[", false},
    {"[]a]", "]", false},
    {"[A-z]", "_", true},
    {"[A-fh-Z]", "g", true},
    {"[z-a]", "m", true},
    {"[a-c]", "d", false},
    {"[!a]", "!", true},
    {"[!a]", "b", false},
    {"[^a]", "^", true},
    {"[^a]", "b", false},
    {"[\\]]", "\\]", true}, /* the backslash is an element, `]` closes */
    {"[\\]]", "]", false},
    {"[\\-a]", "^", true}, /* the range from backslash to a */
    {"[a\\]x", "\\x", true},
    {"[-a]", "-", true},
    {"[--]", "-", true},
    {"[a-]", "a", true}, /* the range from a to the bracket; the rest is swallowed */
    {"[A-]x", "Ax", false},
    {"[A-]]x", "Ax", true},
    {"[A-]]x", "]x", true},
    {"[A-]h]x", "hx", true},
    {"[a-", "a", false},
    {"[ba-", "b", true},
    {"[ab*?", "b", true}, /* without an end the rest is swallowed */
    {"[ab*?", "bx", false},
    {"[*]", "*", true},
    {"[*]", "a", false},
    {"[[]", "[", true},
    {"a[0-9]*b", "a7xxb", true},
    {"*[0-9].so", "libx7.so", true},
    /* backslash */
    {"*\\", "\\", false},
    {"*\\\\", "\\", true},
    {"\\", "\\", false},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\?", "?", true},
    {"\\[a]", "[a]", true},
    {"\\a", "a", true},
    {"*\\*", "ab*", true},
    {"*\\*", "ab", false},
    /* a set that closes at different places for different characters */
    {"*[xa-]b*c]*d", "xb^d", true},
    {"*[xa-]b*c]*d", "xbzc]zd", true},
    {"*[xa-]b*c]*d", "xb-d", true},
    {"*[xa-]b*c]*d", "xz-d", false},
    {"*[az]??[xa-]*]c*^c", "aaqxz]c^c", true}, /* the last `*` is met a second time, earlier in the text */
    {"*[^*^-]*!-", "^]^-]", true},
    {"*[-!-]*[?-", "a-]", true},
    {"*[[b\\?-]*-", "]]b]", true},
    /* characters of several bytes */
    {"?", "\xc3\xa4", true},
    {"??", "\xc3\xa4", false},
    {"?", "\xe2\x82\xac", true},
    {"?", "\xf0\x9f\x98\x80", true},
    {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa4", true},
    {"[a-z]", "\xc3\xa4", false},
    {"*\xc3\xa4*", "/lib/l\xc3\xa4.so", true},
    {"[\xf0\x9f\x98\x80-\xf0\x9f\x98\x8f]", "\xf0\x9f\x98\x85", true},
    {"\\\xc3\xa4", "\xc3\xa4", true},
    /* malformed: a byte stands for itself */
    {"?", "\x80", true},
    {"\xc3\xa4", "\xe4", true},
    {"\xe4", "\xc3\xa4", true},
    {"??", "\xc3x", true},
    {"?", "\xc0\x80", true},
    {"??", "\xc1\x81", true},
    {"???", "\xe0\x80\x80", true},
    {"????", "\xf4\x90\x80\x80", true},
    {"????", "\xf5\x80\x80\x80", true},
    {"???", "\xf0\x9f\x98", true},
    {"\xed\xa0\xbd??", "\xf0\x9f\x98", true},               /* the lead of four bytes is a high surrogate */
    {"?", "\xed\xa0\xbd\xed\xb8\x80", true},                /* a pair is one character */
    {"\xf0\x9f\x98\x80", "\xed\xa0\xbd\xed\xb8\x80", true}, /* and the same one */
    {"\xf0\x9f\x98\x80", "\xed\xa0\xbd\x9f\x98\x80", true}, /* also where its half is written the other way */
    {"????", "\xed\xa0\xbd\x9e\x98\x80", true},             /* unless it continues another character */
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\xed\xb8\x80", false},
};

static void fail_case(const char *pattern, const char *text, bool expected)
{
    fail_msg("pattern \"%s\" text \"%s\": expected %s", pattern, text, expected ? "a match" : "no match");
}

static void the_table_of_rules_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (tg_tcl_match(cases[i].pattern, cases[i].text) != cases[i].expected)
            fail_case(cases[i].pattern, cases[i].text, cases[i].expected);
        /* the table itself is what Tcl says */
        if ((Tcl_StringMatch(cases[i].text, cases[i].pattern) != 0) != cases[i].expected)
            fail_msg("the table is wrong about pattern \"%s\" text \"%s\"", cases[i].pattern, cases[i].text);
    }
}

/* xorshift64*: the same cases on every run and machine. */
static uint32_t next_random(uint64_t *seed, uint32_t bound)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (uint32_t)((*seed * 0x2545f4914f6cdd1dULL) >> 33) % bound;
}

static const char *const pieces[] = {
    /* special characters and those near them: what patterns are made of */
    "a", "b", "c", "x", "*", "*", "?", "[", "]", "-", "-]", "[a-", "\\", "!", "^", "[xa-]",
    /* characters of several bytes, and halves of them */
    "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\x80", "\xbf", "\xe4", "\xc0\x80",
    "\xc1", "\xe0\x9f", "\xed\xa0\xbd", "\xed\xb8\x80", "\xf0", "\x9f", "\x98", "\xf5", "\xff"};
enum { N_PIECES = sizeof pieces / sizeof *pieces, N_ASCII_PIECES = 16, MAX_PIECES = 12 };

static void random_text(uint64_t *seed, uint32_t n_kinds, char *buffer)
{
    char *end = buffer;
    for (uint32_t n = next_random(seed, MAX_PIECES); n > 0; n--)
        end = stpcpy(end, pieces[next_random(seed, n_kinds)]);
    *end = '\0';
}

/* A text that is likely to match PATTERN: its own bytes with wild cards filled in. */
static void text_from_pattern(uint64_t *seed, const char *pattern, char *buffer)
{
    char *end = buffer;
    for (const char *p = pattern; *p != '\0'; p++) {
        if (*p == '*' || *p == '?' || *p == '[')
            end = stpcpy(end, pieces[next_random(seed, N_ASCII_PIECES)]);
        else if (*p != ']' || next_random(seed, 2) == 0)
            *end++ = *p;
    }
    *end = '\0';
}

static void random_pairs_agree_with_libtcl(void **state)
{
    (void)state;
    uint64_t seed = 0x746f6c6c67617465ULL;
    size_t matches = 0;
    for (unsigned round = 0; round < 250000; round++) {
        char pattern[8 * MAX_PIECES], text[64 * MAX_PIECES];
        uint32_t n_kinds = round % 3 == 0 ? N_PIECES : N_ASCII_PIECES;
        random_text(&seed, n_kinds, pattern);
        if (round % 2 == 0)
            random_text(&seed, n_kinds, text);
        else
            text_from_pattern(&seed, pattern, text);
        bool expected = Tcl_StringMatch(text, pattern) != 0;
        matches += expected;
        if (tg_tcl_match(pattern, text) != expected)
            fail_case(pattern, text, expected);
    }
    assert_in_range(matches, 10000, 240000); /* else the generator shows little */
}

/* Every lead byte with every second byte, and the borders of third and fourth, decoded as by libtcl. */
static void characters_are_cut_as_by_libtcl(void **state)
{
    (void)state;
    static const unsigned char tails[] = {'a', 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xed, 0xff};
    for (unsigned lead = 0x80; lead < 0x100; lead++) {
        for (unsigned second = 0x7f; second < 0x100; second++) {
            for (unsigned i = 0; i < sizeof tails * sizeof tails; i++) {
                const char text[] = {(char)lead, (char)second, (char)tails[i % sizeof tails],
                                     (char)tails[i / sizeof tails], '\0'};
                char pattern[] = "????";
                for (char *p = pattern; *p != '\0'; p++) {
                    if (tg_tcl_match(p, text) != (Tcl_StringMatch(text, p) != 0))
                        fail_case(p, text, Tcl_StringMatch(text, p) != 0);
                }
            }
        }
    }
}

static void many_stars_cost_no_more_than_the_product(void **state)
{
    (void)state;
    enum { TEXT_BYTES = 20000, STARS = 200 };
    char *text = malloc(TEXT_BYTES + 1);
    assert_non_null(text);
    memset(text, 'a', TEXT_BYTES);
    text[TEXT_BYTES] = '\0';
    char pattern[2 * STARS + 8] = "";
    for (unsigned i = 0; i < STARS; i++)
        memcpy(pattern + 2 * i, "a*", 3);
    memcpy(pattern + 2 * STARS, "b", 2);
    assert_false(tg_tcl_match(pattern, text)); /* Tcl itself would not come back */
    memcpy(pattern + 2 * STARS, "a", 2);
    assert_true(tg_tcl_match(pattern, text));
    free(text);
}

static void many_stars_behind_an_open_range_are_all_kept(void **state)
{
    (void)state;
    enum { TEXT_BYTES = 2000, STARS = TG_TCL_MATCH_MAX_STARS - 2 };
    char text[TEXT_BYTES + 3];
    memset(text, 'x', TEXT_BYTES);
    memcpy(text + TEXT_BYTES, "^d", 3);
    char pattern[2 * STARS + 16];
    char *end = stpcpy(pattern, "*[xa-]");
    for (unsigned i = 0; i < STARS; i++)
        end = stpcpy(end, "x*");
    char *tail = end;
    stpcpy(tail, "q]d");
    assert_true(tg_tcl_match_accepts(pattern));
    assert_true(tg_tcl_match(pattern, text)); /* by the way that closes the set behind q */
    stpcpy(tail, "q]e");
    assert_false(tg_tcl_match(pattern, text));
    stpcpy(tail, "q*q*q]d");
    assert_false(tg_tcl_match_accepts(pattern));
    assert_true(tg_tcl_match_accepts("*a*b*c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_rules_holds),
        cmocka_unit_test(random_pairs_agree_with_libtcl),
        cmocka_unit_test(characters_are_cut_as_by_libtcl),
        cmocka_unit_test(many_stars_cost_no_more_than_the_product),
        cmocka_unit_test(many_stars_behind_an_open_range_are_all_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
