/* A heap as profile.proto of pprof, gzipped: the samples of a Go heap profile (inuse_space and its kin). */
#include "analyzer/heap/format.h"
#include "analyzer/heap/gzip.h"
#include "analyzer/heap/path_names.h"

#include "format/base/byte_buffer.h"
#include "format/base/hash.h"
#include "format/base/printable.h"

enum { VARINT = 0, BYTES = 2 };

/* Numbers of strings, functions and locations that were written. */
struct known {
    char *key;
    uint64_t number;
    UT_hash_handle hh;
};

struct profile {
    struct tg_byte_buffer bytes;   /* the message */
    struct tg_byte_buffer strings; /* string_table, written last */
    struct known *texts, *functions, *locations;
    struct tg_byte_buffer sample; /* location ids of the current one */
    bool failed;
};

/* ---- protobuf */

static void put_varint(struct profile *profile, struct tg_byte_buffer *to, uint64_t value)
{
    if (profile->failed || !tg_byte_buffer_reserve(to, TG_VARINT_MAX_BYTES))
        profile->failed = true;
    else
        tg_byte_buffer_put_varint(to, value);
}

static void put_number(struct profile *profile, struct tg_byte_buffer *to, unsigned field, uint64_t value)
{
    put_varint(profile, to, field << 3 | VARINT);
    put_varint(profile, to, value);
}

static void put_bytes(struct profile *profile, struct tg_byte_buffer *to, unsigned field, const void *data,
                      size_t size)
{
    put_varint(profile, to, field << 3 | BYTES);
    put_varint(profile, to, size);
    if (profile->failed || !tg_byte_buffer_reserve(to, size))
        profile->failed = true;
    else if (size > 0)
        tg_byte_buffer_put(to, data, size);
}

static void put_message(struct profile *profile, unsigned field, struct tg_byte_buffer *message)
{
    put_bytes(profile, &profile->bytes, field, message->data, message->size);
    tg_byte_buffer_deinit(message);
    *message = (struct tg_byte_buffer){0};
}

/* ---- tables */

/* The number of KEY in TABLE; *IS_NEW: it was not there. 0 without memory. */
static uint64_t number_of(struct profile *profile, struct known **table, const char *key, bool *is_new)
{
    struct known *found;
    HASH_FIND_STR(*table, key, found);
    *is_new = found == NULL;
    if (found != NULL)
        return found->number;
    found = calloc(1, sizeof *found);
    char *own = found == NULL ? NULL : strdup(key);
    if (own == NULL || TG_HASH_ADD_KEY(hh, *table, own, strlen(own), found) != NULL) {
        free(own);
        free(found);
        profile->failed = true;
        return 0;
    }
    found->key = own;
    found->number = HASH_COUNT(*table);
    return found->number;
}

/* The index of TEXT in the string table, whose first one is "". */
static uint64_t string_of(struct profile *profile, const char *text)
{
    bool is_new;
    char shown[1024]; /* strings of the format are UTF-8 */
    if (*text == '\0')
        return 0;
    tg_printable(text, shown, sizeof shown);
    uint64_t number = number_of(profile, &profile->texts, shown, &is_new);
    if (is_new)
        put_bytes(profile, &profile->strings, 6, shown, strlen(shown));
    return number;
}

static void free_table(struct known *table)
{
    struct known *known, *next;
    HASH_ITER (hh, table, known, next) {
        HASH_DEL(table, known);
        free(known->key);
        free(known);
    }
}

static uint64_t function_of(struct profile *profile, const struct tg_stack_call *call)
{
    char *key;
    bool is_new;
    const char *name = *call->function != '\0' ? call->function : *call->module != '\0' ? call->module : "?";
    if (asprintf(&key, "%s\n%s\n%s", name, call->file, call->module) < 0) {
        profile->failed = true;
        return 0;
    }
    uint64_t number = number_of(profile, &profile->functions, key, &is_new);
    free(key);
    if (is_new && number != 0) {
        struct tg_byte_buffer function = {0};
        put_number(profile, &function, 1, number);
        put_number(profile, &function, 2, string_of(profile, name));
        put_number(profile, &function, 3, string_of(profile, name));
        put_number(profile, &function, 4, string_of(profile, call->file));
        put_message(profile, 5, &function);
    }
    return number;
}

/* Adds the location of a call to the sample. */
static bool take_call(void *context, const struct tg_stack_call *call)
{
    struct profile *profile = context;
    char *key;
    bool is_new;
    if (asprintf(&key, "%s\n%llx\n%s\n%llu", call->module, (unsigned long long)call->address, call->function,
                 (unsigned long long)call->line) < 0) {
        profile->failed = true;
        return false;
    }
    uint64_t number = number_of(profile, &profile->locations, key, &is_new);
    free(key);
    if (is_new && number != 0) {
        struct tg_byte_buffer location = {0}, line = {0};
        put_number(profile, &line, 1, function_of(profile, call));
        put_number(profile, &line, 2, call->line);
        put_number(profile, &location, 1, number);
        put_number(profile, &location, 3, call->address);
        put_bytes(profile, &location, 4, line.data, line.size);
        put_message(profile, 4, &location);
        tg_byte_buffer_deinit(&line);
    }
    put_varint(profile, &profile->sample, number);
    return !profile->failed;
}

/* ---- all */

static void put_type(struct profile *profile, unsigned field, const char *type, const char *unit)
{
    struct tg_byte_buffer value = {0};
    put_number(profile, &value, 1, string_of(profile, type));
    put_number(profile, &value, 2, string_of(profile, unit));
    put_message(profile, field, &value);
}

static struct tg_error *put_sample(struct profile *profile, const struct tg_heap_drawing *drawing,
                                   const struct tg_heap_row *row)
{
    static const struct tg_stack_call unknown = {.function = "(unknown)", .file = "", .module = ""};
    const struct tg_heap_path_names names = {drawing->reading->stacks, drawing->reading->names};
    const struct tg_heap_path *path =
        tg_heap_call_paths_at(tg_heap_model_paths(drawing->reading->heap), row->path);
    const uint64_t values[] = {tg_heap_amount_blocks(&row->use.allocated), row->use.allocated.bytes,
                               tg_heap_amount_blocks(&row->use.at_peak),   row->use.at_peak.bytes,
                               tg_heap_amount_blocks(&row->use.live),      row->use.live.bytes};
    struct tg_byte_buffer sample = {0}, packed = {0};
    struct tg_error *error = NULL;
    profile->sample.size = 0;
    if (path->count == 0)
        take_call(profile, &unknown);
    else
        error = tg_heap_path_each_call(&names, path, take_call, profile);
    put_bytes(profile, &sample, 1, profile->sample.data, profile->sample.size);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        put_varint(profile, &packed, values[i]);
    put_bytes(profile, &sample, 2, packed.data, packed.size);
    put_message(profile, 2, &sample);
    tg_byte_buffer_deinit(&packed);
    return error;
}

/* The first mapping is the main program's, by which pprof names the profile; it has no addresses that could be looked up. */
static void put_program(struct profile *profile, const struct tg_heap_drawing *drawing)
{
    enum { ID = 1, FILE_NAME = 5, HAS_FUNCTIONS = 7, HAS_FILES = 8, HAS_LINES = 9 };
    struct tg_byte_buffer mapping = {0};
    if (tg_heap_model_count(drawing->reading->heap) == 0)
        return;
    size_t process = tg_heap_model_at(drawing->reading->heap, 0)->process;
    put_number(profile, &mapping, ID, 1);
    put_number(profile, &mapping, FILE_NAME,
               string_of(profile, tg_process_model_at(drawing->reading->processes, process)->program));
    for (unsigned has = HAS_FUNCTIONS; has <= HAS_LINES; has++)
        put_number(profile, &mapping, has, true);
    put_message(profile, 3, &mapping);
}

static struct tg_error *put_all(struct profile *profile, const struct tg_heap_drawing *drawing)
{
    static const char *const types[][2] = {{"alloc_objects", "count"}, {"alloc_space", "bytes"},
                                           {"peak_objects", "count"},  {"peak_space", "bytes"},
                                           {"inuse_objects", "count"}, {"inuse_space", "bytes"}};
    static const char *const defaults[] = {"peak_space", "inuse_space", "alloc_space", "alloc_objects",
                                           "alloc_objects"};
    struct tg_error *error = NULL;
    put_bytes(profile, &profile->strings, 6, "", 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        put_type(profile, 1, types[i][0], types[i][1]);
    put_program(profile, drawing);
    for (size_t i = 0; error == NULL && i < drawing->profile->count; i++)
        error = put_sample(profile, drawing, &drawing->profile->rows[i]);
    put_number(profile, &profile->bytes, 10, drawing->reading->end_ns - drawing->reading->start_ns);
    put_number(profile, &profile->bytes, 14, string_of(profile, defaults[drawing->profile->cost]));
    if (!profile->failed && tg_byte_buffer_reserve(&profile->bytes, profile->strings.size))
        tg_byte_buffer_put(&profile->bytes, profile->strings.data, profile->strings.size);
    else
        profile->failed = true;
    return error != NULL ? error : profile->failed ? tg_error_no_memory() : NULL;
}

struct tg_error *tg_heap_write_pprof(const struct tg_heap_drawing *drawing, FILE *stream)
{
    struct profile profile = {0};
    struct tg_error *error = put_all(&profile, drawing);
    if (error == NULL)
        tg_gzip_write(stream, profile.bytes.data, profile.bytes.size);
    tg_byte_buffer_deinit(&profile.bytes);
    tg_byte_buffer_deinit(&profile.strings);
    tg_byte_buffer_deinit(&profile.sample);
    free_table(profile.texts);
    free_table(profile.functions);
    free_table(profile.locations);
    return error;
}
