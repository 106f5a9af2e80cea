#include "analyzer/heap/profile.h"

#include "analyzer/heap/path_names.h"
#include "analyzer/output/rank_ranges.h"
#include "format/base/array.h"
#include "format/base/hash.h"

/* Rows while they are made: by what makes them one. */
struct key {
    const char *module;
    uint64_t number; /* path, process or class */
};

struct entry {
    struct key key;
    size_t row;
    UT_hash_handle hh;
};

struct making {
    const struct tg_heap_model *heap;
    const struct tg_process_model *processes;
    struct tg_heap_profile *profile;
    struct entry *entries;
    size_t capacity;
};

uint64_t tg_heap_cost_of(const struct tg_heap_use *use, enum tg_heap_cost cost)
{
    switch (cost) {
    case TG_HEAP_COST_PEAK:
        return use->at_peak.bytes;
    case TG_HEAP_COST_LIVE:
        return use->live.bytes;
    case TG_HEAP_COST_BYTES:
        return use->allocated.bytes;
    case TG_HEAP_COST_CALLS:
        return tg_heap_amount_blocks(&use->allocated);
    case TG_HEAP_COST_TEMPORARY:
        return use->temporary;
    }
    return 0;
}

const char *tg_heap_cost_name(enum tg_heap_cost cost)
{
    static const char *const names[] = {"peak", "live", "bytes", "calls", "temporary"};
    return (size_t)cost < sizeof names / sizeof *names ? names[cost] : NULL;
}

bool tg_heap_cost_is_bytes(enum tg_heap_cost cost)
{
    return cost != TG_HEAP_COST_CALLS && cost != TG_HEAP_COST_TEMPORARY;
}

static void add_use(struct tg_heap_use *sum, const struct tg_heap_use *more)
{
    tg_heap_amount_add(&sum->allocated, &more->allocated);
    tg_heap_amount_add(&sum->live, &more->live);
    tg_heap_amount_add(&sum->at_peak, &more->at_peak);
    tg_heap_amount_add(&sum->at_job_peak, &more->at_job_peak);
    sum->temporary += more->temporary;
}

static struct tg_error *find_row(struct making *making, const struct key *key, struct tg_heap_row **row)
{
    struct tg_heap_profile *profile = making->profile;
    struct entry *entry = NULL;
    HASH_FIND(hh, making->entries, key, sizeof *key, entry);
    if (entry == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, making->entries, key, key, entry);
        if (error == NULL)
            error = TG_ARRAY_APPEND(profile->rows, profile->count, making->capacity,
                                    (struct tg_heap_row){.module = ""});
        if (error != NULL)
            return error;
        entry->row = profile->count - 1;
    }
    *row = &profile->rows[entry->row];
    return NULL;
}

static struct tg_error *add_rank(struct tg_heap_row *row, int64_t rank)
{
    if (rank < 0)
        return NULL;
    struct tg_error *error =
        (row->n_ranks & (row->n_ranks - 1)) == 0
            ? tg_array_resize(&row->ranks, row->n_ranks == 0 ? 1 : 2 * row->n_ranks, sizeof *row->ranks)
            : NULL;
    if (error == NULL)
        row->ranks[row->n_ranks++] = rank;
    return error;
}

/* Adds what PROCESS has of one path, library or class to the row of that. */
static struct tg_error *add(struct making *making, const struct tg_heap_process *process,
                            const struct tg_heap_use *raw, const struct tg_heap_row *like)
{
    struct tg_heap_profile *profile = making->profile;
    struct tg_heap_use use = tg_heap_model_use(making->heap, process, raw);
    struct key key;
    struct tg_heap_row *row;
    if (profile->is_job_peak)
        use.at_peak = use.at_job_peak;
    if (use.allocated.parts == 0)
        return NULL;
    memset(&key, 0, sizeof key);
    key.module = like->module;
    key.number = profile->by == TG_HEAP_BY_STACK  ? like->path
                 : profile->by == TG_HEAP_BY_RANK ? like->process
                 : profile->by == TG_HEAP_BY_SIZE ? like->size_class
                                                  : 0;
    struct tg_error *error = find_row(making, &key, &row);
    if (error != NULL)
        return error;
    bool is_first_of_process = row->n_processes == 0 || row->use.peak != process->process + 1;
    if (row->n_processes == 0) {
        row->path = like->path;
        row->module = like->module;
        row->size_class = like->size_class;
    }
    add_use(&row->use, &use);
    row->use.peak = process->process + 1; /* the process that was added last */
    if (row->n_processes == 0 || use.at_peak.bytes > row->of_process.bytes) {
        row->process = process->process;
        row->of_process = use.at_peak;
    }
    if (!is_first_of_process)
        return NULL;
    row->n_processes++;
    row->peak_ns = process->peak_ns;
    return add_rank(row, tg_process_model_at(making->processes, process->process)->rank);
}

static struct tg_error *add_process(struct making *making, const struct tg_heap_process *process)
{
    const struct tg_heap_call_paths *paths = tg_heap_model_paths(making->heap);
    struct tg_error *error = NULL;
    switch (making->profile->by) {
    case TG_HEAP_BY_STACK:
        for (size_t i = 0; error == NULL && i < process->n_sites; i++)
            error = add(making, process, &process->sites[i].use,
                        &(struct tg_heap_row){.path = process->sites[i].path, .module = ""});
        break;
    case TG_HEAP_BY_LIBRARY:
        for (size_t i = 0; error == NULL && i < process->n_sites; i++)
            error = add(making, process, &process->sites[i].use,
                        &(struct tg_heap_row){.module = tg_heap_path_module(
                                                  tg_heap_call_paths_at(paths, process->sites[i].path))});
        break;
    case TG_HEAP_BY_RANK:
        error = add(making, process, &process->use,
                    &(struct tg_heap_row){.process = process->process, .module = ""});
        break;
    case TG_HEAP_BY_SIZE:
        for (unsigned i = 0; error == NULL && process->by_size != NULL && i < TG_HEAP_SIZE_CLASSES; i++)
            error = add(making, process, &process->by_size[i],
                        &(struct tg_heap_row){.size_class = i, .module = ""});
        break;
    }
    return error;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct tg_heap_profile *profile = context;
    const struct tg_heap_row *x = a, *y = b;
    uint64_t of_x = tg_heap_cost_of(&x->use, profile->cost), of_y = tg_heap_cost_of(&y->use, profile->cost);
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    if (x->use.allocated.bytes != y->use.allocated.bytes)
        return x->use.allocated.bytes > y->use.allocated.bytes ? -1 : 1;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    if (x->size_class != y->size_class)
        return x->size_class < y->size_class ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static void finish(struct tg_heap_profile *profile, const struct tg_heap_model *heap)
{
    for (size_t i = 0; i < profile->count; i++)
        profile->rows[i].n_ranks = tg_rank_ranges_sort(profile->rows[i].ranks, profile->rows[i].n_ranks);
    if (profile->count > 0)
        qsort_r(profile->rows, profile->count, sizeof *profile->rows, compare_rows, profile);
    if (profile->is_job_peak)
        profile->peak_ns = tg_heap_model_job(heap).peak_ns;
}

static struct tg_error *make(struct making *making, const struct tg_selection *selection)
{
    struct tg_heap_profile *profile = making->profile;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_heap_model_count(making->heap); i++) {
        const struct tg_heap_process *process = tg_heap_model_at(making->heap, i);
        if (selection != NULL &&
            !tg_selection_admits_process(selection, tg_process_model_at(making->processes, process->process)))
            continue;
        struct tg_heap_use use = tg_heap_model_use(making->heap, process, &process->use);
        if (profile->is_job_peak)
            use.at_peak = use.at_job_peak;
        add_use(&profile->all, &use);
        profile->recorded += process->recorded;
        profile->freed += process->freed;
        profile->unknown_frees += process->unknown_frees;
        profile->n_forked += process->inherited.parts > 0;
        tg_heap_amount_add(&profile->inherited, &process->inherited);
        tg_heap_amount_add(&profile->inherited_live, &process->inherited_live);
        profile->missed_frees += process->missed_frees;
        profile->is_sampled = profile->is_sampled || process->sample_bytes != 0;
        profile->peak_ns = profile->n_processes++ == 0 ? process->peak_ns : 0;
        error = add_process(making, process);
    }
    return error;
}

struct tg_error *tg_heap_profile_make(const struct tg_heap_model *heap,
                                      const struct tg_process_model *processes,
                                      const struct tg_selection *selection, enum tg_heap_by by,
                                      enum tg_heap_cost cost, struct tg_heap_profile *result)
{
    struct tg_heap_profile profile = {.by = by,
                                      .cost = cost,
                                      .is_job_peak =
                                          by != TG_HEAP_BY_RANK &&
                                          (selection == NULL || !tg_selection_limits_processes(selection))};
    struct making making = {.heap = heap, .processes = processes, .profile = &profile};
    struct tg_error *error = make(&making, selection);
    struct entry *entry, *next;
    HASH_ITER (hh, making.entries, entry, next) {
        HASH_DEL(making.entries, entry);
        free(entry);
    }
    if (error != NULL) {
        tg_heap_profile_deinit(&profile);
        return error;
    }
    finish(&profile, heap);
    *result = profile;
    return NULL;
}

/* A row of a merged profile, by the words for its place. */
struct place {
    char *text;
    size_t row;
    UT_hash_handle hh;
};

static struct tg_error *find_place(struct tg_heap_profile *merged, size_t *capacity, struct place **places,
                                   const char *text, const struct tg_heap_row *like, struct tg_heap_row **row)
{
    struct place *place;
    HASH_FIND_STR(*places, text, place);
    if (place == NULL) {
        place = calloc(1, sizeof *place);
        char *own = place == NULL ? NULL : strdup(text);
        if (own == NULL || TG_HASH_ADD_KEY(hh, *places, own, strlen(own), place) != NULL) {
            free(own);
            free(place);
            return tg_error_no_memory();
        }
        place->text = own;
        place->row = merged->count;
        struct tg_heap_row empty = *like;
        empty.use = (struct tg_heap_use){0};
        empty.ranks = NULL;
        empty.n_ranks = 0;
        struct tg_error *error = TG_ARRAY_APPEND(merged->rows, merged->count, *capacity, empty);
        if (error != NULL)
            return error;
    }
    *row = &merged->rows[place->row];
    return NULL;
}

static struct tg_error *merge_row(struct tg_heap_row *into, const struct tg_heap_row *row)
{
    size_t n = into->n_ranks + row->n_ranks;
    add_use(&into->use, &row->use);
    if (row->n_processes > into->n_processes)
        into->n_processes = row->n_processes;
    if (row->n_ranks == 0)
        return NULL;
    if (tg_array_resize(&into->ranks, n, sizeof *into->ranks) != NULL)
        return tg_error_no_memory();
    memcpy(into->ranks + into->n_ranks, row->ranks, row->n_ranks * sizeof *row->ranks);
    into->n_ranks = tg_rank_ranges_sort(into->ranks, n);
    return NULL;
}

struct tg_error *tg_heap_profile_merge_places(const struct tg_heap_profile *profile,
                                              const struct tg_heap_call_paths *paths,
                                              const struct tg_heap_path_names *names,
                                              struct tg_heap_profile *result)
{
    struct tg_heap_profile merged = *profile;
    struct place *places = NULL, *place, *next;
    struct tg_error *error = NULL;
    size_t capacity = 0;
    merged.rows = NULL;
    merged.count = 0;
    for (size_t i = 0; error == NULL && i < profile->count; i++) {
        char text[400];
        struct tg_heap_row *row;
        tg_heap_path_place(names, tg_heap_call_paths_at(paths, profile->rows[i].path), text, sizeof text);
        error = find_place(&merged, &capacity, &places, text, &profile->rows[i], &row);
        if (error == NULL)
            error = merge_row(row, &profile->rows[i]);
    }
    HASH_ITER (hh, places, place, next) {
        HASH_DEL(places, place);
        free(place->text);
        free(place);
    }
    if (error != NULL) {
        tg_heap_profile_deinit(&merged);
        return error;
    }
    if (merged.count > 0)
        qsort_r(merged.rows, merged.count, sizeof *merged.rows, compare_rows, &merged);
    *result = merged;
    return NULL;
}

void tg_heap_profile_deinit(struct tg_heap_profile *profile)
{
    for (size_t i = 0; i < profile->count; i++)
        free(profile->rows[i].ranks);
    free(profile->rows);
    *profile = (struct tg_heap_profile){0};
}
