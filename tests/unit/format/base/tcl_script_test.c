/* Tcl scripts cut into words: by a table, and against libtcl's parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/tcl_script.h"
#include "tests/support/tcl_script_oracle.h"

/* The commands of TEXT as "LINE|word|word\n"; a substituted word has a leading ~; an error is "error
 * MESSAGE". */
static char *describe(const char *text)
{
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    struct tg_tcl_script *script = NULL;
    assert_non_null(out);
    assert_null(tg_tcl_script_create("s", text, strlen(text), &script));
    for (;;) {
        struct tg_tcl_command command;
        struct tg_error *error = tg_tcl_script_next(script, &command);
        if (error != NULL) {
            fprintf(out, "error %s\n", tg_error_message(error));
            tg_error_destroy(error);
        }
        if (command.n_words == 0)
            break;
        fprintf(out, "%zu", command.line);
        for (size_t i = 0; i < command.n_words && i < TG_TCL_SCRIPT_MAX_WORDS; i++)
            fprintf(out, "|%s%s", command.words[i].substituted ? "~" : "", command.words[i].text);
        fputs("\n", out);
    }
    tg_tcl_script_destroy(script);
    assert_int_equal(fclose(out), 0);
    return shown;
}

static const struct {
    const char *text;
    const char *expected;
} cases[] = {
    {"", ""},
    {" \n\t;;\n", ""},
    {"a b c", "1|a|b|c\n"},
    {"a b;c\nd", "1|a|b\n1|c\n2|d\n"},
    {"\n\n  a \n", "3|a\n"},
    {"a \\\n  b\nc", "1|a|b\n3|c\n"},
    {"a\\\n\tb", "1|a|b\n"},
    {"# comment ; a\nb", "2|b\n"},
    {"# comment \\\n still\nb", "3|b\n"},
    {"# comment \\\\\nb", "2|b\n"},
    {"a # b", "1|a|#|b\n"},
    {"a ;# b\nc", "1|a\n2|c\n"},
    /* quotes and braces */
    {"a \"b c\" d", "1|a|b c|d\n"},
    {"a \"\"", "1|a|\n"},
    {"a {}", "1|a|\n"},
    {"a {b {c} d} e", "1|a|b {c} d|e\n"},
    {"a {b\\}c}", "1|a|b\\}c\n"},
    {"a {b;c\n#d}", "1|a|b;c\n#d\n"},
    {"a {b \\\n   c}", "1|a|b  c\n"},
    {"a {$x [y] \\n}", "1|a|$x [y] \\n\n"},
    {"a \"b;\n#c\"", "1|a|b;\n#c\n"},
    {"a \"b \\\n c\"", "1|a|b  c\n"},
    {"a \"b\\\"c\"", "1|a|b\"c\n"},
    {"a b\"c d{e f}g", "1|a|b\"c|d{e|f}g\n"},
    {"if {$x} {\n dset a b\n} else {\n dset c d\n}\ne", "1|if|$x|\n dset a b\n|else|\n dset c d\n\n6|e\n"},
    /* backslashes */
    {"a b\\ c\\;d\\ne", "1|a|b c;d\ne\n"},
    {"a \\x41\\x4a4\\101\\1012\\q\\\\", "1|a|AJ4AA2q\\\n"},
    {"a \\u00e4\\u20ac\\U1F600\\xe4", "1|a|\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa4\n"},
    {"a \\x \\u \\xg \\777", "1|a|x|u|xg|?7\n"},
    {"a \\{ \\[ \\$ \\\"", "1|a|{|[|$|\"\n"},
    {"a b\\", "1|a|b\\\n"},
    /* substitutions */
    {"a $b ${b c} $b(c d) [e f] x$y", "1|a|~$b|~${b c}|~$b(c d)|~[e f]|~x$y\n"},
    {"a \"x $y\" \"[b]\"", "1|a|~\"x $y\"|~\"[b]\"\n"},
    {"a $ x$ $. $::b", "1|a|$|x$|$.|~$::b\n"},
    {"a [b {]}; \"]\"; # ]\n] c", "1|a|~[b {]}; \"]\"; # ]\n]|c\n"},
    {"a [# ]\n b] c", "1|a|~[# ]\n b]|c\n"},
    {"a ] b]", "1|a|]|b]\n"},
    {"a {*}$b {*} {*}{c d}", "1|a|~{*}$b|*|~{*}{c d}\n"},
    /* an unclosed word is named where it began */
    {"a\nb {c\nd", "1|a\nerror s:2: missing close-brace for this brace\n"},
    {"b {c\\}", "error s:1: missing close-brace for this brace\n"},
    {"a \\\n\"b\nc", "error s:2: missing closing quote for this quote\n"},
    {"a b [c\nd", "error s:1: missing `]` for this `[`\n"},
    {"a [b [c]", "error s:1: missing `]` for this `[`\n"},
    {"a [\n{b]", "error s:2: missing close-brace for this brace\n"},
    {"a ${b", "error s:1: missing `}` for this `${`\n"},
    {"a $b(c", "error s:1: missing `)` for the index of this variable\n"},
    {"a {b}c", "error s:1: extra characters after the closing brace\n"},
    {"a \"b\"c", "error s:1: extra characters after the closing quote\n"},
    {"a {*}{*}b", "error s:1: extra characters after the closing brace\n"},
};

static void scripts_are_cut_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *shown = describe(cases[i].text);
        if (strcmp(shown, cases[i].expected) != 0)
            fail_msg("of \"%s\"\nexpected %sgot %s", cases[i].text, cases[i].expected, shown);
        free(shown);
        const char *what = tcl_script_disagreement(cases[i].text, strlen(cases[i].text));
        if (what != NULL && strstr(cases[i].text, "\\U") == NULL)
            fail_msg("libtcl disagrees about %s of \"%s\"", what, cases[i].text);
    }
}

static void random_scripts_are_cut_as_by_libtcl(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",   "b",  " ",    " ",     "\n",    ";",  "{",  "}",       "\"",
                                         "[",   "]",  "$",    "${",    "$x(",   ")",  "\\", "#",       "\\\n",
                                         "{*}", "::", "\\x4", "\\u20", "\\101", "\t", "(",  "\xc3\xa4"};
    uint64_t seed = 0x646c6f70656eULL;
    size_t well_formed = 0;
    for (unsigned round = 0; round < 60000; round++) {
        char text[256], *end = text;
        for (unsigned n = 0; n < round % 24; n++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            end = stpcpy(end, pieces[(seed >> 33) % (sizeof pieces / sizeof *pieces)]);
        }
        *end = '\0';
        const char *what = tcl_script_disagreement(text, (size_t)(end - text));
        if (what != NULL)
            fail_msg("libtcl disagrees about %s of \"%s\"", what, text);
        char *shown = describe(text);
        well_formed += strstr(shown, "error ") == NULL;
        free(shown);
    }
    assert_in_range(well_formed, 5000, 55000); /* else the generator shows little */
}

static void any_byte_can_be_in_a_script(void **state)
{
    (void)state;
    static const char text[] = "a\0b \xff\xfe {\0} \\x00";
    struct tg_tcl_script *script = NULL;
    struct tg_tcl_command command;
    assert_null(tg_tcl_script_create("s", text, sizeof text - 1, &script));
    assert_null(tg_tcl_script_next(script, &command));
    assert_int_equal(command.n_words, 4);
    assert_int_equal(command.words[0].size, 3);
    assert_memory_equal(command.words[0].text, "a\0b", 4);
    assert_string_equal(command.words[1].text, "\xff\xfe");
    assert_int_equal(command.words[2].size, 1);
    assert_int_equal(command.words[3].size, 1);
    assert_null(tg_tcl_script_next(script, &command));
    assert_int_equal(command.n_words, 0);
    tg_tcl_script_destroy(script);
    tg_tcl_script_destroy(NULL);
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    char text[3 * TG_TCL_SCRIPT_MAX_DEPTH];
    memset(text, '[', TG_TCL_SCRIPT_MAX_DEPTH);
    memset(text + TG_TCL_SCRIPT_MAX_DEPTH, ']', TG_TCL_SCRIPT_MAX_DEPTH);
    struct tg_tcl_script *script = NULL;
    struct tg_tcl_command command;
    assert_null(tg_tcl_script_create("s", text, 2 * TG_TCL_SCRIPT_MAX_DEPTH, &script));
    assert_null(tg_tcl_script_next(script, &command));
    assert_int_equal(command.n_words, 1);
    tg_tcl_script_destroy(script);

    char row[6 * 4 * TG_TCL_SCRIPT_MAX_DEPTH] = "", *end = row; /* side by side is not nested */
    for (unsigned i = 0; i < 4 * TG_TCL_SCRIPT_MAX_DEPTH; i++)
        end = stpcpy(end, i % 2 == 0 ? "[] " : "$a(1) ");
    assert_null(tg_tcl_script_create("s", row, (size_t)(end - row), &script));
    assert_null(tg_tcl_script_next(script, &command));
    assert_int_equal(command.n_words, 4 * TG_TCL_SCRIPT_MAX_DEPTH);
    tg_tcl_script_destroy(script);

    memset(text, '[', sizeof text);
    assert_null(tg_tcl_script_create("s", text, sizeof text, &script));
    struct tg_error *error = tg_tcl_script_next(script, &command);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);
    assert_null(tg_tcl_script_next(script, &command)); /* at its end */
    assert_int_equal(command.n_words, 0);
    tg_tcl_script_destroy(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_are_cut_as_the_table_says),
        cmocka_unit_test(random_scripts_are_cut_as_by_libtcl),
        cmocka_unit_test(any_byte_can_be_in_a_script),
        cmocka_unit_test(nesting_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
