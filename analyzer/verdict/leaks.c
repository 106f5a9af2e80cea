/* Memory that a job lost: no harm this time, and the first thing to look at when a longer run has none left. */
#include "analyzer/heap/leaks.h"
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/words.h"
#include "analyzer/heap/path_owner.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/verdict/finders.h"
#include "format/base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACES_TOLD = 3,
    MAX_PLACES = 256,
    WORDS = 900,
    FEW_BLOCKS = 8,       /* of a process and a place: as many variables may have had them */
    MUCH_BYTES = 1 << 20, /* is told whatever else the processes had */
    LITTLE_OF = 100,      /* less than that part of their peaks is not */
};

/* Leaks whose places read alike. */
struct place {
    char words[WORDS]; /* "grow (list.c:12), called by solve (solve.c:40)" */
    bool is_of_library;
    uint64_t blocks, bytes;
    size_t *processes;
    size_t n_processes, process_capacity;
};

struct leaks {
    struct tg_verdict_draft *draft;
    struct place *places; /* most bytes first */
    size_t count, capacity;
};

/* ---- places */

static struct tg_error *find_place(struct leaks *leaks, const struct tg_heap_leaks_row *row,
                                   struct place **found)
{
    struct place place = {.words = ""};
    const struct tg_heap_path_names names = {leaks->draft->input->stacks, leaks->draft->input->heap_files};
    const struct tg_heap_path *path =
        tg_heap_call_paths_at(tg_heap_model_paths(leaks->draft->input->heap), row->path);
    struct tg_error *error =
        tg_heap_path_owner(&names, path, 1, place.words, sizeof place.words, &place.is_of_library);
    for (size_t i = 0; error == NULL && i < leaks->count; i++)
        if (strcmp(leaks->places[i].words, place.words) == 0) {
            *found = &leaks->places[i];
            return NULL;
        }
    if (error == NULL)
        error = TG_ARRAY_APPEND(leaks->places, leaks->count, leaks->capacity, place);
    if (error == NULL)
        *found = &leaks->places[leaks->count - 1];
    return error;
}

/* Whether variables of a main program in Fortran may have had what ROW tells, up to its end. */
static struct tg_error *is_of_variables(const struct leaks *leaks, const struct tg_heap_leaks_row *row,
                                        bool *is)
{
    const struct tg_heap_path_names names = {leaks->draft->input->stacks, leaks->draft->input->heap_files};
    *is = false;
    if (row->n_processes == 0 || row->blocks - row->indirect_blocks > row->n_processes * FEW_BLOCKS)
        return NULL;
    return tg_heap_path_is_of_fortran_main(
        &names, tg_heap_call_paths_at(tg_heap_model_paths(leaks->draft->input->heap), row->path), is);
}

static struct tg_error *add_row(struct leaks *leaks, const struct tg_heap_leaks_row *row)
{
    struct place *place;
    bool is_left_out;
    struct tg_error *error = is_of_variables(leaks, row, &is_left_out);
    if (error == NULL && is_left_out)
        return NULL;
    if (error == NULL)
        error = find_place(leaks, row, &place);
    if (error != NULL)
        return error;
    place->blocks += row->blocks;
    place->bytes += row->bytes;
    for (size_t i = 0; error == NULL && i < row->n_processes; i++)
        error =
            TG_ARRAY_APPEND(place->processes, place->n_processes, place->process_capacity, row->processes[i]);
    return error;
}

static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->words, y->words);
}

/* ---- what is told */

/* Bytes that the processes that leak had at most. */
static uint64_t peaks_of(const struct tg_verdict_draft *draft, bool only_ranks)
{
    const struct tg_heap_model *heap = draft->input->heap;
    uint64_t bytes = 0;
    for (size_t i = 0; i < tg_heap_model_count(heap); i++) {
        const struct tg_heap_process *process = tg_heap_model_at(heap, i);
        bool is_rank = tg_process_model_at(draft->input->processes, process->process)->rank >= 0;
        if (process->scan.is.leaked_blocks > 0 && (is_rank || !only_ranks) &&
            *process->scan.is.problem == '\0')
            bytes += tg_heap_model_use(heap, process, &process->use).at_peak.bytes;
    }
    return bytes;
}

/* Keeps the places that are worth a remark: of the program, where it is not next to nothing; of a library's own
 * blocks, which programmers of others can do nothing about, where it is much. */
static void choose(struct leaks *leaks, bool only_ranks)
{
    uint64_t own = 0, most = peaks_of(leaks->draft, only_ranks);
    size_t kept = 0;
    for (size_t i = 0; i < leaks->count; i++)
        own += leaks->places[i].is_of_library ? 0 : leaks->places[i].bytes;
    bool wants_own = own >= MUCH_BYTES || own >= most / LITTLE_OF;
    for (size_t i = 0; i < leaks->count; i++) {
        struct place *place = &leaks->places[i];
        if (place->is_of_library ? place->bytes >= MUCH_BYTES : wants_own)
            leaks->places[kept++] = *place;
        else
            free(place->processes);
    }
    leaks->count = kept;
    if (kept > 0)
        qsort(leaks->places, kept, sizeof *leaks->places, compare);
}

static int compare_processes(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Sorts PROCESSES and returns how many different ones there are. */
static size_t sort_processes(size_t *processes, size_t count)
{
    size_t kept = 0;
    if (count > 0)
        qsort(processes, count, sizeof *processes, compare_processes);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || processes[kept - 1] != processes[i])
            processes[kept++] = processes[i];
    return kept;
}

/* "Ranks 0-3", "2 processes such as process 12 (app)" */
static struct tg_error *print_who(const struct leaks *leaks, const size_t *processes, size_t count,
                                  bool is_first)
{
    const struct tg_verdict_input *input = leaks->draft->input;
    FILE *stream = leaks->draft->stream;
    int64_t *ranks = calloc(count + 1, sizeof *ranks);
    size_t n_ranks = 0;
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) {
        int64_t rank = tg_process_model_at(input->processes, processes[i])->rank;
        if (rank >= 0)
            ranks[n_ranks++] = rank;
    }
    if (n_ranks > 0)
        tg_arrivals_print(stream, ranks, n_ranks, is_first);
    if (n_ranks == 0 && count > 1)
        fprintf(stream, "%zu processes such as ", count);
    if (n_ranks == 0)
        tg_words_process(stream, input, processes[0]);
    free(ranks);
    return NULL;
}

static struct tg_error *print_place_of(const struct leaks *leaks, size_t i, size_t n_processes)
{
    const struct place *place = &leaks->places[i];
    FILE *stream = leaks->draft->stream;
    char bytes[TG_QUANTITY_SIZE];
    struct tg_error *error = NULL;
    if (leaks->count > 1)
        fprintf(stream, "%s%s ", i > 0 ? "; " : "", tg_quantity_bytes(place->bytes, bytes));
    fprintf(stream, "from %s", place->words);
    if (place->n_processes < n_processes) {
        fputs(" (", stream);
        error = print_who(leaks, place->processes, place->n_processes, false);
        fputc(')', stream);
    }
    return error;
}

/* All that leaked in PLACES; owned by the caller, sorted. */
static struct tg_error *collect_processes(const struct leaks *leaks, size_t **processes, size_t *count)
{
    size_t capacity = 0;
    struct tg_error *error = NULL;
    *processes = NULL;
    *count = 0;
    for (size_t i = 0; error == NULL && i < leaks->count; i++) {
        struct place *place = &leaks->places[i];
        place->n_processes = sort_processes(place->processes, place->n_processes);
        for (size_t k = 0; error == NULL && k < place->n_processes; k++)
            error = TG_ARRAY_APPEND(*processes, *count, capacity, place->processes[k]);
    }
    *count = sort_processes(*processes, *count);
    return error;
}

static struct tg_error *print(const struct leaks *leaks, const size_t *processes, size_t n_processes)
{
    FILE *stream = leaks->draft->stream;
    char bytes[TG_QUANTITY_SIZE], count[TG_QUANTITY_SIZE];
    uint64_t blocks = 0, lost = 0, rest = 0;
    for (size_t i = 0; i < leaks->count; i++) {
        blocks += leaks->places[i].blocks;
        lost += leaks->places[i].bytes;
        rest += i >= PLACES_TOLD ? leaks->places[i].bytes : 0;
    }
    struct tg_error *error = print_who(leaks, processes, n_processes, true);
    fprintf(stream,
            " leaked %s in %s block%s, to which nothing refers any more: ", tg_quantity_bytes(lost, bytes),
            tg_quantity_count(blocks, count), blocks == 1 ? "" : "s");
    for (size_t i = 0; error == NULL && i < leaks->count && i < PLACES_TOLD; i++)
        error = print_place_of(leaks, i, n_processes);
    if (leaks->count > PLACES_TOLD)
        fprintf(stream, "; and %s from %zu other place%s", tg_quantity_bytes(rest, bytes),
                leaks->count - PLACES_TOLD, leaks->count - PLACES_TOLD == 1 ? "" : "s");
    fputc('.', stream);
    return error;
}

static struct tg_error *tell(const struct leaks *leaks)
{
    struct tg_verdict_draft *draft = leaks->draft;
    size_t *processes, count;
    struct tg_error *error = collect_processes(leaks, &processes, &count);
    if (error == NULL)
        error = print(leaks, processes, count);
    for (size_t i = 0; error == NULL && i < count; i++)
        tg_verdict_blame(draft, processes[i], 0, 0);
    if (error == NULL)
        error = tg_verdict_add(
            draft, &(struct tg_finding){
                       .kind = TG_FINDING_LEAK,
                       .since_ns = tg_heap_model_find(draft->input->heap, processes[0])->scan.time_ns,
                       .process = processes[0],
                       .is_warning = true});
    free(processes);
    return error;
}

/* Whether there are ranks: what their launchers leak is nobody's concern then. */
static bool has_ranks(const struct tg_process_model *processes)
{
    for (size_t i = 0; i < tg_process_model_count(processes); i++)
        if (tg_process_model_at(processes, i)->rank >= 0)
            return true;
    return false;
}

/* Where events were lost, it is not known what was freed. */
struct tg_error *tg_verdict_find_leaks(struct tg_verdict_draft *draft)
{
    const struct tg_verdict_input *input = draft->input;
    if (!draft->is_good_end || input->heap == NULL || input->stacks == NULL || input->has_losses)
        return NULL;
    const struct tg_heap_leaks_request request = {.heap = input->heap,
                                                  .processes = input->processes,
                                                  .only_ranks = has_ranks(input->processes),
                                                  .is_whole = true};
    struct tg_heap_leaks found;
    struct leaks leaks = {.draft = draft};
    struct tg_error *error = tg_heap_leaks_make(&request, &found);
    if (error != NULL)
        return error;
    for (size_t i = 0; error == NULL && i < found.count && leaks.count < MAX_PLACES; i++)
        error = add_row(&leaks, &found.rows[i]);
    if (error == NULL)
        choose(&leaks, request.only_ranks);
    if (error == NULL && leaks.count > 0)
        error = tell(&leaks);
    for (size_t i = 0; i < leaks.count; i++)
        free(leaks.places[i].processes);
    free(leaks.places);
    tg_heap_leaks_deinit(&found);
    return error;
}
