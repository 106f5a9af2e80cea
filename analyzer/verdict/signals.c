#include "analyzer/verdict/signals.h"

#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/end_words.h"
#include "analyzer/finding/words.h"
#include "analyzer/models/stack_places.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/verdict/finders.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

/* Whether a starter ended the job before TIME_NS. */
static bool was_ended_by_starter(const struct tg_verdict_input *input, uint64_t time_ns)
{
    for (size_t i = 0; input->mpir != NULL && i < tg_mpir_model_count(input->mpir); i++) {
        const struct tg_mpir_starter *starter = tg_mpir_model_at(input->mpir, i);
        if ((starter->has_aborted && starter->aborted_ns <= time_ns) ||
            (starter->is_starter && starter->has_ended && starter->ended_ns <= time_ns))
            return true;
    }
    return false;
}

/* Whether ENTRY is the first of its like to end. A launcher kills the others of a job as soon as it sees that
 * one has ended: their moments are of one kind, see ended_ns. */
static bool is_first_to_end(const struct tg_verdict_input *input, const struct tg_process_entry *entry)
{
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++) {
        const struct tg_process_entry *other = tg_process_model_at(input->processes, i);
        bool is_like = other->parent == NULL || (other->rank >= 0) == (entry->rank >= 0);
        if (is_like && other->end != TG_PROCESS_RUNNING && other != entry &&
            tg_stillness_earliest_end(input, other) < entry->ended_ns)
            return false;
    }
    return (entry->rank >= 0 || entry->parent == NULL) && !was_ended_by_starter(input, entry->ended_ns);
}

bool tg_signals_is_first_kill(const struct tg_verdict_input *input, const struct tg_process_entry *entry)
{
    return entry->end == TG_PROCESS_KILLED && entry->status == SIGKILL && is_first_to_end(input, entry);
}

/* The sender of SIGKILL is not known to the victim. That the kernel sent it, because memory ran out, is said with
 * evidence. */
static void print_killer(FILE *stream, const struct tg_process_entry *entry)
{
    const struct tg_event_memory_kills *kills = &entry->memory_kills;
    const char *const others = "a user, a batch system that enforces a limit";
    bool is_counted = entry->has_memory_kills && (kills->machine >= 0 || kills->group >= 0);
    if (entry->has_memory_kills && kills->named)
        fputs(", by the kernel, because memory ran out: its log says so.", stream);
    else if (!is_counted)
        fprintf(stream, ", sender unknown: %s, another process, or the kernel when memory runs out.", others);
    else if (kills->others && kills->machine > 0)
        fprintf(stream,
                ", sender unknown: %s, or another process. The kernel killed %" PRId64
                " process%s for lack of memory since the recording began, and not this one: its log names "
                "others.",
                others, kills->machine, kills->machine == 1 ? "" : "es");
    else if (kills->group > 0)
        fprintf(stream,
                ", probably by the kernel, because memory ran out: it killed %" PRId64
                " process%s of this control group for that since the recording began.",
                kills->group, kills->group == 1 ? "" : "es");
    else if (kills->machine > 0)
        fprintf(stream,
                ", sender unknown: %s, another process, or the kernel, which killed %" PRId64
                " process%s of this machine for lack of memory since the recording began.",
                others, kills->machine, kills->machine == 1 ? "" : "es");
    else
        fprintf(stream,
                ", sender unknown: %s, or another process. The kernel has killed nothing for lack of memory "
                "since the recording began.",
                others);
}

/* ", last seen in solve (solve.c:12)", and how long before its end, where that is long. */
static void print_last_place(FILE *stream, const struct tg_verdict_input *input,
                             const struct tg_process_entry *entry)
{
    enum { LONG_NS = 100000000 };
    char text[TG_QUANTITY_SIZE];
    const struct tg_last_stack *stack =
        tg_verdict_stack_of(input, entry->index, (int32_t)entry->pid, entry->start_ns);
    if (stack == NULL)
        return;
    const struct tg_stack_place place = tg_stack_place_find(input->stacks, stack);
    fputs(", last seen ", stream);
    if (stack->time_ns + LONG_NS <= entry->ended_ns)
        fprintf(stream, "%s before that ", tg_quantity_duration(entry->ended_ns - stack->time_ns, text));
    tg_stack_words_place(stream, &place);
}

struct tg_error *tg_signals_find_kill(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    char name[32];
    FILE *stream = draft->stream;
    const struct tg_finding finding = {
        .kind = TG_FINDING_KILL, .since_ns = entry->ended_ns, .process = entry->index};
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " was killed by %s", tg_signal_name(entry->status, name, sizeof name));
    tg_words_moment(stream, draft->input, entry->ended_ns);
    print_last_place(stream, draft->input, entry);
    if (entry->rank >= 0)
        fputs(", before any other rank ended", stream);
    print_killer(stream, entry);
    tg_end_words_state(draft, entry->index, entry->pid,
                       tg_end_words_worker(draft->input, entry->index, entry->pid));
    return tg_verdict_add(draft, &finding);
}

static bool is_ancestor(const struct tg_process_entry *entry, int64_t pid)
{
    for (const struct tg_process_entry *at = entry->parent; at != NULL; at = at->parent)
        if (at->pid == pid)
            return true;
    return false;
}

static bool is_end_request(int64_t signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

/* Whether ENTRY was killed by the last signal that it got, and that is known. */
static bool knows_signal(const struct tg_process_entry *entry)
{
    return entry->end == TG_PROCESS_KILLED && entry->last_signal_ns != 0 &&
           entry->last_signal == entry->status;
}

bool tg_signals_has_single_target(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    if (entry->rank < 0 || !knows_signal(entry) || !is_end_request(entry->status) ||
        entry->last_signal_sender_pid == 0 || is_ancestor(entry, entry->last_signal_sender_pid) ||
        tg_stillness_was_asked_by_ancestor(draft->input, entry))
        return false;
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other != entry && other->asked.time_ns != 0 &&
            !tg_stillness_was_asked_by_ancestor(draft->input, other) && other->asked.sender_pid != entry->pid)
            return false;
    }
    return true;
}

/* The launcher of ENTRY that sent it the signal by which it ended, and had got that one itself: it passed it on. */
static const struct tg_process_entry *find_passer(const struct tg_process_entry *entry)
{
    for (const struct tg_process_entry *at = entry->parent; at != NULL; at = at->parent)
        if (at->pid == entry->last_signal_sender_pid && at->last_signal == entry->status)
            return at;
    return NULL;
}

static void print_own_signal(FILE *stream, const struct tg_process_entry *entry)
{
    bool is_timer = entry->status == SIGALRM || entry->status == SIGVTALRM || entry->status == SIGPROF;
    if (entry->last_signal_code == SI_TIMER || (is_timer && entry->last_signal_sender_pid == 0))
        fputs(" from a timer of its own", stream);
    else if (entry->status == SIGXCPU)
        fputs(" from the kernel: it exceeded its limit of processor time", stream);
    else if (entry->status == SIGXFSZ)
        fputs(" from the kernel: it exceeded its limit of file size", stream);
    else if (entry->status == SIGPIPE && entry->last_signal_code == SI_USER)
        fputs(" when it wrote to a pipe or socket that nobody reads any more", stream);
    else if (entry->last_signal_sender_pid == entry->pid)
        fputs(", which it sent to itself", stream);
    else
        fputs(" from the kernel", stream);
}

static void print_signal_sender(FILE *stream, const struct tg_verdict_input *input,
                                const struct tg_process_entry *entry)
{
    if (entry->last_signal_sender_pid == 0 || entry->last_signal_sender_pid == entry->pid) {
        print_own_signal(stream, entry);
        return;
    }
    tg_end_words_sender(stream, input, entry->last_signal_sender_pid, entry->last_signal_sender);
    const struct tg_process_entry *passer = find_passer(entry);
    if (passer != NULL && passer->last_signal_sender_pid != 0) {
        fputs(", which passed it on", stream);
        tg_end_words_sender(stream, input, passer->last_signal_sender_pid, passer->last_signal_sender);
    }
}

bool tg_signals_killed(const struct tg_process_entry *entry)
{
    if (!knows_signal(entry) || entry->status == SIGKILL)
        return false;
    return !is_end_request(entry->status)
               ? !is_ancestor(entry, entry->last_signal_sender_pid) || find_passer(entry) != NULL
               : false;
}

/* Explains, by the finding that was added last, the ends of others that the same signal killed. */
static void explain_alike(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other != entry && tg_signals_killed(other) && other->status == entry->status)
            tg_verdict_explain(draft, i);
    }
}

/* Prints who was killed as ENTRY: it, or all ranks that were. */
static struct tg_error *print_killed(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    int64_t *ranks = calloc(draft->n_processes + 1, sizeof *ranks);
    size_t n = 0;
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other != entry && (!tg_signals_killed(other) || other->status != entry->status))
            continue;
        tg_verdict_blame(draft, i, other->last_signal_tid, 0);
        if (other->rank >= 0)
            ranks[n++] = other->rank;
    }
    if (n > 1)
        tg_arrivals_print(draft->stream, ranks, n, true);
    else
        tg_words_process(draft->stream, draft->input, entry->index);
    fputs(n > 1 ? " were" : " was", draft->stream);
    free(ranks);
    return NULL;
}

struct tg_error *tg_signals_find_signal(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    char name[32];
    FILE *stream = draft->stream;
    const struct tg_finding finding = {
        .kind = TG_FINDING_KILL, .since_ns = entry->ended_ns, .process = entry->index};
    struct tg_error *error = print_killed(draft, entry);
    if (error != NULL)
        return error;
    fprintf(stream, " killed by %s", tg_signal_name(entry->status, name, sizeof name));
    print_signal_sender(stream, draft->input, entry);
    fputc(',', stream);
    tg_words_moment(stream, draft->input, entry->ended_ns);
    const struct tg_last_stack *stack =
        tg_verdict_stack_of(draft->input, entry->index, entry->last_signal_tid, entry->start_ns);
    if (stack != NULL)
        tg_verdict_print_stack(stream, draft->input, stack);
    fputc('.', stream);
    tg_end_words_state(draft, entry->index, entry->last_signal_tid,
                       tg_end_words_worker(draft->input, entry->index, entry->last_signal_tid));
    error = tg_verdict_add(draft, &finding);
    explain_alike(draft, entry);
    return error;
}

static struct tg_error *find_stop(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    static const uint64_t lasting_ns = 500000000;
    char name[32], duration[TG_QUANTITY_SIZE];
    FILE *stream = draft->stream;
    uint64_t lasted_ns = draft->stillness.at_ns - entry->stopped_ns;
    if (!tg_stillness_was_stopped(&draft->stillness, entry->index) || lasted_ns < lasting_ns)
        return NULL;
    const struct tg_finding finding = {
        .kind = TG_FINDING_STOPPED, .since_ns = entry->stopped_ns, .process = entry->index};
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " has been stopped by %s", tg_signal_name(entry->stop_signal, name, sizeof name));
    if (entry->stop_sender_pid != 0)
        tg_end_words_sender(stream, draft->input, entry->stop_sender_pid, entry->stop_sender);
    tg_words_since(stream, draft->input, entry->stopped_ns);
    fprintf(stream, " for %s, and was not continued.", tg_quantity_duration(lasted_ns, duration));
    if (tg_verdict_last_step(draft, entry->index) <=
        draft->stillness.at_ns) /* else continued when the job was to end */
        tg_end_words_state(draft, entry->index, entry->pid,
                           tg_end_words_worker(draft->input, entry->index, entry->pid));
    struct tg_error *error = tg_verdict_add(draft, &finding);
    tg_verdict_explain(draft, entry->index);
    return error;
}

struct tg_error *tg_verdict_find_stops(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < draft->n_processes; i++)
        error = find_stop(draft, tg_process_model_at(draft->input->processes, i));
    return error;
}
