/* dprint: variables and expressions of the threads in focus. */
#include "live/commands/focus/focus_call.h"
#include "live/commands/focus/standing.h"
#include "live/commands/inspect/commands.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/console/options.h"
#include "live/control/thread_scene.h"
#include "live/inspect/expression/expression.h"
#include "live/inspect/value/text.h"

#include "analyzer/job/list.h"
#include "format/base/printable.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A single thread, unless the focus says another width. */
static const struct tg_ptset_defaults defaults = {TG_WIDTH_THREAD, TG_GROUP_CONTROL};

enum { CHOSEN = UINT_MAX };

/* An answer that some threads share. */
struct answer {
    char *text;
    bool is_error;
    enum tg_error_code code;
    struct tg_job_set set;
    struct tg_thread *first;
};

struct question {
    const char *text; /* NULL: the frame's variables */
    struct tg_expression *expression;
    struct tg_value_style style;
    const struct tg_frame_choices *choices;
    unsigned level;       /* of the frame, CHOSEN: that of dup and ddown */
    struct tg_json *json; /* NULL: nobody wants data */
    size_t position;      /* of an error in TEXT, SIZE_MAX none */
    struct answer *answers;
    size_t n_answers;
    size_t n_running; /* in focus, but not stopped */
};

/* ---- what was asked */

static struct tg_error *take_format(const char *option, const char *word, void *base)
{
    static const struct {
        char letter;
        enum tg_number_base base;
    } table[] = {{'x', TG_BASE_HEX},    {'d', TG_BASE_DECIMAL}, {'u', TG_BASE_UNSIGNED},
                 {'o', TG_BASE_OCTAL},  {'t', TG_BASE_BINARY},  {'c', TG_BASE_CHARACTER},
                 {'a', TG_BASE_ADDRESS}};
    char shown[64];
    (void)option;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (word[1] == table[i].letter && word[2] == '\0') {
            *(enum tg_number_base *)base = table[i].base;
            return NULL;
        }
    return tg_error_create(TG_ERROR_USAGE, "unknown format '%s': give /x /d /u /o /t /c or /a",
                           tg_printable(word, shown, sizeof shown));
}

static const struct tg_console_option options[] = {
    {"-frame", TG_OPTION_NUMBER, TG_OPTION_IN(struct question, level), .highest = 100000},
    {"-elements", TG_OPTION_NUMBER, TG_OPTION_IN(struct question, style.max_elements), .highest = 1000000},
    {"-depth", TG_OPTION_NUMBER, TG_OPTION_IN(struct question, style.max_depth), .highest = 1000000},
    TG_OPTION_FLAG("-raw", struct question, style.is_raw),
    {"/FORMAT", TG_OPTION_PARSED, TG_OPTION_IN(struct question, style.base), .parse = take_format},
    {.name = "EXPRESSION", .kind = TG_OPTION_EXPRESSION},
    {0}};

/* ---- on the tracer thread */

struct locals {
    const struct tg_scene *scene;
    const struct tg_value_style *style;
    FILE *out;
    unsigned n;
    struct tg_error *error;
};

static bool print_local(void *context, const struct tg_scene_object *object, Dwarf_Die *die)
{
    struct locals *locals = context;
    const char *name = dwarf_diename(die);
    struct tg_value value;
    if (name == NULL)
        return true;
    fputs(locals->n++ == 0 ? "" : "\n", locals->out);
    tg_printable_write(locals->out, name);
    fputs(" = ", locals->out);
    struct tg_error *error = tg_value_of_variable(locals->scene, object, die, &value);
    if (error == NULL) {
        locals->error = tg_value_print(locals->scene, &value, locals->style, locals->out);
    } else {
        fputs("<error: ", locals->out);
        tg_printable_write(locals->out, tg_error_message(error));
        fputc('>', locals->out);
        tg_error_destroy(error);
    }
    return locals->error == NULL && locals->n < 1000;
}

static struct tg_error *print_locals(const struct tg_scene *scene, const struct tg_value_style *style,
                                     FILE *out)
{
    struct locals locals = {.scene = scene, .style = style, .out = out};
    tg_lookup_each_local(scene, print_local, &locals);
    if (locals.n == 0)
        fputs("no variables are known here", out);
    return locals.error;
}

static struct tg_error *find_scene(const struct tg_request *control, struct tg_thread *thread,
                                   struct tg_thread_scene *scene)
{
    const struct question *question = control->context;
    unsigned level =
        question->level == CHOSEN ? tg_frame_choices_level(question->choices, thread) : question->level;
    struct tg_modules *modules = tg_engine_adapter_modules(control->engine, thread->process);
    struct tg_module_scene *objects = tg_engine_adapter_scene(control->engine, thread->process);
    return modules == NULL || objects == NULL ? tg_error_no_memory()
                                              : tg_thread_scene_at(thread, modules, objects, level, scene);
}

static struct tg_error *ask(const struct tg_request *control, struct tg_thread *thread, FILE *out)
{
    struct question *question = control->context;
    struct tg_thread_scene scene;
    struct tg_value value;
    struct tg_error *error = find_scene(control, thread, &scene);
    if (error == NULL && question->text == NULL)
        return print_locals(scene.scene, &question->style, out);
    if (error != NULL)
        return error;
    error = tg_expression_evaluate(question->expression, scene.scene, &value, &question->position);
    return error != NULL ? error : tg_value_print(scene.scene, &value, &question->style, out);
}

/* Adds thread I of PROCESS to those that answered TEXT, which is taken. */
static struct tg_error *add_answer(const struct tg_request *control, const struct tg_job_process *process,
                                   size_t i, struct answer answer)
{
    struct question *question = control->context;
    for (size_t k = 0; k < question->n_answers; k++) {
        struct answer *same = &question->answers[k];
        if (same->is_error == answer.is_error && strcmp(same->text, answer.text) == 0) {
            tg_job_set_add(&same->set, process, i);
            free(answer.text);
            return NULL;
        }
    }
    struct answer *answers = reallocarray(question->answers, question->n_answers + 1, sizeof *answers);
    if (answers == NULL) {
        free(answer.text);
        return tg_error_no_memory();
    }
    question->answers = answers;
    struct tg_error *error = tg_job_set_init(&answer.set, control->view);
    if (error != NULL) {
        free(answer.text);
        return error;
    }
    tg_job_set_add(&answer.set, process, i);
    answers[question->n_answers++] = answer;
    return NULL;
}

static struct tg_error *ask_thread(const struct tg_request *control, const struct tg_job_process *process,
                                   size_t i)
{
    struct question *question = control->context;
    const struct tg_job_thread *of_view = tg_job_view_thread(control->view, process, i);
    struct tg_thread_id unit = {process->info.dpid, of_view->dtid};
    struct answer answer = {.first = tg_engine_adapter_thread(control->engine, unit)};
    size_t size;
    if (answer.first == NULL || !tg_thread_is_kept(answer.first)) {
        question->n_running++;
        return NULL;
    }
    FILE *stream = open_memstream(&answer.text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    struct tg_error *error = ask(control, answer.first, stream);
    if (error != NULL) {
        answer.is_error = true;
        answer.code = tg_error_code(error);
        fputs(tg_error_message(error), stream);
        tg_error_destroy(error);
    }
    bool failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed) {
        free(answer.text);
        return tg_error_no_memory();
    }
    return add_answer(control, process, i, answer);
}

/* ---- what is said */

static void print_indented(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        fputc(*text, out);
        if (*text == '\n')
            fputs("  ", out);
    }
}

static struct tg_error *print_answers(const struct tg_request *control)
{
    const struct question *question = control->context;
    struct tg_error *error = NULL;
    bool one = question->n_answers == 1 && question->n_running == 0;
    size_t n_processes, n_threads;
    tg_job_set_count(control->set, control->view, &n_processes, &n_threads);
    for (size_t i = 0; error == NULL && i < question->n_answers; i++) {
        const struct answer *answer = &question->answers[i];
        if (!one || n_threads > 1) {
            error = tg_job_list_print(control->view, &answer->set, control->out);
            fputs(question->text == NULL ? ":\n  " : ": ", control->out);
        }
        if (question->text != NULL && !answer->is_error) {
            tg_printable_write(control->out, question->text);
            fputs(" = ", control->out);
        }
        if (answer->is_error)
            tg_printable_write(control->out, answer->text);
        else
            print_indented(answer->text, control->out);
        fputc('\n', control->out);
    }
    if (question->n_running > 0)
        fprintf(control->out, "%zu thread%s in focus running\n", question->n_running,
                question->n_running == 1 ? "" : "s");
    return error;
}

static struct tg_error *write_threads(const struct tg_request *control, const struct tg_job_set *set,
                                      struct tg_json *json)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_job_list_print(control->view, set, stream);
    if (fclose(stream) == 0 && error == NULL)
        tg_json_member_string(json, "threads", text);
    free(text);
    return error;
}

/* Values are told as the first thread of each group has them. */
static struct tg_error *write_answers(const struct tg_request *control)
{
    const struct question *question = control->context;
    struct tg_error *error = NULL;
    tg_json_begin_array(question->json);
    for (size_t i = 0; error == NULL && i < question->n_answers; i++) {
        const struct answer *answer = &question->answers[i];
        struct tg_thread_scene scene;
        struct tg_value value;
        tg_json_begin_object(question->json);
        error = write_threads(control, &answer->set, question->json);
        tg_json_member_string(question->json, answer->is_error ? "error" : "text", answer->text);
        struct tg_error *missing = answer->is_error || question->text == NULL
                                       ? tg_error_no_memory()
                                       : find_scene(control, answer->first, &scene);
        if (missing == NULL)
            missing = tg_expression_evaluate(question->expression, scene.scene, &value, NULL);
        if (missing == NULL) {
            tg_json_key(question->json, "value");
            tg_value_write_json(scene.scene, &value, &question->style, question->json);
        }
        tg_error_destroy(missing);
        tg_json_end_object(question->json);
    }
    tg_json_end_array(question->json);
    return error;
}

static void forget_answers(struct question *question)
{
    for (size_t i = 0; i < question->n_answers; i++) {
        free(question->answers[i].text);
        tg_job_set_deinit(&question->answers[i].set);
    }
    free(question->answers);
    question->answers = NULL;
    question->n_answers = 0;
}

static struct tg_error *print(const struct tg_request *control)
{
    struct question *question = control->context;
    struct tg_error *error = NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; error == NULL && i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i))
                error = ask_thread(control, process, i);
    }
    if (error == NULL && question->n_answers == 0)
        error = tg_standing_none(control);
    else if (error == NULL && question->n_answers == 1 && question->answers[0].is_error)
        error = tg_error_create(question->answers[0].code, "%s", question->answers[0].text);
    else
        question->position = SIZE_MAX;
    if (error == NULL)
        error = print_answers(control);
    if (error == NULL && question->json != NULL)
        error = write_answers(control);
    forget_answers(question);
    return error;
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct question question = {.style = tg_value_style_default,
                                .position = SIZE_MAX,
                                .level = CHOSEN,
                                .choices = tg_console_state(console, &tg_frame_choices_kind)};
    int used;
    struct tg_error *error = tg_console_take_options(&tg_console_dprint, argc, argv, &question, &used);
    if (error != NULL)
        return error;
    Tcl_Obj *text = used == argc ? NULL : Tcl_ConcatObj(argc - used, argv + used);
    if (text != NULL) {
        Tcl_IncrRefCount(text);
        question.text = Tcl_GetString(text);
        error = tg_expression_parse(question.text, &question.expression, &question.position);
    }
    if (error == NULL) {
        question.position = SIZE_MAX;
        question.json = tg_console_data_begin(&console->data);
        error = tg_focus_call_run(console, &defaults, print, &question, out);
        if (error != NULL)
            tg_console_data_drop(&console->data);
    }
    if (error != NULL && question.text != NULL && question.position != SIZE_MAX) {
        bool is_one = argc - used == 1; /* then the place is in a word that the caller has */
        error = tg_console_pointed(console, error, is_one ? Tcl_GetString(argv[used]) : question.text,
                                   question.position);
        if (!is_one)
            console->error_text = NULL;
    }
    tg_expression_destroy(question.expression);
    if (text != NULL)
        Tcl_DecrRefCount(text);
    return error;
}

const struct tg_console_command tg_console_dprint = {
    .name = "dprint",
    .arguments = "?-frame N? ?/FORMAT? ?-elements N? ?-depth N? ?-raw? ?EXPRESSION?",
    .summary = "values of expressions in the threads in focus",
    .example = "dfocus gW dprint {p->next->count + a[2:5]}",
    .more =
        "EXPRESSION is as in C: names, a.b p->b a[i] a[i:j] *p &x p@n (type)x, arithmetic, $rip and the\n"
        "other registers, 'file.c'::x for the x of a file; in C++ also space::x and 'holder<int>::x', in\n"
        "Fortran a(i,j) and a%b. Braces keep Tcl from reading $ and []. Without EXPRESSION: arguments and\n"
        "local variables of the frame. Threads with equal answers share a line. -frame N: a frame of\n"
        "dwhere. FORMAT is x d u o t c or a: hex, decimal, unsigned, octal, binary, character, address.\n"
        "-elements and -depth limit the output; 0: no limit. Containers of C++ are shown\n"
        "as their elements; a[i] and *p work with vectors and pointer classes. -raw: shows their members "
        "instead.",
    .options = options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .takes_expression = true,
    .run = run,
};
