#include "recorder/agent/heap/objects.h"

#include "recorder/agent/audit/object.h"
#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/memory.h"
#include "recorder/agent/record.h"
#include "recorder/agent/symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <linux/limits.h>

enum { SLOTS = 1 << 13 };

static struct tg_heap_hash_set objects;
static char program_path[PATH_MAX];

bool tg_heap_objects_prepare(void)
{
    if (!tg_agent.no_calls)
        (void)tg_raw_call(SYS_readlink, (long)"/proc/self/exe", (long)program_path, sizeof program_path - 1,
                          0, 0, 0);
    objects.slots = tg_heap_memory_map(SLOTS * sizeof objects.slots[0], false);
    objects.size = SLOTS;
    return objects.slots != NULL;
}

/* The loader has no name for the program. Nothing large is on the stack: a signal handler's may be small. */
static const char *path_of(const struct link_map *map)
{
    return map->l_name != NULL && map->l_name[0] != '\0' ? map->l_name : program_path;
}

const char *tg_heap_object_path(const void *address)
{
    struct dl_find_object object;
    return _dl_find_object((void *)(uintptr_t)address, &object) == 0 ? path_of(object.dlfo_link_map) : "";
}

bool tg_heap_object_is_named(const void *address, const char *const *names, unsigned n)
{
    const char *name = tg_heap_object_path(address);
    for (const char *at = name; *at != '\0'; at++)
        name = *at == '/' ? at : name;
    for (unsigned i = 0; i < n; i++) {
        unsigned same = 0;
        while (names[i][same] != '\0' && names[i][same] == name[same])
            same++;
        if (names[i][same] == '\0')
            return true;
    }
    return false;
}

bool tg_heap_object_is_cxx_library(const void *address)
{
    static const char *const libraries[] = {"/libstdc++.so", "/libc++.so", "/libc++abi.so"};
    return tg_heap_object_is_named(address, libraries, sizeof libraries / sizeof libraries[0]);
}

bool tg_heap_object_has_operators(const void *address)
{
    static const char *const names[] = {"_Znwm", "_Znam", "_ZdlPv", "_ZdaPv"};
    struct dl_find_object object;
    struct tg_agent_symbols symbols;
    bool has = false;
    if (_dl_find_object((void *)(uintptr_t)address, &object) != 0 ||
        !tg_agent_symbols_read(object.dlfo_link_map->l_addr, object.dlfo_link_map->l_ld, &symbols))
        return false;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        has = has || tg_agent_symbols_index(&symbols, names[i], tg_agent_symbols_hash(names[i])) != 0;
    return has && !tg_heap_object_is_cxx_library(address);
}

static bool tell(const struct dl_find_object *object)
{
    struct tg_audit_object read = {0};
    const char *path = path_of(object->dlfo_link_map);
    if (!tg_agent.no_calls) /* one says whether what is there can be read */
        tg_audit_object_read((uintptr_t)object->dlfo_map_start, &read);
    size_t n_words = tg_agent_string_words(path);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_HEAP_OBJECT, 7 + n_words);
    if (arguments == NULL)
        return false;
    arguments[0] = (uintptr_t)object->dlfo_map_start;
    arguments[1] = (uintptr_t)object->dlfo_map_end;
    arguments[2] = object->dlfo_link_map->l_addr;
    arguments[3] = read.build_id_length;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t word;
        __builtin_memcpy(&word, read.build_id + i * sizeof word, sizeof word);
        arguments[4 + i] = word;
    }
    tg_agent_put_string(arguments + 7, path, n_words);
    tg_agent_commit();
    return true;
}

void tg_heap_object_tell(uint64_t address, uint64_t *start, uint64_t *end)
{
    struct dl_find_object object;
    uint32_t slot;
    *start = *end = 0;
    if (address == 0 || _dl_find_object((void *)(uintptr_t)address, &object) != 0)
        return;
    uint64_t number = tg_heap_hash_mix(tg_agent_unloads(), (uintptr_t)object.dlfo_map_start);
    enum tg_heap_hash_found found = tg_heap_hash_set_add(&objects, number, &slot);
    if (found == TG_HEAP_HASH_UNTOLD && tell(&object)) {
        tg_heap_hash_set_told(&objects, slot);
        found = TG_HEAP_HASH_TOLD;
    }
    if (found == TG_HEAP_HASH_TOLD) {
        *start = (uintptr_t)object.dlfo_map_start;
        *end = (uintptr_t)object.dlfo_map_end;
    }
}
