#include "format/trace/meta.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char *key;
    char *value;
    UT_hash_handle hh;
};

struct tg_trace_meta {
    struct entry *by_key;
    struct entry **in_order;
    size_t count;
    size_t capacity;
    size_t total_bytes;
};

struct tg_error *tg_trace_meta_create(struct tg_trace_meta **meta)
{
    struct tg_trace_meta *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    *meta = created;
    return NULL;
}

static void entry_destroy(struct entry *entry)
{
    if (entry == NULL)
        return;
    free(entry->key);
    free(entry->value);
    free(entry);
}

void tg_trace_meta_destroy(struct tg_trace_meta *meta)
{
    if (meta == NULL)
        return;
    HASH_CLEAR(hh, meta->by_key);
    for (size_t i = 0; i < meta->count; i++)
        entry_destroy(meta->in_order[i]);
    free(meta->in_order);
    free(meta);
}

static struct entry *find(const struct tg_trace_meta *meta, const char *key)
{
    struct entry *entry = NULL;
    HASH_FIND_STR(meta->by_key, key, entry);
    return entry;
}

static struct tg_error *append(struct tg_trace_meta *meta, const char *key, char *value)
{
    struct tg_error *error = TG_ARRAY_RESERVE(meta->in_order, meta->capacity, meta->count + 1);
    if (error != NULL)
        return error;
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL || (entry->key = strdup(key)) == NULL) {
        free(entry);
        return tg_error_no_memory();
    }
    error = TG_HASH_ADD_KEY(hh, meta->by_key, entry->key, strlen(entry->key), entry);
    if (error != NULL) {
        free(entry->key);
        free(entry);
        return error;
    }
    entry->value = value;
    meta->in_order[meta->count++] = entry;
    return NULL;
}

struct tg_error *tg_trace_meta_set(struct tg_trace_meta *meta, const char *key, const char *value)
{
    size_t key_bytes = strlen(key), value_bytes = strlen(value);
    struct entry *entry = find(meta, key);
    size_t total = meta->total_bytes + value_bytes;
    total = entry == NULL ? total + key_bytes + 2 : total - strlen(entry->value);
    if (key_bytes == 0 || key_bytes > TG_TRACE_META_MAX_KEY || value_bytes > TG_TRACE_META_MAX_VALUE ||
        total > TG_TRACE_META_MAX_TOTAL || (entry == NULL && meta->count >= TG_TRACE_META_MAX_COUNT))
        return tg_error_create(TG_ERROR_LIMIT,
                               "trace header: key \"%.100s\" with a value of %zu bytes exceeds the limits "
                               "(%d keys, %d bytes a value, %d together)",
                               key, value_bytes, TG_TRACE_META_MAX_COUNT, TG_TRACE_META_MAX_VALUE,
                               TG_TRACE_META_MAX_TOTAL);
    char *copy = strdup(value);
    if (copy == NULL)
        return tg_error_no_memory();
    if (entry != NULL) {
        free(entry->value);
        entry->value = copy;
    } else {
        struct tg_error *error = append(meta, key, copy);
        if (error != NULL) {
            free(copy);
            return error;
        }
    }
    meta->total_bytes = total;
    return NULL;
}

struct tg_error *tg_trace_meta_set_number(struct tg_trace_meta *meta, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return tg_trace_meta_set(meta, key, text);
}

const char *tg_trace_meta_get(const struct tg_trace_meta *meta, const char *key)
{
    const struct entry *entry = find(meta, key);
    return entry == NULL ? NULL : entry->value;
}

uint64_t tg_trace_meta_get_number(const struct tg_trace_meta *meta, const char *key, uint64_t fallback)
{
    const char *text = tg_trace_meta_get(meta, key);
    if (text == NULL || *text < '0' || *text > '9')
        return fallback;
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    return errno != 0 || *end != '\0' ? fallback : value;
}

bool tg_trace_meta_is_untraced(const struct tg_trace_meta *meta)
{
    const char *ptrace = tg_trace_meta_get(meta, "capture.ptrace");
    return ptrace != NULL && strcmp(ptrace, "off") == 0;
}

size_t tg_trace_meta_count(const struct tg_trace_meta *meta)
{
    return meta->count;
}

const char *tg_trace_meta_key_at(const struct tg_trace_meta *meta, size_t i)
{
    return meta->in_order[i]->key;
}

const char *tg_trace_meta_value_at(const struct tg_trace_meta *meta, size_t i)
{
    return meta->in_order[i]->value;
}

static struct tg_error *read_resolution(const struct tg_trace_meta *meta, const char *key, unsigned fallback,
                                        unsigned *shift)
{
    const char *value = tg_trace_meta_get(meta, key);
    *shift = fallback;
    if (value == NULL)
        return NULL;
    uint64_t resolution_ns = tg_trace_meta_get_number(meta, key, 0);
    if (resolution_ns == 0 || resolution_ns > UINT64_C(1) << TG_TRACE_META_MAX_TIME_SHIFT ||
        (resolution_ns & (resolution_ns - 1)) != 0)
        return tg_error_create(TG_ERROR_USAGE, "%s is \"%.40s\", not a power of two from 1 to %d", key, value,
                               1 << TG_TRACE_META_MAX_TIME_SHIFT);
    *shift = (unsigned)__builtin_ctzll(resolution_ns);
    return NULL;
}

struct tg_error *tg_trace_meta_units(const struct tg_trace_meta *meta, struct tg_trace_units *units)
{
    struct tg_trace_units found;
    struct tg_error *error = read_resolution(meta, "time.resolution_ns", 0, &found.time_shift);
    if (error == NULL)
        error = read_resolution(meta, "stop.resolution_ns", found.time_shift, &found.stop_shift);
    if (error == NULL && found.stop_shift < found.time_shift)
        error = tg_error_create(TG_ERROR_USAGE, "stop.resolution_ns is less than time.resolution_ns");
    if (error == NULL)
        *units = found;
    return error;
}
