#include "recorder/dwarf/modules.h"

#include "format/base/agent_file.h"
#include "format/base/array.h"
#include "format/base/search.h"
#include "format/image/elf_decode.h"
#include "format/image/mangled_name.h"
#include "recorder/process/image_peek.h"
#include "recorder/process/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODULES = 1 << 16 };

/* TG_MODULE first: that is what is handed out. */
struct module {
    struct tg_module module;
    unsigned major, minor;
    uint64_t inode;
    bool tried;
    struct tg_debug_info *info;
    uint64_t bias;
    char build_id[TG_ELF_BUILD_ID_CHARS];
    char path[];
};

struct list {
    struct module **items; /* by start */
    size_t count;
    size_t capacity;
};

struct tg_modules {
    pid_t pid;
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct list list;
    uint64_t signature; /* of the mappings that objects may begin with */
};

struct tg_error *tg_modules_create(pid_t pid, struct tg_image_cache *images, struct tg_debug_cache *debug,
                                   struct tg_modules **result)
{
    struct tg_modules *modules = calloc(1, sizeof *modules);
    if (modules == NULL)
        return tg_error_no_memory();
    *modules = (struct tg_modules){.pid = pid, .images = images, .debug = debug};
    *result = modules;
    return NULL;
}

static void destroy_module(struct tg_modules *modules, struct module *module)
{
    if (module == NULL)
        return;
    tg_debug_cache_put(modules->debug, module->info);
    free(module);
}

static void destroy_list(struct tg_modules *modules, struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        destroy_module(modules, list->items[i]);
    free(list->items);
}

void tg_modules_destroy(struct tg_modules *modules)
{
    if (modules == NULL)
        return;
    destroy_list(modules, &modules->list);
    free(modules);
}

/* ---- what is mapped */

static bool may_begin_object(const struct tg_mapping *mapping)
{
    return mapping->offset == 0 && mapping->readable &&
           (mapping->inode != 0 || strcmp(mapping->path, "[vdso]") == 0);
}

/* FNV-1a of mappings, one after the other. */
static uint64_t sign(uint64_t signature, const struct tg_mapping *mapping)
{
    enum { PRIME_SHIFT = 40 };
    const uint64_t prime = (1ull << PRIME_SHIFT) + 0x1b3;
    const uint64_t numbers[] = {mapping->start, mapping->end, mapping->major, mapping->minor, mapping->inode};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signature = (signature ^ numbers[i]) * prime;
    for (const char *at = mapping->path; *at != '\0'; at++)
        signature = (signature ^ (uint8_t)*at) * prime;
    return signature;
}

/* The object that begins at MAPPING where it was known before: then it is taken out of OLD. */
static struct module *take_known(struct list *old, size_t *at, const struct tg_mapping *mapping)
{
    while (*at < old->count && (old->items[*at] == NULL || old->items[*at]->module.start < mapping->start))
        ++*at;
    struct module *module = *at < old->count ? old->items[*at] : NULL;
    if (module == NULL || module->module.start != mapping->start || module->inode != mapping->inode ||
        module->major != mapping->major || module->minor != mapping->minor ||
        strcmp(module->path, mapping->path) != 0)
        return NULL;
    old->items[*at] = NULL;
    return module;
}

/* NULL: there is no memory. */
static struct module *make(uint64_t start, uint64_t end, const char *path, const char *build_id)
{
    size_t path_size = strlen(path) + 1;
    struct module *module = calloc(1, sizeof *module + path_size);
    if (module == NULL)
        return NULL;
    snprintf(module->build_id, sizeof module->build_id, "%s", build_id);
    memcpy(module->path, path, path_size);
    module->module =
        (struct tg_module){.start = start, .end = end, .path = module->path, .build_id = module->build_id};
    return module;
}

/* NULL: it is no ELF object, or (NO_MEMORY) there is no memory. */
static struct module *look_at(const struct tg_modules *modules, const struct tg_mapping *mapping,
                              bool *no_memory)
{
    char build_id[TG_ELF_BUILD_ID_CHARS];
    uint64_t size_bytes;
    if (!tg_image_peek(modules->pid, mapping->start, build_id, &size_bytes) || size_bytes == 0 ||
        size_bytes > UINT64_MAX - mapping->start)
        return NULL;
    struct module *module = make(mapping->start, mapping->start + size_bytes, mapping->path, build_id);
    if (module == NULL) {
        *no_memory = true;
        return NULL;
    }
    module->major = mapping->major;
    module->minor = mapping->minor;
    module->inode = mapping->inode;
    return module;
}

static bool append(struct list *list, struct module *module)
{
    return TG_ARRAY_APPEND(list->items, list->count, list->capacity, module) == NULL;
}

/* The objects of MAPPINGS go to FRESH, those that are known already out of the old list. */
static bool read_mappings(struct tg_modules *modules, struct tg_mappings *mappings, struct list *fresh)
{
    struct tg_mapping mapping;
    bool no_memory = false;
    size_t at = 0;
    while (fresh->count < MAX_MODULES && tg_mappings_next(mappings, &mapping)) {
        if (!may_begin_object(&mapping))
            continue;
        modules->signature = sign(modules->signature, &mapping);
        struct module *last = fresh->count > 0 ? fresh->items[fresh->count - 1] : NULL;
        if (last != NULL && mapping.start < last->module.end)
            continue; /* the first page once more, as small objects have it */
        struct module *module = take_known(&modules->list, &at, &mapping);
        if (module == NULL)
            module = look_at(modules, &mapping, &no_memory);
        if (no_memory)
            return false;
        if (module != NULL && !append(fresh, module)) {
            destroy_module(modules, module);
            return false;
        }
    }
    return true;
}

struct tg_error *tg_modules_refresh(struct tg_modules *modules)
{
    struct tg_mappings mappings;
    if (!tg_mappings_open(&mappings, modules->pid))
        return tg_error_create_errno(errno, "cannot read /proc/%d/maps", (int)modules->pid);
    struct list fresh = {0};
    modules->signature = 0;
    bool ok = read_mappings(modules, &mappings, &fresh);
    tg_mappings_close(&mappings);
    /* modules not seen again are gone; without memory only those seen so far remain */
    destroy_list(modules, &modules->list);
    modules->list = fresh;
    return ok ? NULL : tg_error_no_memory();
}

bool tg_modules_is_current(const struct tg_modules *modules)
{
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    uint64_t signature = 0;
    bool is_open = tg_mappings_open(&mappings, modules->pid);
    while (tg_mappings_next(&mappings, &mapping))
        if (may_begin_object(&mapping))
            signature = sign(signature, &mapping);
    tg_mappings_close(&mappings);
    return is_open && signature == modules->signature;
}

/* ---- what was mapped */

static struct tg_error *add_place(struct tg_modules *modules, const struct tg_module_place *place)
{
    struct module *module = make(place->start, place->end, place->path, place->build_id);
    if (module == NULL || !append(&modules->list, module)) {
        free(module);
        return tg_error_no_memory();
    }
    module->tried = true;
    if (place->image == NULL)
        return NULL;
    module->bias = place->start - tg_image_info(place->image)->start;
    return tg_debug_cache_get(modules->debug, place->image, &module->info);
}

struct tg_error *tg_modules_create_of(const struct tg_module_place *places, size_t count,
                                      struct tg_debug_cache *debug, struct tg_modules **result)
{
    struct tg_modules *modules;
    struct tg_error *error = tg_modules_create(0, NULL, debug, &modules);
    if (error != NULL)
        return error;
    for (size_t i = 0; error == NULL && i < count; i++)
        error = add_place(modules, &places[i]);
    if (error != NULL)
        tg_modules_destroy(modules);
    else
        *result = modules;
    return error;
}

/* ---- questions */

size_t tg_modules_count(const struct tg_modules *modules)
{
    return modules->list.count;
}

const struct tg_module *tg_modules_at(const struct tg_modules *modules, size_t i)
{
    return &modules->list.items[i]->module;
}

const struct tg_module *tg_modules_find(const struct tg_modules *modules, uint64_t address)
{
    size_t low = TG_PARTITION_POINT(modules->list.count, i, modules->list.items[i]->module.start <= address);
    const struct tg_module *module = low > 0 ? &modules->list.items[low - 1]->module : NULL;
    return module != NULL && address < module->end ? module : NULL;
}

bool tg_module_is_agent(const struct tg_module *module)
{
    return module != NULL && tg_agent_file_is(module->path);
}

bool tg_modules_is_same_code(const struct tg_modules *a, uint64_t a_pc, const struct tg_modules *b,
                             uint64_t b_pc)
{
    const struct tg_module *in_a = tg_modules_find(a, a_pc), *in_b = tg_modules_find(b, b_pc);
    if (in_a == NULL || in_b == NULL)
        return in_a == in_b && a_pc == b_pc;
    return a_pc - in_a->start == b_pc - in_b->start && strcmp(in_a->path, in_b->path) == 0 &&
           strcmp(in_a->build_id, in_b->build_id) == 0;
}

static void open_module(struct tg_modules *modules, struct module *module)
{
    struct tg_image_source source = {
        .pid = modules->pid,
        .path = module->path,
        .header = module->module.start,
        .build_id = module->build_id,
    };
    struct tg_image *image;
    struct tg_error *error = tg_image_cache_get(modules->images, &source, &image);
    if (error == NULL) {
        module->bias = module->module.start - tg_image_info(image)->start;
        error = tg_debug_cache_get(modules->debug, image, &module->info);
        tg_image_unref(image);
    }
    tg_error_destroy(error);
}

struct tg_debug_info *tg_modules_debug_info(struct tg_modules *modules, const struct tg_module *handed_out,
                                            uint64_t *bias)
{
    struct module *module = (struct module *)handed_out;
    if (!module->tried) {
        module->tried = true;
        open_module(modules, module);
    }
    *bias = module->bias;
    return module->info;
}

struct tg_debug_info *tg_modules_debug_info_at(struct tg_modules *modules, uint64_t address, uint64_t *bias)
{
    const struct tg_module *module = tg_modules_find(modules, address);
    return module != NULL ? tg_modules_debug_info(modules, module, bias) : NULL;
}

bool tg_modules_symbol_at(struct tg_modules *modules, uint64_t address, const char **name, uint64_t *offset)
{
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info_at(modules, address, &bias);
    return info != NULL && tg_debug_info_symbol_at(info, address - bias, name, offset);
}

static char *function_at(struct tg_modules *modules, uint64_t address, uint64_t *offset)
{
    const char *name;
    return tg_modules_symbol_at(modules, address, &name, offset) ? tg_mangled_name_words(name) : NULL;
}

char *tg_modules_innermost_at(struct tg_modules *modules, uint64_t address, uint64_t *offset)
{
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info_at(modules, address, &bias);
    const struct tg_code_place *place = info == NULL ? NULL : tg_debug_info_place(info, address - bias);
    if (place == NULL || !place->calls[0].is_inlined || place->calls[0].name == NULL)
        return function_at(modules, address, offset);
    *offset = place->calls[0].offset;
    return strdup(place->calls[0].name);
}

bool tg_modules_row_at(struct tg_modules *modules, uint64_t address, struct tg_debug_row *row)
{
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info_at(modules, address, &bias);
    struct tg_debug_units *units = info != NULL ? tg_debug_info_units(info) : NULL;
    if (units == NULL || !tg_debug_units_row_at(units, address - bias, row))
        return false;
    row->start += bias;
    row->end += bias;
    return true;
}
