#include "analyzer/dump/code_sites.h"

#include "analyzer/models/stacks.h"
#include "analyzer/output/code_names.h"
#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_SITES = 1 << 16,
    RECENT = 1 << 10, /* values that were looked at since the objects of a process changed */
};

struct key {
    const char *module; /* interned */
    const char *build_id;
    uint64_t address;
};

/* An address that was looked at. */
struct site {
    struct key key;
    bool has_name;
    struct tg_named_call name;
    UT_hash_handle hh;
};

struct recent {
    uint64_t value;
    int32_t pid;
};

struct tg_code_sites {
    struct tg_code_names *names;
    struct tg_stack_model *recorded; /* names that the trace has */
    struct tg_string_pool strings;
    struct site *sites;
    struct recent recent[RECENT]; /* by value; all zero: none */
};

struct tg_error *tg_code_sites_create(const struct tg_command_services *services,
                                      struct tg_code_sites **sites)
{
    struct tg_code_sites *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_code_names_create(services, &made->names);
    if (error == NULL)
        error = tg_stack_model_create(&made->recorded);
    if (error != NULL) {
        tg_code_sites_destroy(made);
        return error;
    }
    *sites = made;
    return NULL;
}

void tg_code_sites_destroy(struct tg_code_sites *sites)
{
    if (sites == NULL)
        return;
    struct site *site, *next;
    HASH_ITER (hh, sites->sites, site, next) {
        HASH_DEL(sites->sites, site);
        free(site);
    }
    tg_string_pool_deinit(&sites->strings);
    tg_stack_model_destroy(sites->recorded);
    tg_code_names_destroy(sites->names);
    free(sites);
}

static struct tg_error *keep_name(struct tg_code_sites *sites, struct site *site,
                                  const struct tg_symbol *symbol, uint64_t distance)
{
    const char *function = symbol->function == NULL ? "" : symbol->function;
    const char *file = symbol->file == NULL ? "" : symbol->file;
    struct tg_error *error = tg_string_pool_intern(&sites->strings, function, &site->name.function);
    if (error == NULL)
        error = tg_string_pool_intern(&sites->strings, file, &site->name.file);
    site->name.offset = symbol->offset - distance;
    site->name.line = symbol->line;
    site->has_name = error == NULL && (*function != '\0' || *file != '\0');
    return error;
}

/* VALUE is in FIELD of an event of PID. */
static struct tg_error *take_value(struct tg_code_sites *sites, int32_t pid, const struct tg_field *field,
                                   uint64_t value)
{
    uint64_t distance = strcmp(field->name, "body") == 0 ? 0 : 1; /* as tg_code_names_find has it */
    const struct tg_mapped_object *object = tg_code_names_object(sites->names, pid, value - distance + 1);
    struct tg_code_name name;
    struct site *site;
    struct key key;
    memset(&key, 0, sizeof key);
    if (object == NULL)
        return NULL;
    key.address = value - distance - object->base;
    struct tg_error *error = tg_string_pool_intern(&sites->strings, object->path, &key.module);
    if (error == NULL)
        error = tg_string_pool_intern(&sites->strings, object->build_id, &key.build_id);
    if (error != NULL)
        return error;
    HASH_FIND(hh, sites->sites, &key, sizeof key, site);
    if (site != NULL || HASH_COUNT(sites->sites) >= MAX_SITES)
        return NULL;
    error = TG_HASH_CREATE(hh, sites->sites, key, &key, site);
    if (error == NULL && tg_code_names_find(sites->names, pid, field, value, &name))
        error = keep_name(sites, site, &name.symbol, distance);
    return error;
}

static bool is_code(const struct tg_field *field)
{
    return field->type == TG_FIELD_ADDRESS &&
           (strcmp(field->name, "code") == 0 || strcmp(field->name, "caller") == 0 ||
            strcmp(field->name, "body") == 0);
}

struct tg_error *tg_code_sites_feed(struct tg_code_sites *sites, const struct tg_event *event)
{
    struct tg_error *error = NULL;
    if (event->kind == TG_EVENT_CODE_NAME)
        return tg_stack_model_feed(sites->recorded, event, SIZE_MAX);
    if (tg_code_names_needs(event->kind)) {
        memset(sites->recent, 0, sizeof sites->recent);
        error = tg_code_names_feed(sites->names, event);
    }
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    for (size_t i = 0; error == NULL && schema != NULL && i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        uint64_t value;
        if (!is_code(field))
            continue;
        memcpy(&value, (const char *)TG_EVENT_PAYLOAD(event) + field->offset, sizeof value);
        struct recent *recent = &sites->recent[value % RECENT];
        if (value == 0 || (recent->value == value && recent->pid == event->pid))
            continue;
        *recent = (struct recent){value, event->pid};
        error = take_value(sites, event->pid, field, value);
    }
    return error;
}

static bool is_recorded(const struct tg_code_sites *sites, const struct site *site)
{
    const struct tg_stack_frame frame = {
        .module = site->key.module, .build_id = site->key.build_id, .address = site->key.address};
    return tg_stack_model_names(sites->recorded, &frame).count > 0;
}

struct tg_error *tg_code_sites_tell(const struct tg_code_sites *sites, uint64_t time_ns,
                                    struct tg_error *(*take)(void *context, const struct tg_event *event),
                                    void *context)
{
    struct tg_error *error = NULL;
    for (const struct site *site = sites->sites; error == NULL && site != NULL; site = site->hh.next) {
        if (!site->has_name || is_recorded(sites, site))
            continue;
        const struct tg_event event = {.kind = TG_EVENT_CODE_NAME,
                                       .time_ns = time_ns,
                                       .code_name = {.module = site->key.module,
                                                     .build_id = site->key.build_id,
                                                     .address = site->key.address,
                                                     .calls = {.items = &site->name, .count = 1}}};
        error = take(context, &event);
    }
    return error;
}
