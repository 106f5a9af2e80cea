#include "live/commands/focus/focus_call.h"

#include "live/control/traced_job.h"
#include "live/source/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

const struct tg_ptset_defaults tg_focus_call_defaults = {TG_WIDTH_PROCESS, TG_GROUP_CONTROL};
const struct tg_ptset_defaults tg_focus_call_whole_job = {TG_WIDTH_PROCESS, TG_GROUP_CONTROL};

/* What DEFAULTS are in the console's focus. */
static const struct tg_ptset_defaults *defaults_in(const struct tg_console *console,
                                                   const struct tg_ptset_defaults *defaults)
{
    static const struct tg_ptset_defaults ranks = {TG_WIDTH_GROUP, TG_GROUP_CONTROL},
                                          everything = {TG_WIDTH_ALL, TG_GROUP_CONTROL};
    if (!console->focus.is_of_ranks)
        return defaults;
    return defaults == &tg_focus_call_defaults    ? &ranks
           : defaults == &tg_focus_call_whole_job ? &everything
                                                  : defaults;
}

static bool is_not_found(const struct tg_error *error)
{
    return error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND;
}

/* REQUEST about the console's focus, or everybody where there is none. */
static struct tg_error *run(struct tg_console *console, struct tg_request *request)
{
    request->about = request->focus == NULL ? TG_REQUEST_EVERYBODY : TG_REQUEST_FOCUS;
    struct tg_error *error = tg_traced_job_ask(console->options.live, request);
    return error == NULL ? NULL : tg_focus_call_point(console, error, request->position);
}

struct tg_error *tg_focus_call_point(const struct tg_console *console, struct tg_error *error,
                                     size_t position)
{
    char *text = error == NULL || position == SIZE_MAX || console->focus.set == NULL
                     ? NULL
                     : tg_ptset_string(console->focus.set);
    if (text != NULL)
        error = tg_console_marked(
            tg_error_prefix(error, is_not_found(error) ? "focus %s (`dfocus all` leaves it)" : "focus %s",
                            text),
            text, position);
    free(text);
    return error;
}

/* Whether the one thread that the focus names was there once, and has ended, and its process has not. */
static bool names_ended_thread(const struct tg_console *console)
{
    const struct tg_process_model *processes = console->source->moment->processes;
    const struct tg_ptset_arena *arena = console->focus.set == NULL || tg_ptset_count(console->focus.set) != 1
                                             ? NULL
                                             : tg_ptset_arena(console->focus.set, 0);
    for (size_t i = 0; arena != NULL && arena->thread > 1 && i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        bool is_it = arena->by_rank ? entry->rank == (int64_t)arena->process : i + 1 == arena->process;
        if (is_it && entry->end == TG_PROCESS_RUNNING && arena->thread <= entry->threads_started)
            return true;
    }
    return false;
}

/* The focus becomes that without its thread, which has ended; *IS_LEFT: it was about more than that. */
static struct tg_error *leave_ended_thread(struct tg_console *console, bool *is_left)
{
    struct tg_ptset *rest = NULL;
    struct tg_focus focus;
    size_t position;
    struct tg_error *error =
        names_ended_thread(console) ? tg_ptset_without_thread(console->focus.set, &rest) : NULL;
    char *text = error == NULL && rest != NULL ? tg_ptset_string(rest) : NULL, *note = NULL;
    tg_ptset_destroy(rest);
    if (error != NULL || text == NULL)
        return error;
    error = tg_focus_parse(&console->focus, console->source, text, &focus, &position);
    if (error == NULL && asprintf(&note, "the current thread has ended: the focus is %s", text) >= 0) {
        const struct tg_news news = {.kind = TG_NEWS_NOTE, .text = note, .is_printable = true};
        tg_console_set_focus(console, &focus);
        *is_left = true;
        if (console->options.news != NULL)
            tg_news_tell(console->options.news, &news);
        else
            fprintf(console->options.out, "%s\n", note);
        free(note);
    }
    free(text);
    return error;
}

struct tg_error *tg_focus_call_run(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                                   tg_request_work *work, void *context, FILE *out)
{
    bool is_left = false;
    struct tg_request request = {.focus = console->focus.set,
                                 .defaults = defaults_in(console, defaults),
                                 .follows_hits = console->focus.is_open && defaults->width == TG_WIDTH_THREAD,
                                 .work = work,
                                 .context = context,
                                 .out = out};
    struct tg_error *error = run(console, &request);
    if (!is_not_found(error) ||
        request.position == SIZE_MAX) /* what WORK has not found is no thread of the focus */
        return error;
    struct tg_error *leaving = leave_ended_thread(console, &is_left);
    if (leaving != NULL || !is_left) {
        tg_error_destroy(leaving);
        return error;
    }
    tg_error_destroy(error);
    request.focus = console->focus.set;
    request.defaults = defaults_in(console, defaults);
    return run(console, &request);
}

struct tg_error *tg_focus_call_run_in(struct tg_console *console, const struct tg_ptset *set,
                                      const char *text, tg_request_work *work, void *context, FILE *out)
{
    struct tg_request request = {.about = TG_REQUEST_FOCUS,
                                 .focus = set,
                                 .defaults = &tg_focus_call_defaults,
                                 .work = work,
                                 .context = context,
                                 .out = out};
    struct tg_error *error = tg_traced_job_ask(console->options.live, &request);
    return error == NULL || request.position == SIZE_MAX
               ? error
               : tg_console_pointed(console, error, text, request.position);
}

struct tg_error *tg_focus_call_run_all(struct tg_console *console, tg_request_work *work, void *context,
                                       FILE *out)
{
    struct tg_request request = {.work = work, .context = context, .out = out};
    return run(console, &request);
}

struct tg_error *tg_focus_call_prepare(const struct tg_console *console,
                                       const struct tg_ptset_defaults *defaults, tg_request_work *work,
                                       void *context, struct tg_request *request, struct tg_ptset **focus)
{
    size_t position;
    char *text = console->focus.set == NULL ? NULL : tg_ptset_string(console->focus.set);
    struct tg_error *error = console->focus.set == NULL ? NULL
                             : text == NULL             ? tg_error_no_memory()
                                                        : tg_ptset_parse(text, focus, &position);
    free(text);
    *request = (struct tg_request){.about = *focus == NULL ? TG_REQUEST_EVERYBODY : TG_REQUEST_FOCUS,
                                   .focus = *focus,
                                   .defaults = defaults_in(console, defaults),
                                   .work = work,
                                   .context = context};
    return error;
}

static struct tg_error *halt(const struct tg_request *control)
{
    return tg_controller_halt(control->controller, control->view, control->set);
}

struct tg_error *tg_focus_call_halt(struct tg_console *console)
{
    return tg_focus_call_run(console, &tg_focus_call_defaults, halt, NULL, NULL);
}

/* ---- waiting */

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Nobody is left to be told: the console ends as at the end of its input. */
static struct tg_error *leave(struct tg_console *console)
{
    console->has_quit = true;
    console->quit_status = -1;
    tg_console_stop(console);
    return tg_error_create(TG_ERROR_USAGE, "nobody reads the answers any more: the client has disconnected");
}

static struct tg_error *look_whether_stopped(const struct tg_request *control)
{
    bool *are_stopped = control->context;
    *are_stopped = true;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            if (tg_job_set_has(control->set, process, i) &&
                !tg_job_state_is_stopped(tg_job_view_thread(control->view, process, i)->state))
                *are_stopped = false;
    }
    return NULL;
}

/* Halts, and waits a moment until who was asked to stop has done so: the next command is about threads that stand. */
static struct tg_error *halt_at_interrupt(struct tg_console *console)
{
    static const double moment = 1;
    bool are_stopped = false;
    double until = now_seconds() + moment;
    struct tg_error *error = tg_focus_call_halt(console);
    while (error == NULL && !are_stopped && now_seconds() < until) {
        error = tg_focus_call_run(console, &tg_focus_call_defaults, look_whether_stopped, &are_stopped, NULL);
        if (error == NULL && !are_stopped)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    if (error != NULL)
        return error;
    return tg_error_create(TG_ERROR_USAGE, are_stopped
                                               ? "interrupted: the threads in focus are stopped"
                                               : "interrupted: the threads in focus are being stopped");
}

/* Until something may have changed. */
static struct tg_error *sleep_on(struct tg_console *console, double until)
{
    double left = until - now_seconds();
    struct pollfd wake[] = {{.fd = tg_console_wake_fd(console), .events = POLLIN},
                            {.fd = console->options.listener_fd > 0 ? console->options.listener_fd : -1}};
    int timeout_ms = until < 0 ? -1 : left <= 0 ? 0 : (int)(left * 1000) + 1;
    if (!tg_interrupt_pending() &&
        (tg_visitor_poll(console->source->visitor, wake, 2, timeout_ms) >= 0 || errno == EINTR) &&
        !tg_interrupt_pending())
        return (wake[1].revents & (POLLERR | POLLHUP)) != 0 ? leave(console) : NULL;
    return halt_at_interrupt(console);
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
        tg_traced_job_settle(console->options.live); /* or it would not let anybody sleep */
        return;
    }
    if (now - gathering->told > 2 * longest_moment)
        gathering->moment = shortest_moment;
    else if (gathering->moment < longest_moment && console->source->visitor == NULL)
        gathering->moment *= 2;
    gathering->due = -1;
    gathering->told = now;
    tg_console_attend(console);
}

/* A wait that lasts says so from time to time, more and more seldom. */

static const double first_note_s = 3, look_again_s = 1;

static void tell_of_wait(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                         struct tg_focus_patience *patience)
{
    double now = now_seconds();
    if (now < patience->next || console->options.table->wait_lasts == NULL)
        return;
    tg_console_attend(console); /* what has happened comes first */
    console->options.table->wait_lasts(console, defaults_in(console, defaults), now - patience->begun);
    patience->next = now + 2 * (now - patience->begun);
}

/* UNTIL or the next thing to do, whichever comes first. Ranks that are still to come may never do. */
static double earlier(const struct tg_console *console, double until,
                      const struct tg_focus_patience *patience)
{
    double next = patience->next, now = now_seconds();
    if (console->focus.is_of_ranks && console->focus.is_open && now - patience->begun < first_note_s)
        next = now + look_again_s;
    return until < 0 || next < until ? next : until;
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

/* Runs the scripts of breakpoints that threads have come to; whether there were any: threads may run again. */
static bool runs_hit_scripts(struct tg_console *console)
{
    uint64_t before = console->n_hit_scripts;
    tg_console_attend(console);
    return console->n_hit_scripts != before && !console->has_quit && !console->is_stopped;
}

/* A thread of the focus is not there any more. The process is, where the set has its width and not the thread's: it is
 * what people wait for. NOT_FOUND where it has ended, too. */
static struct tg_error *run_without_thread(struct tg_console *console,
                                           const struct tg_ptset_defaults *defaults, tg_request_work *work,
                                           void *context, FILE *out)
{
    struct tg_ptset *of_process = NULL;
    struct tg_error *error =
        console->focus.set == NULL ? NULL : tg_ptset_without_thread(console->focus.set, &of_process);
    if (error == NULL && of_process == NULL)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "the threads in focus have ended");
    struct tg_request request = {.about = TG_REQUEST_FOCUS,
                                 .focus = of_process,
                                 .defaults = defaults_in(console, defaults),
                                 .work = work,
                                 .context = context,
                                 .out = out};
    if (error == NULL)
        error = tg_traced_job_ask(console->options.live, &request);
    tg_ptset_destroy(of_process);
    return error;
}

struct tg_error *tg_focus_call_await(struct tg_console *console, const struct tg_ptset_defaults *defaults,
                                     tg_request_work *is_done, bool *done, double seconds, FILE *out)
{
    struct tg_focus_patience patience = {0};
    return tg_focus_call_await_with(console, defaults, is_done, done, seconds, &patience, out);
}

struct tg_error *tg_focus_call_await_with(struct tg_console *console,
                                          const struct tg_ptset_defaults *defaults, tg_request_work *is_done,
                                          bool *done, double seconds, struct tg_focus_patience *patience,
                                          FILE *out)
{
    double until = seconds < 0 ? -1 : now_seconds() + seconds;
    struct gathering gathering = {.moment = shortest_moment, .due = -1};
    if (patience->begun == 0)
        *patience = (struct tg_focus_patience){
            .begun = now_seconds(), .next = now_seconds() + first_note_s, .were_there = patience->were_there};
    struct tg_error *error = NULL;
    *done = false;
    for (bool were_there = patience->were_there; error == NULL && !*done; were_there = true) {
        int status;
        bool has_ended = tg_traced_job_has_ended(console->options.live, &status);
        attend_in_time(console, &gathering);
        if (defaults != NULL) /* ranks may have come */
            error = tg_focus_go_to_ranks(&console->focus, console->source);
        if (error != NULL)
            break;
        error = defaults == NULL ? tg_focus_call_run_all(console, is_done, done, out)
                                 : tg_focus_call_run(console, defaults, is_done, done, out);
        if (is_not_found(error) && were_there && defaults != NULL) {
            tg_error_destroy(error);
            error = run_without_thread(console, defaults, is_done, done, out);
        }
        if (is_not_found(error) && were_there) {
            tg_error_destroy(error); /* the threads have ended */
            error = NULL;
            *done = true;
        }
        *done = *done && !(error == NULL && runs_hit_scripts(console));
        if (error != NULL || *done)
            break;
        if (has_ended)
            error = tg_error_create(TG_ERROR_TARGET, "the job has ended");
        else if (until >= 0 && now_seconds() >= until)
            error = tg_error_create(TG_ERROR_TARGET, "still running after %g seconds", seconds);
        else
            error = sleep_between(console, earlier(console, until, patience), &gathering);
        if (error == NULL)
            tell_of_wait(console, defaults, patience);
    }
    if (console->options.news == NULL) /* not behind the next prompt */
        tg_console_attend(console);
    return error;
}
