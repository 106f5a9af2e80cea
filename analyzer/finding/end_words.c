#include "analyzer/finding/end_words.h"

#include "analyzer/finding/words.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>

const struct tg_openmp_worker *tg_end_words_worker(const struct tg_verdict_input *input, size_t process,
                                                   int32_t tid)
{
    const struct tg_openmp_worker *found = NULL;
    for (size_t i = 0; i < tg_openmp_model_worker_count(input->openmp); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(input->openmp, i);
        if (worker->process == process && worker->tid == tid)
            found = worker;
    }
    return found;
}

void tg_end_words_state(struct tg_verdict_draft *draft, size_t process, int32_t tid,
                        const struct tg_openmp_worker *worker)
{
    char *state;
    size_t size;
    FILE *words = open_memstream(&state, &size);
    struct tg_verdict_input input = *draft->input;
    input.stacks = NULL; /* the stack is told already */
    if (words == NULL)
        return;
    bool is_known = tg_words_thread_state(words, &input, process, tid, worker);
    if (fclose(words) == 0 && is_known)
        fprintf(draft->stream, " It had been %s.", state);
    free(state);
}

void tg_end_words_sender(FILE *stream, const struct tg_verdict_input *input, int64_t pid, const char *program)
{
    size_t process = SIZE_MAX;
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++)
        if (tg_process_model_at(input->processes, i)->pid == pid)
            process = i;
    fputs(" from ", stream);
    if (process != SIZE_MAX) {
        tg_words_process(stream, input, process);
    } else if (*program != '\0') {
        tg_printable_write(stream, program);
        fprintf(stream, " (pid %" PRId64 ")", pid);
    } else {
        fprintf(stream, "process %" PRId64, pid);
    }
}
