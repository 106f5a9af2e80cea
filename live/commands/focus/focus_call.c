#include "live/commands/focus/focus_call.h"

#include "live/control/job_thread.h"
#include "live/source/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

const struct tg_ptset_defaults tg_control_defaults = {TG_WIDTH_PROCESS, TG_GROUP_CONTROL};

struct request {
    const struct tg_ptset *focus; /* NULL: everything */
    const struct tg_ptset_defaults *defaults;
    tg_control_work *work;
    void *context;
    FILE *out;
    size_t position; /* in the focus, SIZE_MAX none */
    struct tg_error *error;
};

static struct tg_error *take_all(const struct tg_job_view *view, struct tg_job_set *set)
{
    struct tg_error *error = tg_job_set_init(set, view);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        for (size_t i = 0; i < process->n_threads || i == 0; i++)
            tg_job_set_add(set, process, i);
    }
    return error;
}

static bool is_same_code(void *context, const struct tg_job_process *a, uint64_t a_pc,
                         const struct tg_job_process *b, uint64_t b_pc)
{
    const struct tg_modules *of_a = tg_live_engine_modules_of(context, (int32_t)a->info.tag),
                            *of_b = tg_live_engine_modules_of(context, (int32_t)b->info.tag);
    return of_a == NULL || of_b == NULL ? a_pc == b_pc : tg_modules_is_same_code(of_a, a_pc, of_b, b_pc);
}

static void serve(struct tg_live_engine *engine, void *context)
{
    struct request *request = context;
    struct tg_job_view *view = NULL;
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_controller *controller = tg_live_engine_controller(engine);
    struct tg_error *error = tg_controller_view(controller, &view);
    if (error == NULL)
        tg_job_view_tell_code(view, is_same_code, engine);
    if (error == NULL)
        error = request->focus == NULL
                    ? take_all(view, &set)
                    : tg_ptset_members(request->focus, view, request->defaults, &set, &request->position);
    if (error == NULL)
        request->position = SIZE_MAX;
    const struct tg_control control = {.engine = engine,
                                       .controller = controller,
                                       .focus = request->focus,
                                       .view = view,
                                       .set = &set,
                                       .out = request->out,
                                       .context = request->context};
    if (error == NULL)
        error = request->work(&control);
    request->error = error;
    tg_job_view_destroy(view);
}

static struct tg_error *run(struct tg_console *console, struct request *request)
{
    request->position = SIZE_MAX;
    tg_live_job_call(console->options.live, serve, request);
    if (request->error == NULL || request->position == SIZE_MAX)
        return request->error;
    return tg_control_point(console, request->error, request->position);
}

struct tg_error *tg_control_point(const struct tg_console *console, struct tg_error *error, size_t position)
{
    char *text = error == NULL || position == SIZE_MAX || console->focus.set == NULL
                     ? NULL
                     : tg_ptset_string(console->focus.set);
    if (text != NULL)
        error = tg_console_marked(tg_error_prefix(error, "focus %s", text), text, position);
    free(text);
    return error;
}

struct tg_error *tg_control_run(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                                tg_control_work *work, void *context, FILE *out)
{
    struct request request = {
        .focus = console->focus.set, .defaults = defaults, .work = work, .context = context, .out = out};
    return run(console, &request);
}

struct tg_error *tg_control_run_in(struct tg_console *console, const struct tg_ptset *set, const char *text,
                                   tg_control_work *work, void *context, FILE *out)
{
    struct request request = {.focus = set,
                              .defaults = &tg_control_defaults,
                              .work = work,
                              .context = context,
                              .out = out,
                              .position = SIZE_MAX};
    tg_live_job_call(console->options.live, serve, &request);
    if (request.error == NULL || request.position == SIZE_MAX)
        return request.error;
    return tg_console_pointed(console, request.error, text, request.position);
}

struct tg_error *tg_control_run_all(struct tg_console *console, tg_control_work *work, void *context,
                                    FILE *out)
{
    struct request request = {.work = work, .context = context, .out = out};
    return run(console, &request);
}

static struct tg_error *halt(const struct tg_control *control)
{
    return tg_controller_halt(control->controller, control->view, control->set);
}

struct tg_error *tg_control_halt(struct tg_console *console)
{
    return tg_control_run(console, &tg_control_defaults, halt, NULL, NULL);
}

/* ---- waiting */

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Whoever was to be told has gone: the console ends as at the end of its input. */
static struct tg_error *leave(struct tg_console *console)
{
    console->has_quit = true;
    console->quit_status = -1;
    tg_console_stop(console);
    return tg_error_create(TG_ERROR_USAGE, "nobody reads what is answered");
}

/* Until something may have changed. */
static struct tg_error *sleep_on(struct tg_console *console, double until)
{
    double left = until - now_seconds();
    struct pollfd wake[] = {{.fd = tg_console_wake_fd(console), .events = POLLIN},
                            {.fd = console->options.listener_fd > 0 ? console->options.listener_fd : -1}};
    int timeout_ms = until < 0 ? -1 : left <= 0 ? 0 : (int)(left * 1000) + 1;
    if (!tg_interrupt_pending() && (poll(wake, 2, timeout_ms) >= 0 || errno == EINTR) &&
        !tg_interrupt_pending())
        return (wake[1].revents & (POLLERR | POLLHUP)) != 0 ? leave(console) : NULL;
    struct tg_error *error = tg_control_halt(console);
    return error != NULL ? error : tg_error_create(TG_ERROR_USAGE, "interrupted: those in focus are stopped");
}

/* News come in bursts: people are told together of what comes in a moment, and in a longer one while it goes
 * on. Programs are told at once. */
struct gathering {
    double moment, due; /* DUE: when to tell of what there is, negative: there is nothing */
    double told;        /* when that was last */
};

static const double shortest_moment = 0.05, longest_moment = 1;

static void attend_in_time(struct tg_console *console, struct gathering *gathering)
{
    double now = now_seconds();
    if (console->options.news == NULL && now < gathering->due) {
        tg_live_job_settle(console->options.live); /* or it would not let anybody sleep */
        return;
    }
    if (now - gathering->told > 2 * longest_moment)
        gathering->moment = shortest_moment;
    else if (gathering->moment < longest_moment)
        gathering->moment *= 2;
    gathering->due = -1;
    gathering->told = now;
    tg_console_attend(console);
}

/* Until something may have changed, or is to be told. */
static struct tg_error *sleep_between(struct tg_console *console, double until, struct gathering *gathering)
{
    bool is_due_first = gathering->due >= 0 && (until < 0 || gathering->due < until);
    struct tg_error *error = sleep_on(console, is_due_first ? gathering->due : until);
    if (gathering->due < 0)
        gathering->due = now_seconds() + gathering->moment;
    return error;
}

struct tg_error *tg_control_await(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                                  tg_control_work *is_done, bool *done, double seconds, FILE *out)
{
    double until = seconds < 0 ? -1 : now_seconds() + seconds;
    struct gathering gathering = {.moment = shortest_moment, .due = -1};
    struct tg_error *error = NULL;
    *done = false;
    for (bool were_there = false; error == NULL && !*done; were_there = true) {
        int status;
        bool has_ended = tg_live_job_has_ended(console->options.live, &status);
        attend_in_time(console, &gathering);
        error = defaults == NULL ? tg_control_run_all(console, is_done, done, out)
                                 : tg_control_run(console, defaults, is_done, done, out);
        if (error != NULL && were_there && tg_error_code(error) == TG_ERROR_NOT_FOUND) {
            tg_error_destroy(error); /* they have ended */
            error = NULL;
            *done = true;
        }
        if (error != NULL || *done)
            break;
        if (has_ended)
            error = tg_error_create(TG_ERROR_TARGET, "the job has ended");
        else if (until >= 0 && now_seconds() >= until)
            error = tg_error_create(TG_ERROR_TARGET, "after %g seconds they still run", seconds);
        else
            error = sleep_between(console, until, &gathering);
    }
    if (console->options.news == NULL) /* not behind the next prompt */
        tg_console_attend(console);
    return error;
}
