#include "analyzer/verdict/openmp/order.h"

#include "analyzer/finding/words.h"
#include "analyzer/verdict/openmp/search.h"

#include <inttypes.h>

/* Whether it is one of the program: compilers make several calls of one barrier. */
static bool is_real(const struct tg_verdict_input *input, const struct tg_openmp_team *team,
                    const struct tg_openmp_difference *difference)
{
    return !tg_words_is_same_line(input, team->process, difference->first_code, team->process,
                                  difference->second_code);
}

uint64_t tg_openmp_order_skipped(const struct tg_verdict_input *input, const struct tg_openmp_team *team,
                                 size_t worker, uint64_t *own)
{
    for (size_t i = 0; i < team->n_differences; i++) {
        const struct tg_openmp_difference *difference = &team->differences[i];
        if ((difference->first == worker || difference->second == worker) &&
            is_real(input, team, difference)) {
            bool is_first = difference->first == worker;
            *own = is_first ? difference->first_code : difference->second_code;
            return is_first ? difference->second_code : difference->first_code;
        }
    }
    return 0;
}

static const struct tg_openmp_difference *first_real(const struct tg_verdict_input *input,
                                                     const struct tg_openmp_team *team)
{
    for (size_t i = 0; i < team->n_differences; i++)
        if (is_real(input, team, &team->differences[i]))
            return &team->differences[i];
    return NULL;
}

static void print_worker(struct tg_verdict_draft *draft, size_t index)
{
    tg_openmp_search_print_worker(draft, tg_openmp_model_worker_at(draft->input->openmp, index));
}

/* "orker 2 (thread 4711) and 3 more were": COUNT of them. */
static void print_workers(struct tg_verdict_draft *draft, size_t index, uint64_t count)
{
    print_worker(draft, index);
    if (count > 1)
        fprintf(draft->stream, " and %" PRIu64 " more were", count - 1);
    else
        fputs(" was", draft->stream);
}

static void blame(struct tg_verdict_draft *draft, size_t index, uint64_t code)
{
    tg_verdict_blame_worker(draft, tg_openmp_model_worker_at(draft->input->openmp, index), code);
}

/* Of two places the one that fewer came from is the wrong one; of as many, either. */
static void print_difference(struct tg_verdict_draft *draft, size_t process,
                             const struct tg_openmp_difference *difference)
{
    FILE *stream = draft->stream;
    bool is_first = difference->n_first < difference->n_second;
    bool is_one = difference->n_first != difference->n_second;
    size_t odd = is_first ? difference->first : difference->second;
    uint64_t own = is_first ? difference->first_code : difference->second_code;
    uint64_t others = is_first ? difference->second_code : difference->first_code;
    uint64_t n_own = is_first ? difference->n_first : difference->n_second;
    uint64_t n_others = is_first ? difference->n_second : difference->n_first;
    fputs(" Its team was out of step before: w", stream);
    print_workers(draft, odd, n_own);
    fputs(" at the barrier", stream);
    tg_words_code(stream, draft->input, process, own);
    fputs(" when ", stream);
    if (is_one) {
        fprintf(stream, "%" PRIu64 " others were", n_others);
    } else {
        fputc('w', stream);
        print_workers(draft, difference->first, n_others);
    }
    fputs(" at the one", stream);
    tg_words_code(stream, draft->input, process, others);
    fputc('.', stream);
    blame(draft, odd, own);
    if (!is_one)
        blame(draft, difference->first, others);
}

void tg_openmp_order_tell(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker)
{
    for (size_t i = worker->n_places; i-- > 0;) {
        const struct tg_openmp_team *team =
            tg_openmp_model_team(draft->input->openmp, worker->process, worker->places[i].team);
        const struct tg_openmp_difference *difference = team == NULL ? NULL : first_real(draft->input, team);
        if (difference == NULL)
            continue;
        print_difference(draft, team->process, difference);
        return;
    }
}
