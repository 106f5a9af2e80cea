/* Threads that wait for others of their process: at barriers, for locks, for tasks. */
#include "analyzer/verdict/edges.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/openmp/finders.h"

struct tg_error *tg_verdict_find_openmp(struct tg_verdict_draft *draft)
{
    struct tg_openmp_search search = {.draft = draft};
    struct tg_error *error = tg_openmp_waits_init(&search.waits, draft->input->openmp, &draft->stillness);
    if (error == NULL)
        error = tg_openmp_find_locks(&search);
    if (error == NULL)
        error = tg_openmp_find_barriers(&search);
    if (error == NULL)
        error = tg_openmp_find_values(&search);
    if (error == NULL)
        error = tg_openmp_find_sinks(&search);
    if (error == NULL)
        error = tg_openmp_find_tasks(&search);
    if (error == NULL)
        error = tg_verdict_draw_openmp(&search);
    tg_openmp_waits_deinit(&search.waits);
    return error;
}
