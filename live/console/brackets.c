#include "live/console/brackets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BRACKETS = 32, MAX_INDEX = 64, COMMAND_WORD_OF_FOCUS = 2 };

/* The console's command that word I of PARSE names; NULL none. */
static const struct tg_console_command *command_at(const struct tg_console *console, const Tcl_Parse *parse,
                                                   int i)
{
    const Tcl_Token *token = parse->tokenPtr;
    const struct tg_console_command *command = NULL;
    if (i >= parse->numWords)
        return NULL;
    for (; i > 0; i--)
        token += token->numComponents + 1;
    if (token->type != TCL_TOKEN_SIMPLE_WORD)
        return NULL;
    const char *name = token[1].start;
    size_t size = (size_t)token[1].size;
    if (tg_console_find_alias(console, name, size, "", 0, &command) != NULL)
        return command;
    return tg_console_find_command(console, name, size, "", 0);
}

static bool takes_expressions(const struct tg_console *console, const Tcl_Parse *parse)
{
    const struct tg_console_command *command = command_at(console, parse, 0);
    if (command != NULL && command->passes_on)
        command = command_at(console, parse, COMMAND_WORD_OF_FOCUS);
    return command != NULL && command->takes_expression;
}

/* Whether TOKEN, [SCRIPT], is an index: one word, and no procedure of the user's. */
static bool is_index(const struct tg_console *console, const Tcl_Token *token)
{
    char name[MAX_INDEX];
    const struct tg_console_command *command;
    Tcl_CmdInfo info;
    size_t size = (size_t)token->size - 2;
    if (token->size < 3 || size >= sizeof name)
        return false;
    memcpy(name, token->start + 1, size);
    name[size] = '\0';
    for (const char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("_.:+-*/%()<>", *at) == NULL)
            return false;
    bool is_ours = tg_console_find_alias(console, name, size, "", 0, &command) != NULL ||
                   tg_console_find_command(console, name, size, "", 0) != NULL;
    return is_ours || !Tcl_GetCommandInfo(console->interp, name, &info);
}

/* Notes where brackets of WORD are indexes: offsets from START. */
static void find_indexes(const struct tg_console *console, const Tcl_Token *word, const char *start,
                         size_t offsets[MAX_BRACKETS], size_t *count)
{
    bool follows_name = false;
    for (const Tcl_Token *token = word + 1; token <= word + word->numComponents; token++) {
        char last = token->size > 0 ? token->start[token->size - 1] : '\0';
        bool is_bracket = token->type == TCL_TOKEN_COMMAND;
        if (is_bracket && follows_name && is_index(console, token) && *count < MAX_BRACKETS)
            offsets[(*count)++] = (size_t)(token->start - start);
        else
            follows_name =
                !is_bracket && (isalnum((unsigned char)last) || last == '_' || last == ')' || last == ']');
    }
}

char *tg_brackets_escape(const struct tg_console *console, const Tcl_Parse *parse, int size)
{
    size_t offsets[MAX_BRACKETS], count = 0, from = 0, to = 0;
    const Tcl_Token *word = parse->tokenPtr;
    if (!takes_expressions(console, parse))
        return NULL;
    for (int i = 0; i < parse->numWords; i++, word += word->numComponents + 1)
        if (word->type == TCL_TOKEN_WORD)
            find_indexes(console, word, parse->commandStart, offsets, &count);
    char *text = count == 0 ? NULL : malloc((size_t)size + count + 1);
    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        memcpy(text + to, parse->commandStart + from, offsets[i] - from);
        to += offsets[i] - from;
        from = offsets[i];
        text[to++] = '\\';
    }
    memcpy(text + to, parse->commandStart + from, (size_t)size - from);
    text[to + (size_t)size - from] = '\0';
    return text;
}
