#include "recorder/look/core_process.h"

#include "format/base/array.h"
#include "recorder/process/image_peek.h"
#include "recorder/stacks/streams.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is being collected. */
struct collecting {
    const struct tg_core_file *core;
    const char *core_path;
    struct tg_image_cache *images;
    struct tg_elf_memory memory; /* of the core file alone */
    struct tg_module_place *places;
    size_t count, capacity;
    enum tg_core_lack *lacks;
    size_t n_lacks, lacks_capacity;
};

static size_t read_core(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_core_file_memory(context, address, buffer, size);
}

/* ---- files */

static bool is_older(const char *path, const char *core_path)
{
    struct stat file, core;
    return stat(path, &file) == 0 && stat(core_path, &core) == 0 && file.st_mtime <= core.st_mtime;
}

/* The image of the file PATH if it is that of an object with BUILD_ID ("" none). */
static struct tg_image *try_file(const struct collecting *collecting, const char *path, const char *build_id,
                                 enum tg_core_lack *lack)
{
    struct tg_image *image = tg_image_cache_file(collecting->images, path);
    if (image == NULL)
        return NULL;
    const char *found = tg_image_info(image)->build_id;
    if (*build_id != '\0' ? strcmp(found, build_id) == 0 : is_older(path, collecting->core_path)) {
        *lack = TG_CORE_HAS_FILE;
        return image;
    }
    *lack = TG_CORE_OTHER_FILE;
    tg_image_unref(image);
    return NULL;
}

static struct tg_image *find_file(const struct collecting *collecting, const char *path, const char *build_id,
                                  enum tg_core_lack *lack)
{
    char beside[PATH_MAX];
    *lack = TG_CORE_NO_FILE;
    if (*path != '/')
        return NULL;
    struct tg_image *image = try_file(collecting, path, build_id, lack);
    const char *name = strrchr(path, '/') + 1, *slash = strrchr(collecting->core_path, '/');
    int folder = slash != NULL ? (int)(slash - collecting->core_path + 1) : 0;
    int n = snprintf(beside, sizeof beside, "%.*s%s", folder, collecting->core_path, name);
    if (image == NULL && *build_id != '\0' && n > 0 && (size_t)n < sizeof beside)
        image = try_file(collecting, beside, build_id, lack);
    if (image == NULL && *build_id != '\0')
        image = try_file(collecting, name, build_id, lack);
    return image;
}

/* ---- objects */

static struct tg_error *add(struct collecting *collecting, const struct tg_module_place *place,
                            const char *build_id, enum tg_core_lack lack)
{
    struct tg_module_place added = *place;
    added.build_id = strdup(build_id);
    struct tg_error *error = added.build_id == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL)
        error = TG_ARRAY_APPEND(collecting->lacks, collecting->n_lacks, collecting->lacks_capacity, lack);
    if (error == NULL)
        error = TG_ARRAY_APPEND(collecting->places, collecting->count, collecting->capacity, added);
    if (error != NULL) {
        tg_image_unref(added.image);
        free((char *)added.build_id);
    }
    return error;
}

/* The object whose header is at START, if there is one. Of a page of which the core file has nothing, the file that was
 * mapped tells. */
static struct tg_error *take_object(struct collecting *collecting, uint64_t start, const char *path)
{
    char build_id[TG_ELF_BUILD_ID_CHARS] = "";
    uint64_t size = 0;
    enum tg_core_lack lack;
    bool is_there = tg_image_peek_memory(&collecting->memory, start, build_id, &size);
    uint8_t first;
    if (!is_there && read_core((void *)collecting->core, start, &first, 1) == 1)
        return NULL;
    struct tg_module_place place = {.start = start, .path = path};
    place.image = strcmp(path, "[vdso]") == 0
                      ? tg_image_cache_copy(collecting->images, &collecting->memory, start)
                      : find_file(collecting, path, build_id, &lack);
    if (strcmp(path, "[vdso]") == 0)
        lack = TG_CORE_HAS_FILE;
    if (place.image == NULL && is_there)
        place.image = tg_image_cache_copy(collecting->images, &collecting->memory, start);
    if (size == 0 && place.image != NULL)
        size = tg_image_info(place.image)->end - tg_image_info(place.image)->start;
    if (size == 0 || size > UINT64_MAX - start) {
        tg_image_unref(place.image);
        return NULL;
    }
    place.end = start + size;
    return add(collecting, &place, build_id, lack);
}

static struct tg_error *collect(struct collecting *collecting, uint64_t vdso)
{
    struct tg_error *error = NULL;
    uint64_t end = 0, before = 0;
    for (size_t i = 0; error == NULL && i < collecting->core->n_mappings; i++) {
        const struct tg_core_mapping *mapping = &collecting->core->mappings[i];
        if (mapping->start < before)
            break; /* damaged: they are in order */
        before = mapping->start;
        if (vdso != 0 && vdso < mapping->start && vdso >= end) {
            error = take_object(collecting, vdso, "[vdso]");
            vdso = 0;
            end = collecting->count > 0 ? collecting->places[collecting->count - 1].end : end;
        }
        if (error != NULL || mapping->offset != 0 || mapping->start < end)
            continue;
        error = take_object(collecting, mapping->start, mapping->path);
        end = collecting->count > 0 ? collecting->places[collecting->count - 1].end : end;
    }
    if (error == NULL && vdso != 0 && vdso >= end)
        error = take_object(collecting, vdso, "[vdso]");
    return error;
}

/* ---- memory */

/* What was mapped and not changed is not in a core file, but in the file that was mapped. */
static bool read_object(struct tg_core_process *process, uint64_t address, void *buffer, size_t size)
{
    uint64_t bias;
    struct tg_debug_info *info =
        process->stacks.modules != NULL && !tg_core_file_is_cut(process->core, address)
            ? tg_modules_debug_info_at(process->stacks.modules, address, &bias)
            : NULL;
    return info != NULL &&
           tg_elf_object_read_at(tg_image_object(tg_debug_info_image(info)), address - bias, buffer, size);
}

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    struct tg_core_process *process = context;
    size_t done = tg_core_file_memory(process->core, address, buffer, size);
    return done == size || read_object(process, address + done, (char *)buffer + done, size - done);
}

static size_t read_bytes(void *context, uint64_t address, void *buffer, size_t size)
{
    return read_memory(context, address, buffer, size) ? size : 0;
}

/* ---- both */

struct tg_error *tg_core_process_open(struct tg_core_file *core, const char *path,
                                      struct tg_image_cache *images, struct tg_debug_cache *debug,
                                      struct tg_core_process *process)
{
    struct collecting collecting = {
        .core = core, .core_path = path, .images = images, .memory = {read_core, core}};
    *process = (struct tg_core_process){
        .core = core, .memory = {process, read_memory}, .bytes = {read_bytes, process}};
    struct tg_error *error = collect(&collecting, tg_core_file_auxiliary(core, AT_SYSINFO_EHDR));
    if (error == NULL)
        error = tg_modules_create_of(collecting.places, collecting.count, debug, &process->stacks.modules);
    for (size_t i = 0; i < collecting.count; i++) {
        tg_image_unref(collecting.places[i].image);
        free((char *)collecting.places[i].build_id);
    }
    free(collecting.places);
    process->lacks = collecting.lacks;
    if (error != NULL) {
        tg_core_process_close(process);
        return error;
    }
    process->stacks.python = tg_python_find(process->stacks.modules);
    process->stacks.nest_locks = tg_nest_locks_find(process->stacks.modules, &process->memory);
    process->stacks.kmp_numbers = tg_kmp_numbers_find(process->stacks.modules, &process->memory);
    process->stacks.streams = tg_streams_find(process->stacks.modules);
    process->variables = tg_mpi_variables_find(&process->stacks);
    tg_mpi_communicators_find(&process->stacks, &process->memory, &process->variables);
    tg_mpi_world_read(&process->stacks, &process->variables, &process->memory, &process->world);
    const struct tg_module *program =
        tg_modules_find(process->stacks.modules, tg_core_file_auxiliary(core, AT_PHDR));
    process->program = program != NULL ? program->start : 0;
    return NULL;
}

void tg_core_process_close(struct tg_core_process *process)
{
    tg_stack_process_close(&process->stacks);
    tg_mpi_members_deinit(&process->world);
    free(process->lacks);
    process->lacks = NULL;
}
