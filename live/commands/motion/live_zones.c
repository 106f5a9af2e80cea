#include "live/commands/motion/live_zones.h"

#include "live/commands/control/step.h"

#include <inttypes.h>

/* Functions that compilers call at the beginning of a zone: GCC, then LLVM. The first 8 that a process has
 * count. */
static const char *const parallel[] = {"GOMP_parallel",
                                       "GOMP_parallel_sections",
                                       "GOMP_parallel_reductions",
                                       "GOMP_parallel_loop_nonmonotonic_dynamic",
                                       "GOMP_parallel_loop_nonmonotonic_guided",
                                       "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
                                       "GOMP_parallel_loop_dynamic",
                                       "__kmpc_fork_call",
                                       NULL};
static const char *const single[] = {"GOMP_single_start", "GOMP_single_copy_start", "__kmpc_single", NULL};
static const char *const critical[] = {"GOMP_critical_start", "GOMP_critical_name_start", "__kmpc_critical",
                                       "__kmpc_critical_with_hint", NULL};
static const char *const task[] = {"GOMP_task",
                                   "GOMP_taskloop",
                                   "GOMP_taskloop_ull",
                                   "__kmpc_omp_task",
                                   "__kmpc_omp_task_with_deps",
                                   "__kmpc_taskloop",
                                   NULL};
static const char *const sections[] = {"GOMP_sections_start", "GOMP_sections2_start",
                                       "GOMP_parallel_sections", NULL};
static const char *const barrier[] = {"GOMP_barrier",
                                      "GOMP_barrier_cancel",
                                      "GOMP_loop_end",
                                      "GOMP_sections_end",
                                      "__kmpc_barrier",
                                      "__kmpc_cancel_barrier",
                                      NULL};
static const char *const master[] = {"__kmpc_master", "__kmpc_masked", NULL};
static const char *const loop[] = {"GOMP_loop_nonmonotonic_dynamic_start",
                                   "GOMP_loop_nonmonotonic_guided_start",
                                   "GOMP_loop_maybe_nonmonotonic_runtime_start",
                                   "GOMP_loop_dynamic_start",
                                   "GOMP_loop_ordered_dynamic_start",
                                   "__kmpc_for_static_init_4",
                                   "__kmpc_for_static_init_8",
                                   "__kmpc_dispatch_init_4",
                                   NULL};

static const char *const *const functions[] = {
    [TG_TARGET_PARALLEL] = parallel, [TG_TARGET_SINGLE] = single,     [TG_TARGET_CRITICAL] = critical,
    [TG_TARGET_TASK] = task,         [TG_TARGET_SECTIONS] = sections, [TG_TARGET_BARRIER] = barrier,
    [TG_TARGET_MASTER] = master,     [TG_TARGET_LOOP] = loop,
};

static struct tg_error *look_at(struct tg_console *console, struct tg_thread_id unit)
{
    char text[48];
    struct tg_focus focus;
    size_t position;
    snprintf(text, sizeof text, "d%" PRIu32 ".%" PRIu32, unit.dpid, unit.dtid);
    struct tg_error *error = tg_focus_parse(&console->focus, console->source, text, &focus, &position);
    if (error != NULL)
        return error;
    tg_console_set_focus(console, &focus);
    return NULL;
}

/* To where the program's own code begins, with all of its libraries there. */
static struct tg_error *begin_program(struct tg_console *console, FILE *out)
{
    static const char *const beginning[] = {"main", "MAIN__", NULL};
    struct tg_thread_id found;
    return tg_step_to(console, beginning, &found, out);
}

struct tg_error *tg_live_zone_go(struct tg_console *console, enum tg_zone_target target, const char *name,
                                 FILE *out)
{
    struct tg_thread_id found = {0};
    if (target == TG_TARGET_NONE)
        return tg_error_create(TG_ERROR_USAGE, "which zone? Give parallel, single, critical, task, sections, "
                                               "barrier, master or loop");
    struct tg_error *error = tg_step_to(console, functions[target], &found, out);
    if (error != NULL && tg_error_code(error) == TG_ERROR_UNSUPPORTED) {
        tg_error_destroy(error);
        error = begin_program(console, out);
        if (error == NULL)
            error = tg_step_to(console, functions[target], &found, out);
    }
    if (error != NULL)
        return error;
    if (found.dpid == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "the threads in focus stopped or ended without reaching a %s", name);
    fprintf(out, "thread %" PRIu32 ".%" PRIu32 " reaches a %s%s\n", found.dpid, found.dtid, name,
            target == TG_TARGET_PARALLEL ? " region" : "");
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL) {
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "dpid", found.dpid);
        tg_json_member_unsigned(json, "dtid", found.dtid);
        tg_json_end_object(json);
    }
    return look_at(console, found);
}
