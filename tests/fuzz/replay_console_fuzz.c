/* Scripts for the console, on events of any kind in any order: what is before the first NUL is the script,
 * the bytes behind it make the events. The interpreter is safe, and of Tcl's own commands only those are left
 * that cannot be asked for the whole memory. Whatever is typed, what is printed is safe on a terminal. */
#include "format/base/utf8.h"
#include "live/commands/table.h"
#include "live/console/completion.h"
#include "live/console/console.h"
#include "live/console/eval.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <locale.h>
#include <stdio.h>

enum { MAX_EVENTS = 300, MAX_COMMANDS = 3000, MAX_NESTING = 60, MAX_SCRIPT = 4096 };

/* ---- events in memory as a source */

struct memory_source {
    struct tg_source public;
    struct tg_moment *moment;
    struct tg_event *events;
    uint64_t count;
};

static struct tg_error *step(struct tg_source *source, bool *at_end)
{
    struct memory_source *memory = (struct memory_source *)source;
    *at_end = source->number == memory->count;
    if (*at_end)
        return NULL;
    source->event = &memory->events[source->number++];
    source->time_ns = source->event->time_ns;
    return tg_moment_feed(memory->moment, source->event);
}

static struct tg_error *seek(struct tg_source *source, const struct tg_target *target)
{
    struct memory_source *memory = (struct memory_source *)source;
    tg_moment_destroy(memory->moment);
    assert(tg_moment_create(&memory->moment) == NULL);
    source->moment = memory->moment;
    source->event = NULL;
    source->number = 0;
    source->time_ns = source->start_ns;
    for (bool at_end = false; !at_end;) {
        if (target->kind == TG_TO_EVENT && source->number >= target->number)
            break;
        if (target->kind == TG_TO_TIME && source->number < memory->count &&
            memory->events[source->number].time_ns > target->time_ns)
            break;
        struct tg_error *error = step(source, &at_end);
        if (error != NULL)
            return error;
    }
    return NULL;
}

static const struct tg_source_ops memory_ops = {.step = step, .seek = seek};

/* ---- events from bytes */

static const char *const texts[] = {"",          "MPI_Barrier", "MPI_Send", "MPI_Recv", "MPI_Isend",
                                    "/lib/a.so", "[exit 9]",    "$x {",     "\x1b[31m", "\xff\xc3"};
static const struct tg_library libraries[] = {
    {.path = "/lib/a.so", .build_id = "", .base = 0x1000, .size_bytes = 99},
    {.path = "[quit 5]\n", .build_id = "x", .dependency = 1}};

static uint64_t number_of(uint8_t byte)
{
    return byte < 0xf0 ? byte & 7 : byte & 1 ? UINT64_MAX : (uint64_t)INT64_MAX;
}

/* Four bytes and one for each field, as far as there are any. */
static size_t make_event(const uint8_t *bytes, size_t size, uint64_t i, struct tg_event *event)
{
    size_t used = size < 3 ? size : 3;
    *event = (struct tg_event){.time_ns = 1000 + i * 10};
    event->kind = tg_event_kind_at(bytes[0] % tg_event_kind_count());
    event->pid = size > 1 ? 10 + bytes[1] % 3 : 10;
    event->tid = size > 2 ? event->pid + bytes[2] % 4 * 100 : event->pid;
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    for (size_t j = 0; j < schema->n_fields; j++) {
        const struct tg_field *field = &schema->fields[j];
        char *at = (char *)TG_EVENT_PAYLOAD(event) + field->offset;
        uint8_t byte = used < size ? bytes[used++] : 0;
        uint64_t number = number_of(byte);
        const char *text = texts[byte % (sizeof texts / sizeof *texts)];
        struct tg_list list = {.items = libraries, .count = 0};
        if (field->type == TG_FIELD_LIST && field->element->size_bytes == sizeof(struct tg_library))
            list.count = byte % 3;
        if (field->type == TG_FIELD_STRING)
            memcpy(at, &text, sizeof text);
        else if (field->type == TG_FIELD_LIST)
            memcpy(at, &list, sizeof list);
        else
            memcpy(at, &number, sizeof number);
    }
    return used;
}

/* ---- the interpreter */

static void keep_harmless_commands(Tcl_Interp *interp)
{
    static const char *const kept[] = {"set",  "if",    "foreach", "catch", "list", "llength",
                                       "dict", "error", "unset",   "info",  "opm"};
    int n = 0;
    Tcl_Obj **names;
    assert(Tcl_Eval(interp, "info commands") == TCL_OK);
    Tcl_Obj *all = Tcl_GetObjResult(interp);
    Tcl_IncrRefCount(all);
    assert(Tcl_ListObjGetElements(interp, all, &n, &names) == TCL_OK);
    for (int i = 0; i < n; i++) {
        const char *name = Tcl_GetString(names[i]);
        bool keep = false;
        for (size_t j = 0; j < sizeof kept / sizeof *kept; j++)
            keep |= strcmp(kept[j], name) == 0;
        for (size_t j = 0; tg_command_table.commands[j] != NULL; j++)
            keep |= strcmp(tg_command_table.commands[j]->name, name) == 0;
        if (!keep)
            Tcl_DeleteCommand(interp, name);
    }
    Tcl_DecrRefCount(all);
    Tcl_ResetResult(interp);
    Tcl_SetRecursionLimit(interp, MAX_NESTING);
    Tcl_LimitSetCommands(interp, MAX_COMMANDS);
    Tcl_LimitTypeSet(interp, TCL_LIMIT_COMMANDS);
}

static void check_text(const char *text)
{
    while (*text != '\0') {
        uint32_t code_point;
        size_t length = tg_utf8_decode(text, &code_point);
        assert(length > 0);
        assert(code_point == '\n' || code_point == '\t' || !tg_utf8_deceives(code_point));
        text += length;
    }
}

static void count_offer(void *context, const char *word)
{
    size_t *count = context;
    assert(*word != '\0');
    (*count)++;
}

static void run_script(struct tg_source *source, const char *script)
{
    char *text = NULL;
    size_t size, start = 0, offered = 0;
    FILE *out = open_memstream(&text, &size);
    assert(out != NULL);
    const struct tg_console_options options = {
        .out = out, .errors = out, .is_safe = true, .table = &tg_command_table};
    struct tg_console *console = NULL;
    assert(tg_console_create(source, &options, &console) == NULL);
    keep_harmless_commands(console->interp);
    tg_console_complete(console, script, strlen(script), &start, count_offer, &offered);
    assert(start <= strlen(script));
    FILE *lines = fmemopen((void *)(uintptr_t)script, strlen(script) + (*script == '\0'), "r");
    assert(lines != NULL);
    tg_console_read(console, lines, TG_PRINT_ALL, "script", false);
    fclose(lines);
    tg_console_destroy(console);
    fclose(out);
    check_text(text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* as main does */
    char *script = fuzz_string(data, size);
    size_t at = strlen(script) + 1;
    struct memory_source memory = {
        .public = {.ops = &memory_ops, .start_ns = 900, .time_ns = 900, .name = "memory", .wake_fd = -1}};
    memory.events = calloc(MAX_EVENTS, sizeof *memory.events);
    assert(memory.events != NULL && tg_moment_create(&memory.moment) == NULL);
    memory.public.moment = memory.moment;
    while (at < size && memory.count < MAX_EVENTS) {
        at += make_event(data + at, size - at, memory.count, &memory.events[memory.count]);
        memory.count++;
    }
    if (strlen(script) <= MAX_SCRIPT)
        run_script(&memory.public, script);
    tg_moment_destroy(memory.moment);
    free(memory.events);
    free(script);
    return 0;
}
