#include "live/console/console.h"

#include "format/base/array.h"
#include "format/base/near_name.h"
#include "live/console/command.h"
#include "live/source/interrupt.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 64 };

/* The C side of a command of Tcl: one of the console's, or a word of Tcl's own that has another meaning as
 * well. */
struct binding {
    struct tg_console *console;
    const struct tg_console_command *command;
    const struct tg_console_alias *alias;
    Tcl_ObjCmdProc *procedure;    /* Tcl's own */
    ClientData data;              /* for PROCEDURE */
    Tcl_CmdDeleteProc *free_data; /* Tcl's own, NULL none */
    ClientData data_to_free;
};

/* ---- running */

/* A Tcl value that a command gave is its data as well. */
static void keep_data(struct tg_console *console, const struct tg_console_command *command, Tcl_Obj *result)
{
    struct tg_json *json =
        result == NULL || command->passes_on ? NULL : tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_console_data_put(json, result);
}

static struct tg_error *check_needs(const struct tg_console *console,
                                    const struct tg_console_command *command)
{
    if (tg_console_is_of_use(console, command))
        return NULL;
    bool is_live = console->options.live != NULL;
    const char *instead = command->instead;
    return tg_error_create(TG_ERROR_UNSUPPORTED, "%s needs a %s: this is a %s; %s%s%s", command->name,
                           is_live ? "recorded trace" : "live job", is_live ? "live job" : "recorded trace",
                           instead != NULL ? "here use `" : "see ",
                           instead != NULL ? instead
                           : is_live       ? "tollgate replay"
                                           : "tollgate live",
                           instead != NULL ? "`" : "");
}

/* Runs COMMAND with the text that it writes as *TEXT, the caller's. Of a live job whoever asks what has
 * happened is told about everybody as long as nobody has set a focus: the first one is the job's starter
 * alone. */
static struct tg_error *run_for_text(struct tg_console *console, const struct tg_console_command *command,
                                     int argc, Tcl_Obj *const *argv, char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);
    if (out == NULL)
        return tg_error_no_memory();
    bool is_beginning =
        command->begins_job && tg_openmp_model_worker_count(console->source->moment->openmp) == 0;
    bool is_widened =
        command->is_of_now && console->options.live != NULL && console->focus_changes == 0 && !is_beginning;
    struct tg_error *error =
        console->options.live == NULL ? NULL : tg_focus_go_to_ranks(&console->focus, console->source);
    if (error == NULL)
        error = tg_focus_refresh(&console->focus, console->source);
    struct tg_focus focus = console->focus;
    if (is_widened)
        tg_focus_init(&console->focus);
    if (error == NULL)
        error = command->run(console, argc, argv, out);
    if (is_widened && console->focus_changes == 0) {
        tg_focus_deinit(&console->focus);
        console->focus = focus;
    } else if (is_widened) { /* the command has set one */
        tg_focus_deinit(&focus);
    }
    if (fclose(out) != 0 && error == NULL)
        error = tg_error_no_memory();
    if (error == NULL && *size > INT32_MAX)
        error = tg_error_create(TG_ERROR_LIMIT, "the answer is longer than 2 GiB");
    return error;
}

/* Runs WORDS with the arguments behind the first word of ARGV. */
static int run_words(Tcl_Interp *interp, const char *words, int argc, Tcl_Obj *const argv[])
{
    Tcl_Obj *script = Tcl_NewStringObj(words, -1);
    Tcl_IncrRefCount(script);
    for (int i = 1; i < argc; i++)
        Tcl_ListObjAppendElement(NULL, script, argv[i]);
    int code = Tcl_EvalObjEx(interp, script, 0);
    Tcl_DecrRefCount(script);
    return code;
}

static int run_command(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const struct binding *binding = data;
    struct tg_console *console = binding->console;
    const struct tg_console_command *command = binding->command;
    char *text = NULL;
    size_t size = 0;
    bool is_live = console->options.live != NULL;
    if (command->runs_instead && (command->needs == TG_CONSOLE_NEEDS_LIVE) != is_live)
        return run_words(interp, command->instead, argc, argv);
    if (command->is_of_now && is_live)
        tg_console_catch_up(console);
    console->error_text = NULL;
    tg_console_data_drop(&console->data);
    struct tg_error *error = check_needs(console, command);
    if (error == NULL)
        error = run_for_text(console, command, argc - 1, argv + 1, &text, &size);
    Tcl_Obj *result = console->result;
    console->result = NULL;
    if (error == NULL)
        keep_data(console, command, result);
    else
        tg_console_data_drop(&console->data);
    if (error == NULL && result == NULL && !console->has_quit && size > 0)
        result = Tcl_NewStringObj(text, (int)size - (text[size - 1] == '\n'));
    free(text);
    if (error != NULL) {
        if (result != NULL)
            Tcl_DecrRefCount(result);
        return tg_console_fail(console, error);
    }
    if (result != NULL)
        Tcl_SetObjResult(interp, result);
    return console->has_quit ? TCL_ERROR : TCL_OK;
}

/* A word of Tcl's own: with arguments, which Tcl's does not take, it is what other debuggers mean by it. */
static int run_tcls(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const struct binding *binding = data;
    return argc == 1 ? binding->procedure(binding->data, interp, argc, argv)
                     : run_words(interp, binding->alias->words, argc, argv);
}

/* tollgate::advise WORD ...: what to type instead of WORD, an error. */
static int run_advise(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const struct binding *binding = data;
    const struct tg_console_command *command = NULL;
    const char *name = argc > 1 ? Tcl_GetString(argv[1]) : "";
    size_t first = strcspn(name, " ");
    const char *second = name + first + strspn(name + first, " ");
    (void)interp;
    const struct tg_console_alias *alias =
        tg_console_find_alias(binding->console, name, first, second, strlen(second), &command);
    const char *advice = alias == NULL ? "`help` lists the commands" : alias->advice;
    return tg_console_fail(binding->console,
                           tg_error_create(TG_ERROR_USAGE, "tollgate has no `%s`: %s%s", name,
                                           tg_console_advice_where(binding->console, advice), advice));
}

/* What a Tcl command cannot be called, and an index of the program's language can: 5, -1, 0x10, 1:3. */
static bool is_index(const char *word)
{
    word += *word == '-';
    return *word >= '0' && *word <= '9' && word[strspn(word, "0123456789abcdefABCDEFxX:+-*/")] == '\0';
}

/* Whether the first LENGTH bytes of WORD are NAME. */
static bool is_called(const char *word, size_t length, const char *name)
{
    return length == strlen(name) && memcmp(word, name, length) == 0;
}

/* ::unknown WORD ...: Tcl asks this where there is no command WORD. "dprint a[5]" is no call of a command 5: the brackets
 * stay as they were typed. */
static int run_no_command(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const char *word = argc > 1 ? Tcl_GetString(argv[1]) : "";
    (void)data;
    if (argc == 2 && is_index(word)) {
        Tcl_SetObjResult(interp, Tcl_ObjPrintf("[%s]", word));
        return TCL_OK;
    }
    const char *format = strchr(word, '/'); /* x/4xg ADDRESS, p/x EXPRESSION, as in gdb */
    size_t length = format == NULL ? 0 : (size_t)(format - word);
    bool examines = is_called(word, length, "x");
    if (examines || is_called(word, length, "p") || is_called(word, length, "print")) {
        char words[64];
        snprintf(words, sizeof words, "%s %.50s", examines ? "dexamine" : "dprint", format);
        return run_words(interp, words, argc - 1, argv + 1);
    }
    Tcl_SetObjResult(interp, Tcl_ObjPrintf("invalid command name \"%s\"", word));
    Tcl_SetErrorCode(interp, "TCL", "LOOKUP", "COMMAND", word, (char *)NULL);
    return TCL_ERROR;
}

/* tollgate::unknown ENSEMBLE SUBCOMMAND ...: Tcl asks this where `info` or `opm` has no such subcommand. */
static int run_unknown(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const struct binding *binding = data;
    const char *ensemble = argc > 1 ? Tcl_GetString(argv[1]) : "",
               *word = argc > 2 ? Tcl_GetString(argv[2]) : "";
    char hint[TG_NEAR_NAME_HINT];
    (void)interp;
    ensemble += strncmp(ensemble, "::", 2) == 0 ? 2 : 0;
    return tg_console_fail(binding->console,
                           tg_error_create(TG_ERROR_USAGE,
                                           "unknown or ambiguous subcommand '%s %s'%s (`help %s` "
                                           "lists the subcommands)",
                                           ensemble, word,
                                           tg_console_near_name(binding->console, ensemble, word, hint),
                                           ensemble));
}

/* `info` or `opm`, alone or with a subcommand. Tcl would say of the former: "wrong # args: should be ...". */
static int run_ensemble(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const struct binding *binding = data;
    const char *name = Tcl_GetString(argv[0]);
    name += strncmp(name, "::", 2) == 0 ? 2 : 0;
    return argc > 1 ? binding->procedure(binding->data, interp, argc, argv)
                    : tg_console_fail(binding->console, tg_console_needs_subcommand(binding->console, name));
}

/* The interrupt key, at a place where Tcl may be told. */
static int take_interrupt(ClientData data, Tcl_Interp *interp, int code)
{
    struct tg_console *console = data;
    (void)interp;
    if (!tg_interrupt_pending())
        return code;
    tg_console_stop(console);
    return code;
}

void tg_console_interrupt(struct tg_console *console)
{
    TG_AUTO_ERROR struct tg_error *error =
        console->options.live == NULL ? NULL : console->options.table->interrupt(console);
    if (error == NULL)
        return;
    tg_console_print_safely(console->options.errors, tg_error_message(error));
    fputc('\n', console->options.errors);
}

/* ---- commands of the interpreter */

static void free_binding(ClientData data)
{
    struct binding *binding = data;
    if (binding->free_data != NULL)
        binding->free_data(binding->data_to_free);
    free(binding);
}

static struct tg_error *bind(const struct binding *values, const char *name, Tcl_ObjCmdProc *procedure)
{
    struct binding *binding = malloc(sizeof *binding);
    if (binding == NULL)
        return tg_error_no_memory();
    *binding = *values;
    Tcl_CreateObjCommand(values->console->interp, name, procedure, binding, free_binding);
    return NULL;
}

static struct tg_error *refuse_tcl(Tcl_Interp *interp, const char *name)
{
    return tg_error_create(TG_ERROR_UNSUPPORTED, "this version of Tcl cannot be extended with '%s': %s", name,
                           Tcl_GetStringResult(interp));
}

/* The ensemble NAME, which may be Tcl's own; NULL where it cannot be. */
static Tcl_Command find_ensemble(Tcl_Interp *interp, const char *name)
{
    Tcl_Obj *word = Tcl_NewStringObj(name, -1);
    Tcl_IncrRefCount(word);
    Tcl_Command token = Tcl_FindEnsemble(interp, word, 0);
    Tcl_DecrRefCount(word);
    if (token == NULL)
        token = Tcl_CreateEnsemble(interp, name, Tcl_GetGlobalNamespace(interp), TCL_ENSEMBLE_PREFIX);
    Tcl_Obj *unknown = Tcl_NewStringObj("::tollgate::unknown", -1);
    Tcl_IncrRefCount(unknown);
    if (token != NULL && Tcl_SetEnsembleUnknownHandler(interp, token, unknown) != TCL_OK)
        token = NULL;
    Tcl_DecrRefCount(unknown);
    return token;
}

/* NAME, "info threads", becomes the subcommand that runs the list TARGET. */
static struct tg_error *add_subcommand(Tcl_Interp *interp, const char *name, Tcl_Obj *target)
{
    char ensemble[MAX_NAME];
    Tcl_Obj *map = NULL;
    const char *blank = strchr(name, ' ');
    snprintf(ensemble, sizeof ensemble, "%.*s", (int)(blank - name), name);
    Tcl_IncrRefCount(target);
    Tcl_Command token = find_ensemble(interp, ensemble);
    int status = token == NULL ? TCL_ERROR : Tcl_GetEnsembleMappingDict(interp, token, &map);
    if (status == TCL_OK) {
        map = map == NULL ? Tcl_NewDictObj() : Tcl_DuplicateObj(map);
        Tcl_IncrRefCount(map);
        Tcl_DictObjPut(interp, map, Tcl_NewStringObj(blank + 1, -1), target);
        status = Tcl_SetEnsembleMappingDict(interp, token, map);
        Tcl_DecrRefCount(map);
    }
    Tcl_DecrRefCount(target);
    return status == TCL_OK ? NULL : refuse_tcl(interp, name);
}

static struct tg_error *add_command(struct tg_console *console, const struct tg_console_command *command)
{
    const struct binding binding = {.console = console, .command = command};
    const char *blank = strchr(command->name, ' ');
    char name[MAX_NAME];
    if (blank == NULL)
        return bind(&binding, command->name, run_command);
    snprintf(name, sizeof name, "::tollgate::%.*s_%s", (int)(blank - command->name), command->name,
             blank + 1);
    struct tg_error *error = bind(&binding, name, run_command);
    if (error != NULL)
        return error;
    Tcl_Obj *target = Tcl_NewStringObj(name, -1);
    return add_subcommand(console->interp, command->name, Tcl_NewListObj(1, &target));
}

/* The list of words that ALIAS runs. No reference of its own. */
static Tcl_Obj *words_of(const struct tg_console_alias *alias)
{
    if (alias->words != NULL)
        return Tcl_ObjPrintf("::%s", alias->words); /* subcommands have to be fully qualified */
    Tcl_Obj *const words[] = {Tcl_NewStringObj("::tollgate::advise", -1), Tcl_NewStringObj(alias->name, -1)};
    return Tcl_NewListObj(2, words);
}

/* What Tcl has in the command NAME, as INFO says, is PROCEDURE's from now on, which may pass it on. */
static struct tg_error *take_over(const struct binding *values, const char *name, Tcl_CmdInfo *info,
                                  Tcl_ObjCmdProc *procedure)
{
    struct binding *binding = malloc(sizeof *binding);
    if (binding == NULL)
        return tg_error_no_memory();
    *binding = *values;
    binding->procedure = info->objProc;
    binding->data = info->objClientData;
    binding->free_data = info->deleteProc;
    binding->data_to_free = info->deleteData;
    info->objProc = procedure;
    info->objClientData = binding;
    info->deleteProc = free_binding;
    info->deleteData = binding;
    Tcl_SetCommandInfo(values->console->interp, name, info);
    return NULL;
}

/* Once all subcommands are there: Tcl does not know as an ensemble what was taken over. */
static struct tg_error *take_over_ensembles(struct tg_console *console)
{
    const struct binding binding = {.console = console};
    for (const struct tg_console_command *const *at = console->options.table->commands; *at != NULL; at++) {
        char name[MAX_NAME];
        Tcl_CmdInfo info;
        const char *blank = strchr((*at)->name, ' ');
        if (blank == NULL)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(blank - (*at)->name), (*at)->name);
        if (!Tcl_GetCommandInfo(console->interp, name, &info) || info.objProc == run_ensemble)
            continue;
        struct tg_error *error = take_over(&binding, name, &info, run_ensemble);
        if (error != NULL)
            return error;
    }
    return NULL;
}

static struct tg_error *add_alias(struct tg_console *console, const struct tg_console_alias *alias)
{
    Tcl_Interp *interp = console->interp;
    Tcl_CmdInfo info;
    int n = 0;
    if (alias->tcl == TG_TCL_TAKES_ARGUMENTS)
        return NULL;
    if (strchr(alias->name, ' ') != NULL)
        return add_subcommand(interp, alias->name, words_of(alias));
    const struct binding binding = {.console = console, .alias = alias};
    if (Tcl_GetCommandInfo(interp, alias->name,
                           &info)) /* `break` and `continue` stay Tcl's without arguments */
        return info.deleteProc == NULL ? take_over(&binding, alias->name, &info, run_tcls) : NULL;
    Tcl_Obj *list = words_of(alias), **words;
    Tcl_IncrRefCount(list);
    int code = Tcl_ListObjGetElements(interp, list, &n, &words);
    if (code == TCL_OK)
        code = Tcl_CreateAliasObj(interp, alias->name, interp, Tcl_GetString(words[0]), n - 1, words + 1);
    Tcl_DecrRefCount(list);
    return code == TCL_OK ? NULL : refuse_tcl(interp, alias->name);
}

static struct tg_error *add_vocabulary(struct tg_console *console)
{
    const struct tg_console_table *table = console->options.table;
    const struct binding binding = {.console = console};
    struct tg_error *error = bind(&binding, "::tollgate::advise", run_advise);
    if (error == NULL)
        error = bind(&binding, "::tollgate::unknown", run_unknown);
    if (error == NULL)
        error = bind(&binding, "::unknown", run_no_command);
    for (size_t i = 0; error == NULL && table->commands[i] != NULL; i++)
        error = add_command(console, table->commands[i]);
    for (const struct tg_console_alias *alias = table->aliases; error == NULL && alias->name != NULL; alias++)
        error = add_alias(console, alias);
    for (const struct tg_console_alias *alias = table->foreign; error == NULL && alias->name != NULL; alias++)
        error = add_alias(console, alias);
    return error != NULL ? error : take_over_ensembles(console);
}

/* ---- life */

static struct tg_error *create_interpreter(struct tg_console *console)
{
    Tcl_FindExecutable(NULL);
    console->interp = Tcl_CreateInterp();
    /* Tcl sets the locale from the environment; text is UTF-8 here whatever that says. */
    setlocale(LC_CTYPE, "C.UTF-8");
    Tcl_SetSystemEncoding(NULL, "utf-8");
    if (console->options.is_safe)
        Tcl_MakeSafe(console->interp);
    else
        Tcl_Init(console->interp); /* without Tcl's script library its own commands are there all the same */
    Tcl_ResetResult(console->interp);
    Tcl_SetVar(console->interp, "tcl_interactive", "0", TCL_GLOBAL_ONLY);
    console->interrupt = Tcl_AsyncCreate(take_interrupt, console);
    return Tcl_CreateNamespace(console->interp, "::tollgate", NULL, NULL) == NULL ? tg_error_no_memory()
                                                                                  : NULL;
}

static struct tg_error *create_states(struct tg_console *console)
{
    const struct tg_console_state_kind *const *kinds = console->options.table->states;
    for (size_t i = 0; kinds[i] != NULL; i++) {
        struct tg_console_state state = {.kind = kinds[i]};
        if (kinds[i]->is_live && console->options.live == NULL)
            continue;
        struct tg_error *error = kinds[i]->create(console, &state.state);
        if (error == NULL)
            error = TG_ARRAY_APPEND_EXACT(console->states, console->n_states, state);
        if (error != NULL) {
            kinds[i]->destroy(state.state);
            return error;
        }
    }
    return NULL;
}

struct tg_error *tg_console_create(struct tg_source *source, const struct tg_console_options *options,
                                   struct tg_console **console)
{
    struct tg_console *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->source = source;
    made->options = *options;
    made->data.wanted = options->wants_data;
    tg_focus_init(&made->focus);
    struct tg_error *error = tg_procedure_places_create(&made->procedures);
    if (error == NULL)
        error = tg_console_settings_create(&made->settings);
    if (error == NULL && options->live != NULL)
        error = tg_focus_begin(&made->focus);
    if (error == NULL && options->services != NULL)
        error = options->services->symbolizer_create(&made->symbolizer);
    if (error == NULL)
        error = create_interpreter(made);
    if (error == NULL)
        error = create_states(made);
    if (error == NULL)
        error = add_vocabulary(made);
    if (error != NULL) {
        tg_console_destroy(made);
        return error;
    }
    *console = made;
    return NULL;
}

void tg_console_destroy(struct tg_console *console)
{
    if (console == NULL)
        return;
    if (console->interp != NULL)
        Tcl_DeleteInterp(console->interp);
    if (console->interrupt != NULL)
        Tcl_AsyncDelete(console->interrupt);
    for (size_t i = console->n_states; i-- > 0;)
        console->states[i].kind->destroy(console->states[i].state);
    free(console->states);
    if (console->symbolizer != NULL)
        console->options.services->symbolizer_destroy(console->symbolizer);
    tg_procedure_places_destroy(console->procedures);
    tg_console_settings_destroy(console->settings);
    tg_console_data_drop(&console->data);
    tg_focus_deinit(&console->focus);
    free(console);
}

enum tg_console_leaving tg_console_leaving(const struct tg_console *console)
{
    return console->leaving;
}
