#include "live/console.h"

#include "analyzer/quantity.h"
#include "format/utf8.h"
#include "live/console_aliases.h"
#include "live/console_command.h"
#include "live/console_names.h"
#include "live/control.h"
#include "live/dexamine.h"
#include "live/dlist.h"
#include "live/interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CATCH_UP_MS = 2000 }; /* events on their way take some tens, unless the machine is overloaded */

/* What Tcl hands back to a command's procedure. */
struct binding {
    struct tg_console *console;
    const struct tg_console_command *command;
};

/* ---- errors and results */

int tg_console_fail(struct tg_console *console, struct tg_error *error)
{
    Tcl_SetObjResult(console->interp, Tcl_NewStringObj(tg_error_message(error), -1));
    const char *code = tg_error_code_name(tg_error_code(error));
    char offset[24];
    if (console->error_text != NULL) {
        snprintf(offset, sizeof offset, "%zu", console->error_offset);
        Tcl_SetErrorCode(console->interp, "TOLLGATE", code, console->error_text, offset, NULL);
    } else {
        Tcl_SetErrorCode(console->interp, "TOLLGATE", code, NULL);
    }
    console->error_text = NULL;
    tg_error_destroy(error);
    return TCL_ERROR;
}

void tg_console_point(struct tg_console *console, const char *text, size_t offset)
{
    console->error_text = text;
    console->error_offset = offset;
}

/* What a command gave as a Tcl value is its data as well. */
static void keep_data(struct tg_console *console, const struct tg_console_command *command, Tcl_Obj *result)
{
    struct tg_json *json = result == NULL || command == &tg_console_dfocus /* its command has */
                               ? NULL
                               : tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_console_data_put(json, result);
}

void tg_console_result_as_data(struct tg_console *console)
{
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (console->result == NULL)
        return;
    if (json != NULL)
        tg_console_data_put(json, console->result);
    Tcl_DecrRefCount(console->result);
    console->result = NULL;
}

static struct tg_error *check_needs(const struct tg_console *console,
                                    const struct tg_console_command *command)
{
    bool is_live = console->options.live != NULL;
    if (command->needs == TG_CONSOLE_NEEDS_LIVE && !is_live)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "%s is for a job that runs: this is a trace (see tollgate live)",
                               command->name);
    if (command->needs == TG_CONSOLE_NEEDS_TRACE && is_live)
        return tg_error_create(TG_ERROR_UNSUPPORTED, "%s is for a trace: this job runs (see tollgate replay)",
                               command->name);
    return NULL;
}

static struct tg_error *give_data(const struct binding *binding, int argc, Tcl_Obj *const *argv,
                                  const char *text)
{
    struct tg_console *console = binding->console;
    struct tg_json *json = tg_console_data_begin(&console->data);
    struct tg_error *error = json == NULL ? NULL : binding->command->data(console, argc, argv, text, json);
    if (error != NULL)
        tg_console_data_drop(&console->data);
    return error;
}

static int run_command(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    const struct binding *binding = data;
    struct tg_console *console = binding->console;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return tg_console_fail(console, tg_error_no_memory());
    console->error_text = NULL;
    tg_console_data_drop(&console->data);
    struct tg_error *error = check_needs(console, binding->command);
    if (error == NULL)
        error = tg_focus_refresh(&console->focus, console->source);
    if (error == NULL)
        error = binding->command->run(console, argc - 1, argv + 1, out);
    if (fclose(out) != 0 && error == NULL)
        error = tg_error_no_memory();
    Tcl_Obj *result = console->result;
    console->result = NULL;
    if (error == NULL)
        keep_data(console, binding->command, result);
    if (error == NULL && binding->command->data != NULL && console->data.stream == NULL)
        error = give_data(binding, argc - 1, argv + 1, text);
    if (error == NULL && size > INT32_MAX)
        error = tg_error_create(TG_ERROR_LIMIT, "the answer is too long");
    if (error == NULL && result == NULL && !console->has_quit && size > 0) {
        if (text[size - 1] == '\n')
            size--;
        result = Tcl_NewStringObj(text, (int)size);
    }
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

/* Text that a terminal may be given: lines stay lines, what would deceive is shown by number. */
static void print_safely(FILE *stream, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        uint32_t code_point;
        size_t length = tg_utf8_decode(at, &code_point);
        if (length == 0)
            fprintf(stream, "\\x%02x", (unsigned char)*at++);
        else if (*at == '\n' || *at == '\t' || !tg_utf8_deceives(code_point))
            fwrite(at, 1, length, stream);
        else
            fprintf(stream, "\\u{%" PRIx32 "}", code_point);
        at += length;
    }
}

/* What scripts print by Tcl's own commands comes in order with the results. */
static void flush_tcl(void)
{
    Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDOUT);
    if (channel != NULL)
        Tcl_Flush(channel);
}

static void print_result(struct tg_console *console)
{
    const char *text = Tcl_GetStringResult(console->interp);
    flush_tcl();
    if (*text == '\0')
        return;
    print_safely(console->options.out, text);
    fputc('\n', console->options.out);
    fflush(console->options.out);
}

/* "FILE:LINE: MESSAGE" at the innermost place that is known, and what called it. */
static void write_trace(struct tg_console *console, const struct tg_script_trace *trace)
{
    FILE *stream = console->options.errors;
    size_t known = 0;
    while (known < trace->n_frames && trace->frames[known].file == NULL)
        known++;
    if (known < trace->n_frames) {
        print_safely(stream, trace->frames[known].file);
        fprintf(stream, ":%zu: ", trace->frames[known].line);
    }
    print_safely(stream, Tcl_GetStringResult(console->interp));
    fputc('\n', stream);
    for (size_t i = 0; i < trace->n_frames; i++) {
        const struct tg_script_frame *frame = &trace->frames[i];
        if (i == known || (frame->file == NULL && *frame->procedure == '\0'))
            continue;
        fputs("    ", stream);
        if (frame->file == NULL) {
            fputs("in procedure ", stream);
            print_safely(stream, frame->procedure);
            fprintf(stream, ", line %zu of its body\n", frame->line);
        } else {
            fputs("called at ", stream);
            print_safely(stream, frame->file);
            fprintf(stream, ":%zu\n", frame->line);
        }
    }
}

/* Element I of Tcl's errorCode, NULL where it is not tollgate's or has none. */
static const char *error_element(Tcl_Obj *code, int i)
{
    Tcl_Obj *first = NULL, *element = NULL;
    if (code == NULL || Tcl_ListObjIndex(NULL, code, 0, &first) != TCL_OK || first == NULL ||
        strcmp(Tcl_GetString(first), "TOLLGATE") != 0)
        return NULL;
    return Tcl_ListObjIndex(NULL, code, i, &element) == TCL_OK && element != NULL ? Tcl_GetString(element)
                                                                                  : NULL;
}

/* For a program. HAS_CODE: Tcl knows a code of this error. */
static void tell_failure(struct tg_console *console, const struct tg_script_trace *trace, size_t line,
                         bool has_code)
{
    size_t known = 0;
    while (known < trace->n_frames && trace->frames[known].file == NULL)
        known++;
    Tcl_Obj *code = has_code ? Tcl_GetVar2Ex(console->interp, "errorCode", NULL, TCL_GLOBAL_ONLY) : NULL;
    const char *name = error_element(code, 1), *offset = error_element(code, 3);
    const char *message = Tcl_GetStringResult(console->interp);
    const struct tg_console_failure failure = {
        .code = name != NULL                          ? name
                : strcmp(message, "interrupted") == 0 ? "INTERRUPTED"
                                                      : "TCL",
        .message = message,
        .file = known < trace->n_frames ? trace->frames[known].file : NULL,
        .line = known < trace->n_frames ? trace->frames[known].line : line,
        .text = offset == NULL ? NULL : error_element(code, 2),
        .text_offset = offset == NULL ? 0 : strtoul(offset, NULL, 10)};
    console->options.failed(console->options.failed_context, &failure);
}

/* LINE is where the command that failed is. */
static void print_error(struct tg_console *console, const struct tg_console_place *place, size_t line,
                        const char *info)
{
    struct tg_script_trace trace;
    flush_tcl();
    fflush(console->options.out);
    tg_script_trace_read(console->procedures, info, Tcl_GetStringResult(console->interp), place->name, line,
                         &trace);
    if (console->options.failed != NULL)
        tell_failure(console, &trace, line, *info != '\0');
    else
        write_trace(console, &trace);
    fflush(console->options.errors);
}

/* ---- life */

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

void tg_console_stop(struct tg_console *console)
{
    /* What is beyond a limit cannot be caught, and unlike a cancellation it can be taken back. */
    Tcl_LimitSetCommands(console->interp, 0);
    Tcl_LimitTypeSet(console->interp, TCL_LIMIT_COMMANDS);
    console->is_stopped = true;
}

static void notify_interrupt(void *context)
{
    Tcl_AsyncMark(context);
}

static void free_binding(ClientData data)
{
    free(data);
}

/* Makes SUBCOMMAND of ENSEMBLE, which may be Tcl's own, the command NAME. */
static int add_subcommand(Tcl_Interp *interp, const char *ensemble, const char *subcommand, const char *name)
{
    Tcl_Obj *ensemble_name = Tcl_NewStringObj(ensemble, -1), *map = NULL;
    Tcl_IncrRefCount(ensemble_name);
    Tcl_Command token = Tcl_FindEnsemble(interp, ensemble_name, 0);
    if (token == NULL)
        token = Tcl_CreateEnsemble(interp, ensemble, Tcl_GetGlobalNamespace(interp), TCL_ENSEMBLE_PREFIX);
    Tcl_DecrRefCount(ensemble_name);
    int status = Tcl_GetEnsembleMappingDict(interp, token, &map);
    if (status != TCL_OK)
        return status;
    map = map == NULL ? Tcl_NewDictObj() : Tcl_DuplicateObj(map);
    Tcl_IncrRefCount(map);
    Tcl_Obj *target = Tcl_NewStringObj(name, -1);
    Tcl_DictObjPut(interp, map, Tcl_NewStringObj(subcommand, -1), Tcl_NewListObj(1, &target));
    status = Tcl_SetEnsembleMappingDict(interp, token, map);
    Tcl_DecrRefCount(map);
    return status;
}

static struct tg_error *add_command(struct tg_console *console, const struct tg_console_command *command)
{
    struct binding *binding = malloc(sizeof *binding);
    if (binding == NULL)
        return tg_error_no_memory();
    *binding = (struct binding){.console = console, .command = command};
    const char *blank = strchr(command->name, ' ');
    char name[64];
    if (blank == NULL)
        snprintf(name, sizeof name, "%s", command->name);
    else
        snprintf(name, sizeof name, "::tollgate::%.*s_%s", (int)(blank - command->name), command->name,
                 blank + 1);
    Tcl_CreateObjCommand(console->interp, name, run_command, binding, free_binding);
    if (blank == NULL)
        return NULL;
    char ensemble[32];
    snprintf(ensemble, sizeof ensemble, "%.*s", (int)(blank - command->name), command->name);
    if (add_subcommand(console->interp, ensemble, blank + 1, name) == TCL_OK)
        return NULL;
    return tg_error_create(TG_ERROR_UNSUPPORTED, "this Tcl does not let '%s' be extended: %s", ensemble,
                           Tcl_GetStringResult(console->interp));
}

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
    if (Tcl_CreateNamespace(console->interp, "::tollgate", NULL, NULL) == NULL)
        return tg_error_no_memory();
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && tg_console_commands[i] != NULL; i++)
        error = add_command(console, tg_console_commands[i]);
    if (error == NULL)
        error = tg_console_aliases_add(console);
    return error != NULL ? error : tg_auto_sequence_add(console);
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
    if (error == NULL)
        error = tg_listing_create(&made->listing);
    if (error == NULL)
        error = tg_examination_create(&made->examination);
    if (error == NULL && options->live != NULL)
        error = tg_live_filter_create(made->settings, options->live, &made->filter);
    if (error == NULL && options->live != NULL) {
        tg_control_watch(made);
        error = tg_focus_begin(&made->focus);
    }
    if (error == NULL && options->services != NULL)
        error = options->services->symbolizer_create(&made->symbolizer);
    if (error == NULL)
        error = create_interpreter(made);
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
    if (console->symbolizer != NULL)
        console->options.services->symbolizer_destroy(console->symbolizer);
    tg_procedure_places_destroy(console->procedures);
    tg_live_filter_destroy(console->filter);
    tg_console_settings_destroy(console->settings);
    tg_listing_destroy(console->listing);
    tg_examination_destroy(console->examination);
    tg_console_data_drop(&console->data);
    tg_focus_deinit(&console->focus);
    free(console);
}

enum tg_console_leaving tg_console_leaving(const struct tg_console *console)
{
    return console->leaving;
}

/* ---- evaluating */

bool tg_console_is_complete(const char *script)
{
    return Tcl_CommandComplete(script) != 0;
}

bool tg_console_has_quit(const struct tg_console *console, int *status)
{
    if (console->has_quit && console->quit_status >= 0)
        *status = console->quit_status;
    return console->has_quit;
}

/* Whether a parsed command is one of the console's own. */
static bool is_own(const Tcl_Parse *parse)
{
    const Tcl_Token *first = parse->numWords > 0 ? &parse->tokenPtr[0] : NULL;
    if (first == NULL || first->type != TCL_TOKEN_SIMPLE_WORD)
        return false;
    const Tcl_Token *second = parse->numWords > 1 ? first + first->numComponents + 1 : NULL;
    if (second != NULL && second->type != TCL_TOKEN_SIMPLE_WORD)
        second = NULL;
    const struct tg_console_command *command;
    if (tg_console_alias_find(first[1].start, (size_t)first[1].size, &command) != NULL)
        return true;
    return tg_console_find_command(first[1].start, (size_t)first[1].size,
                                   second == NULL ? "" : second[1].start,
                                   second == NULL ? 0 : (size_t)second[1].size) != NULL;
}

static size_t count_lines(const char *from, const char *to)
{
    size_t lines = 0;
    for (; from < to; from++)
        lines += *from == '\n';
    return lines;
}

/* Where the body of a procedure is that PARSE, a command on LINE, makes. */
static void note_procedure(struct tg_console *console, const Tcl_Parse *parse,
                           const struct tg_console_place *place, size_t line)
{
    enum { WORDS = 4 };
    const Tcl_Token *words[WORDS], *token = parse->tokenPtr;
    char name[64];
    if (parse->numWords != WORDS)
        return;
    for (size_t i = 0; i < WORDS; i++) {
        if (token->type != TCL_TOKEN_SIMPLE_WORD)
            return;
        words[i] = token + 1;
        token += token->numComponents + 1;
    }
    if (words[0]->size != 4 || memcmp(words[0]->start, "proc", 4) != 0 || words[1]->size >= (int)sizeof name)
        return;
    snprintf(name, sizeof name, "%.*s", words[1]->size, words[1]->start);
    tg_error_destroy(tg_procedure_places_set(console->procedures, name, place->name,
                                             line + count_lines(parse->commandStart, words[3]->start)));
}

/* Runs SIZE bytes as one script, compiled: lines in loops and conditions count from its beginning then. */
static int run_script(struct tg_console *console, const char *text, int size)
{
    Tcl_Obj *script = Tcl_NewStringObj(text, size);
    Tcl_IncrRefCount(script);
    Tcl_ResetResult(console->interp);
    tg_interrupt_notify(notify_interrupt, console->interrupt);
    if (tg_interrupt_pending()) /* since the command before it */
        notify_interrupt(console->interrupt);
    int code = Tcl_EvalObjEx(console->interp, script, TCL_EVAL_GLOBAL);
    tg_interrupt_notify(NULL, NULL);
    Tcl_DecrRefCount(script);
    return code;
}

/* Evaluates SIZE bytes, one command, that begins on LINE. */
static bool eval_command(struct tg_console *console, const char *text, int size, bool print,
                         const struct tg_console_place *place, size_t line)
{
    tg_console_attend(console);
    int code = run_script(console, text, size);
    if (code == TCL_ERROR)
        tg_interrupt_clear(); /* that was for this command */
    bool has_trace = code == TCL_ERROR && !console->is_stopped;
    if (console->is_stopped) {
        Tcl_LimitSetCommands(console->interp, 0); /* forgets that it was exceeded */
        Tcl_LimitTypeReset(console->interp, TCL_LIMIT_COMMANDS);
        console->is_stopped = false;
        Tcl_SetObjResult(console->interp, Tcl_NewStringObj("interrupted", -1));
        code = TCL_ERROR;
    }
    if (console->has_quit) {
        flush_tcl();
        return true;
    }
    if (code == TCL_OK || code == TCL_RETURN) {
        if (print)
            print_result(console);
        else
            flush_tcl();
        return true;
    }
    if (code == TCL_BREAK || code == TCL_CONTINUE)
        Tcl_SetObjResult(console->interp, Tcl_NewStringObj("break or continue outside of a loop", -1));
    int within = has_trace ? Tcl_GetErrorLine(console->interp) : 1;
    const char *info = has_trace ? Tcl_GetVar(console->interp, "errorInfo", TCL_GLOBAL_ONLY) : NULL;
    print_error(console, place, line + (within > 1 ? (size_t)within - 1 : 0), info == NULL ? "" : info);
    return false;
}

static bool eval_commands(struct tg_console *console, const char *script, enum tg_console_print print,
                          const struct tg_console_place *place)
{
    const char *end = script + strlen(script), *at = script;
    size_t line = place->line;
    if (end - script > INT32_MAX) {
        fputs("the script is too long\n", console->options.errors);
        return false;
    }
    while (at < end && !console->has_quit) {
        Tcl_Parse parse;
        if (Tcl_ParseCommand(console->interp, at, (int)(end - at), 0, &parse) != TCL_OK) {
            print_error(console, place, line, "");
            return false;
        }
        const char *command = parse.commandStart, *next = command + parse.commandSize;
        bool owns = is_own(&parse), shows = print == TG_PRINT_ALL || owns;
        bool is_empty = parse.numWords == 0;
        line += count_lines(at, command);
        note_procedure(console, &parse, place, line);
        Tcl_FreeParse(&parse);
        if (!is_empty && !eval_command(console, command, (int)(next - command), shows, place, line)) {
            tg_console_data_drop(&console->data);
            return false;
        }
        if (!is_empty && !owns) /* what it answered is part of something else */
            tg_console_data_drop(&console->data);
        line += count_lines(command, next);
        at = next;
    }
    return true;
}

bool tg_console_eval(struct tg_console *console, const char *script, enum tg_console_print print,
                     const struct tg_console_place *place)
{
    tg_interrupt_catch(); /* also between its commands */
    bool well = eval_commands(console, script, print, place);
    tg_interrupt_release();
    return well;
}

bool tg_console_read(struct tg_console *console, FILE *stream, enum tg_console_print print, const char *name,
                     bool stops)
{
    char *script = NULL, *line = NULL;
    size_t size = 0, capacity = 0, number = 0, first = 1;
    bool all_well = true;
    for (ssize_t got; !console->has_quit && (got = getline(&line, &capacity, stream)) >= 0;) {
        number++;
        char *larger = realloc(script, size + (size_t)got + 1);
        if (larger == NULL) {
            fputs("out of memory\n", console->options.errors);
            all_well = false;
            break;
        }
        script = larger;
        memcpy(script + size, line, (size_t)got + 1);
        size += strlen(line);
        if (!tg_console_is_complete(script))
            continue;
        const struct tg_console_place place = {.name = name, .line = first};
        all_well &= tg_console_eval(console, script, print, &place);
        if (!all_well && stops)
            break;
        if (!stops)
            tg_console_settle(console);
        size = 0;
        script[0] = '\0';
        first = number + 1;
    }
    if (size > 0 && !console->has_quit && !(stops && !all_well)) { /* an open brace: Tcl says which */
        const struct tg_console_place place = {.name = name, .line = first};
        all_well &= tg_console_eval(console, script, print, &place);
    }
    free(script);
    free(line);
    return all_well;
}

char *tg_console_take_data(struct tg_console *console)
{
    return tg_console_data_take(&console->data);
}

int tg_console_wake_fd(const struct tg_console *console)
{
    return console->source->wake_fd;
}

/* News to people: a line each, but for threads of a process that leave a barrier one after the other. */
struct printing {
    FILE *stream;
    void (*before)(void *context); /* the first line, NULL nothing */
    void *context;
    bool has_begun;
    struct tg_news left; /* not printed yet; as many as its `other` says, 0 none */
};

static void print_line(struct printing *printing, const struct tg_news *news)
{
    if (!printing->has_begun && printing->before != NULL)
        printing->before(printing->context);
    printing->has_begun = true;
    tg_news_words(news, printing->stream);
    fputc('\n', printing->stream);
}

static void print_left(struct printing *printing)
{
    if (printing->left.other > 1)
        printing->left.unit.dtid = 0;
    if (printing->left.other > 0)
        print_line(printing, &printing->left);
    printing->left.other = 0;
}

static void print_news(void *context, const struct tg_news *news)
{
    struct printing *printing = context;
    const struct tg_news *left = &printing->left;
    bool is_left = news->kind == TG_NEWS_BARRIER && news->decision == TG_BARRIER_LEFT && news->unit.dtid != 0;
    bool is_another = is_left && left->other > 0 && left->point == news->point &&
                      left->reason == news->reason && left->unit.dpid == news->unit.dpid &&
                      left->count == news->count;
    uint64_t n_before = is_another ? left->other : 0;
    if (!is_another)
        print_left(printing);
    if (!is_left) {
        print_line(printing, news);
        return;
    }
    printing->left = *news;
    printing->left.set = printing->left.name = printing->left.place = printing->left.text = NULL;
    printing->left.other = n_before + 1;
}

bool tg_console_attend_at_prompt(struct tg_console *console, void (*before)(void *context), void *context)
{
    struct printing printing = {.stream = console->options.out, .before = before, .context = context};
    const struct tg_news_sink printed = {print_news, &printing};
    const struct tg_news_sink *sink = console->options.news != NULL ? console->options.news : &printed;
    if (console->source->ops->attend == NULL)
        return false;
    struct tg_error *error = console->source->ops->attend(console->source, sink);
    if (error != NULL)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = tg_error_message(error)});
    tg_error_destroy(error);
    print_left(&printing);
    fflush(console->options.out);
    return printing.has_begun;
}

void tg_console_attend(struct tg_console *console)
{
    (void)tg_console_attend_at_prompt(console, NULL, NULL);
}

void tg_console_interrupt(struct tg_console *console)
{
    struct tg_error *error = console->options.live == NULL ? NULL : tg_control_halt(console);
    if (error == NULL)
        return;
    print_safely(console->options.errors, tg_error_message(error));
    fputc('\n', console->options.errors);
    tg_error_destroy(error);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void tg_console_catch_up(struct tg_console *console)
{
    struct tg_source *source = console->source;
    struct tg_event_mark mark;
    if (source->ops->mark == NULL)
        return;
    source->ops->mark(source, &mark);
    uint64_t until_ms = now_ms() + CATCH_UP_MS;
    for (;;) {
        tg_console_attend(console);
        uint64_t at_ms = now_ms();
        struct pollfd wake = {.fd = source->wake_fd, .events = POLLIN};
        if (source->ops->is_at(source, &mark) || at_ms >= until_ms || tg_interrupt_pending() ||
            (poll(&wake, 1, (int)(until_ms - at_ms)) < 0 && errno != EINTR))
            return;
    }
}

void tg_console_settle(struct tg_console *console)
{
    struct tg_error *error = tg_auto_sequence_refresh(console);
    if (error == NULL)
        return;
    print_safely(console->options.errors, tg_error_message(error));
    fputs("; opm-auto-sequence is off now\n", console->options.errors);
    fflush(console->options.errors);
    tg_error_destroy(error);
}

char *tg_console_prompt(const struct tg_console *console, char *buffer, size_t size)
{
    char moment[TG_QUANTITY_SIZE], focus[TG_FOCUS_TEXT];
    const struct tg_source *source = console->source;
    if (console->options.live != NULL) {
        snprintf(buffer, size, "%s> ", tg_console_focus_text(console, focus));
        return buffer;
    }
    snprintf(buffer, size, "(%s s, %s) ", tg_quantity_moment(source->time_ns, source->start_ns, 6, moment),
             tg_focus_print(&console->focus, source, focus));
    return buffer;
}
