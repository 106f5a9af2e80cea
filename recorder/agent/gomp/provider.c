#include "recorder/agent/gomp/provider.h"

#include "recorder/agent/gomp/memory.h"

#include <string.h>

enum { MAX_OBJECTS = 4096 };

/* A loaded object on the way from who calls to who defines. */
struct object {
    struct tg_agent_symbols symbols;
    const char *soname; /* "" for none */
    uintptr_t start, end;
    bool is_agent, is_met;
};

struct objects {
    size_t n, n_queued;
    struct object object[MAX_OBJECTS];
    uint16_t queue[MAX_OBJECTS];
};

static size_t n_startup;

/* ---- what the process started with */

static int count_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    ++*(size_t *)context;
    return 0;
}

void tg_gomp_provider_count_startup(void)
{
    size_t n = 0;
    dl_iterate_phdr(count_object, &n);
    n_startup = n;
}

struct startup_search {
    const char *name;
    size_t n;
    bool behind_us, found;
};

static int look_into_startup(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct startup_search *search = context;
    if (search->n++ == n_startup)
        return 1;
    struct tg_agent_symbols symbols;
    if (!search->behind_us)
        search->behind_us = tg_agent_object_holds(info, (uintptr_t)&look_into_startup);
    else if (tg_agent_object_symbols(info, &symbols))
        search->found = tg_agent_symbols_find(&symbols, search->name) != NULL;
    return search->found;
}

bool tg_gomp_provider_is_startup(const char *name)
{
    struct startup_search search = {.name = name};
    dl_iterate_phdr(look_into_startup, &search);
    return search.found;
}

/* ---- what came later */

static int read_counts(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = (uint64_t)info->dlpi_adds << 32 ^ (uint64_t)info->dlpi_subs;
    return 1;
}

uint64_t tg_gomp_provider_epoch(void)
{
    uint64_t epoch = 0;
    dl_iterate_phdr(read_counts, &epoch);
    return epoch;
}

static const char *name_in(const struct tg_agent_symbols *symbols, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = symbols->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return symbols->names + entry->d_un.d_val;
    return "";
}

static int collect(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct objects *objects = context;
    struct object *object = &objects->object[objects->n];
    if (objects->n == MAX_OBJECTS || !tg_agent_object_symbols(info, &object->symbols))
        return objects->n == MAX_OBJECTS;
    object->soname = name_in(&object->symbols, DT_SONAME);
    if (object->soname[0] == '\0') {
        const char *slash = strrchr(info->dlpi_name, '/');
        object->soname = slash == NULL ? info->dlpi_name : slash + 1;
    }
    object->start = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && start < object->start)
            object->start = start;
        if (header->p_type == PT_LOAD && start + header->p_memsz > object->end)
            object->end = start + header->p_memsz;
    }
    object->is_agent = tg_agent_object_holds(info, (uintptr_t)&collect);
    objects->n++;
    return 0;
}

static void meet(struct objects *objects, size_t i)
{
    if (!objects->object[i].is_met)
        objects->queue[objects->n_queued++] = (uint16_t)i;
    objects->object[i].is_met = true;
}

static void meet_named(struct objects *objects, const char *soname)
{
    for (size_t i = 0; i < objects->n; i++)
        if (strcmp(objects->object[i].soname, soname) == 0) {
            meet(objects, i);
            return;
        }
}

static bool defines(const struct object *object, const char *name)
{
    return !object->is_agent && tg_agent_symbols_find(&object->symbols, name) != NULL;
}

/* The libraries of the object FIRST, theirs, and so on, nearest first, as the dynamic loader searches
 * them. */
static const struct object *find_linked(struct objects *objects, size_t first, const char *name)
{
    meet(objects, first);
    for (size_t i = 0; i < objects->n_queued; i++) {
        const struct object *object = &objects->object[objects->queue[i]];
        if (defines(object, name))
            return object;
        for (const ElfW(Dyn) *entry = object->symbols.dynamic; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_NEEDED)
                meet_named(objects, object->symbols.names + entry->d_un.d_val);
    }
    return NULL;
}

struct search {
    const char *name;
    const void *code;
    struct objects *objects;
    struct tg_gomp_provider *provider;
    bool found;
};

/* With the lock of the list of objects, without which one of them could be unmapped while it is read. It may be taken again. */
static int search_locked(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    struct search *search = context;
    struct objects *objects = search->objects;
    dl_iterate_phdr(collect, objects);
    const struct object *found = NULL;
    uintptr_t start = 0, end = 0;
    for (size_t i = 0; i < objects->n && found == NULL; i++) {
        const struct object *object = &objects->object[i];
        if ((uintptr_t)search->code < object->start || (uintptr_t)search->code >= object->end)
            continue;
        start = object->start;
        end = object->end;
        found = find_linked(objects, i, search->name);
        break;
    }
    for (size_t i = 0; i < objects->n && found == NULL; i++)
        if (defines(&objects->object[i], search->name))
            found = &objects->object[i];
    if (found != NULL)
        *search->provider = (struct tg_gomp_provider){found->symbols, start, end};
    search->found = found != NULL;
    return 1;
}

bool tg_gomp_provider_find(const char *name, const void *code, struct tg_gomp_provider *provider)
{
    struct search search = {
        .name = name, .code = code, .objects = tg_gomp_memory(sizeof *search.objects), .provider = provider};
    if (search.objects == NULL)
        return false;
    dl_iterate_phdr(search_locked, &search);
    tg_gomp_memory_free(search.objects, sizeof *search.objects);
    return search.found;
}
