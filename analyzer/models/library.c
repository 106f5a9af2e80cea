#include "analyzer/models/library.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct library_entry {
    struct tg_library_use use;
    UT_hash_handle hh;
    size_t key_size;
    char key[]; /* path NUL build-id NUL */
};

/* The set of (process, library) pairs: open addressing, a free slot is 0. */
struct pair_set {
    uint64_t *slots;
    size_t n_slots; /* a power of two */
    size_t used;
};

struct tg_library_model {
    struct library_entry *by_key;
    struct tg_library_totals totals;
    struct pair_set pairs;
    char *key; /* scratch for lookups */
    size_t key_capacity;
};

struct tg_error *tg_library_model_create(struct tg_library_model **model)
{
    struct tg_library_model *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    *model = created;
    return NULL;
}

void tg_library_model_destroy(struct tg_library_model *model)
{
    if (model == NULL)
        return;
    struct library_entry *entry, *next;
    HASH_ITER (hh, model->by_key, entry, next) {
        HASH_DEL(model->by_key, entry);
        free(entry);
    }
    free(model->pairs.slots);
    free(model->key);
    free(model);
}

static struct tg_error *copy_entry(struct tg_library_model *copy, const struct library_entry *from)
{
    struct library_entry *entry = calloc(1, sizeof *entry + from->key_size);
    if (entry == NULL)
        return tg_error_no_memory();
    memcpy(entry->key, from->key, from->key_size);
    entry->key_size = from->key_size;
    entry->use = from->use;
    entry->use.path = entry->key;
    entry->use.build_id = entry->key + (from->use.build_id - from->key);
    struct tg_error *error = TG_HASH_ADD_KEY(hh, copy->by_key, entry->key, entry->key_size, entry);
    if (error != NULL)
        free(entry);
    return error;
}

struct tg_error *tg_library_model_copy(const struct tg_library_model *model, struct tg_library_model **copy)
{
    struct tg_library_model *made = NULL;
    struct tg_error *error = tg_library_model_create(&made);
    for (const struct library_entry *entry = model->by_key; error == NULL && entry != NULL;
         entry = entry->hh.next)
        error = copy_entry(made, entry);
    if (error == NULL) {
        made->totals = model->totals;
        made->pairs = model->pairs;
        made->pairs.slots = calloc(model->pairs.n_slots + 1, sizeof *made->pairs.slots);
        if (made->pairs.slots == NULL)
            error = tg_error_no_memory();
        else if (model->pairs.n_slots > 0)
            memcpy(made->pairs.slots, model->pairs.slots, model->pairs.n_slots * sizeof *made->pairs.slots);
    }
    if (error != NULL) {
        tg_library_model_destroy(made);
        return error;
    }
    *copy = made;
    return NULL;
}

/* The slot of PAIR, or the free one where it belongs. */
static size_t pair_slot(const uint64_t *slots, size_t n_slots, uint64_t pair)
{
    uint64_t hash = pair * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(hash ^ hash >> 32) & (n_slots - 1);
    while (slots[i] != 0 && slots[i] != pair)
        i = (i + 1) & (n_slots - 1);
    return i;
}

static struct tg_error *grow_pairs(struct pair_set *set)
{
    size_t n_slots = set->n_slots == 0 ? 256 : set->n_slots * 2;
    uint64_t *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->slots[i] != 0)
            slots[pair_slot(slots, n_slots, set->slots[i])] = set->slots[i];
    free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    return NULL;
}

/* *ADDED: whether the pair is new. */
static struct tg_error *add_pair(struct pair_set *set, size_t process, size_t library, bool *added)
{
    if (set->used >= set->n_slots / 2) {
        struct tg_error *error = grow_pairs(set);
        if (error != NULL)
            return error;
    }
    uint64_t pair = ((uint64_t)process << 32 | (uint32_t)library) + 1;
    size_t slot = pair_slot(set->slots, set->n_slots, pair);
    *added = set->slots[slot] == 0;
    if (*added) {
        set->slots[slot] = pair;
        set->used++;
    }
    return NULL;
}

static struct tg_error *build_key(struct tg_library_model *model, const struct tg_library *library,
                                  size_t *path_size, size_t *key_size)
{
    *path_size = strlen(library->path) + 1;
    size_t id_size = strlen(library->build_id) + 1;
    *key_size = *path_size + id_size;
    struct tg_error *error = TG_ARRAY_RESERVE(model->key, model->key_capacity, *key_size);
    if (error != NULL)
        return error;
    memcpy(model->key, library->path, *path_size);
    memcpy(model->key + *path_size, library->build_id, id_size);
    return NULL;
}

static struct tg_error *find_use(struct tg_library_model *model, const struct tg_library *library,
                                 const struct tg_event *event, size_t process, struct tg_library_use **use)
{
    size_t path_size, key_size;
    struct tg_error *error = build_key(model, library, &path_size, &key_size);
    if (error != NULL)
        return error;
    struct library_entry *entry = NULL;
    HASH_FIND(hh, model->by_key, model->key, key_size, entry);
    if (entry == NULL) {
        entry = calloc(1, sizeof *entry + key_size);
        if (entry == NULL)
            return tg_error_no_memory();
        memcpy(entry->key, model->key, key_size);
        entry->key_size = key_size;
        entry->use = (struct tg_library_use){.index = HASH_COUNT(model->by_key),
                                             .path = entry->key,
                                             .build_id = entry->key + path_size,
                                             .size_bytes = library->size_bytes,
                                             .first_ns = event->time_ns,
                                             .first_process = process,
                                             .startup = true};
        error = TG_HASH_ADD_KEY(hh, model->by_key, entry->key, key_size, entry);
        if (error != NULL) {
            free(entry);
            return error;
        }
    }
    *use = &entry->use;
    return NULL;
}

/* The I-th of N shares of TOTAL; the shares add up to it exactly. */
static uint64_t share(uint64_t total, uint64_t n, uint64_t i)
{
    return total / n + (i < total % n ? 1 : 0);
}

static struct tg_error *take_load(struct tg_library_model *model, const struct tg_event *event,
                                  size_t process)
{
    const struct tg_event_library_load *load = &event->library_load;
    const struct tg_library *libraries = load->libraries.items;
    uint64_t count = load->libraries.count, n_asked = 0, i_asked = 0;
    for (uint64_t i = 0; i < count; i++)
        n_asked += libraries[i].dependency == 0;
    /* If all are dependencies (start-up), all share. */
    bool all_share = n_asked == 0;
    for (uint64_t i = 0; i < count; i++) {
        struct tg_library_use *use = NULL;
        struct tg_error *error = find_use(model, &libraries[i], event, process, &use);
        bool new_pair = false;
        if (error == NULL)
            error = add_pair(&model->pairs, process, use->index, &new_pair);
        if (error != NULL)
            return error;
        use->loads++;
        use->processes += new_pair;
        use->startup = use->startup && load->found == TG_FOUND_STARTUP;
        if (event->time_ns < use->first_ns) {
            use->first_ns = event->time_ns;
            use->first_process = process;
        }
        bool asked = libraries[i].dependency == 0;
        use->asked_loads += asked;
        if (asked || all_share) {
            uint64_t n_shares = all_share ? count : n_asked;
            use->stop_ns += share(event->stop_ns, n_shares, i_asked);
            use->handle_ns +=
                share(load->read_ns, n_shares, i_asked) + share(load->handle_ns, n_shares, i_asked);
            i_asked++;
        }
    }
    return NULL;
}

static struct tg_error *take_unload(struct tg_library_model *model, const struct tg_event *event,
                                    size_t process)
{
    const struct tg_library *libraries = event->library_unload.libraries.items;
    for (uint64_t i = 0; i < event->library_unload.libraries.count; i++) {
        struct tg_library_use *use = NULL;
        struct tg_error *error = find_use(model, &libraries[i], event, process, &use);
        if (error != NULL)
            return error;
        use->unloads++;
    }
    return NULL;
}

struct tg_error *tg_library_model_feed(struct tg_library_model *model, const struct tg_event *event,
                                       size_t process)
{
    struct tg_library_totals *totals = &model->totals;
    if (event->kind == TG_EVENT_LIBRARY_LOAD) {
        uint64_t found = event->library_load.found;
        totals->load_events++;
        totals->startup_events += found == TG_FOUND_STARTUP;
        totals->loader_events += found == TG_FOUND_LOADER;
        totals->catch_up_events += found == TG_FOUND_CATCH_UP;
        totals->agent_events += found == TG_FOUND_AGENT || found == TG_FOUND_IN_PROCESS;
        totals->in_process_events += found == TG_FOUND_IN_PROCESS;
        totals->load_stop_ns += event->stop_ns;
        totals->objects += event->library_load.libraries.count;
        return take_load(model, event, process);
    }
    if (event->kind == TG_EVENT_LIBRARY_UNLOAD) {
        totals->unload_events++;
        totals->unload_stop_ns += event->stop_ns;
        return take_unload(model, event, process);
    }
    if (event->kind == TG_EVENT_LIBRARY_NULL) {
        totals->null_events++;
        totals->null_stop_ns += event->stop_ns;
    }
    return NULL;
}

struct tg_library_totals tg_library_model_totals(const struct tg_library_model *model)
{
    return model->totals;
}

size_t tg_library_model_count(const struct tg_library_model *model)
{
    return HASH_COUNT(model->by_key);
}

static int compare_time(const void *left, const void *right)
{
    const struct tg_library_use *a = *(const struct tg_library_use *const *)left;
    const struct tg_library_use *b = *(const struct tg_library_use *const *)right;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int compare_cost(const void *left, const void *right)
{
    const struct tg_library_use *a = *(const struct tg_library_use *const *)left;
    const struct tg_library_use *b = *(const struct tg_library_use *const *)right;
    if (a->stop_ns != b->stop_ns)
        return a->stop_ns > b->stop_ns ? -1 : 1;
    return compare_time(left, right);
}

static void sort_uses(const struct tg_library_model *model, const struct tg_library_use **uses,
                      int (*compare)(const void *, const void *))
{
    size_t n = 0;
    struct library_entry *entry, *next;
    HASH_ITER (hh, model->by_key, entry, next)
        uses[n++] = &entry->use;
    if (n > 1)
        qsort(uses, n, sizeof *uses, compare);
}

void tg_library_model_by_time(const struct tg_library_model *model, const struct tg_library_use **uses)
{
    sort_uses(model, uses, compare_time);
}

void tg_library_model_by_cost(const struct tg_library_model *model, const struct tg_library_use **uses)
{
    sort_uses(model, uses, compare_cost);
}
