#include "analyzer/finding/stillness.h"

#include "analyzer/output/quantity.h"

enum { MS = 1000000 };

/* A process that is asked to end takes some time for it, and so does a launcher with its ranks. */
static const uint64_t ending_ns = UINT64_C(30000) * MS;
/* From the first thread of a process to its last, when it exits; on a busy machine it may be seconds, in which the process does
 * nothing else. */
static const uint64_t exit_ns = UINT64_C(100) * MS;
/* A wait for somebody who may be computing: at least so long, and so many times the longest that ended. */
static const uint64_t long_ns = UINT64_C(2000) * MS, long_times = 3;

/* A wait among some who all wait for each other: longer than the scheduler of a crowded machine makes somebody
 * wait, and than it takes to send the message by the slowest way. */
static const uint64_t closed_ns = UINT64_C(400) * MS, ns_per_byte = 20;

static const struct tg_process_entry *entry_of(const struct tg_verdict_input *input, size_t process)
{
    return process < tg_process_model_count(input->processes) ? tg_process_model_at(input->processes, process)
                                                              : NULL;
}

/* Whether the end of ENTRY is one of the job: of a rank, a launcher of ranks, or the program itself. */
static bool is_of_job(const struct tg_process_entry *entry)
{
    if (entry->rank >= 0 || entry->parent == NULL)
        return true;
    for (const struct tg_process_entry *child = entry->first_child; child != NULL;
         child = child->next_sibling)
        if (child->rank >= 0 || child->first_child != NULL)
            return true;
    return false;
}

uint64_t tg_stillness_earliest_end(const struct tg_verdict_input *input, const struct tg_process_entry *entry)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(input->mpi, entry->index);
    bool is_early = entry->end == TG_PROCESS_EXITED && mpi != NULL && !mpi->finalized;
    bool has_threads =
        entry->ending_ns != 0 && entry->ending_ns < entry->ended_ns &&
        (entry->ended_ns - entry->ending_ns < exit_ns || entry->last.time_ns <= entry->ending_ns);
    return is_early && has_threads ? entry->ending_ns : entry->ended_ns;
}

/* When ENTRY ended as no process of a job that goes on does; 0: it did not. */
static uint64_t bad_end_of(const struct tg_verdict_input *input, const struct tg_process_entry *entry)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(input->mpi, entry->index);
    if (mpi != NULL && mpi->aborted_ns != 0)
        return mpi->aborted_ns;
    bool is_early = mpi != NULL && entry->rank >= 0 && !mpi->finalized;
    if (entry->end == TG_PROCESS_KILLED ||
        (entry->end == TG_PROCESS_EXITED && (entry->status != 0 || is_early)))
        return tg_stillness_earliest_end(input, entry);
    return 0;
}

/* Of an attached rank it is not recorded who started it: a process of the job that is no rank. */
static bool was_asked_by_launcher(const struct tg_verdict_input *input, const struct tg_process_entry *entry)
{
    if (entry->origin != TG_ORIGIN_ATTACHED || entry->parent != NULL || entry->rank < 0)
        return false;
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++) {
        const struct tg_process_entry *sender = tg_process_model_at(input->processes, i);
        if (sender->pid == entry->asked.sender_pid)
            return sender->rank < 0;
    }
    return false;
}

bool tg_stillness_was_asked_by_ancestor(const struct tg_verdict_input *input,
                                        const struct tg_process_entry *entry)
{
    if (was_asked_by_launcher(input, entry))
        return true;
    for (const struct tg_process_entry *at = entry->parent; at != NULL; at = at->parent)
        if (entry->asked.sender_pid == at->pid)
            return true;
    return false;
}

/* The earliest of TIME_NS and *EARLIEST_NS that is not long before LAST_NS; 0 is none. */
static void take_earlier(uint64_t *earliest_ns, uint64_t time_ns, uint64_t last_ns)
{
    if (time_ns != 0 && time_ns + ending_ns >= last_ns && (*earliest_ns == 0 || time_ns < *earliest_ns))
        *earliest_ns = time_ns;
}

static uint64_t last_of_all(const struct tg_verdict_input *input)
{
    uint64_t last_ns = input->now_ns > input->start_ns ? input->now_ns : input->start_ns;
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(input->processes, i);
        last_ns = entry->last_ns > last_ns ? entry->last_ns : last_ns;
    }
    return last_ns;
}

/* A thread that waits is stopped within microseconds of its next turn. One that cannot be interrupted (a file
 * server that does not answer) has others beside it that can. */
static bool was_starved(const struct tg_verdict_input *input, uint64_t at_ns)
{
    for (size_t i = input->stacks == NULL ? 0 : tg_stack_model_look_count(input->stacks); i-- > 0;) {
        const struct tg_stack_look *look = tg_stack_model_look_at(input->stacks, i);
        if (look->time_ns >= at_ns && look->is.taken == 0 && look->is.unstopped > 1)
            return true;
    }
    return false;
}

/* On a crowded machine a new thread has been seen to wait for its first turn for 2 s, while the others of its process spun. */
static bool has_unbegun(const struct tg_verdict_input *input, uint64_t at_ns)
{
    for (size_t i = input->stacks == NULL ? 0 : tg_stack_model_count(input->stacks); i-- > 0;) {
        const struct tg_last_stack *stack = tg_stack_model_at(input->stacks, i);
        if (stack->begun_ns != 0 && stack->begun_ns >= at_ns)
            return true;
    }
    return false;
}

/* A job that was asked to end from outside was itself until then, although a rank may have gone before. */
void tg_stillness_measure(const struct tg_verdict_input *input, struct tg_stillness *stillness)
{
    uint64_t last_ns = last_of_all(input), asked_ns = 0, ended_ns = 0;
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(input->processes, i);
        if (!is_of_job(entry))
            continue;
        take_earlier(tg_stillness_was_asked_by_ancestor(input, entry) ? &ended_ns : &asked_ns,
                     entry->asked.time_ns, last_ns);
        take_earlier(&ended_ns, bad_end_of(input, entry), last_ns);
    }
    *stillness = (struct tg_stillness){.input = input,
                                       .at_ns = asked_ns != 0   ? asked_ns
                                                : ended_ns != 0 ? ended_ns
                                                                : last_ns,
                                       .was_ended = asked_ns != 0 || ended_ns != 0,
                                       .was_asked = asked_ns != 0};
    stillness->has_unbegun = has_unbegun(input, stillness->at_ns);
    stillness->was_starved = was_starved(input, stillness->at_ns) || stillness->has_unbegun;
    stillness->usual[TG_WAIT_MPI] = tg_mpi_model_waits(input->mpi);
    stillness->usual[TG_WAIT_OPENMP] = tg_openmp_model_waits(input->openmp);
}

bool tg_stillness_had_ended(const struct tg_stillness *stillness, size_t process)
{
    const struct tg_process_entry *entry = entry_of(stillness->input, process);
    return entry != NULL && (entry->end == TG_PROCESS_EXITED || entry->end == TG_PROCESS_KILLED) &&
           entry->ended_ns <= stillness->at_ns;
}

bool tg_stillness_was_stopped(const struct tg_stillness *stillness, size_t process)
{
    const struct tg_process_entry *entry = entry_of(stillness->input, process);
    return entry != NULL && entry->stop_signal != 0 && entry->stopped_ns <= stillness->at_ns &&
           (entry->is_stopped || entry->continued_ns > stillness->at_ns);
}

uint64_t tg_stillness_lasted(const struct tg_stillness *stillness, size_t process, uint64_t since_ns)
{
    const struct tg_process_entry *entry = entry_of(stillness->input, process);
    uint64_t until_ns = stillness->at_ns;
    if (entry != NULL && entry->end != TG_PROCESS_RUNNING && entry->ended_ns < until_ns)
        until_ns = entry->ended_ns;
    if (tg_stillness_was_stopped(stillness, process))
        until_ns = entry->stopped_ns;
    else if (entry != NULL && entry->continued_ns > since_ns)
        since_ns = entry->continued_ns;
    if (entry != NULL && entry->n_kept > 0 && entry->kept_ns < until_ns)
        until_ns = entry->kept_ns;
    else if (entry != NULL && entry->released_ns > since_ns)
        since_ns = entry->released_ns;
    return until_ns > since_ns ? until_ns - since_ns : 0;
}

bool tg_stillness_pass_over(struct tg_stillness *stillness, enum tg_wait_family family, uint64_t lasted_ns)
{
    stillness->passed_over[family] += lasted_ns > 0; /* others began later */
    if (lasted_ns > stillness->longest_ns[family])
        stillness->longest_ns[family] = lasted_ns;
    return false;
}

bool tg_stillness_is_long(struct tg_stillness *stillness, enum tg_wait_family family, uint64_t lasted_ns)
{
    const struct tg_wait_times *usual = &stillness->usual[family];
    if (!stillness->was_starved && lasted_ns >= long_ns && lasted_ns / long_times >= usual->longest_ns)
        return true;
    return tg_stillness_pass_over(stillness, family, lasted_ns);
}

bool tg_stillness_is_closed(struct tg_stillness *stillness, enum tg_wait_family family, uint64_t lasted_ns,
                            uint64_t bytes)
{
    if (!stillness->was_starved && lasted_ns >= closed_ns && (lasted_ns - closed_ns) / ns_per_byte >= bytes)
        return true;
    return tg_stillness_pass_over(stillness, family, lasted_ns);
}

void tg_stillness_print(FILE *stream, const struct tg_stillness *stillness, enum tg_wait_family family,
                        uint64_t lasted_ns)
{
    char text[TG_QUANTITY_SIZE];
    fprintf(stream, " for %s", tg_quantity_duration(lasted_ns, text));
    if (stillness->usual[family].count > 0)
        fprintf(stream, " (earlier waits took at most %s)",
                tg_quantity_duration(stillness->usual[family].longest_ns, text));
}

void tg_stillness_print_busy(FILE *stream, const struct tg_stillness *stillness)
{
    static const char *const names[] = {"MPI", "OpenMP"};
    char text[TG_QUANTITY_SIZE];
    for (int family = 0; family < 2; family++) {
        if (stillness->passed_over[family] == 0)
            continue;
        fprintf(stream, " Waits in %s had lasted at most %s", names[family],
                tg_quantity_duration(stillness->longest_ns[family], text));
        if (stillness->usual[family].count > 0)
            fprintf(stream, "; earlier ones took up to %s",
                    tg_quantity_duration(stillness->usual[family].longest_ns, text));
        fputc('.', stream);
    }
    if (stillness->has_unbegun)
        fputs(" A new thread of it had not run at all yet: the machine gave it no processor, so the length "
              "of a wait "
              "says nothing.",
              stream);
    else if (stillness->was_starved)
        fputs(" None of its threads could be stopped then: the machine gave them no processor, so the length "
              "of a wait says nothing.",
              stream);
}
