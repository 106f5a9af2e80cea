#include "analyzer/models/heap/call_paths.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

enum { MAX_FRAMES = 1024 };

struct frame {
    struct tg_heap_frame is; /* key: no padding that is not zero */
    UT_hash_handle hh;
};

struct entry {
    struct tg_heap_path is;
    const struct tg_heap_frame **key; /* frames of the path, and END as one more word */
    uint32_t number;
    UT_hash_handle hh;
};

struct tg_heap_call_paths {
    struct tg_string_pool strings;
    struct frame *frames;
    struct entry *by_frames;
    struct entry **entries; /* by number */
    size_t count, capacity;
};

static struct tg_error *add_path(struct tg_heap_call_paths *paths, const struct tg_heap_frame **key,
                                 size_t count, uint64_t end, struct entry **added)
{
    struct entry *entry = calloc(1, sizeof *entry);
    size_t key_bytes = (count + 1) * sizeof(*key);
    const struct tg_heap_frame **own = entry == NULL ? NULL : malloc(key_bytes);
    if (own == NULL) {
        free(entry);
        return tg_error_no_memory();
    }
    memcpy(own, key, key_bytes);
    entry->key = own;
    entry->is = (struct tg_heap_path){.frames = own, .count = count, .end = end};
    entry->number = (uint32_t)paths->count;
    struct tg_error *error = TG_ARRAY_APPEND(paths->entries, paths->count, paths->capacity, entry);
    if (error == NULL && (error = TG_HASH_ADD_KEY(hh, paths->by_frames, own, key_bytes, entry)) != NULL)
        paths->count--;
    if (error != NULL) {
        free(own);
        free(entry);
        return error;
    }
    *added = entry;
    return NULL;
}

struct tg_error *tg_heap_call_paths_create(struct tg_heap_call_paths **paths)
{
    struct tg_heap_call_paths *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    uint32_t none;
    struct tg_error *error = tg_heap_call_paths_intern(made, NULL, 0, 0, TG_STACK_WHOLE, &none);
    if (error != NULL) {
        tg_heap_call_paths_destroy(made);
        return error;
    }
    *paths = made;
    return NULL;
}

void tg_heap_call_paths_destroy(struct tg_heap_call_paths *paths)
{
    if (paths == NULL)
        return;
    HASH_CLEAR(hh, paths->by_frames);
    for (size_t i = 0; i < paths->count; i++) {
        free(paths->entries[i]->key);
        free(paths->entries[i]);
    }
    free(paths->entries);
    struct frame *frame, *next;
    HASH_ITER (hh, paths->frames, frame, next) {
        HASH_DEL(paths->frames, frame);
        free(frame);
    }
    tg_string_pool_deinit(&paths->strings);
    free(paths);
}

static struct tg_error *intern_frame(struct tg_heap_call_paths *paths, const struct tg_stack_frame *frame,
                                     const struct tg_heap_frame **interned)
{
    struct tg_heap_frame key;
    struct frame *found = NULL;
    bool is_python = frame->kind == TG_FRAME_PYTHON;
    memset(&key, 0, sizeof key);
    key.address = is_python ? 0 : *frame->module != '\0' ? frame->address : frame->pc;
    key.is_python = is_python;
    key.is_signal = frame->kind == TG_FRAME_SIGNAL;
    key.line = is_python ? frame->line : 0;
    struct tg_error *error = tg_string_pool_intern(&paths->strings, frame->module, &key.module);
    if (error == NULL)
        error = tg_string_pool_intern(&paths->strings, frame->build_id, &key.build_id);
    if (error == NULL)
        error = tg_string_pool_intern(&paths->strings, is_python ? frame->function : "", &key.function);
    if (error == NULL)
        error = tg_string_pool_intern(&paths->strings, is_python ? frame->file : "", &key.file);
    if (error != NULL)
        return error;
    HASH_FIND(hh, paths->frames, &key, sizeof key, found);
    if (found == NULL)
        error = TG_HASH_CREATE(hh, paths->frames, is, &key, found);
    if (error == NULL)
        *interned = &found->is;
    return error;
}

struct tg_error *tg_heap_call_paths_intern(struct tg_heap_call_paths *paths,
                                           const struct tg_stack_frame *frames, size_t count, uint32_t outer,
                                           uint64_t end, uint32_t *path)
{
    const struct tg_heap_frame *key[MAX_FRAMES + 1];
    const struct tg_heap_path none = {0}, *further = paths->count > 0 ? &paths->entries[outer]->is : &none;
    if (count > MAX_FRAMES) {
        count = MAX_FRAMES;
        end = TG_STACK_CUT;
    }
    for (size_t i = 0; i < count; i++) {
        struct tg_error *error = intern_frame(paths, &frames[i], &key[i]);
        if (error != NULL)
            return error;
    }
    for (size_t i = 0; i < further->count; i++) {
        if (count == MAX_FRAMES) {
            end = TG_STACK_CUT;
            break;
        }
        key[count++] = further->frames[i];
    }
    uintptr_t last = (uintptr_t)end;
    memcpy(&key[count], &last, sizeof last);
    struct entry *entry = NULL;
    HASH_FIND(hh, paths->by_frames, key, (count + 1) * sizeof *key, entry);
    struct tg_error *error = entry == NULL ? add_path(paths, key, count, end, &entry) : NULL;
    if (error == NULL)
        *path = entry->number;
    return error;
}

const struct tg_heap_path *tg_heap_call_paths_at(const struct tg_heap_call_paths *paths, uint32_t path)
{
    return &paths->entries[path]->is;
}
