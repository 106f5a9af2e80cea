#include "format/image/dynamic_loader.h"

/* A loader is a shared object of its own, without an interpreter, that has the debugger's stop. */
bool tg_image_is_dynamic_loader(struct tg_image *image, uint64_t *brk)
{
    const struct tg_image_info *info = tg_image_info(image);
    return info->soname[0] != '\0' && info->interpreter[0] == '\0' &&
           tg_image_find_function(image, "_dl_debug_state", brk, 1) > 0;
}
