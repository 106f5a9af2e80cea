#include "recorder/stacks/code_table.h"

#include "format/base/hash.h"
#include "format/base/string_pool.h"
#include "format/image/mangled_name.h"

#include <stdlib.h>
#include <time.h>

enum { MAX_ADDRESSES = 1 << 16 };

struct key {
    const struct tg_debug_info *info;
    uint64_t address;
};

struct entry {
    struct key key;
    struct tg_debug_info *info; /* a reference */
    const char *module, *build_id;
    bool is_told;
    UT_hash_handle hh;
};

struct tg_code_table {
    struct entry *entries; /* in the order of addition */
    struct tg_string_pool strings;
};

struct tg_error *tg_code_table_create(struct tg_code_table **table)
{
    *table = calloc(1, sizeof **table);
    return *table == NULL ? tg_error_no_memory() : NULL;
}

void tg_code_table_destroy(struct tg_code_table *table)
{
    struct entry *entry, *next;
    if (table == NULL)
        return;
    HASH_ITER (hh, table->entries, entry, next) {
        HASH_DEL(table->entries, entry);
        tg_debug_info_unref(entry->info);
        free(entry);
    }
    tg_string_pool_deinit(&table->strings);
    free(table);
}

void tg_code_table_add(struct tg_code_table *table, const struct tg_module *module,
                       struct tg_debug_info *info, uint64_t address)
{
    struct key key;
    struct entry *entry = NULL;
    memset(&key, 0, sizeof key);
    key.info = info;
    key.address = address;
    HASH_FIND(hh, table->entries, &key, sizeof key, entry);
    if (entry != NULL || HASH_COUNT(table->entries) >= MAX_ADDRESSES)
        return;
    const char *path, *build_id;
    if (tg_string_pool_intern(&table->strings, module->path, &path) != NULL ||
        tg_string_pool_intern(&table->strings, module->build_id, &build_id) != NULL ||
        TG_HASH_CREATE(hh, table->entries, key, &key, entry) != NULL)
        return;
    entry->info = tg_debug_info_ref(info);
    entry->module = path;
    entry->build_id = build_id;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The function with its classes and namespaces, which debug information has not in one name; NULL: it has none. To
 * be freed. */
static char *qualified_name(const struct entry *entry)
{
    const char *symbol;
    uint64_t offset;
    if (!tg_debug_info_symbol_at(entry->info, entry->key.address, &symbol, &offset) ||
        (strncmp(symbol, "_Z", 2) != 0 && strncmp(symbol, "__", 2) != 0))
        return NULL;
    char *words = tg_mangled_name_words(symbol);
    if (words != NULL && strstr(words, "::") != NULL)
        return words;
    free(words);
    return NULL;
}

static void tell(const struct entry *entry, void (*emit)(void *context, const struct tg_event *event),
                 void *context)
{
    const struct tg_code_place *place = tg_debug_info_place(entry->info, entry->key.address);
    struct tg_named_call calls[TG_CODE_PLACE_MAX_CALLS];
    bool is_known = false;
    for (size_t i = 0; place != NULL && i < place->count; i++) {
        const struct tg_code_call *call = &place->calls[i];
        calls[i] = (struct tg_named_call){
            .function = call->name != NULL ? call->name : "",
            .offset = call->offset,
            .file = call->file != NULL ? call->file : "",
            .line = call->file != NULL && call->line > 0 ? (uint64_t)call->line : 0,
            .inlined = call->is_inlined,
        };
        is_known |= call->name != NULL || call->file != NULL;
    }
    if (!is_known)
        return;
    char *qualified = qualified_name(entry);
    if (qualified != NULL)
        calls[place->count - 1].function = qualified;
    emit(context, &(struct tg_event){.kind = TG_EVENT_CODE_NAME,
                                     .code_name = {.module = entry->module,
                                                   .build_id = entry->build_id,
                                                   .address = entry->key.address,
                                                   .calls = {.items = calls, .count = place->count}}});
    free(qualified);
}

/* Whether MODULE is a file of the system's packages, whose debug information may be large and is not what people look for
 * first. */
static bool is_of_system(const char *module)
{
    return (strncmp(module, "/usr/", 5) == 0 && strncmp(module, "/usr/local/", 11) != 0) ||
           strncmp(module, "/lib/", 5) == 0 || strncmp(module, "/lib64/", 7) == 0 || module[0] == '[';
}

size_t tg_code_table_tell(struct tg_code_table *table, uint64_t until_ns, bool is_strict,
                          void (*emit)(void *context, const struct tg_event *event), void *context)
{
    size_t left = 0;
    uint64_t start_ns = now_ns(), half_ns = start_ns + (until_ns - start_ns) / 2;
    for (int of_system = 0; of_system < 2; of_system++)
        for (struct entry *entry = table->entries; entry != NULL; entry = entry->hh.next) {
            if (entry->is_told || is_of_system(entry->module) != of_system)
                continue;
            entry->is_told = now_ns() < until_ns;
            if (entry->is_told && is_strict)
                tg_debug_info_open_until(entry->info, of_system ? half_ns : until_ns);
            if (entry->is_told)
                tell(entry, emit, context);
            else
                left++;
        }
    return left;
}
