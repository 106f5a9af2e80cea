#include "live/console/script_trace.h"

#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct place {
    char *name;
    char *file;
    size_t line;
    UT_hash_handle hh;
};

struct tg_procedure_places {
    struct place *places;
};

struct tg_error *tg_procedure_places_create(struct tg_procedure_places **places)
{
    *places = calloc(1, sizeof **places);
    return *places == NULL ? tg_error_no_memory() : NULL;
}

static void drop(struct tg_procedure_places *places, struct place *place)
{
    HASH_DEL(places->places, place);
    free(place->name);
    free(place->file);
    free(place);
}

void tg_procedure_places_destroy(struct tg_procedure_places *places)
{
    struct place *place, *next;
    if (places == NULL)
        return;
    HASH_ITER (hh, places->places, place, next)
        drop(places, place);
    free(places);
}

/* Procedures of the global namespace are called by either form. */
static const char *without_colons(const char *name)
{
    return name + strspn(name, ":");
}

struct tg_error *tg_procedure_places_set(struct tg_procedure_places *places, const char *name,
                                         const char *file, size_t line)
{
    struct place *place = NULL;
    name = without_colons(name);
    HASH_FIND_STR(places->places, name, place);
    if (place != NULL)
        drop(places, place);
    if (file == NULL)
        return NULL;
    place = calloc(1, sizeof *place);
    if (place == NULL)
        return tg_error_no_memory();
    place->name = strdup(name);
    place->file = strdup(file);
    place->line = line;
    if (place->name != NULL && place->file != NULL) {
        HASH_ADD_KEYPTR(hh, places->places, place->name, strlen(place->name), place);
        if (place->hh.tbl != NULL)
            return NULL;
    }
    free(place->name);
    free(place->file);
    free(place);
    return tg_error_no_memory();
}

/* "... line 12)" at the end of a line of SIZE bytes. */
static bool take_line_number(const char *text, size_t size, size_t *number)
{
    size_t end = size, value = 0, factor = 1;
    if (size == 0 || text[--end] != ')')
        return false;
    for (; end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9'; end--) {
        value += factor * (size_t)(text[end - 1] - '0');
        if (factor > 100000000)
            return false;
        factor *= 10;
    }
    if (factor == 1 || end < 6 || strncmp(text + end - 6, " line ", 6) != 0)
        return false;
    *number = value;
    return true;
}

static void put_name(struct tg_script_frame *frame, const char *name, size_t size)
{
    if (size >= sizeof frame->procedure)
        size = sizeof frame->procedure - 1;
    memcpy(frame->procedure, name, size);
    frame->procedure[size] = '\0';
}

/* Room for one frame more: behind half of them the last one is written over. */
static struct tg_script_frame *next_frame(struct tg_script_trace *trace)
{
    if (trace->n_frames < TG_SCRIPT_TRACE_FRAMES)
        trace->n_frames++;
    else
        memmove(&trace->frames[TG_SCRIPT_TRACE_FRAMES / 2], &trace->frames[TG_SCRIPT_TRACE_FRAMES / 2 + 1],
                (TG_SCRIPT_TRACE_FRAMES / 2 - 1) * sizeof *trace->frames);
    struct tg_script_frame *frame = &trace->frames[trace->n_frames - 1];
    *frame = (struct tg_script_frame){0};
    return frame;
}

static void end_procedure(const struct tg_procedure_places *places, const char *name, size_t size,
                          size_t line, struct tg_script_trace *trace)
{
    struct tg_script_frame *frame = next_frame(trace);
    struct place *place = NULL;
    put_name(frame, name, size);
    frame->line = line;
    HASH_FIND_STR(places->places, without_colons(frame->procedure), place);
    if (place != NULL) {
        frame->file = place->file;
        frame->line = place->line + line - 1;
    }
}

void tg_script_trace_read(const struct tg_procedure_places *places, const char *info, const char *message,
                          const char *file, size_t line, struct tg_script_trace *trace)
{
    static const char procedure[] = "    (procedure \"";
    size_t inner = 0; /* lines further in, of scripts that are no procedures: each begins on its command's */
    trace->n_frames = 0;
    if (strncmp(info, message, strlen(message)) == 0)
        info += strlen(message); /* the message is the program's own, whatever it looks like */
    while (*info != '\0') {
        size_t size = strcspn(info, "\n"), number;
        bool counts = strncmp(info, "    (", 5) == 0 && take_line_number(info, size, &number) && number > 0;
        if (counts && strncmp(info, procedure, sizeof procedure - 1) == 0) {
            const char *name = info + sizeof procedure - 1;
            const char *end = memrchr(name, '"', size - (sizeof procedure - 1));
            if (end != NULL)
                end_procedure(places, name, (size_t)(end - name), number + inner, trace);
            inner = 0;
        } else if (counts) {
            inner += number - 1;
        }
        info += size + (info[size] == '\n');
    }
    struct tg_script_frame *last = next_frame(trace);
    last->file = file;
    last->line = line + inner;
}
