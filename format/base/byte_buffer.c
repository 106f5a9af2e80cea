#include "format/base/byte_buffer.h"

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
    size_t capacity = buffer->capacity < 128 ? 256 : buffer->capacity * 2;
    if (capacity < needed)
        capacity = needed;
    uint8_t *data = realloc(buffer->data, capacity);
    if (data == NULL)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}
