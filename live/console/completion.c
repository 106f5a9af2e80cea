#include "live/console/completion.h"

#include "format/base/array.h"
#include "live/console/options.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 256 };

struct completing {
    const char *word; /* as far as it is typed */
    size_t size;
    void (*add)(void *context, const char *word);
    void *context;
};

static void offer(void *context, const char *word)
{
    const struct completing *completing = context;
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
static void offer_result(struct tg_console *console, struct completing *completing, const char *script)
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

static void offer_commands(struct tg_console *console, struct completing *completing)
{
    tg_console_each_name(console, NULL, 0, offer, completing);
    if (completing->size > 0) /* Tcl's own are many: not unasked */
        offer_result(console, completing, "lsort [info commands]");
}

static void offer_arguments(const struct tg_console *console, struct completing *completing,
                            const struct tg_console_command *command)
{
    if (command->offer != NULL)
        command->offer(console, offer, completing);
    for (const struct tg_console_option *option = command->options; option != NULL && option->name != NULL;
         option++)
        if (*option->name == '-')
            offer(completing, option->name);
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
    char *copy = strdup(word);
    if (copy == NULL || TG_ARRAY_APPEND(once->words, once->count, once->capacity, copy) != NULL) {
        free(copy);
        return;
    }
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
    struct completing completing = {
        .word = word, .size = (size_t)(end - word), .add = add_once, .context = &once};
    size_t first_size = strcspn(first, " \t");
    const char *second = first + first_size + strspn(first + first_size, " \t");
    size_t second_size = second < end ? strcspn(second, " \t") : 0;
    if (word == first) {
        offer_commands(console, &completing);
    } else {
        const struct tg_console_command *command =
            tg_console_find_command(console, first, first_size, second, word == second ? 0 : second_size);
        if (command == NULL)
            (void)tg_console_find_alias(console, first, first_size, second, second_size, &command);
        if (word == second)
            tg_console_each_name(console, first, first_size, offer, &completing);
        if (command != NULL)
            offer_arguments(console, &completing, command);
    }
    for (size_t i = 0; i < once.count; i++)
        free(once.words[i]);
    free(once.words);
}
