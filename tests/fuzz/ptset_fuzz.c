/* First line: a set; the second: a focus (none: the first one). Whatever is accepted is printed in a form
 * that says the same, also completed, and means the same to the same job. */
#include "live/sets/ptset.h"
#include "tests/fuzz/fuzz.h"

#include "analyzer/job/list.h"

#include <assert.h>

static void add_threads(struct tg_job_view *view, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        const struct tg_job_thread thread = {.dtid = i,
                                             .state = (enum tg_job_state)(i % (TG_JOB_ERROR + 1)),
                                             .is_manager = i == 3,
                                             .held = i % 2 == 0,
                                             .pc = i % 3};
        assert(tg_job_view_add_thread(view, &thread) == NULL);
    }
}

static struct tg_job_view *job(void)
{
    struct tg_job_view *view = NULL;
    assert(tg_job_view_create(&view) == NULL);
    for (uint32_t i = 1; i <= 5; i++) {
        const struct tg_job_process_info info = {.dpid = i,
                                                 .rank = (int64_t)i - 2,
                                                 .control_group = i < 4 ? 1 : 4,
                                                 .share_group = i < 4 ? 3 : 6,
                                                 .workers_group = i < 4 ? 2 : 5,
                                                 .exists = i != 2,
                                                 .held = i == 3};
        assert(tg_job_view_add_process(view, &info) == NULL);
        add_threads(view, i * 2 - 2);
    }
    assert(tg_job_view_add_group(view, 9, "abc") == NULL && tg_job_view_add_member(view, 2, 1) == NULL &&
           tg_job_view_add_member(view, 5, 0) == NULL);
    return view;
}

/* Accepts SET again from its canonical form; the caller's. */
static struct tg_ptset *again(const struct tg_ptset *set)
{
    struct tg_ptset *copy = NULL;
    char *text = tg_ptset_string(set);
    assert(text != NULL && tg_ptset_parse(text, &copy, NULL) == NULL);
    char *second = tg_ptset_string(copy);
    assert(second != NULL && strcmp(text, second) == 0);
    free(text);
    free(second);
    return copy;
}

/* Takes the members of SET out of OTHER. */
static bool are_equal(const struct tg_job_view *view, const struct tg_job_set *set, struct tg_job_set *other)
{
    size_t n_processes, n_threads, n_others, n_other_threads;
    tg_job_set_count(set, view, &n_processes, &n_threads);
    tg_job_set_count(other, view, &n_others, &n_other_threads);
    tg_job_set_subtract(other, set);
    return n_processes == n_others && n_threads == n_other_threads && tg_job_set_is_empty(other);
}

static void check_members(const struct tg_ptset *set, const struct tg_ptset *other, size_t size)
{
    static const struct tg_ptset_defaults defaults = {.width = TG_WIDTH_PROCESS, .group = TG_GROUP_CONTROL};
    struct tg_job_view *view = job();
    struct tg_job_set members = {0}, same = {0};
    size_t position = 0, place = 0;
    struct tg_error *error = tg_ptset_members(set, view, &defaults, &members, &position);
    struct tg_error *second = tg_ptset_members(other, view, &defaults, &same, &place);
    assert((error == NULL) == (second == NULL) && position <= size);
    if (error == NULL) {
        assert(are_equal(view, &members, &same));
        FILE *null = fopen("/dev/null", "w");
        assert(null != NULL && tg_job_list_print(view, &members, null) == NULL);
        fclose(null);
    }
    tg_error_destroy(error);
    tg_error_destroy(second);
    tg_job_set_deinit(&members);
    tg_job_set_deinit(&same);
    tg_job_view_destroy(view);
}

static void check(const struct tg_ptset *set, const struct tg_ptset *focus, size_t size)
{
    struct tg_ptset *complete = NULL;
    size_t position = 0;
    struct tg_error *error = tg_ptset_complete(set, focus, &complete, &position);
    assert(position <= size);
    if (error == NULL) {
        struct tg_ptset *copy = again(complete), *same = NULL;
        for (size_t i = 0; i < tg_ptset_count(complete); i++)
            assert(tg_ptset_arena(complete, i) == NULL || tg_ptset_arena(complete, i)->has_process);
        /* nothing is missing any more */
        assert(tg_ptset_complete(copy, complete, &same, NULL) == NULL);
        check_members(complete, same, size);
        tg_ptset_destroy(same);
        tg_ptset_destroy(copy);
        tg_ptset_destroy(complete);
    }
    tg_error_destroy(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    char *from = strchr(text, '\n');
    struct tg_ptset *set = NULL, *first = NULL, *focus = NULL;
    size_t position = 0;
    if (from != NULL)
        *from++ = '\0';
    struct tg_error *error = tg_ptset_parse(text, &set, &position);
    assert(position <= strlen(text));
    if (error == NULL) {
        tg_ptset_destroy(again(set));
        if (from != NULL && *from != '\0')
            tg_error_destroy(tg_ptset_parse(from, &first, NULL));
        if (first != NULL)
            tg_error_destroy(tg_ptset_complete(first, NULL, &focus, NULL));
        check(set, focus, strlen(text));
    }
    tg_error_destroy(error);
    tg_ptset_destroy(set);
    tg_ptset_destroy(first);
    tg_ptset_destroy(focus);
    free(text);
    return 0;
}
