#include "recorder/breakpoints/object.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { PAGE_BYTES = 4096 };

struct tg_image_source tg_break_object_source(const struct tg_break_object *object, pid_t tid)
{
    return (struct tg_image_source){
        .pid = tid,
        .path = object->is_program ? "" : object->path,
        .load_bias = object->load_bias,
        .header = object->header,
        .build_id = object->build_id,
    };
}

void tg_break_object_program(const struct tg_process *process, pid_t tid, char path[PATH_MAX],
                             struct tg_break_object *object)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)tid);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    *object = (struct tg_break_object){
        .path = path, .header = process->phdr & ~(uint64_t)(PAGE_BYTES - 1), .is_program = true};
}

void tg_break_object_program_mapped(const struct tg_process *process, const struct tg_image *image,
                                    struct tg_break_object *object)
{
    const struct tg_image_info *info = tg_image_info(image);
    object->load_bias = info->position_independent ? process->entry - info->entry : 0;
    object->header = object->load_bias + info->start;
    object->size_bytes = info->end - info->start;
}

size_t tg_break_object_find(const struct tg_break_object *object, struct tg_image *image,
                            const struct tg_break_spec *spec, uint64_t *addresses, size_t max)
{
    size_t n = 0;
    if (spec->kind == TG_BREAK_LINE)
        n = tg_image_find_line(image, spec->name, spec->line, addresses, max);
    else if (spec->kind == TG_BREAK_FUNCTION)
        n = tg_image_find_named(image, spec->name, addresses, max);
    if (spec->kind == TG_BREAK_FUNCTION && !spec->is_entry && (n > 0 || object->is_program) && n < max)
        n += tg_image_find_copies(image, spec->name, addresses + n, max - n);
    for (size_t i = 0; i < n; i++)
        addresses[i] += object->load_bias;
    return n;
}

bool tg_break_object_holds(const struct tg_break_object *object, uint64_t address)
{
    return object->size_bytes != 0 && address >= object->header &&
           address - object->header < object->size_bytes;
}

bool tg_break_object_digest(const struct tg_break_object *object, const char *salt, struct tg_digest *digest)
{
    if (object->build_id == NULL || object->build_id[0] == '\0')
        return false;
    XXH64_hash_t seed =
        XXH3_64bits_withSeed(object->build_id, strlen(object->build_id), XXH3_64bits(salt, strlen(salt)));
    XXH128_hash_t hash = XXH3_128bits_withSeed(object->path, strlen(object->path), seed);
    *digest = (struct tg_digest){.low = hash.low64, .high = hash.high64 | 1};
    return true;
}
