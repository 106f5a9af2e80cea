#include "live/commands/motion/gate_attendance.h"

#include "live/commands/focus/focus_call.h"
#include "live/control/gate_roll.h"
#include "live/control/traced_job.h"

#include <stdlib.h>

struct tg_gate_attendance {
    struct tg_traced_job *job;
    const struct tg_gate_run *run;
    struct tg_gate_attendant attendant;
    struct tg_gate_roll *roll;
    struct tg_request halting; /* of the threads in FOCUS */
    struct tg_ptset *focus;
    bool is_complete; /* and they were told to stop */
    bool has_relaxed;
};

bool tg_gate_attendance_is_complete(const struct tg_gate_run *run, size_t n_here)
{
    size_t n_to_come = run->n_unknown;
    for (size_t i = 0; i < run->n_workers; i++)
        n_to_come += !run->workers[i].is_out && !run->workers[i].is_gone;
    return n_here > 0 && n_here >= n_to_come;
}

/* How many are at the gates; who is new there rests. */
static size_t call_roll(const struct tg_gate_attendance *attendance, struct tg_engine_adapter *live)
{
    const struct tg_gate_run *run = attendance->run;
    return tg_gate_roll_call(attendance->roll, live, run->numbers, run->n_gates);
}

/* Workers who were let go first come while others are still being let go. */
static void glance(void *context, struct tg_engine_adapter *live)
{
    const struct tg_gate_attendance *attendance = context;
    if (!attendance->is_complete)
        call_roll(attendance, live);
}

static void attend(void *context, struct tg_engine_adapter *live)
{
    struct tg_gate_attendance *attendance = context;
    if (attendance->is_complete ||
        !tg_gate_attendance_is_complete(attendance->run, call_roll(attendance, live)))
        return;
    attendance->is_complete = true;
    tg_request_serve(&attendance->halting, live);
    tg_gate_roll_collect(live);                  /* the answer waits for it */
    tg_error_destroy(attendance->halting.error); /* the console looks, too, and says why */
}

static struct tg_error *halt(const struct tg_request *request)
{
    return tg_controller_halt(request->controller, request->view, request->set);
}

static struct tg_error *enroll(struct tg_gate_attendance *attendance)
{
    const struct tg_gate_run *run = attendance->run;
    struct tg_error *error = tg_gate_roll_create(&attendance->roll);
    for (size_t i = 0; error == NULL && i < run->n_workers; i++)
        if (!run->workers[i].is_out)
            error = tg_gate_roll_add(attendance->roll, run->workers[i].pid, run->workers[i].tid);
    return error;
}

struct tg_error *tg_gate_attendance_create(struct tg_console *console, const struct tg_gate_run *run,
                                           struct tg_gate_attendance **attendance)
{
    struct tg_gate_attendance *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->job = console->options.live;
    made->run = run;
    made->attendant = (struct tg_gate_attendant){attend, glance, made};
    struct tg_error *error = enroll(made);
    if (error == NULL)
        error =
            tg_focus_call_prepare(console, &tg_focus_call_defaults, halt, NULL, &made->halting, &made->focus);
    if (error != NULL) {
        tg_gate_attendance_end(made);
        return error;
    }
    *attendance = made;
    return NULL;
}

void tg_gate_attendance_begin(struct tg_gate_attendance *attendance)
{
    tg_traced_job_set_attendant(attendance->job, &attendance->attendant);
}

static struct tg_error *relax(const struct tg_request *request)
{
    const struct tg_gate_attendance *attendance = request->context;
    tg_gate_roll_end_rests(attendance->roll, request->engine);
    return NULL;
}

struct tg_error *tg_gate_attendance_relax(struct tg_gate_attendance *attendance)
{
    if (attendance->has_relaxed)
        return NULL;
    attendance->has_relaxed = true;
    return tg_traced_job_call(attendance->job, relax, attendance);
}

static struct tg_error *leave(const struct tg_request *request)
{
    struct tg_gate_attendance *attendance = request->context;
    tg_traced_job_set_attendant(attendance->job, NULL);
    if (attendance->roll != NULL)
        tg_gate_roll_end_rests(attendance->roll, request->engine);
    return NULL;
}

void tg_gate_attendance_end(struct tg_gate_attendance *attendance)
{
    if (attendance == NULL)
        return;
    tg_error_destroy(tg_traced_job_call(attendance->job, leave, attendance)); /* always NULL */
    tg_gate_roll_destroy(attendance->roll);
    tg_ptset_destroy(attendance->focus);
    free(attendance);
}
