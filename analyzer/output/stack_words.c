#include "analyzer/output/stack_words.h"

#include "analyzer/models/event_headline.h"
#include "analyzer/models/mpi_name.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <string.h>

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

void tg_stack_words_callback(FILE *stream, const struct tg_stack_place *place)
{
    char name[160], of[80];
    if (place->callback_of == NULL || *place->callback_of == '\0')
        return;
    const struct tg_stack_call *told = place->has_caller ? &place->caller : &place->at;
    bool is_told = strcmp(told->function, place->callback.function) == 0 && told->pc == place->callback.pc;
    tg_printable(place->callback_of, of, sizeof of);
    if (place->is_handler) {
        fprintf(stream, ", %s a signal handler, during %s", is_told ? "which is" : "called by", of);
        return;
    }
    if (is_told || *place->callback.function == '\0')
        fprintf(stream, ", %s callback of %s", is_told ? "a" : "in a", of);
    else
        fprintf(stream, ", in the callback %s of %s",
                tg_printable(place->callback.function, name, sizeof name), of);
}

void tg_stack_words_place(FILE *stream, const struct tg_stack_place *place)
{
    char text[400], inside[160], call[160];
    bool has_inside = *place->inside != '\0' && place->is_known;
    bool is_mpi = tg_mpi_name(place->inside, call, sizeof call);
    if (place->is_in_region) {
        fprintf(stream, "in %s, called from an OpenMP region that has no frame of its own",
                tg_printable(place->inside, inside, sizeof inside));
        return;
    }
    if (is_mpi && !place->is_known) {
        fprintf(stream, "in %s", tg_printable(call, inside, sizeof inside));
        return;
    }
    if (has_inside && place->is_interrupted) {
        fprintf(stream, "in %s, in a signal handler that interrupted %s",
                tg_printable(place->inside, inside, sizeof inside),
                tg_stack_words_call(&place->at, text, sizeof text));
        return;
    }
    if (has_inside)
        fprintf(stream, "in %s, called ", tg_printable(is_mpi ? call : place->inside, inside, sizeof inside));
    fprintf(stream, "%s %s", has_inside ? "from" : "in", tg_stack_words_call(&place->at, text, sizeof text));
    if (place->has_caller)
        fprintf(stream, ", called from %s", tg_stack_words_call(&place->caller, text, sizeof text));
    tg_stack_words_callback(stream, place);
    if (place->has_interrupted && !place->is_interrupted)
        fprintf(stream, ", in a signal handler that interrupted %s",
                tg_stack_words_call(&place->interrupted, text, sizeof text));
}

const char *tg_stack_words_end(uint64_t end)
{
    static const char *const words[] = {
        [TG_STACK_WHOLE] = "",
        [TG_STACK_CUT] = "more calls, which were not recorded",
        [TG_STACK_NO_RULE] = "no unwind information and no frame pointer",
        [TG_STACK_NO_MEMORY] = "the stack cannot be read",
        [TG_STACK_BACKWARD] = "the caller would be inside its callee: corrupt stack?",
        [TG_STACK_OUT_OF_CODE] = "the return address is not in any mapped object: corrupt stack?",
        [TG_STACK_NO_TIME] = "the time for stacks was over",
    };
    return end < sizeof words / sizeof *words ? words[end] : "";
}

void tg_stack_words_members(struct tg_json *json, const struct tg_stack_call *call)
{
    tg_json_member_string(json, "function", call->function);
    tg_json_member_string(json, "file", call->file);
    tg_json_member_unsigned(json, "line", call->line);
    tg_json_member_string(json, "module", call->module);
}
