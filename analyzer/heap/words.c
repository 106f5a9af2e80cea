#include "analyzer/heap/words.h"

#include "analyzer/output/quantity.h"

#include <inttypes.h>

enum { BARS = 48, LEAST_BARS = 8, ROOM_OF_WORDS = 60 };

void tg_heap_words_process(FILE *stream, const struct tg_process_entry *process)
{
    if (process->rank >= 0)
        fprintf(stream, "rank %" PRId64, process->rank);
    else
        fprintf(stream, "process %" PRId32, process->pid);
}

void tg_heap_words_amount(FILE *stream, const struct tg_heap_amount *amount)
{
    char bytes[TG_QUANTITY_SIZE], error[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE];
    uint64_t count = tg_heap_amount_blocks(amount), standard_error = tg_heap_amount_error(amount);
    tg_quantity_bytes(amount->bytes, bytes);
    if (standard_error > 0)
        fprintf(stream, "about %s (\u00b1 %s)", bytes, tg_quantity_bytes(standard_error, error));
    else
        fputs(bytes, stream);
    fprintf(stream, " in %s block%s", tg_quantity_count(count, blocks), count == 1 ? "" : "s");
}

void tg_heap_words_growth(FILE *stream, const struct tg_heap_growth *growth, uint64_t start_ns, size_t width)
{
    static const char *const bars[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
    char from[TG_QUANTITY_SIZE], to[TG_QUANTITY_SIZE], bytes[TG_QUANTITY_SIZE];
    uint64_t highest = 0;
    if (growth == NULL || growth->count == 0)
        return;
    size_t n = growth->count < BARS ? growth->count : BARS;
    if (width > 0 && n + ROOM_OF_WORDS > width)
        n = width > ROOM_OF_WORDS + LEAST_BARS ? width - ROOM_OF_WORDS : LEAST_BARS;
    if (n > growth->count)
        n = growth->count;
    for (size_t i = 0; i < growth->count; i++)
        if (growth->points[i].highest > highest)
            highest = growth->points[i].highest;
    fputs("  growth     ", stream);
    for (size_t i = 0; i < n; i++) {
        uint64_t bar = 0;
        for (size_t at = i * growth->count / n; at < (i + 1) * growth->count / n; at++)
            if (growth->points[at].highest > bar)
                bar = growth->points[at].highest;
        fputs(bars[highest == 0 ? 0 : (size_t)((double)bar / (double)highest * 7.0 + 0.5)], stream);
    }
    fprintf(stream, " %s s to %s s, highest %s\n", tg_quantity_moment(growth->start_ns, start_ns, 3, from),
            tg_quantity_moment(growth->start_ns + growth->count * growth->step_ns, start_ns, 3, to),
            tg_quantity_bytes(highest, bytes));
}
