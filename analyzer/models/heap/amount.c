#include "analyzer/models/heap/amount.h"

#include <math.h>

uint64_t tg_heap_amount_error(const struct tg_heap_amount *amount)
{
    return amount->variance > 0 ? (uint64_t)llround(sqrt(amount->variance)) : 0;
}

void tg_heap_amount_add(struct tg_heap_amount *sum, const struct tg_heap_amount *more)
{
    sum->parts += more->parts;
    sum->bytes += more->bytes;
    sum->variance += more->variance;
}

void tg_heap_amount_subtract(struct tg_heap_amount *from, const struct tg_heap_amount *less)
{
    from->parts -= less->parts;
    from->bytes -= less->bytes;
    from->variance = from->parts > 0 && from->variance > less->variance ? from->variance - less->variance : 0;
}

struct tg_heap_amount tg_heap_amount_of_block(uint64_t size_bytes, uint64_t sample_bytes)
{
    struct tg_heap_amount amount = {.parts = TG_HEAP_PARTS, .bytes = size_bytes};
    if (sample_bytes == 0 || size_bytes == 0)
        return amount;
    double bytes = (double)size_bytes, hit = -expm1(-bytes / (double)sample_bytes);
    amount.parts = (uint64_t)llround(TG_HEAP_PARTS / hit);
    amount.bytes = (uint64_t)llround(bytes / hit);
    amount.variance = bytes * bytes * (1 - hit) / (hit * hit);
    return amount;
}
