#include "live/commands/motion/unseen.h"

#include "analyzer/finding/words.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "live/commands/focus/standing.h"
#include "live/commands/info/place.h"
#include "live/inspect/dwarf/openmp_code.h"
#include "recorder/unwind/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tg_unseen {
    enum tg_openmp_construct construct;
    struct tg_source_lines *sources;
    struct tg_openmp_lines lines;
};

enum { MAX_FRAMES = 256, MAX_TOLD = 4 };

/* Looking for those that may come next. */
struct looking {
    struct tg_unseen *unseen;
    const struct tg_console *console;
    bool only_lines, has_agents;
    struct tg_openmp_code **codes; /* of all functions with such constructs */
    size_t n_codes, max_codes;
    size_t n_lines; /* for which there is one */
    const struct tg_openmp_line **found;
    size_t n_found, max_found;
};

/* ---- the functions */

static bool has_code(const struct tg_openmp_lines *lines, size_t line)
{
    const struct tg_openmp_line *as = &lines->lines[line];
    for (size_t i = 0; i < line; i++)
        if (lines->lines[i].construct == as->construct && lines->lines[i].info == as->info &&
            lines->lines[i].function_at == as->function_at)
            return true;
    return false;
}

/* Of the lines from FIRST on. */
static struct tg_error *add_codes(struct looking *looking, size_t first, bool is_watched)
{
    const struct tg_openmp_lines *lines = &looking->unseen->lines;
    struct tg_error *error = NULL;
    for (size_t i = first; error == NULL && i < lines->count; i++) {
        struct tg_openmp_code *code = NULL;
        if (lines->lines[i].construct != looking->unseen->construct || has_code(lines, i))
            continue;
        error = tg_openmp_code_create(lines, i, looking->unseen->sources, is_watched, &code);
        if (error == NULL)
            error = TG_ARRAY_APPEND(looking->codes, looking->n_codes, looking->max_codes, code);
        if (error != NULL)
            tg_openmp_code_destroy(code);
    }
    return error;
}

/* ---- what may come next */

static struct tg_error *take_found(struct looking *looking, const struct tg_openmp_line *line)
{
    for (size_t i = 0; i < looking->n_found; i++)
        if (looking->found[i]->line == line->line && strcmp(looking->found[i]->file, line->file) == 0)
            return NULL;
    return TG_ARRAY_APPEND(looking->found, looking->n_found, looking->max_found, line);
}

/* By a thread at START. */
static struct tg_error *look_from(struct looking *looking, const struct tg_openmp_code *code,
                                  const struct tg_openmp_start *start)
{
    size_t count = tg_openmp_code_line_count(code);
    bool *found = calloc(count, sizeof *found);
    struct tg_error *error = found == NULL ? tg_error_no_memory() : tg_openmp_code_unseen(code, start, found);
    for (size_t i = 0; error == NULL && i < count; i++)
        if (found[i])
            error = take_found(looking, tg_openmp_code_line(code, i));
    free(found);
    return error;
}

/* By a thread that is still to come to the function of CODE. */
static struct tg_error *look_from_entry(struct looking *looking, const struct tg_openmp_code *code)
{
    const struct tg_openmp_lines *lines = &looking->unseen->lines;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < lines->count; i++) {
        const struct tg_openmp_start start = {
            .number = lines->lines[i].directive.filter < 0 ? 0 : (uint64_t)lines->lines[i].directive.filter};
        if (i > 0 && start.number == 0) /* as for the first */
            continue;
        error = look_from(looking, code, &start);
    }
    return error;
}

/* A thread that is in a function. */
struct inside {
    const struct tg_console *console;
    const struct tg_openmp_worker *worker; /* NULL: none */
    const struct tg_openmp_place *place;   /* of the team that runs the function */
    uint64_t bias;
};

/* Whether nobody of the team has come as often to the loop behind ADDRESS as the worker will have. */
static bool is_new_loop(void *context, uint64_t address)
{
    const struct inside *inside = context;
    const struct tg_moment *moment = inside->console->source->moment;
    if (inside->place == NULL)
        return true;
    const struct tg_openmp_team *team =
        tg_openmp_model_team(moment->openmp, inside->worker->process, inside->place->team);
    struct tg_zone_visit visit = {inside->worker->process, inside->place->team, inside->place->thread_num,
                                  TG_TARGET_LOOP, address + inside->bias};
    uint64_t visits = tg_zone_counter_visits(moment->zones, &visit);
    for (size_t i = 0; team != NULL && i < team->n_members; i++) {
        visit.thread_num = team->members[i].thread_num;
        if (tg_zone_counter_visits(moment->zones, &visit) > visits)
            return false;
    }
    return true;
}

/* The worker's place in the team that runs the function of CODE; in its innermost team where it is none's body. */
static const struct tg_openmp_place *place_in(const struct inside *inside, const struct tg_openmp_code *code)
{
    const struct tg_openmp_worker *worker = inside->worker;
    const struct tg_openmp_place *innermost = NULL;
    for (size_t i = worker == NULL ? 0 : worker->n_places; i-- > 0;) {
        const struct tg_openmp_place *place = &worker->places[i];
        const struct tg_openmp_team *team =
            tg_openmp_model_team(inside->console->source->moment->openmp, worker->process, place->team);
        if (team != NULL && innermost == NULL)
            innermost = place;
        if (team != NULL && tg_openmp_code_has(code, team->body - inside->bias))
            return place;
    }
    return innermost;
}

/* Whether WORKER is in a zone that began at the call that returns to ADDRESS. */
static bool has_begun(const struct tg_openmp_worker *worker, uint64_t address)
{
    for (size_t i = 0; worker != NULL && i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_ZONE && worker->places[i].code == address)
            return true;
    return false;
}

/* By a thread in FRAME, which is in the function of CODE. */
static struct tg_error *look_from_frame(struct looking *looking, struct inside *inside,
                                        const struct tg_openmp_code *code, const struct tg_frame *frame)
{
    uint64_t pc = frame->registers.value[TG_RIP];
    inside->place = place_in(inside, code);
    const struct tg_openmp_start start = {.address = pc - inside->bias,
                                          .is_call = !frame->is_activation,
                                          .is_inside = has_begun(inside->worker, pc),
                                          .number = inside->place == NULL ? 0 : inside->place->thread_num,
                                          .context = inside,
                                          .is_new = is_new_loop};
    return look_from(looking, code, &start);
}

/* Of CODE's object in the process that has MODULES. */
static bool find_bias(struct tg_modules *modules, const struct tg_openmp_code *code, uint64_t *bias)
{
    for (size_t i = 0; i < tg_modules_count(modules); i++)
        if (tg_modules_debug_info(modules, tg_modules_at(modules, i), bias) == tg_openmp_code_info(code))
            return true;
    return false;
}

static struct tg_error *look_from_thread(struct looking *looking, const struct tg_standing *standing,
                                         const struct tg_openmp_worker *worker)
{
    struct tg_frames frames;
    struct tg_error *error =
        tg_frames_read(standing->modules, &standing->memory, &standing->registers, MAX_FRAMES, &frames);
    if (error != NULL)
        return error;
    for (size_t k = 0; error == NULL && k < looking->n_codes; k++) {
        struct inside inside = {.console = looking->console, .worker = worker};
        if (!find_bias(standing->modules, looking->codes[k], &inside.bias))
            continue;
        for (size_t i = 0; error == NULL && i < frames.count; i++) {
            const struct tg_call *call = &frames.calls[i];
            if (!call->code.is_inlined &&
                tg_openmp_code_has(looking->codes[k], tg_frame_place(&call->frame) - inside.bias))
                error = look_from_frame(looking, &inside, looking->codes[k], &call->frame);
        }
    }
    tg_frames_deinit(&frames);
    return error;
}

/* From thread I of PROCESS on; at the first of a process that is stopped, first into the process. */
static struct tg_error *look_at_thread(const struct tg_request *request, const struct tg_job_process *process,
                                       size_t i, bool *is_known)
{
    struct looking *looking = request->context;
    struct tg_standing standing;
    bool is_stopped = false;
    struct tg_error *error = tg_standing_take(request, process, i, &is_stopped, &standing);
    if (error != NULL || !is_stopped)
        return error;
    if (!*is_known) {
        size_t before = looking->unseen->lines.count;
        bool is_watched = looking->has_agents && !tg_openmp_lines_is_llvm(standing.modules);
        *is_known = true;
        error = tg_openmp_lines_find(standing.modules, looking->unseen->sources, !is_watched,
                                     &looking->unseen->lines);
        if (error == NULL && !looking->only_lines)
            error = add_codes(looking, before, is_watched);
    }
    if (error != NULL || looking->only_lines || looking->n_codes == 0)
        return error;
    const struct tg_moment *moment = looking->console->source->moment;
    size_t index = tg_moment_find_pid(moment, (int64_t)process->info.tag);
    const struct tg_openmp_worker *worker =
        index == SIZE_MAX
            ? NULL
            : tg_openmp_model_worker(moment->openmp, index,
                                     (int32_t)tg_job_view_thread(request->view, process, i)->tag);
    return look_from_thread(looking, &standing, worker);
}

/* On the tracer thread. */
static struct tg_error *look(const struct tg_request *request)
{
    struct looking *looking = request->context;
    struct tg_error *error = NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        bool is_known = false;
        for (size_t i = 0; error == NULL && process->info.exists && i < process->n_threads; i++)
            if (tg_job_set_has(request->set, process, i) && !(is_known && looking->only_lines))
                error = look_at_thread(request, process, i, &is_known);
    }
    for (size_t k = 0; error == NULL && k < looking->n_codes; k++)
        error = look_from_entry(looking, looking->codes[k]);
    return error;
}

void tg_unseen_destroy(struct tg_unseen *unseen)
{
    if (unseen == NULL)
        return;
    tg_openmp_lines_deinit(&unseen->lines);
    tg_source_lines_destroy(unseen->sources);
    free(unseen);
}

static void looking_deinit(struct looking *looking)
{
    for (size_t i = 0; i < looking->n_codes; i++)
        tg_openmp_code_destroy(looking->codes[i]);
    free(looking->codes);
    free(looking->found);
}

static const char *name_of_file(const struct tg_openmp_line *line)
{
    const char *slash = strrchr(line->file, '/');
    return slash == NULL ? line->file : slash + 1;
}

/* "`dbreak solve.c#18`": of a directive itself there is no code. */
static void write_break(const struct tg_openmp_line *line, FILE *out)
{
    fputs("`dbreak ", out);
    tg_printable_write(out, name_of_file(line));
    fprintf(out, "#%" PRIu64 "`", line->directive.last + 1);
}

/* The error that was written to OUT, which has *TEXT. */
static struct tg_error *finish(FILE *out, char **text)
{
    struct tg_error *error =
        fclose(out) == 0 ? tg_error_create(TG_ERROR_NOT_FOUND, "%s", *text) : tg_error_no_memory();
    free(*text);
    return error;
}

static struct tg_error *refuse(const struct looking *looking, const char *name)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return tg_error_no_memory();
    if (looking->n_found == 0) {
        fputs("nothing was run: ", out);
        tg_printable_write(out, looking->unseen->lines.unknown);
        fprintf(out, ", and GCC's code calls nothing for some %ss; --force goes to the next %s that is seen",
                name, name);
        return finish(out, &text);
    }
    fprintf(out,
            "nothing was run: a %s that cannot be seen may come first, as GCC's code calls nothing there: ",
            name);
    for (size_t i = 0; i < looking->n_found && i < MAX_TOLD; i++) {
        fputs(i > 0 ? ", " : "", out);
        tg_printable_write(out, name_of_file(looking->found[i]));
        fprintf(out, ":%" PRIu64, looking->found[i]->line);
    }
    if (looking->n_found > MAX_TOLD)
        fprintf(out, " and %zu more", looking->n_found - MAX_TOLD);
    fputs("; ", out);
    write_break(looking->found[0], out);
    fprintf(out, " stops there, and --force goes to the next %s that is seen", name);
    return finish(out, &text);
}

struct tg_error *tg_unseen_find(struct tg_console *console, enum tg_zone_target target, const char *name,
                                bool force, bool has_agents, struct tg_unseen **unseen)
{
    *unseen = NULL;
    if (target != TG_TARGET_LOOP && target != TG_TARGET_MASTER)
        return NULL;
    struct tg_unseen *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->construct = target == TG_TARGET_LOOP ? TG_OPENMP_CONSTRUCT_STATIC_LOOP : TG_OPENMP_CONSTRUCT_MASTER;
    struct looking looking = {
        .unseen = made, .console = console, .only_lines = force, .has_agents = has_agents};
    struct tg_error *error = tg_source_lines_create(&made->sources);
    if (error == NULL)
        error = tg_focus_call_run(console, &tg_focus_call_defaults, look, &looking, NULL);
    if (error == NULL && !force && (looking.n_found > 0 || made->lines.unknown != NULL))
        error = refuse(&looking, name);
    looking_deinit(&looking);
    bool has_any = false;
    for (size_t i = 0; force && i < made->lines.count; i++)
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
    fputs("; ", out);
    write_break(example, out);
    fputs(" stops at one", out);
    free(body);
    return finish(out, &text);
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
