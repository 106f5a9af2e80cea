#include "format/image/cache.h"

#include "format/image/file.h"
#include "format/image/image_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utlist.h>

enum { DEFAULT_MAX_IMAGES = 64 };

struct tg_image_cache {
    size_t max_unused;
    struct tg_image *files;  /* by identity */
    struct tg_image *copies; /* from memory, by build-id; those without one are not kept */
    struct tg_image *unused; /* least recently used first */
    size_t n_unused;
    struct tg_image_cache_stats stats;
};

struct tg_error *tg_image_cache_create(size_t max_images, struct tg_image_cache **result)
{
    struct tg_image_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return tg_error_no_memory();
    cache->max_unused = max_images != 0 ? max_images : DEFAULT_MAX_IMAGES;
    *result = cache;
    return NULL;
}

static void forget(struct tg_image_cache *cache, struct tg_image *image)
{
    if (image->info.from_memory)
        HASH_DEL(cache->copies, image);
    else
        HASH_DEL(cache->files, image);
    if (image->references == 0) {
        DL_DELETE(cache->unused, image);
        cache->n_unused--;
        tg_image_destroy(image);
    } else {
        image->cache = NULL; /* its last user frees it */
    }
}

void tg_image_cache_destroy(struct tg_image_cache *cache)
{
    if (cache == NULL)
        return;
    while (cache->files != NULL)
        forget(cache, cache->files);
    while (cache->copies != NULL)
        forget(cache, cache->copies);
    free(cache);
}

struct tg_image_cache_stats tg_image_cache_stats(const struct tg_image_cache *cache)
{
    return cache->stats;
}

void tg_image_cache_release(struct tg_image_cache *cache, struct tg_image *image)
{
    DL_APPEND(cache->unused, image);
    cache->n_unused++;
    while (cache->n_unused > cache->max_unused)
        forget(cache, cache->unused);
}

static struct tg_image *take(struct tg_image_cache *cache, struct tg_image *image)
{
    if (image->references++ == 0) {
        DL_DELETE(cache->unused, image);
        cache->n_unused--;
    }
    cache->stats.hits++;
    return image;
}

/* ---- is it the file that is mapped */

static uint64_t header_of(const struct tg_image_source *source, uint64_t start)
{
    return source->header != 0 ? source->header : source->load_bias + start;
}

/* Where the first mapping of OBJECT, whose header is at HEADER, ends. */
static uint64_t first_mapping_end(const struct tg_elf_object *object, uint64_t header)
{
    for (size_t i = 0; i < object->n_segments; i++) {
        const struct tg_elf_segment *segment = &object->segments[i];
        uint64_t page = TG_ELF_PAGE_BYTES - 1;
        if (segment->type == PT_LOAD && (segment->address & ~page) == object->start)
            return header + ((segment->address - object->start + segment->file_size + page) & ~page);
    }
    return header;
}

static bool is_mapped(const struct tg_image_source *source, const struct tg_elf_object *object)
{
    if (source->path == NULL || source->path[0] == '\0')
        return true; /* opened through /proc/PID/exe */
    uint64_t header = header_of(source, object->start);
    char peeked[TG_ELF_BUILD_ID_CHARS] = "";
    const char *build_id = source->build_id;
    if (build_id == NULL) {
        uint64_t size_bytes;
        if (!tg_image_peek(source->pid, header, peeked, &size_bytes))
            return false;
        build_id = peeked;
    }
    if (build_id[0] != '\0' && object->build_id[0] != '\0')
        return strcmp(build_id, object->build_id) == 0;
    if (tg_image_file_is_mapped(source->pid, object->fd, header, first_mapping_end(object, header)))
        return true;
    struct tg_image_mapping mapping;
    struct stat status;
    return fstat(object->fd, &status) == 0 && tg_image_file_mapping(source->pid, header, &mapping) &&
           mapping.inode == status.st_ino && mapping.major == major(status.st_dev) &&
           mapping.minor == minor(status.st_dev);
}

/* ---- finding it */

/* The image of the file at the place FD, which it takes: from the cache, or read. */
static struct tg_error *image_of_file(struct tg_image_cache *cache, int fd, struct tg_image **result)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        struct tg_error *error = tg_error_create_errno(errno, "cannot look at it");
        close(fd);
        return error;
    }
    struct tg_image_identity identity = {
        .device = status.st_dev,
        .inode = status.st_ino,
        .size = (uint64_t)status.st_size,
        .mtime_s = status.st_mtim.tv_sec,
        .mtime_ns = status.st_mtim.tv_nsec,
        .ctime_s = status.st_ctim.tv_sec,
        .ctime_ns = status.st_ctim.tv_nsec,
    };
    struct tg_image *image = NULL;
    HASH_FIND(hh, cache->files, &identity, sizeof identity, image);
    if (image != NULL) {
        close(fd);
        *result = take(cache, image);
        return NULL;
    }
    fd = tg_image_file_read(fd);
    if (fd < 0)
        return tg_error_create(TG_ERROR_INPUT, "it is no file that can be read");
    struct tg_elf_object *object;
    struct tg_error *error = tg_elf_object_open_fd(fd, &object);
    if (error == NULL)
        error = tg_image_create(object, 0, &image);
    if (error != NULL)
        return error;
    cache->stats.opened++;
    image->identity = identity;
    HASH_ADD(hh, cache->files, identity, sizeof identity, image);
    if (image->hh.tbl != NULL) /* else there was no memory to keep it */
        image->cache = cache;
    *result = image;
    return NULL;
}

static struct tg_error *image_of_memory(struct tg_image_cache *cache, const struct tg_image_source *source,
                                        struct tg_image **result)
{
    struct tg_image *image = NULL;
    char build_id[TG_ELF_BUILD_ID_CHARS] = "";
    uint64_t header = header_of(source, 0), size_bytes;
    if (tg_image_peek(source->pid, header, build_id, &size_bytes) && build_id[0] != '\0') {
        HASH_FIND_STR(cache->copies, build_id, image);
        if (image != NULL) {
            *result = take(cache, image);
            return NULL;
        }
    }
    struct tg_elf_object *object;
    struct tg_error *error = tg_elf_object_copy(source->pid, header, &object);
    if (error == NULL)
        error = tg_image_create(object, header - object->start, &image);
    if (error != NULL)
        return error;
    cache->stats.opened++;
    if (object->build_id[0] != '\0') {
        HASH_ADD_KEYPTR(hh, cache->copies, object->build_id, strlen(object->build_id), image);
        if (image->hh.tbl != NULL)
            image->cache = cache;
    }
    *result = image;
    return NULL;
}

/* Where PATH is the same in the recorder's root as in the process's, which a build-id proves. */
static struct tg_image *find_here(struct tg_image_cache *cache, const char *path, const char *build_id)
{
    struct tg_image *found = NULL;
    int fd = build_id != NULL && build_id[0] != '\0' ? tg_image_file_open_here(path) : -1;
    if (fd >= 0)
        tg_error_destroy(image_of_file(cache, fd, &found));
    if (found != NULL && strcmp(found->object->build_id, build_id) == 0)
        return found;
    tg_image_unref(found);
    return NULL;
}

struct tg_error *tg_image_cache_get(struct tg_image_cache *cache, const struct tg_image_source *source,
                                    struct tg_image **image)
{
    const char *path = source->path != NULL ? source->path : "";
    struct tg_image *found = find_here(cache, path, source->build_id);
    if (found != NULL) {
        *image = found;
        return NULL;
    }
    int fd = tg_image_file_open(source->pid, path);
    if (fd >= 0) {
        tg_error_destroy(image_of_file(cache, fd, &found));
        if (found != NULL && is_mapped(source, found->object)) {
            *image = found;
            return NULL;
        }
        tg_image_unref(found);
        found = NULL;
    }
    struct tg_image_mapping mapping;
    uint64_t header = header_of(source, 0);
    if (tg_image_file_mapping(source->pid, header, &mapping) &&
        (fd = tg_image_file_open_mapping(source->pid, &mapping)) >= 0)
        tg_error_destroy(image_of_file(cache, fd, &found));
    if (found != NULL) {
        *image = found;
        return NULL;
    }
    return tg_error_prefix(image_of_memory(cache, source, image), "%s",
                           path[0] != '\0' ? path : "the program");
}
