#include "analyzer/heap/format.h"

static const struct tg_heap_format formats[] = {
    {"massif", ".massif", tg_heap_write_massif},
    {"pprof", ".pb.gz", tg_heap_write_pprof},
    {"collapsed", ".collapsed", tg_heap_write_collapsed},
    {"svg", ".svg", tg_heap_write_svg},
};

size_t tg_heap_format_count(void)
{
    return sizeof formats / sizeof *formats;
}

const struct tg_heap_format *tg_heap_format_at(size_t i)
{
    return &formats[i];
}
