/* Telling a dynamic loader from other images. */
#ifndef TG_FORMAT_IMAGE_DYNAMIC_LOADER_H
#define TG_FORMAT_IMAGE_DYNAMIC_LOADER_H

#include "format/image/image.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether IMAGE is a dynamic loader; *BRK is then the address, without load bias, at which it stops for
 * debuggers (r_brk). */
bool tg_image_is_dynamic_loader(struct tg_image *image, uint64_t *brk);

#endif
