#include "format/image/break_finder.h"

#include "format/image/image.h"

#include <string.h>

static enum tg_break_presence find(struct tg_image *image, const struct tg_break_spec *spec)
{
    uint64_t address;
    size_t count = 0;
    switch (spec->kind) {
    case TG_BREAK_FUNCTION:
        count = tg_image_find_named(image, spec->name, &address, 1);
        break;
    case TG_BREAK_LINE:
        count = tg_image_find_line(image, spec->name, spec->line, &address, 1);
        break;
    case TG_BREAK_ADDRESS:
        return TG_BREAK_UNKNOWN;
    }
    return count > 0 ? TG_BREAK_PRESENT : TG_BREAK_ABSENT;
}

void tg_break_finder_find(const char *path, const char *build_id, const struct tg_break_spec *const *specs,
                          size_t n, enum tg_break_presence *found)
{
    struct tg_image *image = NULL;
    for (size_t i = 0; i < n; i++)
        found[i] = TG_BREAK_UNKNOWN;
    if (path[0] != '/' || build_id[0] == '\0' || n == 0)
        return;
    TG_AUTO_ERROR struct tg_error *error = tg_image_open(path, &image);
    if (error != NULL)
        return;
    for (size_t i = 0; i < n && strcmp(tg_image_info(image)->build_id, build_id) == 0; i++)
        found[i] = find(image, specs[i]);
    tg_image_unref(image);
}
