#include "live/commands/info/attached_lines.h"

#include "analyzer/finding/attachment.h"
#include "analyzer/models/mpi_name.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/where/calls.h"
#include "analyzer/where/members.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

/* Threads at one place. */
struct spot {
    char *words;
    size_t *threads; /* indices, ascending */
    size_t count, capacity;
};

struct lines {
    const struct tg_console *console;
    enum tg_attached_lines which;
    struct tg_where_threads threads;
    struct spot *spots;
    size_t n_spots, spots_capacity;
    uint64_t attached_ns, looked_ns; /* the first attach, the last look */
    size_t count;
};

/* ---- which threads */

static bool is_in_mpi(const struct tg_where_thread *thread)
{
    char name[64];
    return tg_mpi_name(thread->path.place.inside, name, sizeof name);
}

/* Of a thread whose calls were recorded, what is known of them is told. */
static bool is_recorded(const struct lines *lines, const struct tg_last_stack *stack)
{
    const struct tg_moment *moment = lines->console->source->moment;
    for (size_t i = 0; lines->which == TG_ATTACHED_MPI && i < tg_mpi_model_thread_count(moment->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(moment->mpi, i);
        if (thread->process == stack->process && thread->tid == stack->tid)
            return true;
    }
    for (size_t i = 0; lines->which == TG_ATTACHED_OPENMP && i < tg_openmp_model_worker_count(moment->openmp);
         i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(moment->openmp, i);
        if (worker->process == stack->process && worker->tid == stack->tid)
            return true;
    }
    return false;
}

static bool is_wanted(const struct lines *lines, const struct tg_where_thread *thread)
{
    const struct tg_verdict_input input = {.processes = lines->console->source->moment->processes,
                                           .mpi = lines->console->source->moment->mpi};
    if (!tg_attachment_is_late(&input, thread->stack->process) ||
        !tg_focus_has(&lines->console->focus, thread->stack->process) || is_recorded(lines, thread->stack))
        return false;
    return lines->which == TG_ATTACHED_OPENMP ? thread->path.has_openmp
                                              : thread->is_rank && (thread->is_first || is_in_mpi(thread));
}

/* ---- words */

/* To be freed; NULL without memory. */
static char *words_of(const struct lines *lines, const struct tg_where_thread *thread)
{
    char *words = NULL, call[240], at[400];
    size_t size;
    FILE *stream = open_memstream(&words, &size);
    if (stream == NULL)
        return NULL;
    if (thread->path.task == TG_THREAD_OF_OPENMP)
        fputs("waiting for work", stream);
    else if (is_in_mpi(thread) && thread->path.place.is_known) {
        fprintf(stream, "in %s, called from %s", tg_where_call_words(thread, call, sizeof call),
                tg_stack_words_call(&thread->path.place.at, at, sizeof at));
        tg_stack_words_callback(stream, &thread->path.place);
    } else {
        bool is_outside = lines->which == TG_ATTACHED_MPI && *thread->path.place.callback_of == '\0';
        fputs(is_outside ? "outside MPI: " : "", stream);
        tg_stack_words_place(stream, &thread->path.place);
    }
    if (fclose(stream) == 0)
        return words;
    free(words);
    return NULL;
}

static struct tg_error *add(struct lines *lines, size_t index)
{
    const struct tg_where_thread *thread = &lines->threads.threads[index];
    char *words = words_of(lines, thread);
    size_t i = 0;
    if (words == NULL)
        return tg_error_no_memory();
    while (i < lines->n_spots && strcmp(lines->spots[i].words, words) != 0)
        i++;
    struct tg_error *error = NULL;
    if (i == lines->n_spots)
        error = TG_ARRAY_APPEND(lines->spots, lines->n_spots, lines->spots_capacity,
                                (struct spot){.words = words});
    if (i + 1 != lines->n_spots || lines->spots[i].words != words)
        free(words);
    if (error == NULL)
        error =
            TG_ARRAY_APPEND(lines->spots[i].threads, lines->spots[i].count, lines->spots[i].capacity, index);
    if (thread->process->start_ns < lines->attached_ns)
        lines->attached_ns = thread->process->start_ns;
    if (thread->stack->time_ns > lines->looked_ns)
        lines->looked_ns = thread->stack->time_ns;
    lines->count++;
    return error;
}

static void print(const struct lines *lines, FILE *out)
{
    char attached[TG_QUANTITY_SIZE], looked[TG_QUANTITY_SIZE];
    uint64_t start_ns = lines->console->source->start_ns;
    fprintf(out, "unknown: attached at %s s; %s. By the stacks at %s s:\n",
            tg_quantity_moment(lines->attached_ns, start_ns, 6, attached),
            lines->which == TG_ATTACHED_MPI ? "calls, messages and collectives before that were not recorded"
                                            : "teams, zones and locks of before were not recorded",
            tg_quantity_moment(lines->looked_ns, start_ns, 6, looked));
    for (size_t i = 0; i < lines->n_spots; i++) {
        const struct spot *spot = &lines->spots[i];
        fputs("  ", out);
        tg_where_write_members(out, &lines->threads, spot->threads, spot->count);
        fprintf(out, ": %s\n", spot->words);
    }
}

static void deinit(struct lines *lines)
{
    for (size_t i = 0; i < lines->n_spots; i++) {
        free(lines->spots[i].words);
        free(lines->spots[i].threads);
    }
    free(lines->spots);
    tg_where_threads_deinit(&lines->threads);
}

struct tg_error *tg_attached_lines_print(const struct tg_console *console, enum tg_attached_lines which,
                                         FILE *out, size_t *count)
{
    const struct tg_moment *moment = console->source->moment;
    struct lines lines = {.console = console, .which = which, .attached_ns = UINT64_MAX};
    struct tg_where_look look;
    struct tg_error *error = tg_where_look_of_models(&look, moment->processes, moment->stacks);
    if (error == NULL)
        error = tg_where_threads_make(&look, NULL, &lines.threads);
    for (size_t i = 0; error == NULL && i < lines.threads.count; i++)
        if (is_wanted(&lines, &lines.threads.threads[i]))
            error = add(&lines, i);
    if (error == NULL && lines.count > 0)
        print(&lines, out);
    *count = lines.count;
    deinit(&lines);
    tg_where_look_deinit(&look);
    return error;
}

bool tg_attached_lines_print_none(const struct tg_console *console, FILE *out)
{
    const struct tg_moment *moment = console->source->moment;
    const struct tg_verdict_input input = {.processes = moment->processes, .mpi = moment->mpi};
    uint64_t attached_ns = UINT64_MAX;
    char attached[TG_QUANTITY_SIZE];
    for (size_t i = 0; i < tg_process_model_count(moment->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(moment->processes, i);
        if (tg_focus_has(&console->focus, i) && tg_attachment_is_late(&input, i) &&
            entry->start_ns < attached_ns)
            attached_ns = entry->start_ns;
    }
    if (attached_ns == UINT64_MAX)
        return false;
    fprintf(out,
            "unknown: attached at %s s; teams, zones and locks of before were not recorded, and no stack of "
            "then has OpenMP in it\n",
            tg_quantity_moment(attached_ns, console->source->start_ns, 6, attached));
    return true;
}
