#include "live/console/eval.h"

#include "format/base/array.h"
#include "format/base/near_name.h"
#include "format/base/printable.h"
#include "live/console/brackets.h"
#include "live/console/command.h"
#include "live/console/flush.h"
#include "live/console/script_nesting.h"
#include "live/source/interrupt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MEANT_SIZE = 64, HINT_SIZE = 6 * MEANT_SIZE };

/* ---- results and errors */

/* Flushes what scripts print by Tcl's own commands, so that it is in order with the results. */
static void flush_tcl(struct tg_console *console)
{
    Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDOUT);
    if (channel != NULL && Tcl_Flush(channel) != TCL_OK && console->write_failed == 0)
        console->write_failed = Tcl_GetErrno();
}

static void print_result(struct tg_console *console)
{
    const char *text = Tcl_GetStringResult(console->interp);
    flush_tcl(console);
    if (*text == '\0')
        return;
    tg_console_print_safely(console->options.out, text);
    fputc('\n', console->options.out);
    tg_flush(console->options.out, &console->write_failed);
}

/* "FILE:LINE: MESSAGE" at the innermost place that is known, and what called it. */
static void write_trace(struct tg_console *console, const struct tg_script_trace *trace, const char *hint)
{
    FILE *stream = console->options.errors;
    size_t known = 0;
    while (known < trace->n_frames && trace->frames[known].file == NULL)
        known++;
    if (known < trace->n_frames) {
        tg_console_print_safely(stream, trace->frames[known].file);
        fprintf(stream, ":%zu: ", trace->frames[known].line);
    }
    tg_console_print_safely(stream, Tcl_GetStringResult(console->interp));
    fputs(hint, stream);
    fputc('\n', stream);
    for (size_t i = 0; i < trace->n_frames; i++) {
        const struct tg_script_frame *frame = &trace->frames[i];
        if (i == known || (frame->file == NULL && *frame->procedure == '\0'))
            continue;
        fputs("    ", stream);
        if (frame->file == NULL) {
            fputs("in procedure ", stream);
            tg_console_print_safely(stream, frame->procedure);
            fprintf(stream, ", line %zu of its body\n", frame->line);
        } else {
            fputs("called at ", stream);
            tg_console_print_safely(stream, frame->file);
            fprintf(stream, ":%zu\n", frame->line);
        }
    }
}

/* Element I of Tcl's errorCode, NULL where it is not OWNER's or has none. */
static const char *error_element(Tcl_Obj *code, const char *owner, int i)
{
    Tcl_Obj *first = NULL, *element = NULL;
    if (code == NULL || Tcl_ListObjIndex(NULL, code, 0, &first) != TCL_OK || first == NULL ||
        strcmp(Tcl_GetString(first), owner) != 0)
        return NULL;
    return Tcl_ListObjIndex(NULL, code, i, &element) == TCL_OK && element != NULL ? Tcl_GetString(element)
                                                                                  : NULL;
}

static const char no_assignment[] =
    "tollgate has no `set var`: `dassign VARIABLE VALUE` changes a variable of the program";

/* Whether COMMAND is gdb's way to write one with a format: "x/4x $rsp". */
static bool has_format(const char *command)
{
    return command[strcspn(command, "/ \t\n;")] == '/';
}

/* Finds a hint where COMMAND (SIZE bytes) has failed because Tcl knows no such command or variable: the
 * command that was meant; or braces, where one of the console's OWN commands has [0] or $x of the
 * program's language in it, which Tcl has taken for its own. Empty: nothing. */
static void find_hint(struct tg_console *console, const char *command, int size, bool is_own,
                      char hint[HINT_SIZE])
{
    Tcl_Obj *code = Tcl_GetVar2Ex(console->interp, "errorCode", NULL, TCL_GLOBAL_ONLY);
    const char *what = error_element(code, "TCL", 2), *name = error_element(code, "TCL", 3);
    char meant[MEANT_SIZE], shown[2 * MEANT_SIZE];
    *hint = '\0';
    if (strncmp(command, "set ", 4) == 0 && error_element(code, "TCL", 1) != NULL &&
        strcmp(error_element(code, "TCL", 1), "WRONGARGS") == 0)
        snprintf(hint, HINT_SIZE, "; `dassign VARIABLE VALUE` changes a variable of the program");
    if (what == NULL || name == NULL || strcmp(error_element(code, "TCL", 1), "LOOKUP") != 0)
        return;
    bool is_command = strcmp(what, "COMMAND") == 0;
    if (!is_command && strcmp(what, "VARNAME") != 0)
        return;
    int length = snprintf(meant, sizeof meant, "%s%s", is_command ? "[" : "$", name);
    if ((is_own || has_format(command)) && length > 0 && (size_t)length < sizeof meant &&
        memmem(command, (size_t)size, meant, strlen(meant)) != NULL) {
        tg_printable(meant, shown, sizeof shown);
        snprintf(hint, HINT_SIZE,
                 is_command ? "; Tcl reads %s] as a command: put the expression in braces, as in {a%s]}"
                            : "; Tcl reads %s as a variable: put the expression in braces, as in {%s}",
                 shown, shown);
    } else if (is_command) {
        char near[TG_NEAR_NAME_HINT];
        snprintf(hint, HINT_SIZE, "%s", tg_console_near_name(console, NULL, name, near));
    }
}

/* For a program. HAS_CODE: Tcl knows a code of this error. */
static void tell_failure(struct tg_console *console, const struct tg_script_trace *trace, size_t line,
                         bool has_code, const char *hint)
{
    size_t known = 0;
    while (known < trace->n_frames && trace->frames[known].file == NULL)
        known++;
    Tcl_Obj *code = has_code ? Tcl_GetVar2Ex(console->interp, "errorCode", NULL, TCL_GLOBAL_ONLY) : NULL;
    const char *name = error_element(code, "TOLLGATE", 1), *offset = error_element(code, "TOLLGATE", 3);
    const char *message = Tcl_GetStringResult(console->interp);
    char *whole = NULL;
    if (*hint != '\0' && asprintf(&whole, "%s%s", message, hint) < 0)
        whole = NULL;
    const struct tg_console_failure failure = {
        .code = name != NULL                          ? name
                : strcmp(message, "interrupted") == 0 ? "INTERRUPTED"
                                                      : "TCL",
        .message = whole != NULL ? whole : message,
        .file = known < trace->n_frames ? trace->frames[known].file : NULL,
        .line = known < trace->n_frames ? trace->frames[known].line : line,
        .text = offset == NULL ? NULL : error_element(code, "TOLLGATE", 2),
        .text_offset = offset == NULL ? 0 : strtoul(offset, NULL, 10)};
    console->options.failed(console->options.failed_context, &failure);
    free(whole);
}

/* LINE is where the command that failed is. */
static void print_error(struct tg_console *console, const struct tg_console_place *place, size_t line,
                        const char *info, const char *hint)
{
    struct tg_script_trace trace;
    flush_tcl(console);
    tg_flush(console->options.out, &console->write_failed);
    tg_script_trace_read(console->procedures, info, Tcl_GetStringResult(console->interp), place->name, line,
                         &trace);
    if (console->options.failed != NULL)
        tell_failure(console, &trace, line, *info != '\0', hint);
    else
        write_trace(console, &trace, hint);
    fflush(console->options.errors);
}

/* ---- evaluating */

static void notify_interrupt(void *context)
{
    Tcl_AsyncMark(context);
}

bool tg_console_is_complete(const char *script)
{
    return tg_script_nests_too_deep(script, strlen(script)) || Tcl_CommandComplete(script) != 0;
}

/* Whether WORD, a simple one, is TEXT. */
static bool is_text(const Tcl_Token *word, const char *text)
{
    return word->type == TCL_TOKEN_SIMPLE_WORD && (size_t)word[1].size == strlen(text) &&
           memcmp(word[1].start, text, strlen(text)) == 0;
}

/* Whether the command is gdb's `set var count=1`, which would give "count=1" to the variable "var" of Tcl, and nothing to
 * the program. */
static bool is_gdb_assignment(const Tcl_Parse *parse)
{
    if (parse->numWords != 3 || !is_text(parse->tokenPtr, "set"))
        return false;
    const Tcl_Token *second = parse->tokenPtr + parse->tokenPtr->numComponents + 1;
    const Tcl_Token *third = second + second->numComponents + 1;
    return (is_text(second, "var") || is_text(second, "variable")) &&
           memchr(third->start, '=', (size_t)third->size) != NULL;
}

/* Whether the command is the name of ALIAS and nothing else. */
static bool is_alone(const Tcl_Parse *parse, const struct tg_console_alias *alias)
{
    return parse->numWords == (strchr(alias->name, ' ') == NULL ? 1 : 2);
}

/* The alias that a parsed command begins with, NULL none. *IS_OWN: it, or the command, is one of the
 * console's. */
static const struct tg_console_alias *look_up(const struct tg_console *console, const Tcl_Parse *parse,
                                              bool *is_own)
{
    const Tcl_Token *first = parse->numWords > 0 ? &parse->tokenPtr[0] : NULL;
    const struct tg_console_command *command;
    *is_own = false;
    if (first == NULL || first->type != TCL_TOKEN_SIMPLE_WORD)
        return NULL;
    const Tcl_Token *second = parse->numWords > 1 ? first + first->numComponents + 1 : NULL;
    if (second != NULL && second->type != TCL_TOKEN_SIMPLE_WORD)
        second = NULL;
    const char *words[] = {first[1].start, second == NULL ? "" : second[1].start};
    const size_t sizes[] = {(size_t)first[1].size, second == NULL ? 0 : (size_t)second[1].size};
    const struct tg_console_alias *alias =
        tg_console_find_alias(console, words[0], sizes[0], words[1], sizes[1], &command);
    if (alias != NULL && alias->tcl == TG_TCL_TAKES_ARGUMENTS && !is_alone(parse, alias))
        alias = NULL;
    *is_own =
        alias != NULL || tg_console_find_command(console, words[0], sizes[0], words[1], sizes[1]) != NULL;
    return alias;
}

static size_t count_lines(const char *from, const char *to)
{
    size_t lines = 0;
    for (; from < to; from++)
        lines += *from == '\n';
    return lines;
}

/* Notes the place of the body of a procedure that PARSE, a command on LINE, makes. */
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

/* Evaluates SIZE bytes, one command, that begins on LINE; OWNS: it is one of the console's, with its
 * words. */
static bool eval_command(struct tg_console *console, const char *text, int size, bool owns, bool print,
                         const struct tg_console_place *place, size_t line)
{
    tg_console_attend(console);
    int code = run_script(console, text, size);
    if (code == TCL_ERROR)
        tg_interrupt_clear(); /* the interrupt was for this command */
    bool has_trace = code == TCL_ERROR && !console->is_stopped;
    if (console->is_stopped) {
        Tcl_LimitSetCommands(console->interp, 0); /* forgets that it was exceeded */
        Tcl_LimitTypeReset(console->interp, TCL_LIMIT_COMMANDS);
        console->is_stopped = false;
        Tcl_SetObjResult(console->interp, Tcl_NewStringObj("interrupted", -1));
        code = TCL_ERROR;
    }
    if (console->has_quit) {
        flush_tcl(console);
        return true;
    }
    if (code == TCL_OK || code == TCL_RETURN) {
        if (print)
            print_result(console);
        else
            flush_tcl(console);
        return true;
    }
    if (code == TCL_BREAK || code == TCL_CONTINUE)
        Tcl_SetObjResult(console->interp, Tcl_NewStringObj("break or continue is only for loops", -1));
    int within = has_trace ? Tcl_GetErrorLine(console->interp) : 1;
    const char *info = has_trace ? Tcl_GetVar(console->interp, "errorInfo", TCL_GLOBAL_ONLY) : NULL;
    char hint[HINT_SIZE] = "";
    if (has_trace)
        find_hint(console, text, size, owns, hint);
    print_error(console, place, line + (within > 1 ? (size_t)within - 1 : 0), info == NULL ? "" : info, hint);
    return false;
}

static bool eval_commands(struct tg_console *console, const char *script, enum tg_console_print print,
                          const struct tg_console_place *place)
{
    const char *end = script + strlen(script), *at = script;
    size_t line = place->line;
    if (end - script > INT32_MAX) {
        fputs("the script is longer than 2 GiB\n", console->options.errors);
        return false;
    }
    if (tg_script_nests_too_deep(script, (size_t)(end - script))) {
        Tcl_SetObjResult(console->interp, Tcl_NewStringObj(TG_SCRIPT_NESTS_TOO_DEEP, -1));
        print_error(console, place, line, "", "");
        return false;
    }
    while (at < end && !console->has_quit) {
        Tcl_Parse parse;
        if (Tcl_ParseCommand(console->interp, at, (int)(end - at), 0, &parse) != TCL_OK) {
            print_error(console, place, line, "", "");
            return false;
        }
        const char *command = parse.commandStart, *next = command + parse.commandSize;
        if (is_gdb_assignment(&parse)) {
            Tcl_FreeParse(&parse);
            Tcl_SetObjResult(console->interp, Tcl_NewStringObj(no_assignment, -1));
            print_error(console, place, line, "", "");
            return false;
        }
        bool owns, is_empty = parse.numWords == 0;
        const struct tg_console_alias *alias = look_up(console, &parse, &owns);
        bool shows = print == TG_PRINT_ALL || owns;
        bool is_word = alias != NULL && alias->tcl != TG_TCL_HAS_NONE &&
                       is_alone(&parse, alias); /* a script of its own is no loop */
        const char *text = is_word ? alias->words : command;
        int size = is_word ? (int)strlen(text) : (int)(next - command);
        char *escaped = owns && !is_word ? tg_brackets_escape(console, &parse, size) : NULL;
        if (escaped != NULL) {
            text = escaped;
            size = (int)strlen(escaped);
        }
        line += count_lines(at, command);
        note_procedure(console, &parse, place, line);
        Tcl_FreeParse(&parse);
        bool is_well = is_empty || eval_command(console, text, size, owns, shows, place, line);
        free(escaped);
        if (!is_well) {
            tg_console_data_drop(&console->data);
            return false;
        }
        if (!is_empty && !owns) /* the command's answer is part of something else */
            tg_console_data_drop(&console->data);
        line += count_lines(command, next);
        at = next;
    }
    return true;
}

/* SCRIPT runs, NULL: nothing does. */
static void tell_visitor(const struct tg_console *console, const char *script)
{
    const struct tg_visitor *visitor = console->source->visitor;
    if (visitor != NULL)
        visitor->run(visitor->context, script);
}

bool tg_console_eval(struct tg_console *console, const char *script, enum tg_console_print print,
                     const struct tg_console_place *place)
{
    tg_interrupt_catch(); /* also between its commands */
    if (console->depth++ == 0)
        tell_visitor(console, script);
    bool well = eval_commands(console, script, print, place);
    if (--console->depth == 0)
        tell_visitor(console, NULL);
    tg_interrupt_release();
    return well;
}

/* Lets the visitor in until STREAM has something to read, where nothing of it is kept in memory; false: the console was
 * ended. */
static bool await_line(struct tg_console *console, FILE *stream)
{
    while (stream == stdin && !console->has_quit) {
        struct pollfd fds[4] = {{.fd = fileno(stream), .events = POLLIN},
                                {.fd = tg_console_wake_fd(console), .events = POLLIN}};
        nfds_t count = 2 + tg_console_visit_fds(console, fds + 2);
        if (console->source->visitor == NULL || poll(fds, count, -1) < 0 || fds[0].revents != 0)
            break;
        if (!tg_console_visit(console, fds + 2) || fds[1].revents != 0)
            tg_console_attend(console);
    }
    return !console->has_quit;
}

bool tg_console_read(struct tg_console *console, FILE *stream, enum tg_console_print print, const char *name,
                     bool stops)
{
    char *script = NULL, *line = NULL;
    size_t size = 0, room = 0, capacity = 0, number = 0, first = 1;
    bool all_well = true;
    for (ssize_t got; await_line(console, stream) && (got = getline(&line, &capacity, stream)) >= 0;) {
        number++;
        if (TG_ARRAY_RESERVE(script, room, size + (size_t)got + 1) != NULL) {
            fputs("out of memory\n", console->options.errors);
            all_well = false;
            break;
        }
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
