#include "analyzer/output/apart_words.h"

#include "analyzer/output/rank_ranges.h"
#include "format/base/printable.h"

#include <inttypes.h>

void tg_apart_words(FILE *stream, const struct tg_process_launch *first, const int64_t *ranks, size_t count)
{
    char text[256], source[64];
    bool is_one = count == 1;
    fprintf(stream, "MPI has not joined the ranks that the launcher started: its rank%s %s",
            is_one ? "" : "s", tg_rank_ranges_print(ranks, count, text, sizeof text));
    if (first->size > 0)
        fprintf(stream, " of %" PRId64, first->size);
    fprintf(stream, " (%s) %s rank 0 of an MPI_COMM_WORLD of %s own. ",
            tg_printable(first->source, source, sizeof source), is_one ? "is" : "are each",
            is_one ? "its" : "their");
    fputs("That happens where the launcher is of another MPI library than the program, or does not reach it.",
          stream);
}
