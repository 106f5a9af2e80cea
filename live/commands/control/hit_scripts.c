#include "live/commands/control/hit_scripts.h"

#include "format/base/array.h"
#include "live/control/traced_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A script to run. */
struct hit {
    struct tg_thread_id thread;
    uint32_t point;
    char *script;
    char *before, *after; /* values at a watchpoint; NULL */
};

struct hit_scripts {
    bool are_expected;
    bool is_running; /* a script: what it hits comes afterwards */
    struct hit *hits;
    size_t n_hits;
};

static void free_texts(const struct hit *hit)
{
    free(hit->script);
    free(hit->before);
    free(hit->after);
}

/* TAKEN, at POINT, as *HIT. */
static struct tg_error *copy_hit(const struct tg_script_hit *taken, const struct tg_action_point *point,
                                 struct hit *hit)
{
    *hit = (struct hit){.thread = taken->thread, .point = point->id, .script = strdup(point->script)};
    if (taken->is_write) {
        hit->before = strdup(taken->before);
        hit->after = strdup(taken->after);
    }
    if (hit->script != NULL && (!taken->is_write || (hit->before != NULL && hit->after != NULL)))
        return NULL;
    free_texts(hit);
    return tg_error_no_memory();
}

static void forget_hits(struct hit_scripts *scripts)
{
    for (size_t i = 0; i < scripts->n_hits; i++)
        free_texts(&scripts->hits[i]);
    free(scripts->hits);
    scripts->hits = NULL;
    scripts->n_hits = 0;
}

/* On the tracer thread: of the threads that are still where they came to a breakpoint. */
static struct tg_error *find_hits(const struct tg_request *request)
{
    struct hit_scripts *scripts = request->context;
    const struct tg_action_points *points = tg_controller_points(request->controller);
    size_t count;
    const struct tg_script_hit *taken = tg_engine_adapter_take_script_hits(request->engine, &count);
    for (size_t i = 0; i < count; i++) {
        struct tg_thread *thread = tg_engine_adapter_thread(request->engine, taken[i].thread);
        const struct tg_action_point *point = tg_action_points_get(points, taken[i].point);
        if (thread == NULL || point == NULL || !tg_thread_is_kept(thread) ||
            tg_thread_stop_number(thread) != taken[i].stop_number)
            continue;
        struct hit hit;
        struct tg_error *error = copy_hit(&taken[i], point, &hit);
        if (error != NULL)
            return error;
        error = TG_ARRAY_APPEND_EXACT(scripts->hits, scripts->n_hits, hit);
        if (error != NULL) {
            free_texts(&hit);
            return error;
        }
    }
    return NULL;
}

/* The script's variables oldval and newval: texts at a watchpoint, not set elsewhere. */
static void set_values(Tcl_Interp *interp, const char *before, const char *after)
{
    (void)Tcl_UnsetVar(interp, "oldval", TCL_GLOBAL_ONLY);
    (void)Tcl_UnsetVar(interp, "newval", TCL_GLOBAL_ONLY);
    if (before == NULL)
        return;
    (void)Tcl_SetVar(interp, "oldval", before, TCL_GLOBAL_ONLY);
    (void)Tcl_SetVar(interp, "newval", after, TCL_GLOBAL_ONLY);
}

/* Runs `dfocus DPID.DTID SCRIPT`; what it answers, or why it failed, is told. */
static void run_hit(struct tg_console *console, const struct hit *hit, const struct tg_news_sink *sink)
{
    char thread[48];
    snprintf(thread, sizeof thread, "t%" PRIu32 ".%" PRIu32, hit->thread.dpid, hit->thread.dtid);
    Tcl_Obj *const words[] = {Tcl_NewStringObj("dfocus", -1), Tcl_NewStringObj(thread, -1),
                              Tcl_NewStringObj(hit->script, -1)};
    Tcl_Obj *command = Tcl_NewListObj(3, words);
    Tcl_IncrRefCount(command);
    set_values(console->interp, hit->before, hit->after);
    bool is_well = Tcl_EvalObjEx(console->interp, command, TCL_EVAL_GLOBAL) == TCL_OK;
    const char *answer = Tcl_GetStringResult(console->interp);
    char *text = NULL;
    if (!is_well && !console->has_quit &&
        asprintf(&text, "script of action point %" PRIu32 ": %s", hit->point, answer) >= 0)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = text});
    else if (is_well && *answer != '\0')
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_NOTE, .text = answer});
    free(text);
    Tcl_DecrRefCount(command);
}

static void attend(struct tg_console *console, void *state, const struct tg_news_sink *sink)
{
    struct hit_scripts *scripts = state;
    int status;
    if (!scripts->are_expected || scripts->is_running ||
        tg_traced_job_has_ended(console->options.live, &status))
        return;
    struct tg_request request = {.work = find_hits, .context = scripts};
    struct tg_error *error = tg_traced_job_ask(console->options.live, &request);
    if (error == NULL && scripts->n_hits > 0) {
        scripts->is_running = true;
        Tcl_InterpState saved = Tcl_SaveInterpState(console->interp, TCL_OK);
        for (size_t i = 0; i < scripts->n_hits && !console->has_quit && !console->is_stopped; i++)
            run_hit(console, &scripts->hits[i], sink);
        tg_console_data_drop(&console->data);
        Tcl_RestoreInterpState(console->interp, saved);
        console->n_hit_scripts += scripts->n_hits;
        scripts->is_running = false;
    }
    if (error != NULL)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = tg_error_message(error)});
    tg_error_destroy(error);
    forget_hits(scripts);
}

void tg_hit_scripts_expect(const struct tg_console *console)
{
    struct hit_scripts *scripts = tg_console_state(console, &tg_hit_scripts_kind);
    scripts->are_expected = true;
}

static struct tg_error *create(struct tg_console *console, void **state)
{
    (void)console;
    *state = calloc(1, sizeof(struct hit_scripts));
    return *state == NULL ? tg_error_no_memory() : NULL;
}

static void destroy(void *state)
{
    struct hit_scripts *scripts = state;
    if (scripts != NULL)
        forget_hits(scripts);
    free(scripts);
}

const struct tg_console_state_kind tg_hit_scripts_kind = {
    .is_live = true, .create = create, .destroy = destroy, .attend = attend};
