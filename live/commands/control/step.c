/* dstep, dnext, dstepi, dnexti, dout, duntil. */
#include "live/commands/control/step.h"
#include "live/commands/control/commands.h"
#include "live/commands/focus/focus_call.h"

#include "format/base/printable.h"
#include "live/commands/focus/standing.h"
#include "live/console/options.h"
#include "live/control/steps.h"
#include "recorder/process/mappings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 100000, MAX_ADDRESSES = 8 };

struct stepping {
    bool done; /* first: see tg_focus_call_await */
    struct tg_step_request request;
    const char *place;   /* duntil: where to, NULL none */
    const char *address; /* PLACE where that is an address, never a line */
    const char *const
        *functions;            /* NULL-terminated: to the first of these that any worker calls; NULL none */
    struct tg_thread_id found; /* the thread that has reached one of them, dpid 0 none */
    uint64_t addresses[MAX_ADDRESSES];
    /* resumed threads: they are waited for, whatever the focus means by then */
    struct tg_thread_id *movers;
    size_t n_movers;
};

/* ---- threads that step */

/* Threads that the focus names by themselves, or as in lockstep, step and no other runs. Else the thread of
 * interest steps, and, in other processes, one that is stopped at the same place; the others in focus run
 * while it does. */
static bool all_step(const struct tg_ptset *focus)
{
    bool all = true;
    if (focus == NULL) /* everything: one leads */
        return false;
    for (size_t i = 0; i < tg_ptset_count(focus); i++) {
        const struct tg_ptset_arena *arena = tg_ptset_arena(focus, i);
        all = all && (arena == NULL || arena->width == TG_WIDTH_THREAD || arena->group == TG_GROUP_LOCKSTEP);
    }
    return all;
}

static char *name_of(const struct tg_standing *standing, char *buffer, size_t size)
{
    snprintf(buffer, size, "thread %u.%u", (unsigned)standing->id.dpid, (unsigned)standing->id.dtid);
    return buffer;
}

static bool is_held(const struct tg_request *control, const struct tg_job_process *process, size_t i)
{
    return process->info.held || tg_job_view_thread(control->view, process, i)->held;
}

/* The code that two threads of whatever processes are at is the same. */
static bool is_same_code(const struct tg_standing *a, const struct tg_standing *b)
{
    return tg_modules_is_same_code(a->modules, a->registers.value[TG_RIP], b->modules,
                                   b->registers.value[TG_RIP]);
}

/* ---- where to */

static const char *file_part(const char *place, const char **line)
{
    const char *mark = strrchr(place, '#');
    *line = mark != NULL ? mark + 1 : place;
    return mark;
}

/* The addresses of FILE#LINE, or of LINE of the file where the thread is stopped. False: PLACE is none of
 * that. */
static bool find_line(const struct tg_standing *standing, const char *place, struct stepping *stepping)
{
    const char *line, *mark = file_part(place, &line);
    char *end, file[4096];
    struct tg_debug_row row;
    unsigned long long number = strtoull(line, &end, 10);
    uint64_t pc = standing->registers.value[TG_RIP];
    if (*line < '0' || *line > '9' || *end != '\0')
        return false;
    if (mark != NULL && (size_t)(mark - place) < sizeof file)
        snprintf(file, sizeof file, "%.*s", (int)(mark - place), place);
    else if (mark == NULL && tg_modules_row_at(standing->modules, pc, &row))
        snprintf(file, sizeof file, "%s", row.file);
    else
        return false;
    for (size_t i = 0; i < tg_modules_count(standing->modules) && stepping->request.n_addresses == 0; i++) {
        uint64_t bias;
        struct tg_debug_info *info =
            tg_modules_debug_info(standing->modules, tg_modules_at(standing->modules, i), &bias);
        size_t count = info == NULL ? 0
                                    : tg_image_find_line(tg_debug_info_image(info), file, number,
                                                         stepping->addresses, MAX_ADDRESSES);
        for (size_t k = 0; k < count && k < MAX_ADDRESSES; k++)
            stepping->addresses[stepping->request.n_addresses++] += bias;
    }
    return stepping->request.n_addresses > 0;
}

/* Entry points of the functions that exist. */
static void find_functions(const struct tg_standing *standing, struct stepping *stepping)
{
    for (size_t i = 0; stepping->functions[i] != NULL && stepping->request.n_addresses < MAX_ADDRESSES; i++)
        if (tg_standing_function(standing, stepping->functions[i],
                                 &stepping->addresses[stepping->request.n_addresses]))
            stepping->request.n_addresses++;
}

/* Nobody ever comes to what is none, and to plant a breakpoint there would change data. */
static bool is_code(const struct tg_standing *standing, uint64_t address)
{
    struct tg_mapping mapping;
    return tg_mapping_find(standing->thread->tid, address, &mapping) && mapping.executable;
}

static struct tg_error *find_place(const struct tg_standing *standing, struct stepping *stepping)
{
    char shown[256];
    stepping->request.n_addresses = 0;
    stepping->request.addresses = stepping->addresses;
    if (stepping->functions != NULL) {
        find_functions(standing, stepping);
        return NULL;
    }
    if (stepping->place == NULL ||
        (stepping->address == NULL && find_line(standing, stepping->place, stepping)))
        return NULL;
    const char *line;
    if (stepping->address == NULL &&
        (file_part(stepping->place, &line) != NULL || (*line >= '0' && *line <= '9')))
        return tg_error_create(TG_ERROR_NOT_FOUND, "no code for line '%s'",
                               tg_printable(stepping->place, shown, sizeof shown));
    stepping->request.n_addresses = 1;
    struct tg_error *error = tg_standing_address(standing, stepping->place, &stepping->addresses[0]);
    if (error == NULL && !is_code(standing, stepping->addresses[0]))
        error = tg_error_create(TG_ERROR_NOT_FOUND, "no code at %s (0x%" PRIx64 ")",
                                tg_printable(stepping->place, shown, sizeof shown), stepping->addresses[0]);
    return error;
}

/* ---- begin */

static struct tg_error *prepare(const struct tg_request *control, const struct tg_standing *standing,
                                bool alone)
{
    struct stepping *stepping = control->context;
    char name[64];
    struct tg_error *error = find_place(standing, stepping);
    if (error == NULL)
        error = tg_job_steps_prepare(tg_engine_adapter_steps(control->engine), standing->thread,
                                     &stepping->request, alone);
    return tg_error_prefix(error, "%s", name_of(standing, name, sizeof name));
}

/* Each thread of the set that is stopped and not held. */
static struct tg_error *prepare_all(const struct tg_request *control, struct tg_job_set *movers)
{
    size_t n_prepared = 0, n_held = 0;
    struct tg_error *error = NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; error == NULL && process->info.exists && i < process->n_threads; i++) {
            struct tg_standing standing;
            bool is_stopped;
            if (!tg_job_set_has(control->set, process, i))
                continue;
            if (is_held(control, process, i)) {
                n_held++;
                continue;
            }
            error = tg_standing_take(control, process, i, &is_stopped, &standing);
            if (error != NULL || !is_stopped)
                continue;
            error = prepare(control, &standing, true);
            tg_job_set_add(movers, process, i);
            n_prepared++;
        }
    }
    if (error == NULL && n_prepared == 0)
        error = n_held > 0 ? tg_error_create(TG_ERROR_TARGET, "all stopped threads in focus are held")
                           : tg_standing_nobody(control);
    return error;
}

/* The thread of PROCESS that steps because it is where LEADER is; false: there is none. */
static bool find_companion(const struct tg_request *control, const struct tg_job_process *process,
                           const struct tg_standing *leader, struct tg_standing *companion)
{
    for (size_t i = 0; i < process->n_threads; i++) {
        bool is_stopped = false;
        if (tg_job_set_has(control->set, process, i) && !is_held(control, process, i))
            tg_error_destroy(tg_standing_take(control, process, i, &is_stopped, companion));
        if (is_stopped && is_same_code(leader, companion))
            return true;
    }
    return false;
}

static struct tg_error *find_leader(const struct tg_request *control, const struct tg_ptset_arena *arena,
                                    const struct tg_job_process **process, struct tg_standing *leader)
{
    size_t i;
    bool is_stopped = false;
    struct tg_error *error = tg_ptset_interest(arena, control->view, process, &i, NULL);
    if (error != NULL)
        return error;
    if (i == SIZE_MAX)
        i = 0;
    if (i < (*process)->n_threads) {
        error = tg_standing_take(control, *process, i, &is_stopped, leader);
        if (error == NULL && is_stopped && is_held(control, *process, i))
            return tg_error_create(TG_ERROR_TARGET, "the thread of interest is held; dunhold %s releases it",
                                   (*process)->info.held ? "-process" : "-thread");
    }
    if (error == NULL && !is_stopped)
        error = (*process)->info.exists
                    ? tg_error_create(TG_ERROR_TARGET, "the thread of interest is running; dhalt stops it")
                    : tg_standing_nobody(control);
    return error;
}

/* The thread of interest, its companions in other processes, and who runs for them; a process that has one to
 * step already is left alone. */
static struct tg_error *prepare_led(const struct tg_request *control, const struct tg_ptset_arena *arena,
                                    struct tg_job_set *movers)
{
    const struct tg_job_process *led;
    struct tg_standing leader, companion;
    struct tg_error *error = find_leader(control, arena, &led, &leader);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        bool steps = process == led;
        if (tg_job_set_has_any(movers, process))
            continue;
        if (steps)
            companion = leader;
        else if (process->info.exists)
            steps = find_companion(control, process, &leader, &companion);
        if (!steps)
            continue;
        error = prepare(control, &companion, false);
        for (size_t i = 0; error == NULL && i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i))
                tg_job_set_add(movers, process, i);
    }
    return error;
}

/* The thread of interest of each arena of a list, with those of that arena; where it cannot step others
 * do. */
static struct tg_error *prepare_list(const struct tg_request *control, struct tg_job_set *movers)
{
    struct tg_error *first = NULL;
    size_t n_led = 0;
    for (size_t i = 0; i < tg_ptset_count(control->focus); i++) {
        const struct tg_ptset_arena *arena = tg_ptset_arena(control->focus, i);
        TG_AUTO_JOB_SET struct tg_job_set members = {0};
        if (arena == NULL)
            continue;
        struct tg_error *error =
            tg_ptset_item_members(control->focus, i, control->view, &tg_focus_call_defaults, &members, NULL);
        struct tg_request of_arena = *control;
        of_arena.set = &members;
        if (error == NULL)
            error = prepare_led(&of_arena, arena, movers);
        n_led += error == NULL;
        if (first == NULL)
            first = error;
        else
            tg_error_destroy(error);
    }
    if (n_led == 0)
        return first;
    tg_error_destroy(first);
    return NULL;
}

static struct tg_error *remember(const struct tg_request *control, const struct tg_job_set *movers)
{
    struct stepping *stepping = control->context;
    size_t count = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++)
        count += tg_job_view_at(control->view, p)->n_threads;
    free(stepping->movers);
    stepping->n_movers = 0;
    stepping->movers = calloc(count + 1, sizeof *stepping->movers);
    if (stepping->movers == NULL)
        return tg_error_no_memory();
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; i < process->n_threads; i++)
            if (tg_job_set_has(movers, process, i))
                stepping->movers[stepping->n_movers++] = (struct tg_thread_id){
                    process->info.dpid, tg_job_view_thread(control->view, process, i)->dtid};
    }
    return NULL;
}

static struct tg_error *look(const struct tg_request *control)
{
    struct stepping *stepping = control->context;
    for (size_t i = 0; i < stepping->n_movers; i++) {
        const struct tg_thread *thread = tg_engine_adapter_thread(control->engine, stepping->movers[i]);
        if (thread != NULL && !tg_thread_is_kept(thread))
            return NULL;
    }
    stepping->done = true;
    return NULL;
}

static struct tg_error *halt(const struct tg_request *control)
{
    const struct stepping *stepping = control->context;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < stepping->n_movers; i++)
        if (tg_engine_adapter_thread(control->engine, stepping->movers[i]) != NULL)
            error = tg_controller_halt_thread(control->controller, stepping->movers[i]);
    return error;
}

/* The leader: the first of a list that has a thread of interest; of everything the lowest worker that
 * lives. */
static struct tg_ptset_arena find_arena(const struct tg_request *control)
{
    struct tg_ptset_arena everything = {.width = TG_WIDTH_ALL, .has_process = true, .process = 1};
    for (size_t i = 0; control->focus != NULL && i < tg_ptset_count(control->focus); i++)
        if (tg_ptset_arena(control->focus, i) != NULL)
            return *tg_ptset_arena(control->focus, i);
    for (size_t p = tg_job_view_count(control->view); p-- > 0;)
        if (tg_job_view_at(control->view, p)->info.exists)
            everything.process = tg_job_view_at(control->view, p)->info.dpid;
    return everything;
}

/* Every worker in focus that is stopped and not held, and who else there is runs: the first one that comes to
 * a function ends it for its process. */
static struct tg_error *prepare_workers(const struct tg_request *control, struct tg_job_set *movers)
{
    struct stepping *stepping = control->context;
    size_t n_stopped = 0, n_prepared = 0;
    bool has_begun = false; /* the C library is there */
    bool lives = false;
    struct tg_error *error = NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        size_t before = n_prepared;
        lives = lives || (process->info.exists && process->n_threads > 0);
        for (size_t i = 0; error == NULL && process->info.exists && i < process->n_threads; i++) {
            struct tg_standing standing;
            uint64_t address;
            bool is_stopped = false;
            if (!tg_job_set_has(control->set, process, i) || is_held(control, process, i) ||
                tg_job_view_thread(control->view, process, i)->is_manager)
                continue;
            error = tg_standing_take(control, process, i, &is_stopped, &standing);
            if (error != NULL || !is_stopped)
                continue;
            n_stopped++;
            has_begun = has_begun || tg_standing_function(&standing, "__libc_start_main", &address);
            error = find_place(&standing, stepping);
            if (error != NULL || stepping->request.n_addresses == 0)
                continue;
            error = prepare(control, &standing, false);
            n_prepared++;
        }
        for (size_t i = 0; n_prepared > before && i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i))
                tg_job_set_add(movers, process, i);
    }
    if (error != NULL || n_prepared > 0)
        return error;
    if (n_stopped == 0 && !lives)
        return tg_error_create(TG_ERROR_TARGET, "the job has ended");
    if (n_stopped == 0)
        return tg_error_create(TG_ERROR_TARGET,
                               "all workers in focus are running or held; dhalt stops running ones");
    return has_begun
               ? tg_error_create(TG_ERROR_NOT_FOUND, "no library of the processes in focus has the functions "
                                                     "that such a construct calls (yet)")
               : tg_error_create(TG_ERROR_UNSUPPORTED, "the program's libraries are not loaded yet");
}

static struct tg_error *begin(const struct tg_request *control)
{
    TG_AUTO_JOB_SET struct tg_job_set movers = {0};
    const struct stepping *stepping = control->context;
    struct tg_error *error = tg_job_set_init(&movers, control->view);
    const struct tg_ptset_arena arena = find_arena(control);
    if (error == NULL && stepping->functions != NULL)
        error = prepare_workers(control, &movers);
    else if (error == NULL && all_step(control->focus))
        error = prepare_all(control, &movers);
    else if (error == NULL && control->focus != NULL && tg_ptset_count(control->focus) > 1)
        error = prepare_list(control, &movers);
    else if (error == NULL)
        error = prepare_led(control, &arena, &movers);
    if (error == NULL)
        error = remember(control, &movers);
    return error != NULL ? error : tg_controller_go(control->controller, control->view, &movers, NULL);
}

/* ---- commands */

static struct tg_error *step(struct tg_console *console, struct stepping *stepping, Tcl_WideInt count,
                             FILE *out)
{
    struct tg_error *error = NULL;
    for (; error == NULL && count > 0; count--) {
        error = tg_focus_call_run(console, &tg_focus_call_defaults, begin, stepping, out);
        stepping->done = false;
        if (error == NULL)
            error = tg_focus_call_await(console, &tg_focus_call_defaults, look, &stepping->done, -1, out);
        if (error != NULL) /* the interrupt key stops who steps as well */
            tg_error_destroy(tg_focus_call_run_all(console, halt, stepping, out));
    }
    free(stepping->movers);
    stepping->movers = NULL;
    return error;
}

/* The first of those who went that is stopped at one of the functions. */
static struct tg_error *find_arrived(const struct tg_request *control)
{
    struct stepping *stepping = control->context;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            struct tg_standing standing;
            bool is_stopped = false;
            struct tg_error *error = tg_job_set_has(control->set, process, i)
                                         ? tg_standing_take(control, process, i, &is_stopped, &standing)
                                         : NULL;
            if (error != NULL)
                return error;
            if (is_stopped)
                error = find_place(&standing, stepping);
            for (size_t k = 0; is_stopped && k < stepping->request.n_addresses; k++) {
                if (stepping->addresses[k] != standing.registers.value[TG_RIP])
                    continue;
                stepping->found = standing.id;
                return NULL;
            }
            tg_error_destroy(error);
        }
    }
    return NULL;
}

struct tg_error *tg_step_to(struct tg_console *console, const char *const *functions,
                            struct tg_thread_id *found, FILE *out)
{
    struct stepping stepping = {.request = {.kind = TG_STEP_TO}, .functions = functions};
    struct tg_error *error = step(console, &stepping, 1, out);
    if (error == NULL)
        error = tg_focus_call_run(console, &tg_focus_call_defaults, find_arrived, &stepping, out);
    if (error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND &&
        stepping.n_movers > 0) { /* ended meanwhile */
        tg_error_destroy(error);
        error = NULL;
    }
    *found = stepping.found;
    return error;
}

struct counted {
    Tcl_WideInt count;
};

static const struct tg_console_option counted_options[] = {
    {"N", TG_OPTION_NUMBER, TG_OPTION_IN(struct counted, count), .lowest = 1, .highest = MAX_STEPS}, {0}};

static struct tg_error *run_counted(struct tg_console *console, const struct tg_console_command *command,
                                    enum tg_step_kind kind, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct stepping stepping = {.request = {.kind = kind}};
    struct counted counted = {.count = 1};
    struct tg_error *error = tg_console_take_options(command, argc, argv, &counted, NULL);
    if (error != NULL)
        return error;
    if (kind == TG_STEP_OUT) {
        stepping.request.level = (unsigned)counted.count - 1;
        counted.count = 1;
    }
    return step(console, &stepping, counted.count, out);
}

static struct tg_error *run_dstep(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return run_counted(console, &tg_console_dstep, TG_STEP_LINE, argc, argv, out);
}

static struct tg_error *run_dnext(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return run_counted(console, &tg_console_dnext, TG_STEP_OVER_LINE, argc, argv, out);
}

static struct tg_error *run_dstepi(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return run_counted(console, &tg_console_dstepi, TG_STEP_INSTRUCTION, argc, argv, out);
}

static struct tg_error *run_dnexti(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return run_counted(console, &tg_console_dnexti, TG_STEP_OVER_INSTRUCTION, argc, argv, out);
}

static struct tg_error *run_dout(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return run_counted(console, &tg_console_dout, TG_STEP_OUT, argc, argv, out);
}

static struct tg_error *run_duntil(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    struct stepping stepping = {.request = {.kind = TG_STEP_UNTIL}};
    struct tg_error *error = tg_console_take_options(&tg_console_duntil, argc, argv, &stepping, NULL);
    if (error == NULL && stepping.place != NULL && stepping.address != NULL)
        error = tg_console_usage(&tg_console_duntil);
    if (error != NULL)
        return error;
    if (stepping.address != NULL)
        stepping.place = stepping.address;
    return step(console, &stepping, 1, out);
}

#define WHO                                                                                                  \
    "The thread of interest steps; the other threads in focus run meanwhile and stop when it arrives. In\n"  \
    "each other process in focus a thread at the same place steps too. With width t or the lockstep group\n" \
    "(dfocus t1.2, dfocus pL) each thread in focus steps and no other thread runs. With a list\n"            \
    "({p1.2 p2.3}) the first thread of interest of each process steps. Held threads do not move."

const struct tg_console_command tg_console_dstep = {
    .name = "dstep",
    .arguments = "?N?",
    .summary = "steps to another source line, into functions that have line information",
    .example = "dfocus t1.2 dstep",
    .more = WHO,
    .options = counted_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .instead = "step",
    .run = run_dstep,
};

const struct tg_console_command tg_console_dnext = {
    .name = "dnext",
    .arguments = "?N?",
    .summary = "steps to another source line, over calls",
    .example = "dnext 3",
    .more = WHO,
    .options = counted_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .instead = "next",
    .run = run_dnext,
};

const struct tg_console_command tg_console_dstepi = {
    .name = "dstepi",
    .arguments = "?N?",
    .summary = "steps one machine instruction",
    .example = "dfocus t dstepi 5",
    .more = WHO,
    .options = counted_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dstepi,
};

const struct tg_console_command tg_console_dnexti = {
    .name = "dnexti",
    .arguments = "?N?",
    .summary = "steps one machine instruction, over calls",
    .example = "dfocus t dnexti",
    .more = WHO,
    .options = counted_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dnexti,
};

const struct tg_console_command tg_console_dout = {
    .name = "dout",
    .arguments = "?N?",
    .summary = "finishes the current function, or N of them",
    .example = "dfocus t1.2 dout",
    .more = WHO,
    .options = counted_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dout,
};

static const struct tg_console_option duntil_options[] = {
    {"-address", TG_OPTION_WORD, TG_OPTION_IN(struct stepping, address), .takes = "an address"},
    {"PLACE", TG_OPTION_WORD, TG_OPTION_IN(struct stepping, place)},
    {0}};

const struct tg_console_command tg_console_duntil = {
    .name = "duntil",
    .arguments = "?LINE | FILE#LINE | FUNCTION | -address ADDRESS?",
    .summary = "continues to a line, a function or an address, or until the function returns",
    .example = "duntil 120",
    .more = "Without a place: to a line further down, so that a loop finishes.\n" WHO,
    .options = duntil_options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_duntil,
};
