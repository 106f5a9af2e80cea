#include "recorder/agent/heap/objects.h"

#include "recorder/agent/audit/object.h"
#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/memory.h"
#include "recorder/agent/record.h"

#include <dlfcn.h>
#include <link.h>

enum { SLOTS = 1 << 13 };

static struct tg_heap_hash_set objects;

bool tg_heap_objects_prepare(void)
{
    objects.slots = tg_heap_memory_map(SLOTS * sizeof objects.slots[0], false);
    objects.size = SLOTS;
    return objects.slots != NULL;
}

/* The loader has no name for the program. */
static void path_of(const struct link_map *map, char path[PATH_MAX])
{
    long length = 0;
    if (map->l_name != NULL && map->l_name[0] != '\0') {
        while (length < PATH_MAX - 1 && map->l_name[length] != '\0') {
            path[length] = map->l_name[length];
            length++;
        }
    } else if (!tg_agent.no_calls) {
        length = tg_raw_call(SYS_readlink, (long)"/proc/self/exe", (long)path, PATH_MAX - 1, 0, 0, 0);
    }
    path[length > 0 ? length : 0] = '\0';
}

void tg_heap_object_path(const void *address, char path[PATH_MAX])
{
    struct dl_find_object object;
    path[0] = '\0';
    if (_dl_find_object((void *)(uintptr_t)address, &object) == 0)
        path_of(object.dlfo_link_map, path);
}

static bool tell(const struct dl_find_object *object)
{
    char path[PATH_MAX];
    struct tg_audit_object read;
    path_of(object->dlfo_link_map, path);
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

void tg_heap_object_tell(uint64_t address)
{
    struct dl_find_object object;
    uint32_t slot;
    if (address == 0 || _dl_find_object((void *)(uintptr_t)address, &object) != 0)
        return;
    uint64_t number = tg_heap_hash_mix(tg_agent_unloads(), (uintptr_t)object.dlfo_map_start);
    if (tg_heap_hash_set_add(&objects, number, &slot) == TG_HEAP_HASH_UNTOLD && tell(&object))
        tg_heap_hash_set_told(&objects, slot);
}
