#include "analyzer/filter/suggestion.h"

#include "format/base/shell_quote.h"
#include "format/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above MAX_GROUPED libraries, no patterns for several libraries are searched: the time grows with the
 * square. */
enum { MAX_GROUPED = 1000, MIN_PREFIX = 4, MAX_NEGATED_PATTERNS = 64 };

static const char cuda_pattern[] = "*/libcuda.so*";

void tg_suggestion_lists_deinit(struct tg_suggestion_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++)
        free(lists->lists[i]);
    *lists = (struct tg_suggestion_lists){0};
}

/* ---- text ---- */

struct text {
    FILE *stream;
    char *data;
    size_t size;
};

static bool text_open(struct text *text)
{
    *text = (struct text){0};
    text->stream = open_memstream(&text->data, &text->size);
    return text->stream != NULL;
}

/* NULL: no memory. */
static char *text_close(struct text *text)
{
    bool failed = ferror(text->stream) != 0;
    failed |= fclose(text->stream) != 0;
    if (failed) {
        free(text->data);
        return NULL;
    }
    return text->data;
}

static void put_escaped(FILE *stream, const char *text, size_t length, bool first)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ':') {
            putc('?', stream);
            continue;
        }
        if (strchr("*?[]\\", text[i]) != NULL || (first && i == 0 && text[i] == '!'))
            putc('\\', stream);
        putc(text[i], stream);
    }
}

char *tg_suggestion_escape(const char *name)
{
    struct text text;
    if (!text_open(&text))
        return NULL;
    put_escaped(text.stream, name, strlen(name), true);
    return text_close(&text);
}

/* ---- patterns ---- */

/* A directory ("/a/b/" and all below), a prefix of the last component in any directory, or one whole path. */
enum shape { DIRECTORY, PREFIX, WHOLE };

struct pattern {
    enum shape shape;
    const char *text; /* borrowed from a path */
    size_t length;
};

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool covers(const struct pattern *pattern, const char *path)
{
    switch (pattern->shape) {
    case DIRECTORY:
        return strncmp(path, pattern->text, pattern->length) == 0;
    case PREFIX:
        return strchr(path, '/') != NULL &&
               strncmp(last_component(path), pattern->text, pattern->length) == 0;
    case WHOLE:
        break;
    }
    return strcmp(path, pattern->text) == 0;
}

static void put_pattern(FILE *stream, const struct pattern *pattern, bool negated)
{
    if (negated)
        putc('!', stream);
    if (pattern->shape == PREFIX)
        fputs("*/", stream);
    put_escaped(stream, pattern->text, pattern->length, pattern->shape == WHOLE && !negated);
    if (pattern->shape != WHOLE)
        putc('*', stream);
}

/* Libraries to tell apart: a pattern has to cover some of WANTED and none of OTHERS. */
struct task {
    const char **wanted;
    bool *covered;
    size_t n_wanted;
    const char **others;
    size_t n_others;
};

static bool covers_any_other(const struct task *task, const struct pattern *pattern)
{
    for (size_t i = 0; i < task->n_others; i++)
        if (covers(pattern, task->others[i]))
            return true;
    return false;
}

static size_t count_covered(const struct task *task, const struct pattern *pattern)
{
    size_t count = 0;
    for (size_t i = 0; i < task->n_wanted; i++)
        count += !task->covered[i] && covers(pattern, task->wanted[i]);
    return count;
}

/* "*" "/libfoo.so*" for one library, whatever its version; its whole path where others share the name. */
static struct pattern pattern_for(const struct task *task, const char *path)
{
    const char *name = last_component(path);
    const char *suffix = strstr(name, ".so");
    struct pattern pattern = {.shape = PREFIX, .text = name, .length = strlen(name)};
    if (suffix != NULL && (suffix[3] == '\0' || suffix[3] == '.'))
        pattern.length = (size_t)(suffix + 3 - name);
    if (name == path || pattern.length == 0 || covers_any_other(task, &pattern))
        return (struct pattern){.shape = WHOLE, .text = path, .length = strlen(path)};
    return pattern;
}

/* The pattern that covers PATH and most of the others wanted; of equal ones the most specific. */
static struct pattern widest_for(const struct task *task, const char *path)
{
    struct pattern best = pattern_for(task, path);
    size_t best_gain = count_covered(task, &best);
    const char *name = last_component(path);
    size_t full = strlen(name);
    for (size_t length = full; name != path && length >= MIN_PREFIX; length--) {
        struct pattern pattern = {.shape = PREFIX, .text = name, .length = length};
        size_t pattern_gain = count_covered(task, &pattern);
        if (pattern_gain <= best_gain)
            continue;
        if (covers_any_other(task, &pattern))
            break; /* a shorter prefix covers those as well */
        best = pattern;
        best_gain = pattern_gain;
    }
    for (const char *slash = strrchr(path, '/'); slash != NULL && slash > path;) {
        struct pattern pattern = {.shape = DIRECTORY, .text = path, .length = (size_t)(slash + 1 - path)};
        size_t pattern_gain = count_covered(task, &pattern);
        if (pattern_gain > best_gain) {
            if (covers_any_other(task, &pattern))
                break;
            best = pattern;
            best_gain = pattern_gain;
        }
        do
            slash--;
        while (slash > path && *slash != '/');
    }
    return best;
}

static void mark_covered(struct task *task, const struct pattern *pattern)
{
    for (size_t i = 0; i < task->n_wanted; i++)
        task->covered[i] |= covers(pattern, task->wanted[i]);
}

/* Covers the wanted libraries one after the other; GROUPED looks for patterns that serve several. False where
   more patterns than MAX are needed. */
static bool write_cover(struct task *task, bool grouped, bool negated, size_t max, FILE *stream)
{
    memset(task->covered, 0, task->n_wanted * sizeof *task->covered);
    size_t patterns = 0;
    for (size_t i = 0; i < task->n_wanted; i++) {
        if (task->covered[i])
            continue;
        if (patterns == max)
            return false;
        struct pattern pattern =
            grouped ? widest_for(task, task->wanted[i]) : pattern_for(task, task->wanted[i]);
        if (patterns++ > 0)
            putc(':', stream);
        put_pattern(stream, &pattern, negated);
        mark_covered(task, &pattern);
    }
    return true;
}

/* ---- lists ---- */

static struct tg_error *keep_list(struct tg_suggestion_lists *lists, char *list)
{
    if (list == NULL)
        return tg_error_no_memory();
    bool known = list[0] == '\0' || lists->count == TG_SUGGESTION_MAX_LISTS;
    for (size_t i = 0; !known && i < lists->count; i++)
        known = strcmp(lists->lists[i], list) == 0;
    if (known)
        free(list);
    else
        lists->lists[lists->count++] = list;
    return NULL;
}

static struct tg_error *propose_cover(struct task *task, bool grouped, bool negated, bool cuda,
                                      struct tg_suggestion_lists *lists)
{
    struct text text;
    if (!text_open(&text))
        return tg_error_no_memory();
    size_t max = negated ? MAX_NEGATED_PATTERNS : SIZE_MAX;
    bool fits = write_cover(task, grouped, negated, max, text.stream);
    if (cuda && !negated)
        fprintf(text.stream, "%s%s", task->n_wanted > 0 ? ":" : "", cuda_pattern);
    char *list = text_close(&text);
    if (list != NULL && (!fits || strlen(list) > TG_GLOB_LIST_MAX_BYTES)) {
        free(list);
        return NULL;
    }
    return keep_list(lists, list);
}

static void sort_out(const struct tg_filter_survey *survey, struct task *task,
                     struct tg_suggestion_lists *lists)
{
    for (size_t i = 0; i < tg_library_catalog_count(survey->catalog); i++) {
        const struct tg_catalog_library *library = tg_library_catalog_at(survey->catalog, i);
        if (library->dlopens == 0)
            continue;
        if (library->n_goals > 0) { /* also one that perhaps holds a breakpoint */
            task->wanted[task->n_wanted++] = library->path;
            lists->colon |= strchr(library->path, ':') != NULL;
        } else if (!library->cuda) {
            task->others[task->n_others++] = library->path;
        }
    }
    lists->wanted = task->n_wanted;
}

struct tg_error *tg_suggestion_propose(const struct tg_filter_survey *survey,
                                       struct tg_suggestion_lists *lists)
{
    size_t count = tg_library_catalog_count(survey->catalog) + 1;
    struct task task = {.wanted = calloc(count, sizeof *task.wanted),
                        .covered = calloc(count, sizeof *task.covered),
                        .others = calloc(count, sizeof *task.others)};
    struct tg_suggestion_lists made = {0};
    struct tg_error *error = NULL;
    if (task.wanted == NULL || task.covered == NULL || task.others == NULL) {
        error = tg_error_no_memory();
    } else {
        sort_out(survey, &task, &made);
        bool grouped = task.n_wanted <= MAX_GROUPED && task.n_others <= MAX_GROUPED;
        if (task.n_wanted > 0 || survey->cuda)
            error = propose_cover(&task, false, false, survey->cuda, &made);
        if (error == NULL && task.n_wanted > 1 && grouped)
            error = propose_cover(&task, true, false, survey->cuda, &made);
        if (error == NULL && task.n_wanted > 1 && task.n_others > 0 && grouped) {
            struct task turned = {.wanted = task.others,
                                  .n_wanted = task.n_others,
                                  .covered = task.covered,
                                  .others = task.wanted,
                                  .n_others = task.n_wanted};
            error = propose_cover(&turned, true, true, false, &made);
        }
    }
    free(task.wanted);
    free(task.covered);
    free(task.others);
    if (error != NULL)
        tg_suggestion_lists_deinit(&made);
    else
        *lists = made;
    return error;
}

/* ---- choice ---- */

static size_t count_patterns(const char *match)
{
    size_t count = match[0] != '\0';
    for (; *match != '\0'; match++)
        count += *match == ':';
    return count;
}

static bool qualifies(const struct tg_suggestion_trial *trial)
{
    const struct tg_filter_outcome *outcome = trial->outcome;
    return trial->mode == TG_FILTER_SLOW || (outcome->planting.late == 0 && outcome->planting.never == 0 &&
                                             outcome->planting.unknown == 0 && !outcome->defers_cuda);
}

/* Costs that are unknown are compared by what causes them. */
static double price(const struct tg_filter_outcome *outcome, uint64_t round_trip_ns)
{
    if (tg_cost_is_known(&outcome->cost))
        return (double)outcome->cost.ns + (double)outcome->round_trips * (double)round_trip_ns;
    return (double)outcome->stops + (double)outcome->round_trips;
}

static bool is_better(const struct tg_suggestion_trial *a, const struct tg_suggestion_trial *b,
                      uint64_t round_trip_ns)
{
    double price_a = price(a->outcome, round_trip_ns), price_b = price(b->outcome, round_trip_ns);
    if (price_a < price_b * 0.99)
        return true;
    if (price_a > price_b * 1.01)
        return false;
    if (a->outcome->round_trips != b->outcome->round_trips)
        return a->outcome->round_trips < b->outcome->round_trips;
    size_t patterns_a = count_patterns(a->match), patterns_b = count_patterns(b->match);
    if (patterns_a != patterns_b)
        return patterns_a < patterns_b;
    return strlen(a->match) < strlen(b->match);
}

size_t tg_suggestion_choose(const struct tg_suggestion_trial *trials, size_t n, uint64_t round_trip_ns)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (qualifies(&trials[i]) && (best == n || is_better(&trials[i], &trials[best], round_trip_ns)))
            best = i;
    return best;
}

/* ---- what to paste ---- */

char *tg_suggestion_command_line(enum tg_filter_mode mode, const char *match)
{
    struct text text;
    if (!text_open(&text))
        return NULL;
    if (mode == TG_FILTER_SLOW) {
        fputs("-dlopen_always_recalculate", text.stream);
    } else {
        fputs("-no_dlopen_always_recalculate -dlopen_recalculate_on_match ", text.stream);
        tg_shell_quote_write(text.stream, mode == TG_FILTER_FAST ? "" : match);
    }
    return text_close(&text);
}

struct tg_error *tg_suggestion_texts_make(enum tg_filter_mode mode, const char *match,
                                          struct tg_suggestion_texts *texts)
{
    texts->settings = tg_settings_format(mode == TG_FILTER_SLOW, match);
    texts->command_line = tg_suggestion_command_line(mode, match);
    if (texts->settings != NULL && texts->command_line != NULL)
        return NULL;
    tg_suggestion_texts_deinit(texts);
    return tg_error_no_memory();
}

void tg_suggestion_texts_deinit(struct tg_suggestion_texts *texts)
{
    free(texts->settings);
    free(texts->command_line);
}
