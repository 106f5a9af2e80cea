/* Compares how format/tcl_script cuts a script with libtcl's own parser; for the unit test and the fuzz
 * target. */
#ifndef TG_TESTS_TCL_SCRIPT_ORACLE_H
#define TG_TESTS_TCL_SCRIPT_ORACLE_H

#include "format/base/tcl_script.h"

#include <stdlib.h>
#include <string.h>
#include <tcl.h>

/* The bytes that Tcl's inner form BYTES stands for: C0 80 is NUL. */
static inline char *oracle_put(char *out, const char *bytes, int size)
{
    if (size == 2 && (unsigned char)bytes[0] == 0xc0 && (unsigned char)bytes[1] == 0x80) {
        *out++ = '\0';
        return out;
    }
    return mempcpy(out, bytes, (size_t)size);
}

/* The value of the word that starts at TOKEN, by libtcl. Returns false where it is not to be compared: \U
 * (Tcl 8.6 gives U+FFFD beyond U+FFFF) and backslashes in front of bytes that are no ASCII (Tcl decodes
 * malformed ones). */
static inline bool oracle_value(const Tcl_Token *token, char *buffer, size_t *size, bool *substituted)
{
    char *out = buffer;
    *substituted = false;
    for (int i = 1; i <= token->numComponents; i++) {
        const Tcl_Token *part = &token[i];
        if (part->type == TCL_TOKEN_TEXT) {
            out = mempcpy(out, part->start, (size_t)part->size);
        } else if (part->type == TCL_TOKEN_BS) {
            char bytes[8];
            unsigned char next = part->size > 1 ? (unsigned char)part->start[1] : 'a';
            if (next == 'U' || next >= 0x80)
                return false;
            char written[16] = "";
            memcpy(written, part->start, part->size < 15 ? (size_t)part->size : 15);
            out = oracle_put(out, bytes, Tcl_UtfBackslash(written, NULL, bytes));
        } else {
            *substituted = true;
            return true;
        }
    }
    *size = (size_t)(out - buffer);
    return true;
}

static inline const char *oracle_compare_words(const Tcl_Parse *parse, const struct tg_tcl_command *command,
                                               char *buffer)
{
    if ((size_t)parse->numWords != command->n_words)
        return "number of words";
    const Tcl_Token *token = parse->tokenPtr;
    for (size_t i = 0; i < command->n_words && i < TG_TCL_SCRIPT_MAX_WORDS; i++) {
        const struct tg_tcl_word *word = &command->words[i];
        size_t size = 0;
        bool substituted;
        if (oracle_value(token, buffer, &size, &substituted)) {
            if (substituted != word->substituted)
                return "whether a word is substituted";
            if (!substituted && (size != word->size || memcmp(buffer, word->text, size) != 0))
                return "the value of a word";
            if (word->text[word->size] != '\0')
                return "the end of a word";
        }
        token += token->numComponents + 1;
    }
    return NULL;
}

/* The next command that has words, by libtcl; moves *P on. Its numWords is 0 at the end; false: not
 * well-formed. */
static inline bool oracle_next(const char **p, const char *end, Tcl_Parse *parse)
{
    do {
        if (Tcl_ParseCommand(NULL, *p, (int)(end - *p), 0, parse) != TCL_OK)
            return false;
        *p = parse->commandStart + parse->commandSize;
        if (parse->numWords > 0)
            return true;
        Tcl_FreeParse(parse);
    } while (*p < end);
    return true;
}

/* NULL where both agree on every command of TEXT, else on what they do not. With NUL bytes nothing is
 * compared: in the scripts that libtcl hands to its parser they are C0 80. */
static inline const char *tcl_script_disagreement(const char *text, size_t size)
{
    if (memchr(text, '\0', size) != NULL)
        return NULL;
    struct tg_tcl_script *script = NULL;
    char *buffer = malloc(size + 1);
    if (buffer == NULL || tg_tcl_script_create("script", text, size, &script) != NULL)
        abort();
    /* libtcl expands literal lists while it parses, into any number of words: then only the verdict is
     * compared */
    bool expands = memmem(text, size, "{*}", 3) != NULL;
    const char *what = NULL, *p = text;
    bool more = true, libtcl_more = true, failed = false, libtcl_failed = false, limit = false;
    while (what == NULL && !limit && (more || libtcl_more)) {
        struct tg_tcl_command command = {.n_words = 0};
        Tcl_Parse parse = {.numWords = 0};
        if (more) {
            struct tg_error *error = tg_tcl_script_next(script, &command);
            failed = error != NULL;
            limit = failed && tg_error_code(error) == TG_ERROR_LIMIT;
            more = !failed && command.n_words > 0;
            tg_error_destroy(error);
        }
        if (libtcl_more) {
            libtcl_failed = !oracle_next(&p, text + size, &parse);
            libtcl_more = !libtcl_failed && parse.numWords > 0;
        }
        if (!expands && more != libtcl_more)
            what = "where the script ends";
        else if (!expands && more && parse.commandStart != command.text)
            what = "where a command starts";
        else if (!expands && more)
            what = oracle_compare_words(&parse, &command, buffer);
        if (libtcl_more)
            Tcl_FreeParse(&parse);
    }
    if (what == NULL && failed != libtcl_failed)
        what = "whether the script is well-formed";
    if (limit)
        what = NULL;
    tg_tcl_script_destroy(script);
    free(buffer);
    return what;
}

#endif
