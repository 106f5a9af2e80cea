/* Places of threads by their stacks: where a crash was, and where everybody was when the job was interrupted. */
#include "analyzer/finding/words.h"
#include "analyzer/models/mpi_name.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/interruption.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- callers */

enum { MAX_CALLERS = 4 };

struct callers {
    FILE *stream;
    struct tg_stack_call at, last;
    unsigned n_printed, n_more;
    bool is_behind; /* AT was passed */
    uint64_t repeated;
};

static bool is_same_function(const struct tg_stack_call *a, const struct tg_stack_call *b)
{
    return a->line == b->line && strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0 &&
           strcmp(a->module, b->module) == 0 && (a->line != 0 || a->address == b->address);
}

static void end_repetition(struct callers *callers)
{
    if (callers->repeated > 0)
        fprintf(callers->stream, " (%" PRIu64 " times)", callers->repeated + 1);
    callers->repeated = 0;
}

static bool take_caller(void *context, const struct tg_stack_call *call)
{
    struct callers *callers = context;
    char text[400];
    if (!callers->is_behind) {
        callers->is_behind = !call->is_runtime && !call->is_signal && is_same_function(call, &callers->at);
        callers->last = callers->at;
        return true;
    }
    if (call->is_runtime || call->is_signal)
        return true;
    if (callers->n_printed > 0 && is_same_function(call, &callers->last)) {
        callers->repeated++;
        return true;
    }
    end_repetition(callers);
    if (callers->n_printed == MAX_CALLERS) {
        callers->n_more++;
        return true;
    }
    fprintf(callers->stream, "%s %s", callers->n_printed++ == 0 ? ", called from" : ",",
            tg_stack_words_call(call, text, sizeof text));
    callers->last = *call;
    return true;
}

/* The program's own code comes first, and then which function of a library it has called. */
void tg_verdict_print_stack(FILE *stream, const struct tg_verdict_input *input,
                            const struct tg_last_stack *stack)
{
    char text[400], call[160];
    const struct tg_stack_place place = tg_stack_place_find(input->stacks, stack);
    bool is_mpi = tg_mpi_name(place.inside, call, sizeof call);
    fprintf(stream, " in %s", tg_stack_words_call(&place.at, text, sizeof text));
    if (place.is_known && *place.inside != '\0')
        fprintf(stream, ", calling %s", tg_printable(is_mpi ? call : place.inside, text, sizeof text));
    struct callers callers = {.stream = stream, .at = place.at};
    if (place.is_known)
        tg_stack_each_call(input->stacks, stack, take_caller, &callers);
    end_repetition(&callers);
    if (callers.n_more > 0)
        fprintf(stream, " and %u more", callers.n_more);
    if (stack->end == TG_STACK_CUT)
        fputs(callers.n_more > 0 ? ", not all of which were recorded" : " and more, which were not recorded",
              stream);
}

const struct tg_last_stack *tg_verdict_stack_of(const struct tg_verdict_input *input, size_t process,
                                                int32_t tid, uint64_t after_ns)
{
    const struct tg_last_stack *stack =
        input->stacks == NULL ? NULL : tg_stack_model_find(input->stacks, process, tid);
    return stack != NULL && stack->count > 0 && stack->time_ns >= after_ns ? stack : NULL;
}

/* ---- the job when it was interrupted */

/* Threads of one job at one place. */
struct spot {
    struct tg_stack_place place;
    const char *job; /* the process model's */
    const struct tg_last_stack **stacks;
    size_t count, capacity;
};

struct spots {
    struct spot *items;
    size_t count, capacity;
    uint64_t first_ns;
    int64_t signal;
    bool is_detach, is_look;
    bool has_ranks;
};

enum { MAX_SPOTS_TOLD = 6, MAX_SPOTS = 4096 };

/* Threads that libraries made for themselves have nothing of the program in their stacks. */
static bool is_of_interest(const struct tg_last_stack *stack, const struct tg_stack_place *place)
{
    return stack->count > 0 && (place->is_known || stack->tid == stack->pid);
}

static struct tg_error *add_to_spots(struct spots *spots, const struct tg_last_stack *stack, const char *job,
                                     const struct tg_stack_place *place)
{
    struct tg_error *error = NULL;
    size_t i = 0;
    while (i < spots->count &&
           (strcmp(spots->items[i].job, job) != 0 || !tg_stack_place_is_same(&spots->items[i].place, place)))
        i++;
    if (i == spots->count && i < MAX_SPOTS)
        error = TG_ARRAY_APPEND(spots->items, spots->count, spots->capacity,
                                (struct spot){.place = *place, .job = job});
    if (error != NULL || i >= spots->count)
        return error;
    struct spot *spot = &spots->items[i];
    return TG_ARRAY_APPEND(spot->stacks, spot->count, spot->capacity, stack);
}

static bool is_rank(const struct tg_verdict_input *input, const struct tg_last_stack *stack)
{
    return stack->process < tg_process_model_count(input->processes) &&
           tg_process_model_at(input->processes, stack->process)->rank >= 0;
}

static const char *job_of(const struct tg_verdict_input *input, const struct tg_last_stack *stack)
{
    return is_rank(input, stack) ? tg_process_model_at(input->processes, stack->process)->job : "";
}

static struct tg_error *collect_spots(const struct tg_verdict_input *input, struct spots *spots)
{
    struct tg_error *error = NULL;
    size_t count = tg_stack_model_count(input->stacks);
    for (size_t i = 0; i < count; i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(input->stacks, i);
        spots->has_ranks |= tg_interruption_has(input, stack) && is_rank(input, stack);
    }
    for (size_t i = 0; error == NULL && i < count; i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(input->stacks, i);
        if (!tg_interruption_has(input, stack) || (spots->has_ranks && !is_rank(input, stack)))
            continue;
        struct tg_stack_place place = tg_stack_place_find(input->stacks, stack);
        if (!is_of_interest(stack, &place))
            continue;
        if (spots->count == 0 || stack->time_ns < spots->first_ns) {
            spots->first_ns = stack->time_ns;
            spots->signal = stack->signal;
            spots->is_detach = stack->reason == TG_STACK_DETACH;
            spots->is_look = stack->reason == TG_STACK_LOOK;
        }
        error = add_to_spots(spots, stack, job_of(input, stack), &place);
    }
    return error;
}

/* Threads that compute come before those that are in a library's function, then the fewer before the more. */
static int compare_spots(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    bool x_inside = *x->place.inside != '\0', y_inside = *y->place.inside != '\0';
    if (x_inside != y_inside)
        return x_inside ? 1 : -1;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->stacks[0] < y->stacks[0] ? -1 : x->stacks[0] > y->stacks[0];
}

/* "0-2,5,7" as in a sentence: "0-2, 5 and 7". */
static void print_ranges(FILE *stream, const char *ranges)
{
    const char *last = strrchr(ranges, ',');
    for (const char *at = ranges; *at != '\0'; at++) {
        if (*at != ',')
            fputc(*at, stream);
        else
            fputs(at == last ? " and " : ", ", stream);
    }
}

static void print_thread(FILE *stream, const struct tg_verdict_input *input,
                         const struct tg_last_stack *stack)
{
    fputs(" (", stream);
    tg_words_thread(stream, input, stack->process, stack->tid);
    fputc(')', stream);
}

/* Prints who is at SPOT: "rank 2", "ranks 0-1 and 3", "3 threads of rank 2", "process 12 (app)". Returns how many
 * processes they are, 0 without memory. */
static size_t print_members(FILE *stream, const struct tg_verdict_input *input, const struct spot *spot,
                            bool by_rank)
{
    char text[256];
    int64_t *numbers = calloc(spot->count, sizeof *numbers);
    if (numbers == NULL)
        return 0;
    for (size_t i = 0; i < spot->count; i++) {
        const struct tg_last_stack *stack = spot->stacks[i];
        numbers[i] =
            by_rank ? tg_process_model_at(input->processes, stack->process)->rank : (int64_t)stack->process;
    }
    size_t n = tg_rank_ranges_sort(numbers, spot->count);
    if (spot->count > n)
        fprintf(stream, "%zu threads of ", spot->count);
    if (by_rank) {
        fputs(n == 1 ? "rank " : "ranks ", stream);
        print_ranges(stream, tg_rank_ranges_print(numbers, n, text, sizeof text));
        tg_words_job(stream, input, spot->job);
    } else if (n == 1)
        tg_words_process(stream, input, spot->stacks[0]->process);
    else
        fprintf(stream, "%zu processes", n);
    if (spot->count == 1 && spot->stacks[0]->tid != spot->stacks[0]->pid)
        print_thread(stream, input, spot->stacks[0]);
    free(numbers);
    return spot->count;
}

/* "; no stack could be taken of 1 thread": where that one was then is not told. */
static void print_untaken(const struct tg_verdict_draft *draft, const struct spots *spots)
{
    const struct tg_stack_model *stacks = draft->input->stacks;
    for (size_t i = 0; i < tg_stack_model_look_count(stacks); i++) {
        const struct tg_stack_look *look = tg_stack_model_look_at(stacks, i);
        if (look->time_ns != spots->first_ns || look->is.threads <= look->is.taken)
            continue;
        uint64_t missing = look->is.threads - look->is.taken;
        fprintf(draft->stream, "; no stack could be taken of %" PRIu64 " thread%s", missing,
                missing == 1 ? "" : "s");
        return;
    }
}

/* "rank 2 was in spin (solve.c:31); ranks 0 and 1 were in MPI_Barrier, called from ..."; those at the first place are
 * blamed. */
static void print_spots(struct tg_verdict_draft *draft, const struct spots *spots)
{
    FILE *stream = draft->stream;
    for (size_t i = 0; i < spots->count && i < MAX_SPOTS_TOLD; i++) {
        const struct spot *spot = &spots->items[i];
        fputs(i == 0 ? "" : "; ", stream);
        size_t n = print_members(stream, draft->input, spot, spots->has_ranks);
        fputs(n == 1 ? " was " : " were ", stream);
        tg_stack_words_place(stream, &spot->place);
        if (i == 0)
            for (size_t k = 0; k < spot->count; k++)
                tg_verdict_blame(draft, spot->stacks[k]->process, spot->stacks[k]->tid, 0);
    }
    if (spots->count > MAX_SPOTS_TOLD)
        fprintf(stream, "; the others were at %zu more places", spots->count - MAX_SPOTS_TOLD);
    print_untaken(draft, spots);
    fputc('.', stream);
}

/* Whether a launcher ended the ranks because one of them had ended: the job was not interrupted. */
static bool is_by_launcher(const struct tg_verdict_draft *draft, const struct spots *spots)
{
    const struct tg_last_stack *stack = spots->items[0].stacks[0];
    return spots->signal != 0 && !draft->stillness.was_asked && stack->process < draft->n_processes &&
           tg_stillness_was_asked_by_ancestor(draft->input,
                                              tg_process_model_at(draft->input->processes, stack->process));
}

static struct tg_error *tell_spots(struct tg_verdict_draft *draft, const struct spots *spots)
{
    char name[32];
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_INTERRUPTED,
                                 .since_ns = spots->first_ns,
                                 .process = spots->items[0].stacks[0]->process};
    fputs(spots->is_look                 ? "when its stacks were taken"
          : spots->is_detach             ? "when the recording ended"
          : is_by_launcher(draft, spots) ? "when its launcher ended the job"
                                         : "when the job was interrupted",
          stream);
    if (spots->signal != 0)
        fprintf(stream, " by %s", tg_signal_name(spots->signal, name, sizeof name));
    tg_words_moment(stream, draft->input, spots->first_ns);
    fputs(": ", stream);
    print_spots(draft, spots);
    struct tg_error *error = tg_verdict_tell_locks(draft);
    return error != NULL ? error : tg_verdict_add(draft, &finding);
}

static void spots_deinit(struct spots *spots)
{
    for (size_t i = 0; i < spots->count; i++)
        free(spots->items[i].stacks);
    free(spots->items);
}

/* Collects the places in the order in which they are told. */
static struct tg_error *find_spots(struct tg_verdict_draft *draft, struct spots *spots)
{
    if (draft->input->stacks == NULL)
        return NULL;
    struct tg_error *error = collect_spots(draft->input, spots);
    if (error == NULL && spots->count > 0)
        qsort(spots->items, spots->count, sizeof *spots->items, compare_spots);
    return error;
}

struct tg_error *tg_verdict_tell_places(struct tg_verdict_draft *draft)
{
    struct spots spots = {0};
    struct tg_error *error = find_spots(draft, &spots);
    if (error == NULL && spots.count > 0) {
        fputs(" At that moment ", draft->stream);
        print_spots(draft, &spots);
        error = tg_verdict_tell_locks(draft);
        draft->has_told_places = true;
    }
    spots_deinit(&spots);
    return error;
}

struct tg_error *tg_verdict_find_interruption(struct tg_verdict_draft *draft)
{
    struct spots spots = {0};
    if (draft->has_told_places)
        return NULL;
    struct tg_error *error = find_spots(draft, &spots);
    if (error == NULL && spots.count > 0)
        error = tell_spots(draft, &spots);
    spots_deinit(&spots);
    return error;
}
