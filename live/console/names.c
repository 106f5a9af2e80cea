#include "live/console/names.h"

#include "format/event/event.h"
#include "live/console/aliases.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 256 };

static bool is_word(const char *text, size_t size, const char *word, size_t word_size)
{
    return size == word_size && memcmp(text, word, size) == 0;
}

const struct tg_console_command *tg_console_find_command(const char *first, size_t first_size,
                                                         const char *second, size_t second_size)
{
    const struct tg_console_command *found = NULL;
    size_t n_found = 0;
    for (size_t i = 0; tg_console_commands[i] != NULL; i++) {
        const char *name = tg_console_commands[i]->name;
        size_t length = strcspn(name, " ");
        if (!is_word(first, first_size, name, length))
            continue;
        if (name[length] == '\0')
            return tg_console_commands[i];
        const char *rest = name + length + 1;
        if (is_word(second, second_size, rest, strlen(rest)))
            return tg_console_commands[i];
        if (second_size > 0 && strncmp(rest, second, second_size) == 0) {
            found = tg_console_commands[i];
            n_found++;
        }
    }
    return n_found == 1 ? found : NULL;
}

/* ---- completion */

struct completing {
    const char *word; /* as far as it is typed */
    size_t size;
    void (*add)(void *context, const char *word);
    void *context;
};

static void offer(const struct completing *completing, const char *word)
{
    if (strncmp(word, completing->word, completing->size) == 0)
        completing->add(completing->context, word);
}

/* Begins LINE's last command: behind the last `;` or `[`. */
static const char *command_start(const char *line, size_t length)
{
    const char *start = line;
    for (const char *c = line; c < line + length; c++)
        if (*c == ';' || *c == '[' || *c == '{' || *c == '\n')
            start = c + 1;
    while (start < line + length && (*start == ' ' || *start == '\t'))
        start++;
    return start;
}

/* The elements of the list that SCRIPT gives. */
static void offer_result(struct tg_console *console, const struct completing *completing, const char *script)
{
    int n = 0;
    Tcl_Obj **words;
    if (Tcl_EvalEx(console->interp, script, -1, TCL_EVAL_GLOBAL) != TCL_OK)
        return;
    Tcl_Obj *result = Tcl_GetObjResult(console->interp);
    Tcl_IncrRefCount(result);
    if (Tcl_ListObjGetElements(NULL, result, &n, &words) == TCL_OK)
        for (int i = 0; i < n; i++)
            offer(completing, Tcl_GetString(words[i]));
    Tcl_DecrRefCount(result);
    Tcl_ResetResult(console->interp);
}

static void offer_commands(struct tg_console *console, const struct completing *completing)
{
    char last[64] = "";
    for (size_t i = 0; tg_console_commands[i] != NULL; i++) {
        char word[64];
        const char *name = tg_console_commands[i]->name;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(name, " "), name);
        if (strcmp(word, last) != 0)
            offer(completing, word);
        memcpy(last, word, sizeof last);
    }
    if (completing->size > 0) /* Tcl's own are many: not unasked */
        offer_result(console, completing, "lsort [info commands]");
}

static void offer_subcommands(const struct completing *completing, const char *first, size_t first_size)
{
    for (size_t i = 0; tg_console_commands[i] != NULL; i++) {
        const char *name = tg_console_commands[i]->name;
        size_t length = strcspn(name, " ");
        if (name[length] == ' ' && is_word(first, first_size, name, length))
            offer(completing, name + length + 1);
    }
}

static void offer_arguments(const struct completing *completing, const struct tg_console_command *command)
{
    if (command == &tg_console_help)
        for (size_t i = 0; tg_console_commands[i] != NULL; i++)
            offer(completing, tg_console_commands[i]->name);
    if (command == &tg_console_dset || command == &tg_console_dunset)
        for (const struct tg_setting *setting = tg_setting_table; setting->name != NULL; setting++)
            offer(completing, setting->name);
    if (command == &tg_console_find)
        for (size_t i = 0; i < tg_event_kind_count(); i++)
            offer(completing, tg_event_kind_name(tg_event_kind_at(i)));
    for (size_t i = 0; command->words != NULL && command->words[i] != NULL; i++)
        offer(completing, command->words[i]);
}

/* A word is offered once: the console's commands are Tcl's as well. */
struct once {
    struct completing *to;
    char **words;
    size_t count, capacity;
};

static void add_once(void *context, const char *word)
{
    struct once *once = context;
    for (size_t i = 0; i < once->count; i++)
        if (strcmp(once->words[i], word) == 0)
            return;
    if (once->count == once->capacity) {
        size_t capacity = once->capacity == 0 ? 32 : 2 * once->capacity;
        char **words = reallocarray(once->words, capacity, sizeof *words);
        if (words == NULL)
            return;
        once->words = words;
        once->capacity = capacity;
    }
    once->words[once->count] = strdup(word);
    if (once->words[once->count] == NULL)
        return;
    once->count++;
    once->to->add(once->to->context, word);
}

void tg_console_complete(struct tg_console *console, const char *line, size_t length, size_t *start,
                         void (*add)(void *context, const char *word), void *context)
{
    const char *first = command_start(line, length), *end = line + length, *word = end;
    while (word > first && word[-1] != ' ' && word[-1] != '\t')
        word--;
    *start = (size_t)(word - line);
    if (end - word >= MAX_WORD)
        return;
    struct completing out = {.add = add, .context = context};
    struct once once = {.to = &out};
    const struct completing completing = {
        .word = word, .size = (size_t)(end - word), .add = add_once, .context = &once};
    size_t first_size = strcspn(first, " \t");
    const char *second = first + first_size + strspn(first + first_size, " \t");
    size_t second_size = second < end ? strcspn(second, " \t") : 0;
    if (word == first) {
        offer_commands(console, &completing);
    } else {
        const struct tg_console_command *command =
            tg_console_find_command(first, first_size, second, word == second ? 0 : second_size);
        if (command == NULL)
            (void)tg_console_alias_find(first, first_size, &command);
        if (word == second)
            offer_subcommands(&completing, first, first_size);
        if (command != NULL)
            offer_arguments(&completing, command);
    }
    for (size_t i = 0; i < once.count; i++)
        free(once.words[i]);
    free(once.words);
}
