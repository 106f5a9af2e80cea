#include "recorder/agent/openmp.h"

#include <string.h>

__thread struct tg_openmp_frame tg_openmp_frame __attribute__((tls_model("initial-exec")));
__thread struct tg_openmp_tests tg_openmp_tests __attribute__((tls_model("initial-exec")));
__thread struct tg_openmp_task_ids tg_openmp_task_ids __attribute__((tls_model("initial-exec")));

enum {
    AGAIN_TICKS = 1 << 28, /* some 0.1 s: between records of one lock that is tested in a loop */
    ANOTHER_TICKS =
        1 << 22, /* some 1.5 ms: before a record of another one, where several are tested in turn */
};

void tg_openmp_runtime(unsigned seen, const char *name, const char *version)
{
    size_t name_words = tg_agent_string_words(name);
    size_t version_words = tg_agent_string_words(version);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_RUNTIME, 1 + name_words + version_words);
    if (arguments == NULL)
        return;
    arguments[0] = seen;
    tg_agent_put_string(arguments + 1, name, name_words);
    tg_agent_put_string(arguments + 1 + name_words, version, version_words);
    tg_agent_commit();
}

void tg_openmp_task_create(const void *code, unsigned seen, uint64_t task, uint64_t parent, const void *body,
                           uint64_t flags, const struct tg_openmp_dependence *dependences,
                           size_t n_dependences)
{
    size_t n = n_dependences < TG_AGENT_MAX_DEPENDENCES ? n_dependences : TG_AGENT_MAX_DEPENDENCES;
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_TASK_CREATE, 6 + 2 * n);
    if (arguments == NULL)
        return;
    arguments[0] = tg_agent_place(code, seen, 0);
    arguments[1] = task;
    arguments[2] = parent;
    arguments[3] = (uintptr_t)body;
    arguments[4] = flags;
    arguments[5] = n;
    for (size_t i = 0; i < n; i++) {
        arguments[6 + 2 * i] = (uintptr_t)dependences[i].address;
        arguments[7 + 2 * i] = dependences[i].kind;
    }
    if (n == 0)
        tg_agent_commit_repeatable(arguments, TG_RECORD_OMP_TASK_CREATE, 8);
    else
        tg_agent_commit_repeatable(arguments, TG_RECORD_OMP_TASK_CREATE, 8 + 2 * n);
    tg_openmp_come(0, TG_RECORD_OMP_TASK_CREATE, 0, task);
}

void tg_openmp_iteration(const void *code, unsigned seen, enum tg_omp_iteration what, const void *indices,
                         size_t n)
{
    size_t kept = n < TG_AGENT_MAX_INDICES ? n : TG_AGENT_MAX_INDICES;
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_ITERATION, 2 + kept);
    if (arguments == NULL)
        return;
    arguments[0] = tg_agent_place(code, seen, what);
    arguments[1] = kept;
    memcpy(arguments + 2, indices, kept * sizeof *arguments);
    tg_agent_commit();
}

void tg_openmp_mutex_test(const void *code, unsigned seen, enum tg_omp_mutex mutex, const void *lock)
{
    struct tg_openmp_tests *tests = &tg_openmp_tests;
    uint64_t now = tg_agent_ticks();
    if (tests->lock != (uintptr_t)lock)
        tests->count = 0;
    tests->lock = (uintptr_t)lock;
    tests->count++;
    if (tests->told_ticks != 0 &&
        now - tests->told_ticks <
            (tests->told == tests->lock && tests->count > 1 ? AGAIN_TICKS : ANOTHER_TICKS))
        return;
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_MUTEX_TEST, 3);
    if (arguments == NULL)
        return;
    arguments[0] = tg_agent_place(code, seen, mutex);
    arguments[1] = tests->lock;
    arguments[2] = tests->count;
    tg_agent_commit();
    tests->told = tests->lock;
    tests->told_ticks = now;
}
