#include "recorder/loader/loaded_object.h"

#include "format/base/search.h"
#include "recorder/agent/wrapper_name.h"
#include "recorder/process/image_peek.h"
#include "recorder/process/memory.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DYNAMIC_ENTRIES = 128,
    MAX_NEEDED = 60, /* needed libraries of one object; one system call reads them */
    MAX_SONAME = 256,
};

/* The kernel's own object appears in the list under its soname, which no file has. */
static bool is_vdso(const char *path)
{
    return strncmp(path, "linux-vdso", 10) == 0 || strncmp(path, "linux-gate", 10) == 0;
}

bool tg_loaded_object_read(pid_t pid, const struct tg_link_node *node, const char *name, bool main,
                           struct tg_loaded_object **object, bool *no_memory)
{
    char text_read[PATH_MAX + 1];
    text_read[0] = '\0'; /* the rest is not cleared: this is in the way of every dlopen */
    const char *path = name[0] != '\0' ? name : text_read;
    *no_memory = false;
    if (path == text_read && node->name != 0 &&
        !tg_memory_read_string(pid, node->name, text_read, sizeof text_read))
        return false;
    bool is_library = !main && path[0] != '\0' && !is_vdso(path) && !tg_wrapper_name_is(path);
    char build_id[129] = "";
    uint64_t size_bytes = 0;
    uint64_t header = 0;
    /* Shared objects are linked to begin at 0, so their header is at the load bias; others say nothing
     * here. */
    if (is_library && tg_image_peek(pid, node->base, build_id, &size_bytes))
        header = node->base;
    size_t path_length = strlen(path);
    size_t id_length = strlen(build_id);
    struct tg_loaded_object *made = malloc(sizeof *made + path_length + id_length + 2);
    if (made == NULL) {
        *no_memory = true;
        return false;
    }
    char *text = (char *)(made + 1);
    memcpy(text, path, path_length + 1);
    memcpy(text + path_length + 1, build_id, id_length + 1);
    *made = (struct tg_loaded_object){
        .references = 1,
        .is_library = is_library,
        .link_map = node->address,
        .base = node->base,
        .dynamic = node->dynamic,
        .name_address = node->name,
        .header = header,
        .size_bytes = size_bytes,
        .path_length = path_length,
        .path = text,
        .build_id = text + path_length + 1,
    };
    *object = made;
    return true;
}

struct tg_loaded_object *tg_loaded_object_ref(struct tg_loaded_object *object)
{
    object->references++;
    return object;
}

void tg_loaded_object_unref(struct tg_loaded_object *object)
{
    if (object != NULL && --object->references == 0)
        free(object);
}

/* ---- dependencies */

/* DT_NEEDED and DT_SONAME of one object. */
struct names {
    char soname[MAX_SONAME];
    char needed[MAX_NEEDED][MAX_SONAME];
    size_t n_needed;
};

static size_t read_dynamic(pid_t pid, unsigned bits, uint64_t address, Elf64_Dyn entries[MAX_DYNAMIC_ENTRIES])
{
    if (bits != 32)
        return tg_memory_read_some(pid, address, entries, MAX_DYNAMIC_ENTRIES * sizeof entries[0]) /
               sizeof entries[0];
    Elf32_Dyn narrow[MAX_DYNAMIC_ENTRIES];
    size_t count = tg_memory_read_some(pid, address, narrow, sizeof narrow) / sizeof narrow[0];
    for (size_t i = 0; i < count; i++)
        entries[i] = (Elf64_Dyn){.d_tag = narrow[i].d_tag, .d_un.d_val = narrow[i].d_un.d_val};
    return count;
}

/* glibc relocates DT_STRTAB in place, musl and read-only dynamic sections leave it as linked. */
static uint64_t relocated(const struct tg_loaded_object *object, uint64_t address)
{
    return address < object->base ? object->base + address : address;
}

static void read_names(pid_t pid, unsigned bits, const struct tg_loaded_object *object, struct names *names)
{
    *names = (struct names){0};
    Elf64_Dyn entries[MAX_DYNAMIC_ENTRIES];
    size_t count = read_dynamic(pid, bits, object->dynamic, entries);
    uint64_t strings = 0;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_STRTAB)
            strings = relocated(object, entries[i].d_un.d_val);
    }
    if (strings == 0)
        return;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uint64_t address = strings + entries[i].d_un.d_val;
        if (entries[i].d_tag == DT_SONAME &&
            !tg_memory_read_string(pid, address, names->soname, sizeof names->soname))
            names->soname[0] = '\0';
        if (entries[i].d_tag == DT_NEEDED && names->n_needed < MAX_NEEDED &&
            tg_memory_read_string(pid, address, names->needed[names->n_needed], MAX_SONAME))
            names->n_needed++;
    }
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* One name by which an object may be needed: soname, last component, whole path. */
struct key {
    const char *text;
    size_t object;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct key *)a)->text, ((const struct key *)b)->text);
}

/* Dependencies among some objects. */
struct needs {
    pid_t pid;
    unsigned bits;
    struct tg_loaded_object *const *objects;
    struct names names; /* of one object at a time */
    char (*sonames)[MAX_SONAME];
    struct key *keys; /* sorted */
    size_t n_keys;
};

static void needs_destroy(struct needs *needs)
{
    if (needs == NULL)
        return;
    free(needs->sonames);
    free(needs->keys);
    free(needs);
}

static struct needs *needs_create(pid_t pid, unsigned bits, struct tg_loaded_object *const *objects,
                                  size_t count)
{
    struct needs *needs = calloc(1, sizeof *needs);
    if (needs == NULL)
        return NULL;
    needs->pid = pid;
    needs->bits = bits;
    needs->objects = objects;
    needs->sonames = calloc(count, sizeof *needs->sonames);
    needs->keys = calloc(3 * count, sizeof *needs->keys);
    if (needs->sonames == NULL || needs->keys == NULL) {
        needs_destroy(needs);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        read_names(pid, bits, objects[i], &needs->names);
        memcpy(needs->sonames[i], needs->names.soname, MAX_SONAME);
        needs->keys[needs->n_keys++] = (struct key){needs->sonames[i], i};
        needs->keys[needs->n_keys++] = (struct key){last_component(objects[i]->path), i};
        needs->keys[needs->n_keys++] = (struct key){objects[i]->path, i};
    }
    qsort(needs->keys, needs->n_keys, sizeof needs->keys[0], by_text);
    return needs;
}

/* The first key with the text NEEDED; n_keys where there is none. */
static size_t first_key(const struct needs *needs, const char *needed)
{
    return TG_PARTITION_POINT(needs->n_keys, i, strcmp(needs->keys[i].text, needed) < 0);
}

/* Calls MEET with every object that object I names in DT_NEEDED. */
static void each_needed(struct needs *needs, size_t i, void (*meet)(void *context, size_t needed),
                        void *context)
{
    read_names(needs->pid, needs->bits, needs->objects[i], &needs->names);
    for (size_t n = 0; n < needs->names.n_needed; n++) {
        const char *needed = needs->names.needed[n];
        for (size_t k = first_key(needs, needed);
             k < needs->n_keys && strcmp(needs->keys[k].text, needed) == 0; k++) {
            if (needs->keys[k].object != i)
                meet(context, needs->keys[k].object);
        }
    }
}

static void mark(void *context, size_t needed)
{
    bool *dependency = context;
    dependency[needed] = true;
}

void tg_loaded_object_mark_dependencies(pid_t pid, unsigned bits, struct tg_loaded_object *const *objects,
                                        size_t count, bool *dependency)
{
    memset(dependency, 0, count * sizeof *dependency);
    struct needs *needs = count > 1 ? needs_create(pid, bits, objects, count) : NULL;
    for (size_t i = 0; needs != NULL && i < count; i++)
        each_needed(needs, i, mark, dependency);
    needs_destroy(needs);
}

static void reach(void *context, size_t needed)
{
    size_t *last = context;
    if (needed > *last)
        *last = needed;
}

size_t tg_loaded_object_startup_count(pid_t pid, unsigned bits, struct tg_loaded_object *const *objects,
                                      size_t count, uint64_t loader_base)
{
    size_t last = 0;
    while (last < count && objects[last]->base != loader_base)
        last++;
    struct needs *needs = last < count ? needs_create(pid, bits, objects, count) : NULL;
    if (needs == NULL)
        return count;
    for (size_t i = 0; i <= last; i++)
        each_needed(needs, i, reach, &last);
    needs_destroy(needs);
    return last + 1;
}
