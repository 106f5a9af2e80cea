#include "live/commands/page/source_view.h"

#include "analyzer/models/stack_places.h"
#include "analyzer/page/query.h"
#include "live/commands/info/code_words.h"
#include "live/inspect/dwarf/source_lines.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_SIZE = 200, AROUND = 12 };

/* What is asked for, and the best file so far: one that a call in that line names is better than one of that name. */
struct search {
    const struct tg_console *console;
    char name[NAME_SIZE];
    uint64_t line;
    char *file, *program; /* NULL: none */
    bool is_exact;
};

static bool is_source(const char *name)
{
    static const char *const endings[] = {"c",   "cc",  "cpp", "cxx", "h",   "hh",  "hpp", "hxx", "inc", "f",
                                          "f77", "f90", "f95", "f03", "f08", "for", "ftn", "py",  "pyx", "cu",
                                          "cuh", "s",   "rs",  "go",  "d",   "m",   "mm",  "jl",  "y",   "l"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof endings[0]; i++)
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    return false;
}

static void consider(struct search *search, const char *file, uint64_t line, const char *program)
{
    const char *slash = file == NULL ? NULL : strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    bool is_exact = line == search->line;
    if (name == NULL || strcmp(name, search->name) != 0 || search->is_exact ||
        (search->file != NULL && !is_exact))
        return;
    char *kept = strdup(file), *owner = strdup(program == NULL ? "" : program);
    if (kept == NULL || owner == NULL) {
        free(kept);
        free(owner);
        return; /* without memory it is not found */
    }
    free(search->file);
    free(search->program);
    search->file = kept;
    search->program = owner;
    search->is_exact = is_exact;
}

static bool consider_call(void *context, const struct tg_stack_call *call)
{
    struct search *search = context;
    consider(search, call->file, call->line, call->module);
    return !search->is_exact;
}

static void consider_code(struct search *search, size_t process, uint64_t code)
{
    struct tg_symbol symbol;
    const struct tg_mapped_object *object;
    if (!search->is_exact && code != 0 && tg_code_symbol(search->console, process, code, &symbol, &object))
        consider(search, symbol.file, symbol.line, object->path);
}

/* Everything that the page may have named a line of. */
static void look_through(struct search *search, const struct tg_page_stack *stopped, size_t n_stopped)
{
    const struct tg_moment *moment = search->console->source->moment;
    for (size_t i = 0; i < n_stopped; i++)
        for (size_t k = 0; k < stopped[i].n_calls; k++)
            consider_call(search, &stopped[i].calls[k]);
    for (size_t i = 0; i < tg_stack_model_count(moment->stacks); i++)
        tg_stack_each_call(moment->stacks, tg_stack_model_at(moment->stacks, i), consider_call, search);
    for (size_t i = 0; i < tg_mpi_model_thread_count(moment->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(moment->mpi, i);
        consider_code(search, thread->process, thread->call.code);
    }
    for (size_t i = 0; i < tg_openmp_model_worker_count(moment->openmp); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(moment->openmp, i);
        consider_code(search, worker->process, worker->last_code);
        for (size_t k = 0; k < worker->n_places; k++)
            consider_code(search, worker->process, worker->places[k].code);
    }
}

static struct tg_error *write_lines(const struct search *search, struct tg_source_lines *lines,
                                    struct tg_json *json)
{
    const struct tg_source_text *text = NULL;
    struct tg_error *error =
        tg_source_lines_find(lines, search->file, *search->program == '\0' ? NULL : search->program, &text);
    if (error != NULL)
        return error;
    const struct tg_source_range range = {.first = search->line > AROUND ? search->line - AROUND : 1,
                                          .count = 2 * AROUND + 1,
                                          .current = search->line};
    if (search->line > text->n_lines)
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s has only %zu lines", search->name, text->n_lines);
    tg_json_member_bool(json, "there", true);
    tg_json_key(json, "text");
    tg_source_text_json(text, &range, json);
    return NULL;
}

static struct tg_error *find_lines(struct search *search, struct tg_source_lines **lines,
                                   struct tg_json *json)
{
    const struct tg_console_settings *settings = search->console->settings;
    if (search->file == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no call of the job is in a file of that name now");
    struct tg_error *error = *lines == NULL ? tg_source_lines_create(lines) : NULL;
    if (error == NULL && search->console->options.live != NULL)
        error = tg_source_lines_search(*lines, tg_console_settings_text(settings, "SEARCH_PATH"));
    return error != NULL ? error : write_lines(search, *lines, json);
}

struct tg_error *tg_page_source_write(struct tg_console *console, struct tg_source_lines **lines,
                                      const struct tg_page_stack *stopped, size_t n_stopped,
                                      const char *query, FILE *out)
{
    struct search search = {.console = console, .line = tg_query_number(query, "line", 0)};
    struct tg_json json;
    tg_query_text(query, "name", search.name, sizeof search.name);
    if (search.line == 0 || !is_source(search.name))
        return tg_error_create(TG_ERROR_INPUT, "not the name of a source file and a line of it");
    look_through(&search, stopped, n_stopped);
    tg_json_init(&json, out, false);
    tg_json_begin_object(&json);
    struct tg_error *error = find_lines(&search, lines, &json);
    if (error != NULL && tg_error_code(error) != TG_ERROR_NO_MEMORY) {
        tg_json_member_bool(&json, "there", false);
        tg_json_member_string(&json, "why", tg_error_message(error));
        tg_error_destroy(error);
        error = NULL;
    }
    tg_json_end_object(&json);
    free(search.file);
    free(search.program);
    return error;
}
