#include "live/source/heap_news.h"

#include "analyzer/output/heap_error_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Where the block was allocated and freed is in the trace, which is read when somebody asks. */
static void write_words(const struct tg_process_entry *entry, const struct tg_event_heap_error *error,
                        FILE *stream)
{
    fprintf(stream, "process %zu", entry->index + 1);
    if (entry->rank >= 0)
        fprintf(stream, " (rank %" PRId64 ")", entry->rank);
    fputs(": ", stream);
    tg_heap_error_words(error, stream);
    if (error->block != 0)
        fprintf(stream, " (`dheap -info 0x%" PRIx64 "` shows where it was allocated)", error->block);
}

void tg_heap_news(const struct tg_moment *moment, const struct tg_event *event,
                  const struct tg_news_sink *sink)
{
    const struct tg_process_entry *entry = moment->entry;
    char *text = NULL;
    size_t size;
    FILE *stream = entry == NULL ? NULL : open_memstream(&text, &size);
    if (stream == NULL)
        return;
    write_words(entry, &event->heap_error, stream);
    if (fclose(stream) == 0)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_NOTE,
                                             .thread = {(uint32_t)entry->index + 1, 0},
                                             .pid = entry->pid,
                                             .tid = event->tid,
                                             .has_rank = entry->rank >= 0,
                                             .rank = entry->rank,
                                             .text = text,
                                             .is_printable = true});
    free(text);
}
