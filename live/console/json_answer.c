#include "live/console/json_answer.h"

#include "live/console/completion.h"
#include "live/console/eval.h"
#include "live/console/flush.h"

#include <stdlib.h>
#include <string.h>

/* ---- lines */

struct tg_json tg_json_answer_begin_line(struct tg_json_answer *answer, const char *type)
{
    struct tg_json line;
    tg_json_init(&line, answer->out, false);
    tg_json_begin_object(&line);
    tg_json_member_string(&line, "type", type);
    return line;
}

void tg_json_answer_end_line(struct tg_json_answer *answer, struct tg_json *line)
{
    tg_json_end_object(line);
    tg_json_end_line(line);
    tg_flush(answer->out, &answer->write_failed);
}

/* The id as it came. */
static void put_id(const struct tg_json_answer *answer, struct tg_json *line)
{
    tg_json_key(line, "id");
    if (answer->id != NULL && json_is_string(answer->id))
        tg_json_string(line, json_string_value(answer->id));
    else if (answer->id != NULL && json_is_integer(answer->id))
        tg_json_signed(line, json_integer_value(answer->id));
    else
        tg_json_null(line);
}

/* Position of the console after a command. */
static void put_moment(const struct tg_json_answer *answer, struct tg_json *line)
{
    const struct tg_source *source = answer->console->source;
    char focus[TG_FOCUS_TEXT];
    tg_json_key(line, "at");
    tg_json_begin_object(line);
    tg_json_member_unsigned(line, "event", source->number);
    tg_json_member_unsigned(line, "since_start_ns",
                            source->time_ns > source->start_ns ? source->time_ns - source->start_ns : 0);
    tg_json_member_string(line, "focus", tg_console_focus_text(answer->console, focus));
    tg_json_end_object(line);
}

static void put_text(struct tg_json_answer *answer, struct tg_json *line)
{
    fflush(answer->printed);
    tg_json_member_string(line, "text", tg_text_capture_take(&answer->text));
}

static void tell_failure(void *context, const struct tg_console_failure *failure)
{
    struct tg_json_answer *answer = context;
    struct tg_json line = tg_json_answer_begin_line(answer, "result");
    put_id(answer, &line);
    tg_json_member_bool(&line, "ok", false);
    put_text(answer, &line);
    tg_json_key(&line, "error");
    tg_json_begin_object(&line);
    tg_json_member_string(&line, "code", failure->code);
    tg_json_member_string(&line, "message", failure->message);
    if (failure->file != NULL)
        tg_json_member_string(&line, "file", failure->file);
    if (failure->line != 0)
        tg_json_member_unsigned(&line, "line", failure->line);
    if (failure->text != NULL) {
        tg_json_member_string(&line, "in", failure->text);
        tg_json_member_unsigned(&line, "offset", failure->text_offset);
    }
    tg_json_end_object(&line);
    put_moment(answer, &line);
    tg_json_answer_end_line(answer, &line);
    answer->has_failed = true;
}

/* DATA: the answer as JSON, NULL none. */
static void tell_result(struct tg_json_answer *answer, const char *data)
{
    struct tg_json line = tg_json_answer_begin_line(answer, "result");
    put_id(answer, &line);
    tg_json_member_bool(&line, "ok", true);
    put_text(answer, &line);
    if (data != NULL) {
        tg_json_key(&line, "data");
        fputs(data, answer->out);
        line.after_key = false;
    }
    put_moment(answer, &line);
    tg_json_answer_end_line(answer, &line);
}

void tg_json_answer_refuse(struct tg_json_answer *answer, const char *code, const char *message)
{
    tell_failure(answer, &(struct tg_console_failure){.code = code, .message = message});
}

/* ---- life */

struct tg_error *tg_json_answer_init(struct tg_json_answer *answer)
{
    *answer = (struct tg_json_answer){0};
    answer->printed = tg_text_capture_open(&answer->text);
    return answer->printed == NULL ? tg_error_no_memory() : NULL;
}

void tg_json_answer_deinit(struct tg_json_answer *answer)
{
    if (answer->printed != NULL)
        fclose(answer->printed);
    tg_text_capture_deinit(&answer->text);
    *answer = (struct tg_json_answer){0};
}

void tg_json_answer_options(struct tg_json_answer *answer, struct tg_console_options *options)
{
    options->out = answer->printed;
    options->errors = answer->printed;
    options->failed = tell_failure;
    options->failed_context = answer;
}

/* ---- running */

bool tg_json_answer_eval(struct tg_json_answer *answer, const char *from, const char *script)
{
    const struct tg_console_place place = {.name = from, .line = 1};
    answer->has_failed = false;
    bool well = tg_console_eval(answer->console, script, TG_PRINT_ALL, &place);
    if (well)
        tg_console_settle(answer->console);
    char *data = tg_console_take_data(answer->console);
    if (!well && !answer->has_failed)
        tg_json_answer_refuse(answer, "LIMIT", "the script is too long");
    else if (well)
        tell_result(answer, data);
    free(data);
    return well;
}

/* ---- commands that come */

static void offer(void *context, const char *word)
{
    tg_json_string(context, word);
}

/* {"complete": LINE}: how the word at its end can go on. */
void tg_json_answer_complete(struct tg_json_answer *answer, const char *text)
{
    char *data = NULL, *words = NULL;
    size_t size, words_size, start = 0;
    struct tg_json inner, outer;
    FILE *stream = open_memstream(&words, &words_size), *whole = open_memstream(&data, &size);
    if (stream == NULL || whole == NULL) {
        tg_json_answer_refuse(answer, "NO_MEMORY", "out of memory");
    } else {
        tg_json_init(&inner, stream, false);
        tg_json_begin_array(&inner);
        tg_console_complete(answer->console, text, strlen(text), &start, offer, &inner);
        tg_json_end_array(&inner);
        fflush(stream);
        tg_json_init(&outer, whole, false);
        tg_json_begin_object(&outer);
        tg_json_member_unsigned(&outer, "start", start);
        tg_json_key(&outer, "words");
        fputs(words, whole);
        outer.after_key = false;
        tg_json_end_object(&outer);
        fflush(whole);
        tell_result(answer, data);
    }
    if (stream != NULL)
        fclose(stream);
    if (whole != NULL)
        fclose(whole);
    free(words);
    free(data);
}

/* A line that begins with '{'. */
static bool run_object(struct tg_json_answer *answer, const char *line, size_t size)
{
    json_error_t problem;
    char message[256];
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, &problem);
    if (object == NULL) {
        snprintf(message, sizeof message, "not a JSON object: %s at byte %d", problem.text, problem.position);
        tg_json_answer_refuse(answer, "INPUT", message);
        return false;
    }
    const json_t *command = json_object_get(object, "command"), *word = json_object_get(object, "complete");
    bool well = false;
    answer->id = json_object_get(object, "id");
    if (answer->id != NULL && !json_is_string(answer->id) && !json_is_integer(answer->id) &&
        !json_is_null(answer->id))
        tg_json_answer_refuse(answer, "INPUT", "\"id\" must be a string, an integer or null");
    else if (json_is_string(command) && word == NULL)
        well = tg_json_answer_eval(answer, NULL, json_string_value(command));
    else if (json_is_string(word) && command == NULL)
        tg_json_answer_complete(answer, json_string_value(word));
    else
        tg_json_answer_refuse(answer, "INPUT",
                              "an object needs a \"command\" or a line to \"complete\", a string");
    well |= json_is_string(word) && command == NULL;
    answer->id = NULL;
    json_decref(object);
    return well;
}

/* Runs one line, without its end. */
bool tg_json_answer_line(struct tg_json_answer *answer, char *line, size_t size)
{
    if (size > 0 && line[size - 1] == '\r')
        size--;
    line[size] = '\0';
    size_t start = strspn(line, " \t");
    if (start == size)
        return true;
    if (strlen(line) < size) {
        tg_json_answer_refuse(answer, "INPUT", "a command must not contain a NUL byte");
        return false;
    }
    return line[start] == '{' ? run_object(answer, line + start, size - start)
                              : tg_json_answer_eval(answer, NULL, line);
}
