#include "image_probe.h"

#include "format/image/image.h"
#include "format/image/mangled_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX = 16 };

static void check(int condition)
{
    if (!condition)
        abort();
}

static void probe(struct tg_image *image)
{
    static const char *const names[] = {"tgm_exported", "tgm_static", "f",    "main", "tgm_line@NEW",
                                        "no_such",      "_init",      "a::f", "~f",   ""};
    static const char *const sources[] = {"image_material.c", "tests/programs/image_material.c", "/a/f.c",
                                          "f.c"};
    const struct tg_image_info *info = tg_image_info(image);
    check(info->start <= info->end);
    check(strlen(info->build_id) <= 128);
    check(info->soname != NULL && info->interpreter != NULL);
    for (size_t i = 0; i < tg_image_needed_count(image); i++)
        check(strlen(tg_image_needed_at(image, i)) < 65536);
    uint64_t found[MAX + 1];
    const char *name;
    uint64_t offset;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        found[MAX] = 0x5a5a;
        size_t n = tg_image_find_function(image, names[i], found, MAX);
        check(n <= MAX && found[MAX] == 0x5a5a);
        for (size_t k = 0; k < n; k++) {
            if (!tg_image_symbol_at(image, found[k], &name, &offset))
                continue;
            check(strlen(name) > 0);
            char *words = tg_mangled_name_words(name);
            check(words != NULL && strlen(words) > 0);
            free(words);
        }
        check(tg_image_find_named(image, names[i], found, MAX) >= n && found[MAX] == 0x5a5a);
    }
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        for (uint64_t line = 1; line < 60; line += 14) {
            size_t n = tg_image_find_line(image, sources[i], line, found, MAX);
            check(n <= MAX && found[MAX] == 0x5a5a);
        }
    }
    check(tg_image_find_copies(image, "tgm_inlined", found, MAX) <= MAX && found[MAX] == 0x5a5a);
    tg_image_symbol_at(image, info->entry, &name, &offset);
    tg_image_symbol_at(image, UINT64_MAX, &name, &offset);
    for (size_t k = 0; k < tg_image_find_copies(image, "tgm_inlined", found, MAX); k++)
        tg_image_inlined_at(image, found[k], &offset);
    tg_image_inlined_at(image, info->entry, &offset);
}

void tg_image_probe(int fd, const uint8_t *bytes, size_t size)
{
    check(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct tg_image *image = NULL;
    struct tg_error *error = tg_image_open(path, &image);
    if (error == NULL)
        probe(image);
    else
        check(strlen(tg_error_message(error)) > 0);
    tg_error_destroy(error);
    tg_image_unref(image);
}
