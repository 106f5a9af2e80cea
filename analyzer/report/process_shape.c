#include "analyzer/report/process_shape.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A class is known by its key: the bytes of everything that members share. */
struct shape_class {
    size_t number;
    UT_hash_handle hh;
    size_t key_size;
    unsigned char key[];
};

struct key_buffer {
    unsigned char *bytes;
    size_t size, capacity;
};

static bool key_add(struct key_buffer *key, const void *bytes, size_t size)
{
    if (TG_ARRAY_RESERVE(key->bytes, key->capacity, key->size + size) != NULL)
        return false;
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
    return true;
}

static bool key_add_number(struct key_buffer *key, uint64_t number)
{
    return key_add(key, &number, sizeof number);
}

static bool key_add_text(struct key_buffer *key, const char *text)
{
    return key_add(key, text, strlen(text) + 1);
}

static bool key_add_headline(struct key_buffer *key, const struct tg_event_headline *headline)
{
    return key_add_number(key, headline->kind) && key_add_number(key, (uint64_t)headline->number) &&
           key_add_text(key, tg_event_headline_text(headline));
}

/* Everything by which ENTRY is like others; the shapes of its children are known. */
static bool build_key(struct key_buffer *key, const struct tg_process_entry *entry, const size_t *shapes)
{
    key->size = 0;
    const uint64_t numbers[] = {
        entry->origin,    entry->end,        (uint64_t)entry->status, entry->core_dumped,
        entry->rank >= 0, entry->execs,      entry->threads_started,  entry->threads_alive,
        entry->signals,   entry->start_seen,
    };
    if (!key_add(key, numbers, sizeof numbers) || !key_add_text(key, entry->program) ||
        !key_add_text(key, entry->job) || !key_add_text(key, entry->detach_reason) ||
        !key_add_headline(key, &entry->last_library))
        return false;
    /* A thread's number says nothing. */
    if (entry->last.kind == TG_EVENT_THREAD_START ? !key_add_number(key, entry->last.kind)
                                                  : !key_add_headline(key, &entry->last))
        return false;
    for (const struct tg_process_entry *child = entry->first_child; child != NULL;
         child = child->next_sibling)
        if (!key_add_number(key, shapes[child->index]))
            return false;
    return true;
}

static bool classify(struct shape_class **classes, const struct key_buffer *key, size_t *number)
{
    struct shape_class *found = NULL;
    HASH_FIND(hh, *classes, key->bytes, key->size, found);
    if (found == NULL) {
        found = calloc(1, sizeof *found + key->size);
        if (found == NULL)
            return false;
        found->number = HASH_COUNT(*classes);
        found->key_size = key->size;
        memcpy(found->key, key->bytes, key->size);
        if (TG_HASH_ADD_KEY(hh, *classes, found->key, key->size, found) != NULL) {
            free(found);
            return false;
        }
    }
    *number = found->number;
    return true;
}

struct tg_error *tg_process_shapes(const struct tg_process_model *model, size_t *shapes)
{
    struct shape_class *classes = NULL, *class, *next;
    struct key_buffer key = {0};
    bool ok = true;
    /* A parent is always known before its children, so from the last to the first children come first. */
    for (size_t i = tg_process_model_count(model); ok && i > 0; i--)
        ok = build_key(&key, tg_process_model_at(model, i - 1), shapes) &&
             classify(&classes, &key, &shapes[i - 1]);
    HASH_ITER (hh, classes, class, next) {
        HASH_DEL(classes, class);
        free(class);
    }
    free(key.bytes);
    return ok ? NULL : tg_error_no_memory();
}

/* The siblings from FIRST on. SIZES and LEADERS are scratch by shape, all zero before and after. */
static void fold_siblings(const struct tg_process_entry *first, const size_t *shapes, size_t least,
                          size_t *sizes, size_t *leaders, struct tg_process_fold *folds)
{
    for (const struct tg_process_entry *entry = first; entry != NULL; entry = entry->next_sibling) {
        size_t shape = shapes[entry->index];
        if (sizes[shape]++ == 0)
            leaders[shape] = entry->index;
    }
    for (const struct tg_process_entry *entry = first; entry != NULL; entry = entry->next_sibling) {
        size_t shape = shapes[entry->index];
        bool together = sizes[shape] >= least;
        folds[entry->index].leader = together ? leaders[shape] : entry->index;
        folds[entry->index].members = together && leaders[shape] == entry->index ? sizes[shape] : 1;
    }
    for (const struct tg_process_entry *entry = first; entry != NULL; entry = entry->next_sibling)
        sizes[shapes[entry->index]] = 0;
}

struct tg_error *tg_process_folds(const struct tg_process_model *model, const size_t *shapes, size_t least,
                                  struct tg_process_fold *folds)
{
    size_t count = tg_process_model_count(model);
    size_t *sizes = calloc(count + 1, sizeof *sizes), *leaders = calloc(count + 1, sizeof *leaders);
    if (sizes != NULL && leaders != NULL) {
        fold_siblings(tg_process_model_next(model, NULL, NULL), shapes, least, sizes, leaders, folds);
        for (size_t i = 0; i < count; i++)
            fold_siblings(tg_process_model_at(model, i)->first_child, shapes, least, sizes, leaders, folds);
    }
    bool ok = sizes != NULL && leaders != NULL;
    free(sizes);
    free(leaders);
    return ok ? NULL : tg_error_no_memory();
}
