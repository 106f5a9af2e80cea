#include "analyzer/output/stack_words.h"

#include "analyzer/models/event_headline.h"
#include "format/base/printable.h"

#include <inttypes.h>

char *tg_stack_words_call(const struct tg_stack_call *call, char *buffer, size_t size)
{
    char function[160], file[160];
    tg_printable(call->function, function, sizeof function);
    tg_printable(tg_event_headline_base_name(*call->file != '\0' ? call->file : call->module), file,
                 sizeof file);
    if (*call->function == '\0' && *call->module == '\0')
        snprintf(buffer, size, "0x%" PRIx64 " (in no known object)", call->address);
    else if (*call->function == '\0' && *call->file == '\0')
        snprintf(buffer, size, "%s+0x%" PRIx64, file, call->address);
    else if (*call->file == '\0')
        snprintf(buffer, size, "%s (%s)", function, file);
    else if (*call->function == '\0')
        snprintf(buffer, size, "%s:%" PRIu64, file, call->line);
    else if (call->line == 0)
        snprintf(buffer, size, "%s (%s)", function, file);
    else
        snprintf(buffer, size, "%s (%s:%" PRIu64 ")", function, file, call->line);
    return buffer;
}

void tg_stack_words_place(FILE *stream, const struct tg_stack_place *place)
{
    char text[400], inside[160];
    if (*place->inside != '\0' && place->is_known)
        fprintf(stream, "in %s, called ", tg_printable(place->inside, inside, sizeof inside));
    fprintf(stream, "in %s", tg_stack_words_call(&place->at, text, sizeof text));
    if (place->has_caller)
        fprintf(stream, ", called in %s", tg_stack_words_call(&place->caller, text, sizeof text));
}
