#include "analyzer/output/code_names.h"

#include "analyzer/models/event_headline.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tg_code_names {
    const struct tg_command_services *services;
    struct tg_addresses *addresses;
    struct tg_symbolizer *symbolizer;
    struct tg_stack_model *recorded; /* names that the trace has; no stacks are fed */
    uint64_t feeds;
};

struct tg_error *tg_code_names_create(const struct tg_command_services *services,
                                      struct tg_code_names **names)
{
    struct tg_code_names *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->services = services;
    struct tg_error *error = tg_addresses_create(&made->addresses);
    if (error == NULL)
        error = tg_stack_model_create(&made->recorded);
    if (error == NULL)
        error = services->symbolizer_create(&made->symbolizer);
    if (error != NULL) {
        tg_code_names_destroy(made);
        return error;
    }
    *names = made;
    return NULL;
}

void tg_code_names_destroy(struct tg_code_names *names)
{
    if (names == NULL)
        return;
    names->services->symbolizer_destroy(names->symbolizer);
    tg_stack_model_destroy(names->recorded);
    tg_addresses_destroy(names->addresses);
    free(names);
}

struct tg_error *tg_code_names_feed(struct tg_code_names *names, const struct tg_event *event)
{
    names->feeds += tg_code_names_needs(event->kind);
    return event->kind == TG_EVENT_CODE_NAME ? tg_stack_model_feed(names->recorded, event, SIZE_MAX)
                                             : tg_addresses_feed(names->addresses, event);
}

bool tg_code_names_needs(unsigned kind)
{
    return kind == TG_EVENT_CODE_NAME || tg_addresses_needs(kind);
}

uint64_t tg_code_names_feeds(const struct tg_code_names *names)
{
    return names->feeds;
}

/* How far before the address in FIELD lies the instruction that it is about; -1: it is no code address. */
static int distance_of(const struct tg_field *field)
{
    if (field->type != TG_FIELD_ADDRESS)
        return -1;
    if (strcmp(field->name, "code") == 0 || strcmp(field->name, "caller") == 0)
        return 1; /* behind a call */
    return strcmp(field->name, "body") == 0 ? 0 : -1;
}

bool tg_code_names_concern(const struct tg_field *field)
{
    return distance_of(field) >= 0;
}

static const char *known(const char *text)
{
    return *text == '\0' ? NULL : text;
}

bool tg_code_recorded_symbol(const struct tg_stack_model *recorded, const struct tg_mapped_object *object,
                             uint64_t address, struct tg_symbol *symbol)
{
    const struct tg_stack_frame frame = {
        .module = object->path, .build_id = object->build_id, .address = address - object->base};
    struct tg_stack_names names = tg_stack_model_names(recorded, &frame);
    if (names.count == 0)
        return false;
    const struct tg_named_call *innermost = &names.calls[0];
    *symbol = (struct tg_symbol){known(innermost->function), innermost->offset, known(innermost->file),
                                 innermost->line};
    return symbol->function != NULL || symbol->file != NULL;
}

static bool find(struct tg_code_names *names, int32_t pid, uint64_t value, unsigned distance,
                 struct tg_code_name *name)
{
    if (value == 0)
        return false;
    uint64_t address = value - distance;
    const struct tg_mapped_object *object = tg_addresses_find(names->addresses, pid, address);
    struct tg_symbol symbol;
    if (object == NULL)
        return false;
    if (!tg_code_recorded_symbol(names->recorded, object, address, &symbol) &&
        !names->services->symbolizer_resolve(names->symbolizer, object->path, object->build_id,
                                             address - object->base, &symbol))
        return false;
    symbol.offset += distance;
    *name = (struct tg_code_name){.object = object->path, .symbol = symbol};
    return true;
}

bool tg_code_names_find(struct tg_code_names *names, int32_t pid, const struct tg_field *field,
                        uint64_t value, struct tg_code_name *name)
{
    int distance = distance_of(field);
    return distance >= 0 && find(names, pid, value, (unsigned)distance, name);
}

bool tg_code_names_find_return(struct tg_code_names *names, int32_t pid, uint64_t address,
                               struct tg_code_name *name)
{
    return find(names, pid, address, 1, name);
}

const struct tg_mapped_object *tg_code_names_object(const struct tg_code_names *names, int32_t pid,
                                                    uint64_t address)
{
    return address == 0 ? NULL : tg_addresses_find(names->addresses, pid, address - 1);
}

bool tg_code_names_in_module(struct tg_code_names *names, const char *path, const char *build_id,
                             uint64_t address, struct tg_symbol *symbol)
{
    return names->services->symbolizer_resolve(names->symbolizer, path, build_id, address, symbol);
}

/* The size of a program is not always known; nothing is as large as that. */
static bool holds(const struct tg_mapped_object *object, uint64_t address)
{
    return object != NULL && address >= object->base &&
           address - object->base < (object->size_bytes != 0 ? object->size_bytes : UINT64_C(1) << 31);
}

char *tg_code_symbol_print(const struct tg_symbol *symbol, const struct tg_mapped_object *object,
                           uint64_t address, char *buffer, size_t size)
{
    char function[160], file[160];
    if (symbol->function == NULL && symbol->file == NULL && holds(object, address - 1)) {
        tg_printable(tg_event_headline_base_name(object->path), file, sizeof file);
        snprintf(buffer, size, "%s+0x%" PRIx64, file, address - 1 - object->base);
        return buffer;
    }
    if (symbol->function == NULL && symbol->file == NULL) {
        snprintf(buffer, size, "0x%" PRIx64, address);
        return buffer;
    }
    if (symbol->file != NULL)
        tg_printable(tg_event_headline_base_name(symbol->file), file, sizeof file);
    if (symbol->function == NULL) {
        snprintf(buffer, size, "%s:%" PRIu64, file, symbol->line);
        return buffer;
    }
    tg_printable(symbol->function, function, sizeof function);
    if (symbol->file != NULL)
        snprintf(buffer, size, "%s (%s:%" PRIu64 ")", function, file, symbol->line);
    else
        snprintf(buffer, size, "%s+0x%" PRIx64, function, symbol->offset);
    return buffer;
}

char *tg_code_names_print(struct tg_code_names *names, int32_t pid, uint64_t address, char *buffer,
                          size_t size)
{
    struct tg_code_name name = {0};
    tg_code_names_find_return(names, pid, address, &name);
    const struct tg_mapped_object *object = tg_code_names_object(names, pid, address);
    return tg_code_symbol_print(&name.symbol, object, address, buffer, size);
}

char *tg_code_variable_print(const struct tg_command_services *services, struct tg_symbolizer *symbolizer,
                             const struct tg_mapped_object *object, uint64_t address, char *buffer,
                             size_t size)
{
    char shown[160];
    uint64_t offset = 0;
    if (!holds(object, address) || services->symbolizer_variable == NULL)
        return NULL;
    const char *name = services->symbolizer_variable(symbolizer, object->path, object->build_id,
                                                     address - object->base, &offset);
    if (name == NULL)
        return NULL;
    tg_printable(name, shown, sizeof shown);
    if (offset == 0)
        snprintf(buffer, size, "%s", shown);
    else
        snprintf(buffer, size, "%s+%" PRIu64, shown, offset);
    return buffer;
}

char *tg_code_names_variable(struct tg_code_names *names, int32_t pid, uint64_t address, char *buffer,
                             size_t size)
{
    return tg_code_variable_print(names->services, names->symbolizer,
                                  tg_addresses_find(names->addresses, pid, address), address, buffer, size);
}
