#include "recorder/record/summary_words.h"

#include "format/base/shell_quote.h"

#include <inttypes.h>
#include <stdlib.h>

void tg_summary_words_losses(FILE *stream, const struct tg_recording_summary *summary)
{
    if (summary->lost_events > 0)
        fprintf(stream, "; %" PRIu64 " events LOST", summary->lost_events);
    if (summary->losses > 0)
        fprintf(stream, "; %" PRIu64 " loss%s noted (see tollgate report)", summary->losses,
                summary->losses == 1 ? "" : "es");
}

void tg_summary_words_next(FILE *stream, const char *trace, const struct tg_recording_summary *summary)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s", trace, summary->complete ? "" : ".incomplete") < 0)
        return;
    fprintf(stream, "tollgate: next: tollgate %s ", summary->complete ? "report" : "recover");
    tg_shell_quote_write_path(stream, path);
    fputc('\n', stream);
    free(path);
}
