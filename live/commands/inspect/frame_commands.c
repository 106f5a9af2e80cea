/* dup, ddown: to the caller's frame and back. */
#include "live/commands/focus/standing.h"
#include "live/commands/inspect/commands.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/commands/inspect/frame_words.h"
#include "live/console/options.h"

#include "format/base/printable.h"
#include "recorder/unwind/frames.h"

#include <inttypes.h>
#include <string.h>

enum { MOST = 10000 };

/* A move by so many frames. */
struct move {
    struct tg_frame_choices *choices;
    uint64_t count;
    bool is_up;           /* to the caller */
    struct tg_json *json; /* NULL: nobody wants data */
    size_t n_members;     /* threads in focus */
};

static struct tg_error *refuse(const struct move *move, size_t n_frames)
{
    return move->is_up ? tg_error_create(TG_ERROR_USAGE, "the stack ends here: frame %zu is the outermost",
                                         n_frames - 1)
                       : tg_error_create(TG_ERROR_USAGE, "frame 0 is the innermost: there is none below it");
}

static void tell(const struct tg_request *control, const struct tg_standing *standing,
                 const struct tg_call *call, unsigned level)
{
    const struct move *move = control->context;
    char place[TG_FRAME_PLACE_SIZE], shown[2 * TG_FRAME_PLACE_SIZE], function[2 * TG_FRAME_PLACE_SIZE];
    tg_frame_words_place(call, place, sizeof place);
    if (move->n_members > 1)
        fprintf(control->out, "%" PRIu32 ".%" PRIu32 ": ", standing->id.dpid, standing->id.dtid);
    fprintf(control->out, "frame %u: %s  %s\n", level,
            tg_printable(tg_frame_words_function(call), function, sizeof function),
            tg_printable(place, shown, sizeof shown));
    if (move->json == NULL)
        return;
    tg_json_begin_object(move->json);
    tg_json_member_unsigned(move->json, "dpid", standing->id.dpid);
    tg_json_member_unsigned(move->json, "dtid", standing->id.dtid);
    tg_json_member_unsigned(move->json, "level", level);
    tg_json_member_string(move->json, "function", tg_frame_words_function(call));
    if (call->code.file != NULL) {
        tg_json_member_string(move->json, "file", call->code.file);
        tg_json_member_signed(move->json, "line", call->code.line);
    }
    tg_json_end_object(move->json);
}

static struct tg_error *move_thread(const struct tg_request *control, const struct tg_standing *standing)
{
    const struct move *move = control->context;
    struct tg_frames frames;
    size_t level = tg_frame_choices_level(move->choices, standing->thread);
    struct tg_error *error = tg_frames_read(standing->modules, &standing->memory, &standing->registers,
                                            level + move->count + 2, &frames);
    if (error != NULL)
        return error;
    if (move->is_up ? level + move->count >= frames.count : move->count > level) {
        error = refuse(move, frames.count);
    } else {
        level = move->is_up ? level + move->count : level - move->count;
        error = tg_frame_choices_set(move->choices, standing->thread, (unsigned)level);
        if (error == NULL)
            tell(control, standing, &frames.calls[level], (unsigned)level);
    }
    tg_frames_deinit(&frames);
    return error;
}

/* The threads in focus that are stopped. */
static struct tg_error *move_all(const struct tg_request *control)
{
    struct move *move = control->context;
    struct tg_error *error = NULL;
    size_t n_moved = 0;
    for (size_t p = 0; p < tg_job_view_count(control->view); p++)
        for (size_t i = 0; i < tg_job_view_at(control->view, p)->n_threads; i++)
            move->n_members += tg_job_set_has(control->set, tg_job_view_at(control->view, p), i);
    if (move->json != NULL)
        tg_json_begin_array(move->json);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        for (size_t i = 0; error == NULL && i < process->n_threads; i++) {
            struct tg_standing standing;
            bool is_stopped = false;
            if (!tg_job_set_has(control->set, process, i))
                continue;
            error = tg_standing_take(control, process, i, &is_stopped, &standing);
            n_moved += is_stopped;
            if (error == NULL && is_stopped)
                error = move_thread(control, &standing);
        }
    }
    if (move->json != NULL)
        tg_json_end_array(move->json);
    if (error == NULL && n_moved == 0)
        error = tg_standing_none(control);
    return error;
}

static const struct tg_console_option options[] = {
    {"COUNT", TG_OPTION_NUMBER, TG_OPTION_IN(struct move, count), .lowest = 1, .highest = MOST}, {0}};

static struct tg_error *run(struct tg_console *console, const struct tg_console_command *command, int argc,
                            Tcl_Obj *const *argv, FILE *out)
{
    struct move move = {.choices = tg_console_state(console, &tg_frame_choices_kind),
                        .count = 1,
                        .is_up = command == &tg_console_dup};
    struct tg_error *error = tg_console_take_options(command, argc, argv, &move, NULL);
    if (error != NULL)
        return error;
    move.json = tg_console_data_begin(&console->data);
    error = tg_focus_call_run(console, &tg_standing_defaults, move_all, &move, out);
    if (error != NULL)
        tg_console_data_drop(&console->data);
    return error;
}

static struct tg_error *run_dup(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return run(console, &tg_console_dup, argc, argv, out);
}

static struct tg_error *run_ddown(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    return run(console, &tg_console_ddown, argc, argv, out);
}

const struct tg_console_command tg_console_dup = {
    .name = "dup",
    .arguments = "?COUNT?",
    .summary = "goes to the frame of the caller, in the threads in focus",
    .example = "dup",
    .more = "dprint, dassign, dlist and dwhere then start from that frame, until the thread runs; ddown goes "
            "back.",
    .options = options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_dup,
};

const struct tg_console_command tg_console_ddown = {
    .name = "ddown",
    .arguments = "?COUNT?",
    .summary = "goes back from a caller's frame, towards the innermost",
    .example = "dup; ddown",
    .options = options,
    .needs = TG_CONSOLE_NEEDS_LIVE,
    .run = run_ddown,
};
