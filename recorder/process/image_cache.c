#include "recorder/process/image_cache.h"

#include "format/base/hash.h"
#include "format/image/file.h"
#include "recorder/process/image_peek.h"
#include "recorder/process/mappings.h"
#include "recorder/process/memory.h"
#include "recorder/process/process_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utlist.h>

enum { DEFAULT_MAX_IMAGES = 64 };

/* The identity of a file, whatever its names. Hashed bytewise: has no padding. */
struct identity {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t mtime_s;
    int64_t mtime_ns;
    int64_t ctime_s;
    int64_t ctime_ns;
};

/* An image that is cached, in use or not. */
struct entry {
    struct tg_image_cache *cache;
    struct tg_image *image;
    struct identity identity; /* of a file */
    UT_hash_handle hh;        /* in FILES or COPIES */
    bool in_use;
    struct entry *next, *prev; /* in UNUSED */
};

struct tg_image_cache {
    size_t max_unused;
    struct entry *files;  /* by identity */
    struct entry *copies; /* from memory, by build-id; those without one are not kept */
    struct entry *unused; /* least recently used first */
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

static void forget(struct tg_image_cache *cache, struct entry *entry)
{
    if (tg_image_info(entry->image)->from_memory)
        HASH_DEL(cache->copies, entry);
    else
        HASH_DEL(cache->files, entry);
    if (entry->in_use) {
        tg_image_on_release(entry->image, NULL, NULL); /* the image's last user frees it */
    } else {
        DL_DELETE(cache->unused, entry);
        cache->n_unused--;
        tg_image_destroy(entry->image);
    }
    free(entry);
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

/* The last reference to a cached image was dropped. */
static void release(void *context)
{
    struct entry *entry = context;
    struct tg_image_cache *cache = entry->cache;
    entry->in_use = false;
    DL_APPEND(cache->unused, entry);
    cache->n_unused++;
    while (cache->n_unused > cache->max_unused)
        forget(cache, cache->unused);
}

static struct tg_image *take(struct tg_image_cache *cache, struct entry *entry)
{
    if (!entry->in_use) {
        entry->in_use = true;
        DL_DELETE(cache->unused, entry);
        cache->n_unused--;
    }
    cache->stats.hits++;
    return tg_image_ref(entry->image);
}

/* Keeps IMAGE, which is in use: under IDENTITY, or, where that is NULL, under its build-id. Without memory it
 * is not kept. */
static void keep(struct tg_image_cache *cache, const struct identity *identity, struct tg_image *image)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return;
    const char *build_id = tg_image_info(image)->build_id;
    *entry = (struct entry){.cache = cache, .image = image, .in_use = true};
    struct tg_error *error;
    if (identity != NULL) {
        entry->identity = *identity;
        error = TG_HASH_ADD(hh, cache->files, identity, entry);
    } else {
        error = TG_HASH_ADD_KEY(hh, cache->copies, build_id, strlen(build_id), entry);
    }
    if (error != NULL)
        free(entry);
    else
        tg_image_on_release(image, release, entry);
}

/* ---- is it the file that is mapped */

static uint64_t header_of(const struct tg_image_source *source, uint64_t start)
{
    return source->header != 0 ? source->header : source->load_bias + start;
}

/* The end of the first mapping of OBJECT, whose header is at HEADER. */
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
    if (tg_process_file_is_mapped(source->pid, object->fd, header, first_mapping_end(object, header)))
        return true;
    struct tg_mapping mapping;
    struct stat status;
    return fstat(object->fd, &status) == 0 && tg_mapping_find(source->pid, header, &mapping) &&
           mapping.inode == status.st_ino && mapping.major == major(status.st_dev) &&
           mapping.minor == minor(status.st_dev);
}

/* ---- finding it */

/* The image of the file at the place FD, which it takes: from the cache, or read. */
static struct tg_error *image_of_file(struct tg_image_cache *cache, int fd, struct tg_image **result)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        struct tg_error *error = tg_error_create_errno(errno, "cannot get its status (stat)");
        close(fd);
        return error;
    }
    struct identity identity = {
        .device = status.st_dev,
        .inode = status.st_ino,
        .size = (uint64_t)status.st_size,
        .mtime_s = status.st_mtim.tv_sec,
        .mtime_ns = status.st_mtim.tv_nsec,
        .ctime_s = status.st_ctim.tv_sec,
        .ctime_ns = status.st_ctim.tv_nsec,
    };
    struct entry *known = NULL;
    HASH_FIND(hh, cache->files, &identity, sizeof identity, known);
    if (known != NULL) {
        close(fd);
        *result = take(cache, known);
        return NULL;
    }
    fd = tg_image_file_read(fd);
    if (fd < 0)
        return tg_error_create(TG_ERROR_INPUT, "not a readable regular file");
    struct tg_image *image;
    struct tg_elf_object *object;
    struct tg_error *error = tg_elf_object_open_fd(fd, &object);
    if (error == NULL)
        error = tg_image_create(object, 0, &image);
    if (error != NULL)
        return error;
    cache->stats.opened++;
    keep(cache, &identity, image);
    *result = image;
    return NULL;
}

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read_some(*(const pid_t *)context, address, buffer, size);
}

static struct tg_error *image_of_memory(struct tg_image_cache *cache, const struct tg_elf_memory *memory,
                                        uint64_t header, struct tg_image **result)
{
    char build_id[TG_ELF_BUILD_ID_CHARS] = "";
    uint64_t size_bytes;
    if (tg_image_peek_memory(memory, header, build_id, &size_bytes) && build_id[0] != '\0') {
        struct entry *known = NULL;
        HASH_FIND_STR(cache->copies, build_id, known);
        if (known != NULL) {
            *result = take(cache, known);
            return NULL;
        }
    }
    struct tg_image *image;
    struct tg_elf_object *object;
    struct tg_error *error = tg_elf_object_copy(memory, header, &object);
    if (error == NULL)
        error = tg_image_create(object, header - object->start, &image);
    if (error != NULL)
        return error;
    cache->stats.opened++;
    if (object->build_id[0] != '\0')
        keep(cache, NULL, image);
    *result = image;
    return NULL;
}

/* The image at PATH, where that is the same file in the recorder's root as in the process's, as a build-id
 * proves. */
static struct tg_image *find_here(struct tg_image_cache *cache, const char *path, const char *build_id)
{
    struct tg_image *found = NULL;
    int fd = build_id != NULL && build_id[0] != '\0' ? tg_image_file_open_here(path) : -1;
    if (fd >= 0)
        tg_error_destroy(image_of_file(cache, fd, &found));
    if (found != NULL && strcmp(tg_image_info(found)->build_id, build_id) == 0)
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
    int fd = tg_process_file_open(source->pid, path);
    if (fd >= 0) {
        tg_error_destroy(image_of_file(cache, fd, &found));
        if (found != NULL && is_mapped(source, tg_image_object(found))) {
            *image = found;
            return NULL;
        }
        tg_image_unref(found);
        found = NULL;
    }
    struct tg_mapping mapping;
    uint64_t header = header_of(source, 0);
    if (tg_mapping_find(source->pid, header, &mapping) && (fd = tg_mapping_open(source->pid, &mapping)) >= 0)
        tg_error_destroy(image_of_file(cache, fd, &found));
    if (found != NULL) {
        *image = found;
        return NULL;
    }
    pid_t pid = source->pid;
    const struct tg_elf_memory memory = {.read = read_memory, .context = &pid};
    struct tg_error *error = image_of_memory(cache, &memory, header, image);
    return tg_error_prefix(tg_error_prefix(error, "process %d", (int)pid), "%s",
                           path[0] != '\0' ? path : "the program");
}

struct tg_image *tg_image_cache_find(struct tg_image_cache *cache, const struct tg_image_source *source)
{
    struct tg_image *image = NULL;
    tg_error_destroy(tg_image_cache_get(cache, source, &image));
    return image;
}

struct tg_image *tg_image_cache_file(struct tg_image_cache *cache, const char *path)
{
    struct tg_image *image = NULL;
    int fd = tg_image_file_open_here(path);
    if (fd >= 0)
        tg_error_destroy(image_of_file(cache, fd, &image));
    return image;
}

struct tg_image *tg_image_cache_copy(struct tg_image_cache *cache, const struct tg_elf_memory *memory,
                                     uint64_t header)
{
    struct tg_image *image = NULL;
    tg_error_destroy(image_of_memory(cache, memory, header, &image));
    return image;
}
