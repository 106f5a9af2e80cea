#include "live/commands/focus/standing.h"

#include "format/base/printable.h"
#include "live/control/thread_scene.h"
#include "live/inspect/value/location.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct tg_ptset_defaults tg_standing_defaults = {TG_WIDTH_THREAD, TG_GROUP_CONTROL};

struct tg_error *tg_standing_take(const struct tg_request *control, const struct tg_job_process *process,
                                  size_t i, bool *is_stopped, struct tg_standing *standing)
{
    const struct tg_job_thread *of_view = tg_job_view_thread(control->view, process, i);
    struct tg_standing found = {.id = {process->info.dpid, of_view->dtid}};
    found.thread = tg_engine_adapter_thread(control->engine, found.id);
    *is_stopped = found.thread != NULL && tg_thread_is_kept(found.thread) &&
                  tg_thread_scene_registers(found.thread, &found.registers);
    if (!*is_stopped)
        return NULL;
    found.modules = tg_engine_adapter_modules(control->engine, found.thread->process);
    if (found.modules == NULL)
        return tg_error_no_memory();
    found.memory = tg_thread_scene_memory(found.thread);
    found.namer = tg_inspect_namer_of(found.modules);
    *standing = found;
    return NULL;
}

/* How well thread I of PROCESS serves instead of those in focus: 0 it runs. */
static unsigned usefulness(const struct tg_job_process *process, const struct tg_job_thread *thread)
{
    if (!process->info.exists || process->info.rank < 0 || thread->is_manager ||
        !tg_job_state_is_stopped(thread->state))
        return 0;
    return thread->state == TG_JOB_ERROR ? 3 : thread->state == TG_JOB_STOPPED ? 1 : 2;
}

static size_t count_members(const struct tg_request *control)
{
    size_t count = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++)
        for (size_t i = 0; i < tg_job_view_at(control->view, p)->n_threads; i++)
            count += tg_job_set_has(control->set, tg_job_view_at(control->view, p), i);
    return count;
}

struct tg_error *tg_standing_nobody(const struct tg_request *control)
{
    size_t n_living = 0, n_meant = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        n_living += process->info.exists;
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            n_meant += tg_job_set_has(control->set, process, i);
    }
    return tg_error_create(TG_ERROR_TARGET, "%s",
                           n_living == 0  ? "the job has ended"
                           : n_meant == 0 ? "what is in focus has ended"
                                          : "no thread in focus is stopped; dhalt stops them");
}

struct tg_error *tg_standing_none(const struct tg_request *control)
{
    const struct tg_job_process *other = NULL;
    uint32_t dtid = 0;
    unsigned best = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(control->view, process, i);
            unsigned use = usefulness(process, thread);
            if (use > best || (use == best && use > 0 && process->info.rank < other->info.rank)) {
                best = use;
                other = process;
                dtid = thread->dtid;
            }
        }
    }
    if (other == NULL)
        return tg_standing_nobody(control);
    bool is_one = count_members(control) == 1;
    char thread[24] = "";
    if (dtid > 1)
        snprintf(thread, sizeof thread, ".%" PRIu32, dtid);
    return tg_error_create(TG_ERROR_TARGET,
                           "%s; dhalt stops %s, `dfocus r%" PRId64 "%s` goes to rank %" PRId64
                           ", which is stopped%s",
                           is_one ? "the thread in focus is running" : "no thread in focus is stopped",
                           is_one ? "it" : "them", other->info.rank, thread, other->info.rank,
                           best == 3   ? " by a signal"
                           : best == 2 ? " at an action point"
                                       : "");
}

struct tg_error *tg_standing_find(const struct tg_request *control, struct tg_standing *standing)
{
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; i < process->n_threads; i++) {
            bool is_stopped = false;
            struct tg_error *error = tg_job_set_has(control->set, process, i)
                                         ? tg_standing_take(control, process, i, &is_stopped, standing)
                                         : NULL;
            if (error != NULL || is_stopped)
                return error;
        }
    }
    return tg_standing_none(control);
}

const char *tg_standing_program(const struct tg_standing *standing, uint64_t address)
{
    const struct tg_module *module = tg_modules_find(standing->modules, address);
    return module == NULL ? "" : module->path;
}

/* ---- names */

struct search {
    const char *name;
    uint64_t address;
    bool found;
};

static void take_symbol(void *context, const struct tg_image_symbol *symbol)
{
    struct search *search = context;
    if (!search->found && strcmp(symbol->name, search->name) == 0) {
        search->found = true;
        search->address = symbol->address;
    }
}

/* In one object; of functions only. */
static bool find_in(const struct tg_standing *standing, const struct tg_module *module, bool functions,
                    const char *name, uint64_t *address)
{
    uint64_t bias;
    struct search search = {.name = name};
    struct tg_debug_info *info = tg_modules_debug_info(standing->modules, module, &bias);
    if (info == NULL)
        return false;
    struct tg_image *image = tg_debug_info_image(info);
    if (functions)
        search.found = tg_image_find_named(image, name, &search.address, 1) > 0;
    else
        tg_image_each_symbol(image, name, true, take_symbol, &search);
    if (search.found)
        *address = search.address + bias;
    return search.found;
}

/* The object that is named by nothing, the program, is the first one whose path the process has. */
static bool find_name(const struct tg_standing *standing, bool functions, const char *name, uint64_t *address)
{
    const struct tg_module *here = tg_modules_find(standing->modules, standing->registers.value[TG_RIP]);
    if (here != NULL && find_in(standing, here, functions, name, address))
        return true;
    for (size_t i = 0; i < tg_modules_count(standing->modules); i++)
        if (find_in(standing, tg_modules_at(standing->modules, i), functions, name, address))
            return true;
    return false;
}

bool tg_standing_function(const struct tg_standing *standing, const char *name, uint64_t *address)
{
    return find_name(standing, true, name, address);
}

static bool find_register(const struct tg_standing *standing, const char *name, uint64_t *value)
{
    name += *name == '$' || *name == '%';
    name = strcmp(name, "pc") == 0 ? "rip" : strcmp(name, "sp") == 0 ? "rsp" : name;
    for (unsigned i = 0; i < TG_REGISTER_COUNT; i++) {
        if (strcmp(name, tg_location_register_name(i)) != 0)
            continue;
        *value = standing->registers.value[i];
        return true;
    }
    return false;
}

static bool take_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *number = strtoull(text, &end, 0);
    return *end == '\0' && errno == 0;
}

struct tg_error *tg_standing_address(const struct tg_standing *standing, const char *text, uint64_t *address)
{
    char name[512], shown[128];
    uint64_t base = 0, offset = 0;
    const char *sign = strpbrk(text + (*text != '\0'), "+-");
    size_t length = sign == NULL ? strlen(text) : (size_t)(sign - text);
    tg_printable(text, shown, sizeof shown);
    if (length == 0 || length >= sizeof name || (sign != NULL && !take_number(sign + 1, &offset)))
        return tg_error_create(
            TG_ERROR_USAGE,
            "'%s' is not an address: give a number, a register or a name, optionally followed by +N or -N",
            shown);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (!take_number(name, &base) && !find_register(standing, name, &base) &&
        !find_name(standing, true, name, &base) && !find_name(standing, false, name, &base))
        return tg_error_create(TG_ERROR_NOT_FOUND, "unknown register, function or variable '%s'", shown);
    *address = sign != NULL && *sign == '-' ? base - offset : base + offset;
    return NULL;
}
