#include "format/base/byte_buffer.h"

#include "format/base/array.h"

#include <stdlib.h>

void tg_byte_buffer_deinit(struct tg_byte_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct tg_byte_buffer){0};
}

bool tg_byte_buffer_grow(struct tg_byte_buffer *buffer, size_t needed)
{
    if (needed <= buffer->capacity)
        return true;
    size_t least = needed < 256 ? 256 : needed;
    return TG_ARRAY_RESERVE(buffer->data, buffer->capacity, least) == NULL;
}
