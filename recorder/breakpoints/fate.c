#include "recorder/breakpoints/fate.h"

#include "format/image/break_finder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tg_break_fate_deinit(struct tg_break_fate *fate)
{
    for (size_t i = 0; i < fate->n_missed; i++) {
        free(fate->missed[i].path);
        free(fate->missed[i].build_id);
    }
    free(fate->failure);
    *fate = (struct tg_break_fate){0};
}

void tg_break_fate_fail(struct tg_break_fate *fate, const char *error)
{
    if (fate->failure == NULL)
        fate->failure = strdup(error);
}

void tg_break_fate_miss(struct tg_break_fate *fate, const struct tg_break_object *object,
                        enum tg_break_miss why)
{
    for (size_t i = 0; i < fate->n_missed; i++)
        if (strcmp(fate->missed[i].path, object->path) == 0)
            return;
    if (fate->n_missed == TG_BREAK_FATE_MAX_MISSED)
        return;
    char *path = strdup(object->path);
    char *build_id = strdup(object->build_id != NULL ? object->build_id : "");
    if (path == NULL || build_id == NULL) {
        free(path);
        free(build_id);
        return;
    }
    fate->missed[fate->n_missed].path = path;
    fate->missed[fate->n_missed].build_id = build_id;
    fate->missed[fate->n_missed++].why = why;
}

/* The missed object that most likely has the breakpoint, SIZE_MAX: none has. */
static size_t find_missed(const struct tg_break_fate *fate, const struct tg_break_spec *spec, bool *certain)
{
    size_t best = SIZE_MAX;
    *certain = false;
    for (size_t i = 0; i < fate->n_missed; i++) {
        enum tg_break_presence presence;
        tg_break_finder_find(fate->missed[i].path, fate->missed[i].build_id, &spec, 1, &presence);
        if (presence == TG_BREAK_PRESENT) {
            *certain = true;
            return i;
        }
        if (presence == TG_BREAK_UNKNOWN && best == SIZE_MAX)
            best = i;
    }
    return best;
}

static void write_missed(FILE *out, const struct tg_break_fate *fate, size_t i, bool certain)
{
    const char *path = fate->missed[i].path, *slash = strrchr(path, '/');
    fprintf(out,
            "%s %s, but %s before it was handled; --mode slow, or a glob-list with */%s, handles it in time",
            path, certain ? "has it" : "may have it",
            fate->missed[i].why == TG_BREAK_MISS_CLOSED ? "was closed" : "its program ended",
            slash != NULL ? slash + 1 : path);
}

static void write_absence(FILE *out, const struct tg_break_fate *fate, const struct tg_break_spec *spec)
{
    if (fate->searched == 0)
        fprintf(out, "nothing that was loaded matches %s", spec->library != NULL ? spec->library : "it");
    else if (spec->kind == TG_BREAK_ADDRESS)
        fputs("nothing is loaded at that address", out);
    else if (spec->library != NULL)
        fprintf(out, "%s has no such %s", spec->library, spec->kind == TG_BREAK_LINE ? "line" : "function");
    else
        fprintf(out, "no program or library that was searched has such a %s",
                spec->kind == TG_BREAK_LINE ? "line" : "function");
}

char *tg_break_fate_describe(const struct tg_break_fate *fate, const struct tg_break_spec *spec, bool rarely)
{
    char *text = NULL;
    size_t size;
    bool certain;
    if (fate->planted > 0)
        return NULL;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    size_t missed = find_missed(fate, spec, &certain);
    fprintf(out, "breakpoint %s was never planted: ", spec->text);
    if (fate->failure != NULL) {
        fputs(fate->failure, out);
    } else if (missed != SIZE_MAX) {
        write_missed(out, fate, missed, certain);
    } else {
        write_absence(out, fate, spec);
        if (rarely)
            fputs("; libraries that are closed before the process stops are not seen (--mode slow sees them)",
                  out);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
