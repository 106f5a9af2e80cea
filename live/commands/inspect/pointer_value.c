#include "live/commands/inspect/pointer_value.h"

#include "live/commands/focus/standing.h"
#include "live/commands/inspect/frame_choice.h"
#include "live/control/thread_scene.h"
#include "live/inspect/expression/expression.h"

struct question {
    const struct tg_frame_choices *choices;
    struct tg_expression *expression;
    uint64_t address;
};

static struct tg_error *evaluate(const struct tg_request *control)
{
    struct question *question = control->context;
    struct tg_standing standing;
    struct tg_thread_scene scene;
    struct tg_value value;
    struct tg_number number;
    struct tg_error *error = tg_standing_find(control, &standing);
    if (error != NULL)
        return error;
    struct tg_module_scene *objects = tg_engine_adapter_scene(control->engine, standing.thread->process);
    if (objects == NULL)
        return tg_error_no_memory();
    error = tg_thread_scene_at(standing.thread, standing.modules, objects,
                               tg_frame_choices_level(question->choices, standing.thread), &scene);
    if (error == NULL)
        error = tg_expression_evaluate(question->expression, scene.scene, &value, NULL);
    if (error == NULL)
        error = tg_value_number(scene.scene, &value, &number);
    if (error == NULL && number.is_real)
        error = tg_error_create(TG_ERROR_USAGE, "a floating-point number is not an address");
    if (error == NULL)
        question->address = number.low;
    return error;
}

struct tg_error *tg_pointer_value_read(struct tg_console *console, const char *text, uint64_t *address)
{
    struct question question = {.choices = tg_console_state(console, &tg_frame_choices_kind)};
    struct tg_error *error = tg_expression_parse(text, &question.expression, NULL);
    if (error == NULL)
        error = tg_focus_call_run(console, &tg_standing_defaults, evaluate, &question, NULL);
    tg_expression_destroy(question.expression);
    *address = question.address;
    return error;
}
