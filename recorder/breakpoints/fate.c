#include "recorder/breakpoints/fate.h"

#include "format/base/hash.h"
#include "format/image/break_finder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tg_break_missed {
    char *path, *build_id;
    enum tg_break_miss why;
    UT_hash_handle hh;
};

static void free_missed(struct tg_break_missed *missed)
{
    if (missed == NULL)
        return;
    free(missed->path);
    free(missed->build_id);
    free(missed);
}

void tg_break_fate_deinit(struct tg_break_fate *fate)
{
    struct tg_break_missed *missed, *next;
    HASH_ITER (hh, fate->missed, missed, next) {
        HASH_DEL(fate->missed, missed);
        free_missed(missed);
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
    struct tg_break_missed *missed = NULL;
    HASH_FIND_STR(fate->missed, object->path, missed);
    if (missed != NULL)
        return;
    if (HASH_COUNT(fate->missed) < TG_BREAK_FATE_MAX_MISSED)
        missed = calloc(1, sizeof *missed);
    if (missed != NULL) {
        missed->path = strdup(object->path);
        missed->build_id = strdup(object->build_id != NULL ? object->build_id : "");
        missed->why = why;
    }
    if (missed != NULL && missed->path != NULL && missed->build_id != NULL &&
        TG_HASH_ADD_KEY(hh, fate->missed, missed->path, strlen(missed->path), missed) == NULL)
        return;
    free_missed(missed);
    fate->has_dropped = true;
}

/* The missed object that most likely has the breakpoint, NULL: none has. */
static const struct tg_break_missed *find_missed(const struct tg_break_fate *fate,
                                                 const struct tg_break_spec *spec, bool *certain)
{
    const struct tg_break_missed *best = NULL;
    *certain = false;
    for (const struct tg_break_missed *missed = fate->missed; missed != NULL; missed = missed->hh.next) {
        enum tg_break_presence presence;
        tg_break_finder_find(missed->path, missed->build_id, &spec, 1, &presence);
        if (presence == TG_BREAK_PRESENT) {
            *certain = true;
            return missed;
        }
        if (presence == TG_BREAK_UNKNOWN && best == NULL)
            best = missed;
    }
    return best;
}

static void write_missed(FILE *out, const struct tg_break_missed *missed, bool certain)
{
    const char *path = missed->path, *slash = strrchr(path, '/');
    fprintf(out,
            "%s %s, but %s before it was handled; --mode slow, or a glob-list with */%s, handles it in time",
            path, certain ? "has it" : "may have it",
            missed->why == TG_BREAK_MISS_CLOSED ? "was closed" : "its program ended",
            slash != NULL ? slash + 1 : path);
}

/* Whether something that SPEC may be in was loaded, be it that it was found only when its program ended. */
static bool was_loaded(const struct tg_break_fate *fate, const struct tg_break_spec *spec)
{
    if (fate->searched > 0)
        return true;
    for (const struct tg_break_missed *missed = fate->missed; missed != NULL; missed = missed->hh.next)
        if (tg_break_spec_admits(spec, missed->path))
            return true;
    return false;
}

static void write_absence(FILE *out, const struct tg_break_fate *fate, const struct tg_break_spec *spec)
{
    if (!was_loaded(fate, spec))
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
    const struct tg_break_missed *missed = find_missed(fate, spec, &certain);
    fprintf(out, "breakpoint %s was never planted: ", spec->text);
    if (fate->failure != NULL) {
        fputs(fate->failure, out);
    } else if (missed != NULL) {
        write_missed(out, missed, certain);
    } else {
        write_absence(out, fate, spec);
        if (fate->has_dropped)
            fputs("; more libraries were unloaded before they were searched (--mode slow searches all)", out);
        if (rarely)
            fputs("; libraries that are closed before the process stops are not seen (--mode slow sees them)",
                  out);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
