#include "live/commands/info/heap_guards.h"

#include "analyzer/heap/fault_words.h"
#include "analyzer/heap/words.h"
#include "analyzer/output/quantity.h"
#include "format/base/array.h"

#include <inttypes.h>
#include <stdlib.h>

struct found {
    size_t process;
    struct tg_source_guards is;
};

struct tg_heap_guards {
    struct found *found;
    size_t count, capacity;
};

/* Of PROCESS; a process that has no answer is left out, and said. */
static struct tg_error *check_process(struct tg_console *console, size_t process, FILE *out,
                                      struct tg_heap_guards *guards)
{
    struct tg_source *source = console->source;
    int64_t pid = tg_process_model_at(source->moment->processes, process)->pid;
    struct tg_error *error =
        TG_ARRAY_APPEND(guards->found, guards->count, guards->capacity, (struct found){.process = process});
    if (error != NULL)
        return error;
    error = source->ops->check_guards(source, pid, &guards->found[guards->count - 1].is);
    if (error == NULL)
        return NULL;
    guards->count--;
    if (tg_error_code(error) == TG_ERROR_UNSUPPORTED || tg_error_code(error) == TG_ERROR_NO_MEMORY)
        return tg_error_prefix(error, "dheap -guard -check");
    fprintf(out, "process %" PRId64 " is not checked: %s\n", pid, tg_error_message(error));
    tg_error_destroy(error);
    return NULL;
}

struct tg_error *tg_heap_guards_check(struct tg_console *console, FILE *out, struct tg_heap_guards **guards)
{
    const struct tg_process_model *processes = console->source->moment->processes;
    *guards = NULL;
    if (console->source->ops->check_guards == NULL)
        return tg_error_create(
            TG_ERROR_UNSUPPORTED,
            "dheap -guard -check needs a live job: this is a recorded trace; see tollgate live");
    struct tg_heap_guards *made = calloc(1, sizeof *made);
    struct tg_error *error = made == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < tg_process_model_count(processes); i++)
        if (tg_process_model_at(processes, i)->end == TG_PROCESS_RUNNING && tg_focus_has(&console->focus, i))
            error = check_process(console, i, out, made);
    if (error == NULL)
        *guards = made;
    else
        tg_heap_guards_destroy(made);
    return error;
}

static void write_found(const struct found *found, const struct tg_heap_reading *reading, FILE *out)
{
    const struct tg_source_guards *is = &found->is;
    const struct tg_heap_path_names names = {reading->stacks, reading->names};
    char blocks[TG_QUANTITY_SIZE], wrong[TG_QUANTITY_SIZE];
    tg_heap_words_process(out, tg_process_model_at(reading->processes, found->process));
    fprintf(out, ": guards of %s live block%s checked: ", tg_quantity_count(is->n_blocks, blocks),
            is->n_blocks == 1 ? "" : "s");
    if (is->n_wrong == 0)
        fputs("all intact", out);
    else
        fprintf(out, "%s overwritten", tg_quantity_count(is->n_wrong, wrong));
    if (is->n_unread > 0)
        fprintf(out, ", %s could not be read", tg_quantity_count(is->n_unread, wrong));
    fputc('\n', out);
    for (size_t i = 0; i < is->n_faults; i++) {
        const struct tg_event_heap_error *fault = &is->faults[i];
        const struct tg_heap_fault shown = {
            .process = found->process,
            .allocated_path =
                tg_heap_model_path_of(reading->heap, found->process, (uint32_t)fault->allocated_stack),
            .is = *fault};
        fputs("  ", out);
        tg_heap_words_fault(out, &names, reading->heap, &shown);
        fputc('\n', out);
    }
    if (is->n_faults < is->n_wrong)
        fprintf(out, "  and %s more\n", tg_quantity_count(is->n_wrong - is->n_faults, wrong));
}

void tg_heap_guards_write(const struct tg_heap_guards *guards, const struct tg_heap_reading *reading,
                          FILE *out)
{
    for (size_t i = 0; i < guards->count; i++)
        write_found(&guards->found[i], reading, out);
}

void tg_heap_guards_destroy(struct tg_heap_guards *guards)
{
    if (guards == NULL)
        return;
    free(guards->found);
    free(guards);
}
