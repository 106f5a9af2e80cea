#include "format/settings/settings.h"

#include "format/base/array.h"
#include "format/base/tcl_quote.h"
#include "format/base/tcl_script.h"
#include "format/settings/glob_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NAMESPACE            "TV::"
#define ALWAYS_RECALCULATE   NAMESPACE "dlopen_always_recalculate"
#define RECALCULATE_ON_MATCH NAMESPACE "dlopen_recalculate_on_match"
#define BARRIER_STOP_ALL     "BARRIER_STOP_ALL"
#define BARRIER_WHEN_DONE    "BARRIER_STOP_WHEN_DONE"

/* The variables of the live console (live/console/settings.c). */
static const char *const console_names[] = {
    BARRIER_STOP_ALL, BARRIER_WHEN_DONE, "STOP_ALL",         "manager_libraries",
    "SEARCH_PATH",    "MAX_LIST",        "ASSEMBLER_SYNTAX", NULL,
};

enum { SHOWN_BYTES = 60, END_OF_FILE_CHARACTER = 0x1a };

/* One file being read. */
struct reading {
    const char *file_name;
    struct tg_settings *settings;
    size_t n_unlisted; /* notes beyond the limit */
};

void tg_settings_deinit(struct tg_settings *settings)
{
    for (size_t i = 0; i < settings->n_notes; i++)
        free(settings->notes[i]);
    free(settings->notes);
    for (size_t i = 0; i < settings->n_console; i++) {
        free(settings->console[i].value);
        free(settings->console[i].where);
    }
    free(settings->console);
    free(settings->filter_where);
    free(settings->match);
    *settings = (struct tg_settings){0};
}

/* ---- notes */

static struct tg_error *add_note(struct tg_settings *settings, char *note)
{
    if (note == NULL)
        return tg_error_no_memory();
    struct tg_error *error = TG_ARRAY_APPEND_EXACT(settings->notes, settings->n_notes, note);
    if (error != NULL)
        free(note);
    return error;
}

/* The start of a command's first line, for a note: NULs become spaces. */
static void show(const struct tg_tcl_command *command, char shown[SHOWN_BYTES + 4])
{
    size_t size = command->size;
    const char *newline = memchr(command->text, '\n', size);
    if (newline != NULL)
        size = (size_t)(newline - command->text);
    bool cut = size > SHOWN_BYTES;
    size = cut ? SHOWN_BYTES : size;
    for (size_t i = 0; i < size; i++)
        shown[i] = command->text[i] != '\0' ? command->text[i] : ' ';
    memcpy(shown + size, cut || newline != NULL ? "..." : "", cut || newline != NULL ? 4 : 1);
}

static struct tg_error *skip(struct reading *reading, const struct tg_tcl_command *command,
                             const char *reason)
{
    if (reading->settings->n_notes + 1 >= TG_SETTINGS_MAX_NOTES) {
        reading->n_unlisted++;
        return NULL;
    }
    char shown[SHOWN_BYTES + 4];
    show(command, shown);
    char *note = NULL;
    if (asprintf(&note, "%s:%zu: skipped: %s (%s)", reading->file_name, command->line, reason, shown) < 0)
        note = NULL;
    return add_note(reading->settings, note);
}

static struct tg_error *note_unlisted(struct reading *reading)
{
    if (reading->n_unlisted == 0 || reading->settings->n_notes >= TG_SETTINGS_MAX_NOTES)
        return NULL;
    char *note = NULL;
    if (asprintf(&note, "%s: skipped: %zu more commands", reading->file_name, reading->n_unlisted) < 0)
        note = NULL;
    return add_note(reading->settings, note);
}

/* ---- values */

/* Tcl's boolean words (Tcl_GetBoolean(3)): any case, abbreviated as far as one meaning is left. */
static bool read_boolean(const char *text, bool *value)
{
    static const struct {
        const char *word;
        size_t shortest;
        bool value;
    } words[] = {
        {"true", 1, true}, {"yes", 1, true},  {"on", 2, true}, {"false", 1, false},
        {"no", 1, false},  {"off", 2, false}, {"1", 1, true},  {"0", 1, false},
    };
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (length >= words[i].shortest && length <= strlen(words[i].word) &&
            strncasecmp(text, words[i].word, length) == 0) {
            *value = words[i].value;
            return true;
        }
    }
    return false;
}

static struct tg_error *wrong(const struct reading *reading, const struct tg_tcl_command *command,
                              const char *variable, const char *what)
{
    return tg_error_create(TG_ERROR_INPUT, "%s:%zu: %s: %s", reading->file_name, command->line, variable,
                           what);
}

/* "FILE:LINE"; owned by the caller, NULL without memory. */
static char *place_of(const struct reading *reading, const struct tg_tcl_command *command)
{
    char *place = NULL;
    return asprintf(&place, "%s:%zu", reading->file_name, command->line) < 0 ? NULL : place;
}

/* NAME is of the table. */
static struct tg_error *set_console(struct tg_settings *settings, const char *name, const char *value,
                                    const char *where)
{
    struct tg_console_value made = {.name = name, .value = strdup(value), .where = strdup(where)};
    size_t i = 0;
    while (i < settings->n_console && settings->console[i].name != name)
        i++;
    struct tg_error *error =
        made.value == NULL || made.where == NULL ? tg_error_no_memory()
        : i < settings->n_console
            ? NULL
            : TG_ARRAY_APPEND_EXACT(settings->console, settings->n_console, (struct tg_console_value){0});
    if (error != NULL) {
        free(made.value);
        free(made.where);
        return error;
    }
    free(settings->console[i].value);
    free(settings->console[i].where);
    settings->console[i] = made;
    return NULL;
}

static bool is_width(const char *value)
{
    static const char *const widths[] = {"group", "process", "none", "thread"};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (strcmp(value, widths[i]) == 0)
            return true;
    return false;
}

static struct tg_error *apply_console(struct reading *reading, const struct tg_tcl_command *command,
                                      const char *variable, const char *value)
{
    bool of_barrier = strcmp(variable, BARRIER_STOP_ALL) == 0 || strcmp(variable, BARRIER_WHEN_DONE) == 0;
    if (of_barrier && !is_width(value))
        return tg_error_create(TG_ERROR_INPUT, "%s:%zu: %s: expected group, process or none, not '%.100s'",
                               reading->file_name, command->line, variable, value);
    char *place = place_of(reading, command);
    struct tg_error *error =
        place == NULL ? tg_error_no_memory() : set_console(reading->settings, variable, value, place);
    free(place);
    return error;
}

static struct tg_error *apply_match(struct reading *reading, const struct tg_tcl_command *command,
                                    const char *variable, const char *value)
{
    struct tg_settings *settings = reading->settings;
    struct tg_glob_list *list = NULL;
    struct tg_error *error = tg_glob_list_create(value, &list);
    tg_glob_list_destroy(list);
    if (error != NULL)
        return tg_error_prefix(error, "%s:%zu: %s", reading->file_name, command->line, variable);
    char *match = strdup(value);
    if (match == NULL)
        return tg_error_no_memory();
    free(settings->match);
    settings->match = match;
    return NULL;
}

static struct tg_error *apply(struct reading *reading, const struct tg_tcl_command *command,
                              const char *variable, const struct tg_tcl_word *value)
{
    struct tg_settings *settings = reading->settings;
    bool is_always = strcmp(variable, ALWAYS_RECALCULATE) == 0;
    if (strlen(value->text) != value->size)
        return wrong(reading, command, variable, "the value contains a NUL byte");
    if (!is_always && strcmp(variable, RECALCULATE_ON_MATCH) != 0)
        return apply_console(reading, command, variable, value->text);
    char *place = place_of(reading, command);
    if (place == NULL)
        return tg_error_no_memory();
    free(settings->filter_where);
    settings->filter_where = place;
    if (!is_always)
        return apply_match(reading, command, variable, value->text);
    bool flag;
    if (!read_boolean(value->text, &flag))
        return tg_error_create(TG_ERROR_INPUT, "%s:%zu: %s: expected true or false, not '%.100s'",
                               reading->file_name, command->line, variable, value->text);
    settings->has_always_recalculate = true;
    settings->always_recalculate = flag;
    return NULL;
}

/* ---- commands */

/* The known variable that WORD names, or NULL. */
static const char *known_variable(const struct tg_tcl_word *word)
{
    static const char *const filter[] = {ALWAYS_RECALCULATE, RECALCULATE_ON_MATCH};
    static const size_t prefix = sizeof NAMESPACE - 1;
    const char *text = strncmp(word->text, "::", 2) == 0 ? word->text + 2 : word->text;
    bool has_prefix = strncmp(text, NAMESPACE, prefix) == 0;
    if (has_prefix)
        text += prefix;
    if (strlen(word->text) != word->size)
        return NULL;
    for (size_t i = 0; i < sizeof filter / sizeof *filter; i++)
        if (strcmp(text, filter[i] + prefix) == 0)
            return filter[i];
    for (size_t i = 0; console_names[i] != NULL; i++) {
        const char *name = console_names[i];
        bool of_barrier = strncmp(name, "BARRIER", 7) == 0;
        if (strcmp(text, name) == 0 || (has_prefix && of_barrier && strcasecmp(text, name) == 0))
            return name;
    }
    return NULL;
}

static struct tg_error *run_dset(struct reading *reading, const struct tg_tcl_command *command)
{
    size_t at = 1;
    const struct tg_tcl_word *words = command->words;
    if (command->n_words > 1 && !words[1].substituted && strcmp(words[1].text, "-set_as_default") == 0)
        at = 2;
    else if (command->n_words > 1 && words[1].text[0] == '-')
        return skip(reading, command, "unknown option of dset");
    if (command->n_words <= at)
        return skip(reading, command, "dset without a variable");
    if (words[at].substituted)
        return skip(reading, command, "$, [...] and {*} are not evaluated: variable unknown");
    const char *variable = known_variable(&words[at]);
    if (variable == NULL)
        return skip(reading, command, "not a variable of tollgate");
    size_t n_values = command->n_words - at - 1;
    if (n_values == 0)
        return skip(reading, command, "dset without a value");
    if (words[at + 1].substituted)
        return skip(reading, command, "$, [...] and {*} are not evaluated: write the value itself");
    if (n_values > 1)
        return wrong(reading, command, variable,
                     "expected one value; put {braces} around a value with blanks");
    return apply(reading, command, variable, &words[at + 1]);
}

static struct tg_error *run(struct reading *reading, const struct tg_tcl_command *command)
{
    const struct tg_tcl_word *name = &command->words[0];
    if (name->substituted || (strcmp(name->text, "dset") != 0 && strcmp(name->text, "::dset") != 0))
        return skip(reading, command, "only dset is supported");
    return run_dset(reading, command);
}

static struct tg_error *run_all(struct reading *reading, const char *text, size_t size)
{
    struct tg_tcl_script *script = NULL;
    struct tg_error *error = tg_tcl_script_create(reading->file_name, text, size, &script);
    while (error == NULL) {
        struct tg_tcl_command command;
        error = tg_tcl_script_next(script, &command);
        if (error == NULL && command.n_words == 0)
            break;
        if (error == NULL)
            error = run(reading, &command);
    }
    tg_tcl_script_destroy(script);
    return error != NULL ? error : note_unlisted(reading);
}

/* ---- files */

/* Normalises bytes as Tcl's `source` does: one kind of line end, nothing behind Control-Z; and no byte
 * order mark. TEXT is moved to where it stopped. */
static size_t normalise(const char **text, const char *end, char *out)
{
    const char *const start = out;
    const char *p = *text;
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    for (; p < end && *p != END_OF_FILE_CHARACTER; p++) {
        if (*p == '\r' && end - p >= 2 && p[1] == '\n')
            continue;
        *out++ = *p == '\r' ? '\n' : *p;
    }
    *text = p;
    return (size_t)(out - start);
}

static struct tg_error *note_end_of_file(struct reading *reading)
{
    if (reading->settings->n_notes + 1 >= TG_SETTINGS_MAX_NOTES) {
        reading->n_unlisted++;
        return NULL;
    }
    char *note = NULL;
    if (asprintf(&note, "%s: skipped: text after Control-Z, which ends a script", reading->file_name) < 0)
        note = NULL;
    return add_note(reading->settings, note);
}

static bool is_utf16(const char *text, size_t size)
{
    return size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
}

static struct tg_error *copy(const struct tg_settings *from, struct tg_settings *to)
{
    to->has_always_recalculate = from->has_always_recalculate;
    to->always_recalculate = from->always_recalculate;
    if (from->match != NULL && (to->match = strdup(from->match)) == NULL)
        return tg_error_no_memory();
    if (from->filter_where != NULL && (to->filter_where = strdup(from->filter_where)) == NULL)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < from->n_console; i++)
        error = set_console(to, from->console[i].name, from->console[i].value, from->console[i].where);
    for (size_t i = 0; i < from->n_notes && error == NULL; i++)
        error = add_note(to, strdup(from->notes[i]));
    return error;
}

struct tg_error *tg_settings_parse(const char *file_name, const char *text, size_t size,
                                   struct tg_settings *settings)
{
    if (size > TG_SETTINGS_MAX_BYTES)
        return tg_error_create(TG_ERROR_LIMIT, "%s: not a settings file: more than %d bytes", file_name,
                               TG_SETTINGS_MAX_BYTES);
    if (is_utf16(text, size))
        return tg_error_create(TG_ERROR_INPUT, "%s:1: text in UTF-16; save the file as UTF-8", file_name);
    char *script = malloc(size + 1);
    if (script == NULL)
        return tg_error_no_memory();
    struct tg_settings made = {0};
    struct reading reading = {.file_name = file_name, .settings = &made};
    struct tg_error *error = copy(settings, &made);
    const char *stopped = text;
    size_t script_size = normalise(&stopped, text + size, script);
    if (error == NULL && stopped + 1 < text + size)
        error = note_end_of_file(&reading);
    if (error == NULL)
        error = run_all(&reading, script, script_size);
    free(script);
    if (error != NULL) {
        tg_settings_deinit(&made);
        return error;
    }
    tg_settings_deinit(settings);
    *settings = made;
    return NULL;
}

/* Reads at most CAPACITY bytes; SIZE is how many there were. */
static struct tg_error *read_all(int fd, const char *path, char *buffer, size_t capacity, size_t *size)
{
    *size = 0;
    while (*size < capacity) {
        ssize_t count = read(fd, buffer + *size, capacity - *size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return tg_error_create_errno(errno, "cannot read settings from '%s'", path);
        if (count == 0)
            break;
        *size += (size_t)count;
    }
    return NULL;
}

struct tg_error *tg_settings_read(const char *path, struct tg_settings *settings)
{
    enum { CAPACITY = TG_SETTINGS_MAX_BYTES + 1 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return tg_error_create(TG_ERROR_NOT_FOUND, "no such settings file: '%s'", path);
    if (fd < 0)
        return tg_error_create_errno(errno, "cannot open settings file '%s'", path);
    char *buffer = malloc(CAPACITY);
    size_t size = 0;
    struct tg_error *error =
        buffer != NULL ? read_all(fd, path, buffer, CAPACITY, &size) : tg_error_no_memory();
    close(fd);
    if (error == NULL)
        error = tg_settings_parse(path, buffer, size, settings);
    free(buffer);
    return error;
}

/* ---- writing */

char *tg_settings_format(bool always_recalculate, const char *match)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fprintf(out, "dset " ALWAYS_RECALCULATE " %s\n", always_recalculate ? "true" : "false");
    fputs("dset " RECALCULATE_ON_MATCH " ", out);
    tg_tcl_quote_write(match, out);
    putc('\n', out);
    bool complete = ferror(out) == 0;
    complete = fclose(out) == 0 && complete;
    if (!complete) {
        free(text);
        return NULL;
    }
    return text;
}
