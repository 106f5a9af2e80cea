#include "live/code_words.h"

#include "format/printable.h"

#include <inttypes.h>

/* "solve() at solver.c:120", as much of it as SYMBOL has. */
static void write_symbol(const struct tg_symbol *symbol, uint64_t address, char *buffer, size_t size)
{
    char function[160] = "", file[96] = "";
    if (symbol->function != NULL)
        tg_printable(symbol->function, function, sizeof function);
    else
        snprintf(function, sizeof function, "0x%" PRIx64, address);
    if (symbol->file != NULL)
        tg_printable(tg_event_headline_base_name(symbol->file), file, sizeof file);
    const char *call = symbol->function != NULL ? "()" : "";
    if (symbol->file != NULL)
        snprintf(buffer, size, "%s%s at %s:%" PRIu64, function, call, file, symbol->line);
    else
        snprintf(buffer, size, "%s%s", function, call);
}

char *tg_code_words(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    const struct tg_console *console = context;
    const struct tg_moment *moment = console->source->moment;
    const struct tg_mapped_object *object = NULL;
    struct tg_symbol symbol;
    if (console->symbolizer != NULL && process < tg_process_model_count(moment->processes))
        object = tg_address_model_find(moment->addresses,
                                       tg_process_model_at(moment->processes, process)->pid, address - 1);
    if (object != NULL &&
        console->options.services->symbolizer_resolve(console->symbolizer, object->path, object->build_id,
                                                      address - 1 - object->base, &symbol))
        write_symbol(&symbol, address, buffer, size);
    else
        snprintf(buffer, size, "0x%" PRIx64, address);
    return buffer;
}
