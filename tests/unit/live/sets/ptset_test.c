#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/job/list.h"
#include "live/sets/ptset.h"

/* Two control groups. 1 (share 3, workers 2): processes 1 and 2, ranks 0 and 1, and process 3, another
 * program (share 4), of which no thread is known. 5 (share 7, workers 6): process 5, which has ended, no
 * thread, and process 7, rank 2. Thread 1 of process 2 is a manager. */
struct job {
    struct tg_job_view *view;
};

static void add_process(struct job *job, uint32_t dpid, int64_t rank, uint32_t control, uint32_t share,
                        bool exists)
{
    const struct tg_job_process_info info = {.dpid = dpid,
                                             .rank = rank,
                                             .control_group = control,
                                             .share_group = share,
                                             .workers_group = control + 1,
                                             .exists = exists,
                                             .held = dpid == 7};
    assert_null(tg_job_view_add_process(job->view, &info));
}

static void add_thread(struct job *job, uint32_t dtid, enum tg_job_state state, uint64_t pc, char flag)
{
    const struct tg_job_thread thread = {
        .dtid = dtid, .state = state, .pc = pc, .is_manager = flag == 'm', .held = flag == 'h'};
    assert_null(tg_job_view_add_thread(job->view, &thread));
}

static int set_up(void **state)
{
    static struct job job;
    assert_null(tg_job_view_create(&job.view));
    add_process(&job, 1, 0, 1, 3, true);
    add_thread(&job, 1, TG_JOB_BREAKPOINT, 0x100, ' ');
    add_thread(&job, 2, TG_JOB_STOPPED, 0x100, 'h');
    add_thread(&job, 3, TG_JOB_RUNNING, 0, ' ');
    add_process(&job, 2, 1, 1, 3, true);
    add_thread(&job, 1, TG_JOB_STOPPED, 0x100, 'm');
    add_thread(&job, 2, TG_JOB_WATCHPOINT, 0x100, ' ');
    add_thread(&job, 7, TG_JOB_ERROR, 0x200, ' ');
    add_process(&job, 3, -1, 1, 4, true);
    add_process(&job, 5, -1, 5, 7, false);
    add_process(&job, 7, 2, 5, 7, true);
    add_thread(&job, 1, TG_JOB_STOPPED, 0x100, ' ');
    add_thread(&job, 2, TG_JOB_KERNEL, 0, ' ');
    assert_null(tg_job_view_add_group(job.view, 9, "pair"));
    assert_null(tg_job_view_add_member(job.view, 7, 2));
    assert_null(tg_job_view_add_member(job.view, 1, 0));
    *state = &job;
    return 0;
}

static int tear_down(void **state)
{
    tg_job_view_destroy(((struct job *)*state)->view);
    return 0;
}

static struct tg_ptset *parse(const char *text)
{
    struct tg_ptset *set = NULL;
    struct tg_error *error = tg_ptset_parse(text, &set, NULL);
    if (error != NULL)
        fail_msg("'%s': %s", text, tg_error_message(error));
    return set;
}

/* TEXT completed from FOCUS (NULL: the first one). */
static struct tg_ptset *complete(const char *text, const char *focus)
{
    struct tg_ptset *set = parse(text), *from = NULL, *whole = NULL;
    if (focus != NULL)
        from = complete(focus, NULL);
    struct tg_error *error = tg_ptset_complete(set, from, &whole, NULL);
    if (error != NULL)
        fail_msg("'%s' in '%s': %s", text, focus, tg_error_message(error));
    tg_ptset_destroy(set);
    tg_ptset_destroy(from);
    return whole;
}

static void assert_text(const struct tg_ptset *set, const char *expected)
{
    char *text = tg_ptset_string(set);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static const struct tg_ptset_defaults go = {.width = TG_WIDTH_PROCESS, .group = TG_GROUP_CONTROL};

static char *list_of(const struct tg_job_view *view, const struct tg_job_set *members)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_null(tg_job_list_print(view, members, stream));
    fclose(stream);
    return text;
}

static void assert_members(const struct job *job, const char *text, const char *expected)
{
    struct tg_ptset *set = complete(text, NULL);
    TG_AUTO_JOB_SET struct tg_job_set members = {0};
    struct tg_error *error = tg_ptset_members(set, job->view, &go, &members, NULL);
    if (error != NULL)
        fail_msg("'%s': %s", text, tg_error_message(error));
    char *shown = list_of(job->view, &members);
    if (strcmp(shown, expected) != 0)
        fail_msg("'%s' is %s, not %s", text, shown, expected);
    free(shown);
    tg_ptset_destroy(set);
}

/* ---- text */

static void every_form_has_a_canonical_one(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"t", "t"},
        {"p", "p"},
        {"g", "g"},
        {"a", "a"},
        {"d", "d"},
        {"C", "C"},
        {"D", "D"},
        {"S", "S"},
        {"W", "W"},
        {"L", "L"},
        {"W/", "W"},
        {"pW/3", "pW3"},
        {"3", "3"},
        {"3.", "3"},
        {"1.<", "1.<"},
        {".7", ".7"},
        {".<", ".<"},
        {"t7", "t.7"},
        {"t.7", "t.7"},
        {"t7.", "t7."},
        {"t3.7", "t3.7"},
        {"t3/7", "t3/.7"},
        {"p3/2", "p3/2"},
        {"3/", "3/"},
        {"/work/", "/work/"},
        {"g/w-1.x:y_+/4.2", "g/w-1.x:y_+/4.2"},
        {"gW", "gW"},
        {"pL", "pL"},
        {"gL2.3", "gL2.3"},
        {"d1.<", "d1.<"},
        {"r0", "r0"},
        {"pr12.3", "pr12.3"},
        {"tr2", "tr2"},
        {"tr2.1", "tr2.1"},
        {"g5/r3.<", "g5/r3.<"},
        {"r0-2", "{r0 r1 r2}"},
        {"gSr1-2.3", "{gSr1.3 gSr2.3}"},
        {"{r0-1 p3}", "{r0 r1 p3}"},
        {"held(pr0-1)&gW", "held({pr0 pr1})&gW"},
        {"r2-2", "r2"},
        {"r0-r1", "r0-r1"},
        {"r0 - 1", "r0- 1"},
        {"r0- 3/2", "r0- 3/2"},
        {"g1&r0 -2&gW", "g1&r0- 2&gW"},
        {"gSr0-p3", "gSr0-p3"},
        {".", "."},
        {" p1 ", "p1"},
        {"{p1 p2 p3}", "{p1 p2 p3}"},
        {"p1 p2 p3", "{p1 p2 p3}"},
        {"{ p1\tp2 }", "{p1 p2}"},
        {"{p1}", "p1"},
        {"{{p1 p2} {p3}}", "{p1 p2 p3}"},
        {"{(p1|p2) p3}", "{(p1|p2) p3}"},
        {"(p1|p2) p3", "{(p1|p2) p3}"},
        {"{p1 p2}|p3", "{p1 p2}|p3"},
        {"p1|p2", "p1|p2"},
        {"p1 | p2 - p3 & p4", "p1|p2-p3&p4"},
        {"p1|(p2&p3)", "p1|p2&p3"},
        {"(p1|p2)&p3", "(p1|p2)&p3"},
        {"(p1|p2)-p3", "p1|p2-p3"},
        {"p1-(p2|p3)", "p1-(p2|p3)"},
        {"p1-(p2-p3)", "p1-(p2-p3)"},
        {"p1&(p2&p3)", "p1&(p2&p3)"},
        {"(p1&p2)&p3", "p1&p2&p3"},
        {"((p1))", "p1"},
        {"held(p1)", "held(p1)"},
        {"breakpoint(error(existent(held(a))))", "breakpoint(error(existent(held(a))))"},
        {"nonexistent(running(stopped(unheld(watchpoint(.)))))",
         "nonexistent(running(stopped(unheld(watchpoint(.)))))"},
        {"held({p1 p2})", "held({p1 p2})"},
        {"held( p1 p2 )", "held({p1 p2})"},
        {"stopped(gW)-t1.2", "stopped(gW)-t1.2"},
        {"2147483647.2147483647", "2147483647.2147483647"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_ptset *set = parse(cases[i].text);
        assert_text(set, cases[i].canonical);
        struct tg_ptset *again = parse(cases[i].canonical);
        assert_text(again, cases[i].canonical);
        tg_ptset_destroy(again);
        tg_ptset_destroy(set);
    }
}

static void errors_point_at_the_character(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t position;
        const char *says;
    } cases[] = {
        {"", 0, "not the end"},
        {"  ", 2, "not the end"},
        {"x", 0, "not 'x'"},
        {"pid", 1, "unexpected 'i'"},
        {"1p", 1, "unexpected 'p'"},
        {"p1.x", 3, "unexpected 'x'"},
        {"p1..2", 3, "unexpected '.'"},
        {"WC", 1, "one group"},
        {"p3/W", 3, "one group"},
        {"3/4/5", 2, "one group"},
        {"/3/", 1, "begins with a letter"},
        {"/ab", 3, "ends with '/'"},
        {"/a b/", 2, "ends with '/'"},
        {"p0", 1, "numbered from 1"},
        {"t0", 1, "numbered from 1"},
        {"1.0", 2, "numbered from 1"},
        {"0/1", 0, "numbered from 1"},
        {"p2147483648", 1, "too large"},
        {"p99999999999999999999999999", 1, "too large"},
        {"r", 1, "rank number"},
        {"p1|gSr3-1", 8, "a range of ranks must ascend; to leave out a process write -p1"},
        {"r1-2-3x", 6, "unexpected 'x'"},
        {"rx", 1, "rank number"},
        {"p1|", 3, "not the end"},
        {"p1||p2", 3, "not '|'"},
        {"|p1", 0, "not '|'"},
        {"p1|p2 p3", 6, "an operator"},
        {"p1 p2|p3", 5, "operators join sets"},
        {"(p1", 0, "unmatched '('"},
        {"(p1 p2)", 4, "an operator"},
        {"p1)", 2, "unmatched ')'"},
        {"p1}", 2, "unmatched '}'"},
        {"p1 p2)", 5, "unmatched ')'"},
        {"{p1", 0, "unmatched '{'"},
        {"{p1 p2", 0, "unmatched '{'"},
        {"{}", 1, "at least one"},
        {"()", 1, "not ')'"},
        {"held()", 5, "not ')'"},
        {"held(p1", 4, "unmatched '('"},
        {"helt(p1)", 0, "no function 'helt'"},
        {"p(1)", 0, "no function 'p'"},
        {"held (p1)", 0, "not 'h'"},
        {"t1.2\x80", 4, "byte 0x80"},
        {"p\x1b[31m", 1, "byte 0x1b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_ptset *set = NULL;
        size_t position = SIZE_MAX;
        struct tg_error *error = tg_ptset_parse(cases[i].text, &set, &position);
        if (error == NULL)
            fail_msg("'%s' was taken", cases[i].text);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        if (position != cases[i].position || strstr(tg_error_message(error), cases[i].says) == NULL)
            fail_msg("'%s': at %zu: %s", cases[i].text, position, tg_error_message(error));
        tg_error_destroy(error);
    }
}

static void the_character_is_shown(void **state)
{
    (void)state;
    char *text = NULL, line[400];
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    tg_ptset_point("p1.x", 3, stream);
    memset(line, 'p', sizeof line);
    line[sizeof line - 1] = '\0';
    line[200] = '\x1b';
    tg_ptset_point(line, 201, stream);
    fclose(stream);
    assert_memory_equal(text, "p1.x\n   ^\n...ppp", 16);
    assert_null(strchr(text, '\x1b'));
    assert_ptr_equal(strchr(strchr(text, '?'), '^') != NULL, true);
    free(text);
}

static void hostile_text_is_bounded(void **state)
{
    (void)state;
    static char text[TG_PTSET_MAX_BYTES + 2];
    struct tg_ptset *set = NULL;
    static const char *const patterns[] = {"(", "{", "held(", "p1|", "p1 ", ".|", "a&", "-"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t length = strlen(patterns[i]);
        memset(text, 0, sizeof text);
        for (size_t at = 0; at + length < sizeof text; at += length)
            memcpy(text + at, patterns[i], length);
        struct tg_error *error = tg_ptset_parse(text, &set, NULL);
        assert_non_null(error);
        assert_true(strlen(tg_error_message(error)) < 400);
        tg_error_destroy(error);
    }
    /* a set whose '.' makes it larger and larger */
    struct tg_ptset *twice = parse(".|."), *focus = complete("p1", NULL), *larger = NULL;
    struct tg_error *error = NULL;
    size_t rounds = 0;
    for (; error == NULL && rounds < 100; rounds++) {
        error = tg_ptset_complete(twice, focus, &larger, NULL);
        if (error != NULL)
            break;
        tg_ptset_destroy(focus);
        focus = larger;
    }
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);
    tg_ptset_destroy(focus);
    tg_ptset_destroy(twice);
}

static void what_is_nested_in_the_focus_is_bounded(void **state)
{
    (void)state;
    struct tg_ptset *once = parse("held(.)"), *focus = complete("p1", NULL), *deeper = NULL;
    struct tg_error *error = NULL;
    while (error == NULL) {
        error = tg_ptset_complete(once, focus, &deeper, NULL);
        if (error != NULL)
            break;
        tg_ptset_destroy(focus);
        focus = deeper;
        /* whatever was accepted can be read back */
        char *text = tg_ptset_string(focus);
        struct tg_ptset *again = parse(text);
        assert_text(again, text);
        tg_ptset_destroy(again);
        free(text);
    }
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);
    tg_ptset_destroy(focus);
    tg_ptset_destroy(once);
}

/* ---- completion */

static void what_is_missing_comes_from_the_focus(void **state)
{
    (void)state;
    static const struct {
        const char *focus, *text, *complete;
    } cases[] = {
        {NULL, ".", "a1.<"},
        {NULL, "p2", "p2.<"},
        {NULL, ".7", "d1.7"},
        {NULL, "gW", "gW1.<"},
        {"g2.3", "gW", "gW2.<"}, /* a missing thread is always '<' */
        {"gW2.3", ".7", "gW2.7"},
        {"gW2.3", "t7", "tW2.7"},
        {"gW2.3", "5", "gW5.<"},
        {"gW2.3", "D", "gD2.<"},
        {"p3/2", "g", "g3/2.<"},
        {"p/abc/2", "g", "g/abc/2.<"},
        {"pr4.2", "g", "gr4.<"},
        {"gW2.3", ".", "gW2.3"},
        {"gW2.3", "held(.)|p1", "held(gW2.3)|pW1.<"},
        {"gW2.3", "{. p1}", "{gW2.3 pW1.<}"},
        {"{p1 p2}", ".", "{p1.< p2.<}"},
        {"{p1 p2}", "{p3 .}", "{p3.< p1.< p2.<}"},
        {"{p1 p2}", ".|g5", "{p1.< p2.<}|g5.<"},
        {"p1|p2", "{. p3}", "{(p1.<|p2.<) p3.<}"},
        {"{p1 p2}", "pW3.2", "pW3.2"},
        {"{p1 p2}", "aW", "aW1.<"},
        {"{p1}", "2", "p2.<"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_ptset *set = complete(cases[i].text, cases[i].focus);
        assert_text(set, cases[i].complete);
        tg_ptset_destroy(set);
    }
}

static void a_list_in_focus_completes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *focus, *text;
        size_t position;
        const char *says;
    } cases[] = {
        {"{p1 p2}", "3", 0, "width"},
        {"{p1 p2}", "pW1|gW", 4, "process"},
        {"p1|p2", "held(.7)", 5, "width"},
        {"held(p1)", "t.7", 0, "process"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_ptset *set = parse(cases[i].text), *focus = complete(cases[i].focus, NULL), *made = NULL;
        size_t position = SIZE_MAX;
        struct tg_error *error = tg_ptset_complete(set, focus, &made, &position);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        assert_int_equal(position, cases[i].position);
        assert_non_null(strstr(tg_error_message(error), cases[i].says));
        tg_error_destroy(error);
        tg_ptset_destroy(set);
        tg_ptset_destroy(focus);
    }
}

static void lists_are_iterated(void **state)
{
    struct job *job = *state;
    struct tg_ptset *set = complete("{p1 t2.7 (p3|p5)}", NULL);
    assert_int_equal(tg_ptset_count(set), 3);
    assert_int_equal(tg_ptset_arena(set, 0)->width, TG_WIDTH_PROCESS);
    assert_int_equal(tg_ptset_arena(set, 1)->process, 2);
    assert_int_equal(tg_ptset_arena(set, 1)->thread, 7);
    assert_null(tg_ptset_arena(set, 2));
    static const char *const expected[] = {"1:3[0.1-3]", "1:1[1.7]", "2:0[p3,5]"};
    for (size_t i = 0; i < 3; i++) {
        TG_AUTO_JOB_SET struct tg_job_set members = {0};
        assert_null(tg_ptset_item_members(set, i, job->view, &go, &members, NULL));
        char *text = list_of(job->view, &members);
        assert_string_equal(text, expected[i]);
        free(text);
    }
    tg_ptset_destroy(set);
    set = complete("p1|p2", NULL);
    assert_int_equal(tg_ptset_count(set), 1);
    assert_null(tg_ptset_arena(set, 0));
    tg_ptset_destroy(set);
}

/* ---- meaning */

static void widths_and_groups_say_who_is_meant(void **state)
{
    static const struct {
        const char *text, *members;
    } cases[] = {
        {"a", "5:8[0.1-3, 1.1-2,7, 2.1-2, p3,5]"},
        {"aC", "5:8[0.1-3, 1.1-2,7, 2.1-2, p3,5]"},
        {"aS", "5:8[0.1-3, 1.1-2,7, 2.1-2, p3,5]"},
        {"aL", "5:8[0.1-3, 1.1-2,7, 2.1-2, p3,5]"},
        {"aW", "3:7[0.1-3, 1.2,7, 2.1-2]"},
        {"g", "3:6[0.1-3, 1.1-2,7, p3]"},
        {"gC", "3:6[0.1-3, 1.1-2,7, p3]"},
        {"gC7", "2:2[2.1-2, p5]"},
        {"gS", "2:6[0.1-3, 1.1-2,7]"},
        {"gS3", "1:0[p3]"},
        {"gW", "2:5[0.1-3, 1.2,7]"},
        {"gW7", "1:2[2.1-2]"},
        {"gL1.1", "2:4[0-1.1-2]"},
        {"gL2.7", "1:1[1.7]"},
        {"gL1.3", "0:0[]"}, /* running: nobody is where it is */
        {"gL7", "1:1[2.1]"},
        {"p", "1:3[0.1-3]"},
        {"pC2", "1:3[1.1-2,7]"},
        {"pS2", "1:3[1.1-2,7]"},
        {"pW2", "1:2[1.2,7]"},
        {"pL2.1", "1:2[1.1-2]"},
        {"pL1.2", "1:2[0.1-2]"},
        {"p3", "1:0[p3]"},
        {"pW3", "0:0[]"},
        {"t", "1:1[0.1]"},
        {"t2.", "1:1[1.2]"}, /* the lowest worker is not the manager */
        {"t2.1", "1:1[1.1]"},
        {"tC1.3", "1:1[0.3]"},
        {"tS1.3", "1:1[0.3]"},
        {"tW1.3", "1:1[0.3]"},
        {"tL1.3", "1:1[0.3]"},
        {"t3.", "1:0[p3]"},
        {"1.<", "1:3[0.1-3]"}, /* d: what the command's default is */
        {"d2.7", "1:3[1.1-2,7]"},
        {"r1", "1:3[1.1-2,7]"},
        {"tr2.2", "1:1[2.2]"},
        {"p1/2", "1:3[1.1-2,7]"},
        {"p3/2", "1:3[1.1-2,7]"},
        {"p2/2", "1:2[1.2,7]"},
        {"g2/7", "2:5[0.1-3, 1.2,7]"},
        {"g3/", "2:6[0.1-3, 1.1-2,7]"},
        {"a5/", "2:2[2.1-2, p5]"},
        {"g6/", "1:2[2.1-2]"},
        {"g/pair/", "2:4[0.1-3, 2.2]"},
        {"g9/", "2:4[0.1-3, 2.2]"},
        {"p/pair/7", "1:1[2.2]"},
        {"t/pair/7.2", "1:1[2.2]"},
        {"{p1 t7.2}", "2:4[0.1-3, 2.2]"},
        {"{t1.1 t1.1}", "1:1[0.1]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_members(*state, cases[i].text, cases[i].members);
}

static void operators_and_functions(void **state)
{
    static const struct {
        const char *text, *members;
    } cases[] = {
        {"p1|p7", "2:5[0.1-3, 2.1-2]"},
        {"gS-p1", "1:3[1.1-2,7]"},
        {"gS&p1", "1:3[0.1-3]"},
        {"p1|p2&t2.7", "2:4[0.1-3, 1.7]"}, /* & binds tighter */
        {"(p1|p2)&t2.7", "1:1[1.7]"},
        {"p1|p2-t2.7", "2:5[0.1-3, 1.1-2]"}, /* - as |, from left to right */
        {"p1-p1|p1", "1:3[0.1-3]"},
        {"p1-(p1|p1)", "0:0[]"},
        {"p2&gW-t2.7", "1:1[1.2]"},
        {"breakpoint(a)", "1:1[0.1]"},
        {"error(a)", "1:1[1.7]"},
        {"watchpoint(a)", "1:1[1.2]"},
        {"running(a)", "2:2[0.3, 2.2]"},
        {"stopped(a)", "3:6[0.1-2, 1.1-2,7, 2.1]"},
        {"held(a)", "2:3[0.2, 2.1-2]"}, /* of process 7 itself is held */
        {"unheld(a)", "3:5[0.1,3, 1.1-2,7, p3]"},
        {"existent(a)", "4:8[0.1-3, 1.1-2,7, 2.1-2, p3]"},
        {"nonexistent(a)", "1:0[p5]"},
        {"stopped(held(gC7))", "1:1[2.1]"},
        {"held(p1 p7)", "2:3[0.2, 2.1-2]"},
        {"stopped(gW)-breakpoint(gW)", "2:3[0.2, 1.2,7]"},
        {"held(stopped(p1)|running(p7))", "2:2[0,2.2]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_members(*state, cases[i].text, cases[i].members);
}

static void what_the_job_does_not_have_is_said(void **state)
{
    struct job *job = *state;
    static const struct {
        const char *text;
        size_t position;
        const char *says;
    } cases[] = {
        {"p4", 1, "no process 4"},
        {"p1|t2.5", 6, "process 2 has no thread 5"},
        {"p1.9", 3, "process 1 has no thread 9"},
        {"r9", 1, "no rank 9"},
        {"g8/", 1, "no group 8"},
        {"held(g/none/)", 6, "no group /none/"},
        {"p3/7", 1, "process 7 is not in group 3"},
        {"t2/2.1", 1, "thread 1 of process 2 is not in group 2"},
        {"t9", 1, "process 1 has no thread 9"},
        {".8", 1, "process 1 has no thread 8"},
        {"p/pair/2", 1, "process 2 is not in group /pair/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_ptset *set = complete(cases[i].text, NULL);
        struct tg_job_set members = {0};
        size_t position = SIZE_MAX;
        struct tg_error *error = tg_ptset_members(set, job->view, &go, &members, &position);
        if (error == NULL)
            fail_msg("'%s' means somebody", cases[i].text);
        assert_int_equal(tg_error_code(error), TG_ERROR_NOT_FOUND);
        if (position != cases[i].position || strstr(tg_error_message(error), cases[i].says) == NULL)
            fail_msg("'%s': at %zu: %s", cases[i].text, position, tg_error_message(error));
        tg_error_destroy(error);
        tg_ptset_destroy(set);
    }
    /* the width all asks for no process */
    assert_members(job, "aW44", "3:7[0.1-3, 1.2,7, 2.1-2]");
}

static void the_command_says_what_default_is(void **state)
{
    struct job *job = *state;
    static const struct tg_ptset_defaults where = {.width = TG_WIDTH_THREAD, .group = TG_GROUP_CONTROL},
                                          workers = {.width = TG_WIDTH_GROUP, .group = TG_GROUP_WORKERS};
    static const struct {
        const struct tg_ptset_defaults *defaults;
        const char *text, *members;
    } cases[] = {
        {&where, "d2", "1:1[1.2]"},
        {&where, "dW1.3", "1:1[0.3]"},
        {&workers, "d2", "2:5[0.1-3, 1.2,7]"},
        {&workers, "pD2", "1:2[1.2,7]"},
        {&workers, "dC7", "2:2[2.1-2, p5]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_ptset *set = complete(cases[i].text, NULL);
        TG_AUTO_JOB_SET struct tg_job_set members = {0};
        assert_null(tg_ptset_members(set, job->view, cases[i].defaults, &members, NULL));
        char *text = list_of(job->view, &members);
        assert_string_equal(text, cases[i].members);
        free(text);
        tg_ptset_destroy(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_has_a_canonical_one),
        cmocka_unit_test(errors_point_at_the_character),
        cmocka_unit_test(the_character_is_shown),
        cmocka_unit_test(hostile_text_is_bounded),
        cmocka_unit_test(what_is_nested_in_the_focus_is_bounded),
        cmocka_unit_test(what_is_missing_comes_from_the_focus),
        cmocka_unit_test(a_list_in_focus_completes_nothing),
        cmocka_unit_test_setup_teardown(lists_are_iterated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(widths_and_groups_say_who_is_meant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(operators_and_functions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_job_does_not_have_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_command_says_what_default_is, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
