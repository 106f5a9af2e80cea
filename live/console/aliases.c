#include "live/console/aliases.h"

#include "live/console/names.h"

#include <string.h>

enum { MAX_WORDS = 8 };

const struct tg_console_alias tg_console_alias_table[] = {
    {"BAW", "dfocus gW dbarrier -stop_when_done group"},
    {"G", "dfocus g dgo"},
    {"H", "dfocus g dhalt"},
    {"S", "dfocus g dstep"},
    {"N", "dfocus g dnext"},
    {"ST", "dfocus g dstatus"},
    {"ac", "dactions"},
    {"b", "dbreak"},
    {"ba", "dbarrier"},
    {"baw", "dfocus pW dbarrier -stop_when_done process"},
    {"co", "dcont"},
    {"de", "ddelete"},
    {"di", "ddisable"},
    {"en", "denable"},
    {"f", "dfocus"},
    {"g", "dgo"},
    {"h", "dhalt"},
    {"l", "dlist"},
    {"n", "dnext"},
    {"p", "dprint"},
    {"s", "dstep"},
    {"st", "dstatus"},
    {"w", "dwhere"},
    {"x", "dexamine"},
    {NULL, NULL},
};

/* Cuts WORDS into PIECES of SIZES; returns how many. */
static int cut(const char *words, const char *pieces[MAX_WORDS], size_t sizes[MAX_WORDS])
{
    int n = 0;
    for (const char *at = words; *at != '\0' && n < MAX_WORDS; at += strspn(at, " ")) {
        pieces[n] = at;
        sizes[n] = strcspn(at, " ");
        at += sizes[n++];
    }
    return n;
}

/* The command that WORDS run, NULL: there is none yet. */
static const struct tg_console_command *command_of(const char *words)
{
    const char *pieces[MAX_WORDS];
    size_t sizes[MAX_WORDS];
    int n = cut(words, pieces, sizes), first = n > 2 ? 2 : 0; /* behind `dfocus SET` */
    return tg_console_find_command(pieces[first], sizes[first], "", 0);
}

const struct tg_console_alias *tg_console_alias_find(const char *name, size_t size,
                                                     const struct tg_console_command **command)
{
    for (const struct tg_console_alias *alias = tg_console_alias_table; alias->name != NULL; alias++) {
        if (strlen(alias->name) != size || memcmp(alias->name, name, size) != 0)
            continue;
        *command = command_of(alias->words);
        return *command == NULL ? NULL : alias;
    }
    return NULL;
}

struct tg_error *tg_console_aliases_add(struct tg_console *console)
{
    for (const struct tg_console_alias *alias = tg_console_alias_table; alias->name != NULL; alias++) {
        const char *pieces[MAX_WORDS];
        size_t sizes[MAX_WORDS];
        Tcl_Obj *words[MAX_WORDS];
        if (command_of(alias->words) == NULL)
            continue;
        int n = cut(alias->words, pieces, sizes);
        for (int i = 0; i < n; i++) {
            words[i] = Tcl_NewStringObj(pieces[i], (int)sizes[i]);
            Tcl_IncrRefCount(words[i]);
        }
        int code = Tcl_CreateAliasObj(console->interp, alias->name, console->interp, Tcl_GetString(words[0]),
                                      n - 1, words + 1);
        for (int i = 0; i < n; i++)
            Tcl_DecrRefCount(words[i]);
        if (code != TCL_OK)
            return tg_error_create(TG_ERROR_UNSUPPORTED, "this Tcl does not take the alias %s: %s",
                                   alias->name, Tcl_GetStringResult(console->interp));
    }
    return NULL;
}
