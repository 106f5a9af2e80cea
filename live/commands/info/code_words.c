#include "live/commands/info/code_words.h"

#include "analyzer/output/code_names.h"

char *tg_code_variable(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    const struct tg_console *console = context;
    const struct tg_moment *moment = console->source->moment;
    if (console->symbolizer == NULL || process >= tg_process_model_count(moment->processes))
        return NULL;
    int32_t pid = tg_process_model_at(moment->processes, process)->pid;
    return tg_code_variable_print(console->options.services, console->symbolizer,
                                  tg_addresses_find(moment->addresses, pid, address), address, buffer, size);
}

bool tg_code_symbol(const struct tg_console *console, size_t process, uint64_t address,
                    struct tg_symbol *symbol, const struct tg_mapped_object **object)
{
    const struct tg_moment *moment = console->source->moment;
    uint64_t call = address - 1;
    *object = NULL;
    *symbol = (struct tg_symbol){0};
    if (console->symbolizer != NULL && process < tg_process_model_count(moment->processes))
        *object =
            tg_addresses_find(moment->addresses, tg_process_model_at(moment->processes, process)->pid, call);
    if (*object != NULL &&
        (tg_code_recorded_symbol(console->source->moment->stacks, *object, call, symbol) ||
         console->options.services->symbolizer_resolve(
             console->symbolizer, (*object)->path, (*object)->build_id, call - (*object)->base, symbol))) {
        symbol->offset++;
        return true;
    }
    *symbol = (struct tg_symbol){0};
    return false;
}

char *tg_code_words(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    const struct tg_mapped_object *object;
    struct tg_symbol symbol;
    tg_code_symbol(context, process, address, &symbol, &object);
    return tg_code_symbol_print(&symbol, object, address, buffer, size);
}
