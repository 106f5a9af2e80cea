#include "live/commands/motion/unseen.h"

#include "analyzer/finding/words.h"
#include "format/base/printable.h"
#include "live/commands/focus/standing.h"
#include "live/commands/info/place.h"
#include "live/inspect/dwarf/openmp_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tg_unseen {
    enum tg_openmp_construct construct;
    struct tg_source_lines *sources;
    struct tg_openmp_lines lines;
    char *program; /* looked into last */
};

/* ---- finding */

/* Of the first stopped thread of each process; ranks of one program one after another are looked into once. */
static struct tg_error *find(const struct tg_request *request)
{
    struct tg_unseen *unseen = request->context;
    struct tg_error *error = NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        bool is_stopped = false;
        struct tg_standing standing;
        for (size_t i = 0; error == NULL && process->info.exists && !is_stopped && i < process->n_threads;
             i++)
            if (tg_job_set_has(request->set, process, i))
                error = tg_standing_take(request, process, i, &is_stopped, &standing);
        if (error != NULL || !is_stopped || tg_modules_count(standing.modules) == 0)
            continue;
        const char *program = tg_modules_at(standing.modules, 0)->path;
        if (unseen->program != NULL && strcmp(unseen->program, program) == 0)
            continue;
        free(unseen->program);
        unseen->program = strdup(program);
        error = unseen->program == NULL
                    ? tg_error_no_memory()
                    : tg_openmp_lines_find(standing.modules, unseen->sources, &unseen->lines);
    }
    return error;
}

void tg_unseen_destroy(struct tg_unseen *unseen)
{
    if (unseen == NULL)
        return;
    tg_openmp_lines_deinit(&unseen->lines);
    tg_source_lines_destroy(unseen->sources);
    free(unseen->program);
    free(unseen);
}

struct tg_error *tg_unseen_find(struct tg_console *console, enum tg_zone_target target,
                                struct tg_unseen **unseen)
{
    *unseen = NULL;
    if (target != TG_TARGET_LOOP && target != TG_TARGET_MASTER)
        return NULL;
    struct tg_unseen *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->construct = target == TG_TARGET_LOOP ? TG_OPENMP_CONSTRUCT_STATIC_LOOP : TG_OPENMP_CONSTRUCT_MASTER;
    struct tg_error *error = tg_source_lines_create(&made->sources);
    if (error == NULL)
        error = tg_focus_call_run(console, &tg_focus_call_defaults, find, made, NULL);
    bool has_any = false;
    for (size_t i = 0; i < made->lines.count; i++)
        has_any |= made->lines.lines[i].construct == made->construct;
    if (error != NULL || !has_any) {
        tg_unseen_destroy(made);
        return error;
    }
    *unseen = made;
    return NULL;
}

/* ---- telling */

/* Whether TEAM's body, which TEXT is of ("in main._omp_fn.0 (solve.c:7)"), is FUNCTION. */
static bool is_function(const char *text, const char *function)
{
    const char *at = strstr(text, function);
    if (at == NULL)
        return false;
    char next = at[strlen(function)];
    return next == '\0' || next == ' ' || next == '+' || next == '.';
}

static const char *name_of_file(const struct tg_openmp_line *line)
{
    const char *slash = strrchr(line->file, '/');
    return slash == NULL ? line->file : slash + 1;
}

/* The innermost team of WORKER; NULL. */
static const struct tg_openmp_team *team_of(const struct tg_console *console,
                                            const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_team *team = NULL;
    for (size_t i = worker->n_places; i-- > 0 && team == NULL;)
        team = tg_openmp_model_team(console->source->moment->openmp, worker->process, worker->places[i].team);
    return team;
}

static char *body_of(const struct tg_console *console, const struct tg_openmp_team *team)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    const struct tg_verdict_input input = tg_console_words(console);
    tg_words_code(stream, &input, team->process, team->body + 1); /* of a call, it is the address behind */
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static bool is_meant(const struct tg_unseen *unseen, const struct tg_openmp_line *line, const char *body)
{
    return line->construct == unseen->construct && (!line->is_body || is_function(body, line->function));
}

const struct tg_openmp_team *tg_unseen_team(const struct tg_unseen *unseen, const struct tg_console *console,
                                            const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_team *team = unseen == NULL ? NULL : team_of(console, worker);
    bool has_ended = false, is_it = false;
    for (size_t i = 0; team != NULL && i < team->n_members; i++)
        has_ended |= team->members[i].worker == worker->index && team->members[i].ended;
    if (!has_ended)
        return NULL;
    char *body = body_of(console, team);
    for (size_t i = 0; body != NULL && i < unseen->lines.count; i++)
        is_it |= is_meant(unseen, &unseen->lines.lines[i], body);
    free(body);
    return is_it ? team : NULL;
}

enum { MAX_TOLD = 4 };

/* The lines that are meant in BODY, "solve.c:12, solve.c:16 and 3 more"; *EXAMPLE: the first of them. */
static void write_lines(const struct tg_unseen *unseen, const char *body,
                        const struct tg_openmp_line **example, FILE *out)
{
    size_t n_told = 0;
    for (size_t i = 0; i < unseen->lines.count; i++) {
        const struct tg_openmp_line *line = &unseen->lines.lines[i];
        if (!is_meant(unseen, line, body) || n_told++ >= MAX_TOLD)
            continue;
        if (n_told == 1)
            *example = line;
        fputs(n_told > 1 ? ", " : "", out);
        tg_printable_write(out, name_of_file(line));
        fprintf(out, ":%" PRIu64, line->line);
    }
    if (n_told > MAX_TOLD)
        fprintf(out, " and %zu more", n_told - MAX_TOLD);
}

struct tg_error *tg_unseen_tell(const struct tg_unseen *unseen, const struct tg_console *console,
                                const struct tg_openmp_team *team, const char *name)
{
    const struct tg_openmp_line *example = &unseen->lines.lines[0];
    char *text = NULL, *body = body_of(console, team);
    size_t size;
    FILE *out = body == NULL ? NULL : open_memstream(&text, &size);
    if (out == NULL) {
        free(body);
        return tg_error_no_memory();
    }
    fprintf(out, "no %s was seen up to the end of the region%s: GCC's code calls nothing for some, as in ",
            name, body);
    write_lines(unseen, body, &example, out);
    fputs("; `dbreak ", out);
    tg_printable_write(out, name_of_file(example));
    fprintf(out, "#%" PRIu64 "` stops at one",
            example->line + 1); /* of the directive itself there is no code */
    free(body);
    if (fclose(out) != 0) {
        free(text);
        return tg_error_no_memory();
    }
    struct tg_error *error = tg_error_create(TG_ERROR_NOT_FOUND, "%s", text);
    free(text);
    return error;
}

void tg_unseen_note(const struct tg_unseen *unseen, const struct tg_console *console,
                    const struct tg_openmp_worker *worker, uint64_t begun_ns, FILE *out)
{
    const struct tg_openmp_team *team = unseen == NULL ? NULL : team_of(console, worker);
    const struct tg_openmp_line *example;
    char *body = team == NULL ? NULL : body_of(console, team);
    size_t n_lines = 0;
    for (size_t i = 0; body != NULL && i < unseen->lines.count; i++)
        n_lines += is_meant(unseen, &unseen->lines.lines[i], body);
    if (n_lines > 1 || (n_lines == 1 && team->begin_ns <= begun_ns)) {
        fprintf(out, "some %ss are not seen in GCC's code, and may have been passed: of ",
                unseen->construct == TG_OPENMP_CONSTRUCT_MASTER ? "master" : "loop");
        write_lines(unseen, body, &example, out);
        fputc('\n', out);
    }
    free(body);
}
