/* Job launchers: one that reported an abort, or ended before its ranks. */
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

/* Traced ranks of starter I that lived longer. */
static uint64_t count_survivors(const struct tg_verdict_input *input, size_t i, uint64_t ended_ns)
{
    size_t count;
    uint64_t survivors = 0;
    const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(input->mpir, i, &count);
    for (size_t at = 0; at < count; at++) {
        if (ranks[at].process >= tg_process_model_count(input->processes))
            continue;
        const struct tg_process_entry *entry = tg_process_model_at(input->processes, ranks[at].process);
        survivors += entry->end == TG_PROCESS_RUNNING || entry->ended_ns > ended_ns;
    }
    return survivors;
}

/* Whether the end of starter I needs an explanation; *SURVIVORS: how many of its ranks went on. */
static bool ended_badly(const struct tg_verdict_input *input, size_t i, uint64_t *survivors)
{
    const struct tg_mpir_starter *starter = tg_mpir_model_at(input->mpir, i);
    if (!starter->has_ended)
        return false;
    *survivors = count_survivors(input, i, starter->ended_ns);
    if (starter->ended_how == TG_EXIT_SIGNAL)
        return !tg_verdict_is_fault(starter->status); /* a fault is reported as a crash */
    return *survivors > 0 && (starter->ended_how != TG_EXIT_STATUS || starter->status != 0);
}

/* Whether tollgate killed STARTER, which was stuck when its ranks had ended. */
static bool was_stuck(const struct tg_verdict_input *input, const struct tg_mpir_starter *starter)
{
    if (starter->ended_how != TG_EXIT_SIGNAL || starter->status != SIGKILL ||
        starter->process >= tg_process_model_count(input->processes))
        return false;
    const struct tg_process_entry *entry = tg_process_model_at(input->processes, starter->process);
    return entry->last_signal == SIGKILL && strcmp(entry->last_signal_sender, "tollgate") == 0;
}

static void print_starter_end(FILE *stream, const struct tg_verdict_input *input,
                              const struct tg_mpir_starter *starter, uint64_t survivors)
{
    char name[32];
    if (was_stuck(input, starter)) {
        fputs(" did not end when it was asked to: it had not noticed that its ranks had ended, and tollgate "
              "killed it",
              stream);
        tg_words_moment(stream, input, starter->ended_ns);
        return;
    }
    if (starter->ended_how == TG_EXIT_SIGNAL)
        fprintf(stream, " was killed by %s", tg_signal_name(starter->status, name, sizeof name));
    else if (starter->ended_how == TG_EXIT_STATUS)
        fprintf(stream, " exited with status %" PRId64, starter->status);
    else
        fputs(" ended", stream);
    tg_words_moment(stream, input, starter->ended_ns);
    if (survivors > 0)
        fprintf(stream, ", before %" PRIu64 " of its ranks ended", survivors);
}

static struct tg_error *find_starter(struct tg_verdict_draft *draft, size_t i)
{
    const struct tg_mpir_starter *starter = tg_mpir_model_at(draft->input->mpir, i);
    uint64_t survivors = 0;
    bool badly = starter->is_starter && ended_badly(draft->input, i, &survivors);
    if (!starter->has_aborted && !badly)
        return NULL;
    FILE *stream = draft->stream;
    const struct tg_finding finding = {
        .kind = TG_FINDING_STARTER,
        .since_ns = starter->has_aborted ? starter->aborted_ns : starter->ended_ns,
        .process = starter->process,
        .is_consequence = draft->stillness.was_asked && !starter->has_aborted &&
                          starter->ended_ns >= draft->stillness.at_ns};
    fputs("the job launcher, ", stream);
    tg_words_process(stream, draft->input, starter->process);
    fputc(',', stream);
    if (starter->has_aborted) {
        fputs(" reported that the job aborted", stream);
        tg_words_moment(stream, draft->input, starter->aborted_ns);
    }
    if (badly) {
        fputs(starter->has_aborted ? ", and" : "", stream);
        print_starter_end(stream, draft->input, starter, survivors);
    }
    if (*starter->abort_string != '\0') {
        fputs(": ", stream);
        tg_printable_write_quoted(stream, starter->abort_string);
    }
    fputc('.', stream);
    return tg_verdict_add(draft, &finding);
}

struct tg_error *tg_verdict_find_starters(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    size_t count = draft->input->mpir == NULL ? 0 : tg_mpir_model_count(draft->input->mpir);
    for (size_t i = 0; error == NULL && i < count; i++)
        error = find_starter(draft, i);
    return error;
}
