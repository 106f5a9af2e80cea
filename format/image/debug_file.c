#include "format/image/debug_file.h"

#include "format/image/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINK_BYTES = 4096, MAX_NOTE_BYTES = 4096, SUM_BLOCK_BYTES = 64 << 10 };
static const uint64_t MAX_SUMMED_BYTES = UINT64_C(1)
                                         << 30; /* a larger file without a build-id is not tried */

static const char root[] = "/usr/lib/debug";

/* CRC-32 as .gnu_debuglink has it (IEEE 802.3, reflected). */
static void crc32_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = (value & 1) != 0 ? 0xedb88320u ^ value >> 1 : value >> 1;
        table[i] = value;
    }
}

static bool checksum_is(const struct tg_elf_object *object, uint32_t wanted)
{
    if (object->size > MAX_SUMMED_BYTES)
        return false;
    uint32_t table[256];
    crc32_table(table);
    uint8_t *block = malloc(SUM_BLOCK_BYTES);
    uint32_t crc = UINT32_MAX;
    bool ok = block != NULL;
    for (uint64_t at = 0; ok && at < object->size; at += SUM_BLOCK_BYTES) {
        size_t n = object->size - at < SUM_BLOCK_BYTES ? (size_t)(object->size - at) : SUM_BLOCK_BYTES;
        ok = tg_elf_object_read(object, at, block, n);
        for (size_t i = 0; ok && i < n; i++)
            crc = table[(crc ^ block[i]) & 255] ^ crc >> 8;
    }
    free(block);
    return ok && ~crc == wanted;
}

/* A debug file's program headers do not describe its contents: its build-id is looked up by section. */
static bool has_build_id(struct tg_elf_object *object, const char *wanted)
{
    const struct tg_elf_section *section = tg_elf_object_section(object, ".note.gnu.build-id");
    if (section == NULL)
        return false;
    uint8_t *notes = tg_elf_object_read_new(object, section->offset, section->size, MAX_NOTE_BYTES);
    char build_id[TG_ELF_BUILD_ID_CHARS];
    bool equal =
        notes != NULL && tg_elf_build_id(notes, section->size, 4, build_id) && strcmp(build_id, wanted) == 0;
    free(notes);
    return equal;
}

static struct tg_elf_object *try_file(const struct tg_elf_object *object, const char *path,
                                      const uint32_t *checksum)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd >= 0)
        fd = tg_image_file_read(fd);
    if (fd < 0)
        return NULL;
    struct tg_elf_object *found = NULL;
    struct tg_error *error = tg_elf_object_open_fd(fd, &found);
    if (error != NULL) {
        tg_error_destroy(error);
        return NULL;
    }
    bool fits = found->header.bits == object->header.bits &&
                (object->build_id[0] != '\0' ? has_build_id(found, object->build_id)
                                             : checksum != NULL && checksum_is(found, *checksum));
    if (!fits) {
        tg_elf_object_destroy(found);
        found = NULL;
    }
    return found;
}

static struct tg_elf_object *by_build_id(const struct tg_elf_object *object)
{
    if (strlen(object->build_id) < 4)
        return NULL;
    char path[sizeof root + TG_ELF_BUILD_ID_CHARS + 32];
    snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", root, object->build_id, object->build_id + 2);
    return try_file(object, path, NULL);
}

static struct tg_elf_object *by_link(struct tg_elf_object *object, const char *path)
{
    const struct tg_elf_section *section = tg_elf_object_section(object, ".gnu_debuglink");
    if (section == NULL || section->size < 8)
        return NULL;
    uint8_t *content = tg_elf_object_read_new(object, section->offset, section->size, MAX_LINK_BYTES);
    if (content == NULL)
        return NULL;
    const char *name = (const char *)content;
    size_t sum_at = (strlen(name) + 4) & ~(size_t)3;
    const char *slash = strrchr(path, '/');
    struct tg_elf_object *found = NULL;
    /* a name, never a path: it stays in the directories that are searched */
    if (sum_at + 4 <= section->size && name[0] != '\0' && strchr(name, '/') == NULL && slash != NULL) {
        uint32_t checksum = tg_elf_u32(content + sum_at);
        int directory = (int)(slash - path);
        char candidate[3 * PATH_MAX];
        static const char *const patterns[][2] = {{"", "/"}, {"", "/.debug/"}, {root, "/"}};
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns && found == NULL; i++) {
            int n = snprintf(candidate, sizeof candidate, "%s%.*s%s%s", patterns[i][0], directory, path,
                             patterns[i][1], name);
            if (n > 0 && (size_t)n < sizeof candidate && strcmp(candidate, path) != 0)
                found = try_file(object, candidate, &checksum);
        }
    }
    free(content);
    return found;
}

struct tg_elf_object *tg_debug_file_open(struct tg_elf_object *object, const char *path)
{
    struct tg_elf_object *found = by_build_id(object);
    if (found == NULL && path != NULL && path[0] == '/')
        found = by_link(object, path);
    return found;
}
