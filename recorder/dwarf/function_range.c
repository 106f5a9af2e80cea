#include "recorder/dwarf/function_range.h"

#include <elf.h>
#include <string.h>

enum { /* LSB: DW_EH_PE_udata4; DW_EH_PE_datarel | DW_EH_PE_sdata4 */
       COUNT_IS_U32 = 0x03,
       TABLE_IS_RELATIVE_S32 = 0x3b,
       HEADER_BYTES = 12,
       ENTRY_BYTES = 8
};

/* The table is relative to HEADER. */
static bool read_start(const struct tg_elf_object *object, uint64_t header, uint64_t index, uint64_t *start)
{
    int32_t away;
    if (!tg_elf_object_read_at(object, header + HEADER_BYTES + index * ENTRY_BYTES, &away, sizeof away))
        return false;
    *start = header + (uint64_t)(int64_t)away;
    return true;
}

bool tg_function_range_find(const struct tg_elf_object *object, uint64_t address,
                            struct tg_function_range *range)
{
    const struct tg_elf_segment *segment = tg_elf_object_segment(object, PT_GNU_EH_FRAME);
    uint8_t head[HEADER_BYTES];
    uint32_t count;
    if (segment == NULL || !tg_elf_object_read_at(object, segment->address, head, sizeof head) ||
        head[0] != 1 || (head[1] & 0x0f) != 0x0b || head[2] != COUNT_IS_U32 ||
        head[3] != TABLE_IS_RELATIVE_S32)
        return false;
    memcpy(&count, &head[8], sizeof count);
    uint64_t low = 0, high = count, start; /* the first one behind ADDRESS is in [low, high] */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (!read_start(object, segment->address, middle, &start))
            return false;
        if (start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !read_start(object, segment->address, low - 1, &range->start))
        return false;
    if (low == count || !read_start(object, segment->address, low, &range->end))
        range->end = object->end;
    return range->start <= address && address < range->end;
}
