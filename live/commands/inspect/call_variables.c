#include "live/commands/inspect/call_variables.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VARIABLES = 500 };

/* On one line, and not too long: there are many calls. */
static const struct tg_value_style style = {.max_elements = 16, .max_depth = 2, .min_repeats = 10};

struct reading {
    const struct tg_scene *scene;
    const struct tg_call_wish *wish;
    struct tg_call_variables *variables;
    struct tg_error *error;
};

static bool is_argument(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_formal_parameter;
}

static struct tg_error *print_value(const struct tg_scene *scene, const struct tg_scene_object *object,
                                    Dwarf_Die *die, FILE *out)
{
    struct tg_value value;
    struct tg_error *error = tg_value_of_variable(scene, object, die, &value);
    if (error == NULL)
        return tg_value_print(scene, &value, &style, out);
    fprintf(out, "<error: %s>", tg_error_message(error));
    tg_error_destroy(error);
    return NULL;
}

static bool take(void *context, const struct tg_scene_object *object, Dwarf_Die *die)
{
    struct reading *reading = context;
    struct tg_call_variables *variables = reading->variables;
    const char *name = dwarf_diename(die);
    bool is_wanted = is_argument(die) ? reading->wish->arguments : reading->wish->locals;
    char *text = NULL;
    size_t size;
    if (name == NULL || !is_wanted)
        return true;
    struct tg_call_variable *all = reallocarray(variables->all, variables->count + 1, sizeof *all);
    FILE *stream = all == NULL ? NULL : open_memstream(&text, &size);
    variables->all = all == NULL ? variables->all : all;
    if (stream == NULL) {
        reading->error = tg_error_no_memory();
        return false;
    }
    reading->error = print_value(reading->scene, object, die, stream);
    if (fclose(stream) != 0 && reading->error == NULL)
        reading->error = tg_error_no_memory();
    char *copy = reading->error == NULL ? strdup(name) : NULL; /* objects may go before it is shown */
    if (copy == NULL) {
        free(text);
        if (reading->error == NULL)
            reading->error = tg_error_no_memory();
        return false;
    }
    all[variables->count++] =
        (struct tg_call_variable){.name = copy, .value = text, .is_argument = is_argument(die)};
    return variables->count < MAX_VARIABLES;
}

struct tg_error *tg_call_variables_read(const struct tg_scene *scene, const struct tg_call_wish *wish,
                                        struct tg_call_variables *variables)
{
    const struct tg_scene_object *object;
    Dwarf_Die scopes[TG_SCENE_MAX_SCOPES];
    *variables = (struct tg_call_variables){0};
    struct reading reading = {.scene = scene, .wish = wish, .variables = variables};
    if (!wish->arguments && !wish->locals)
        return NULL;
    variables->are_known = tg_scene_scopes(scene, scene->frame, &object, scopes) > 0;
    tg_lookup_each_local(scene, take, &reading);
    if (reading.error != NULL)
        tg_call_variables_deinit(variables);
    return reading.error;
}

void tg_call_variables_deinit(struct tg_call_variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        free((char *)variables->all[i].name);
        free((char *)variables->all[i].value);
    }
    free(variables->all);
    *variables = (struct tg_call_variables){0};
}

/* ---- JSON */

struct writing {
    const struct tg_scene *scene;
    struct tg_json *json;
    bool arguments;
    unsigned n;
};

static bool write_variable(void *context, const struct tg_scene_object *object, Dwarf_Die *die)
{
    struct writing *writing = context;
    const char *name = dwarf_diename(die);
    struct tg_value value;
    if (name == NULL || is_argument(die) != writing->arguments)
        return true;
    tg_json_begin_object(writing->json);
    tg_json_member_string(writing->json, "name", name);
    struct tg_error *error = tg_value_of_variable(writing->scene, object, die, &value);
    if (error == NULL) {
        tg_json_key(writing->json, "value");
        tg_value_write_json(writing->scene, &value, &style, writing->json);
    } else {
        tg_json_member_string(writing->json, "error", tg_error_message(error));
        tg_error_destroy(error);
    }
    tg_json_end_object(writing->json);
    return ++writing->n < MAX_VARIABLES;
}

static void write_list(const struct tg_scene *scene, bool arguments, struct tg_json *json)
{
    struct writing writing = {.scene = scene, .json = json, .arguments = arguments};
    tg_json_key(json, arguments ? "arguments" : "locals");
    tg_json_begin_array(json);
    tg_lookup_each_local(scene, write_variable, &writing);
    tg_json_end_array(json);
}

void tg_call_variables_write_json(const struct tg_scene *scene, const struct tg_call_wish *wish,
                                  struct tg_json *json)
{
    if (wish->arguments)
        write_list(scene, true, json);
    if (wish->locals)
        write_list(scene, false, json);
}
