#include "analyzer/page/newer_place.h"

#include "analyzer/finding/end_words.h"
#include "analyzer/output/stack_words.h"

const struct tg_page_stack *tg_page_stack_now(const struct tg_page *page, size_t process, int32_t tid)
{
    for (size_t i = 0; i < page->n_stopped; i++)
        if (page->stopped[i].process == process && page->stopped[i].tid == tid)
            return &page->stopped[i];
    return NULL;
}

/* When the models saw thread TID of PROCESS last; false: where it is now is known by that. */
static bool find_last_seen(const struct tg_page *page, size_t process, int32_t tid, uint64_t *seen_ns)
{
    const struct tg_mpi_model *mpi = page->words.mpi;
    const struct tg_openmp_worker *worker = tg_end_words_worker(&page->words, process, tid);
    *seen_ns = worker == NULL ? 0 : worker->last_ns;
    if (worker != NULL && worker->n_places > 0) {
        const enum tg_openmp_place_kind kind = worker->places[worker->n_places - 1].kind;
        if (kind == TG_OPENMP_IN_SYNC || kind == TG_OPENMP_IN_MUTEX_WAIT)
            return false;
    }
    for (size_t i = 0; i < tg_mpi_model_thread_count(mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        if (thread->process != process || thread->tid != tid)
            continue;
        if (thread->in_call)
            return false;
        *seen_ns = thread->left_ns > *seen_ns ? thread->left_ns : *seen_ns;
    }
    return true;
}

/* The innermost call of the program, and the innermost one of those that have a line. */
struct search {
    struct tg_stack_call first, with_line;
    bool is_known, has_line;
};

static bool take_call(void *context, const struct tg_stack_call *call)
{
    struct search *search = context;
    if (call->is_runtime || call->is_signal)
        return true;
    if (!search->is_known)
        search->first = *call;
    search->is_known = true;
    if (call->line == 0 || *call->file == '\0')
        return true;
    search->with_line = *call;
    search->has_line = true;
    return false;
}

bool tg_page_newer_place(const struct tg_page *page, size_t process, int32_t tid, char *where, size_t size)
{
    const struct tg_verdict_input *words = &page->words;
    struct search search = {0};
    uint64_t seen_ns;
    if (!find_last_seen(page, process, tid, &seen_ns))
        return false;
    const struct tg_page_stack *now = tg_page_stack_now(page, process, tid);
    const struct tg_last_stack *last =
        now != NULL || words->stacks == NULL ? NULL : tg_stack_model_find(words->stacks, process, tid);
    for (size_t i = 0; now != NULL && i < now->n_calls && take_call(&search, &now->calls[i]); i++)
        continue;
    if (last != NULL && last->time_ns >= seen_ns)
        tg_stack_each_call(words->stacks, last, take_call, &search);
    if (!search.is_known)
        return false;
    if (!search.has_line && search.first.pc != 0 && words->namer.name != NULL)
        words->namer.name(words->namer.context, process, search.first.pc, where, size);
    else
        tg_stack_words_call(search.has_line ? &search.with_line : &search.first, where, size);
    return true;
}
