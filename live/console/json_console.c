#include "live/console/json_console.h"

#include "format/base/array.h"
#include "live/console/completion.h"
#include "live/console/eval.h"
#include "live/console/tcl_capture.h"
#include "live/source/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };

struct tg_json_console {
    struct tg_console *console;
    int in;                      /* descriptor that commands come from */
    FILE *out;                   /* the protocol's lines */
    struct tg_text_capture text; /* text that a console would have printed */
    FILE *printed;               /* writes there */
    struct tg_news_sink sink;
    json_t *id;      /* of the command that runs, NULL: it has none */
    bool has_failed; /* the command that runs; its result is told */
    /* A line as far as it has come. */
    char *line;
    size_t size, capacity;
    bool is_too_long; /* input up to the line's end is dropped */
    bool at_end;
};

/* ---- the protocol's lines */

static struct tg_json begin_line(struct tg_json_console *json, const char *type)
{
    struct tg_json line;
    tg_json_init(&line, json->out, false);
    tg_json_begin_object(&line);
    tg_json_member_string(&line, "type", type);
    return line;
}

static void end_line(struct tg_json_console *json, struct tg_json *line)
{
    tg_json_end_object(line);
    tg_json_end_line(line);
    fflush(json->out);
}

static void tell_news(void *context, const struct tg_news *news)
{
    struct tg_json_console *json = context;
    struct tg_json line = begin_line(json, "event");
    tg_news_json(news, &line);
    end_line(json, &line);
}

/* The id as it came. */
static void put_id(const struct tg_json_console *json, struct tg_json *line)
{
    tg_json_key(line, "id");
    if (json->id != NULL && json_is_string(json->id))
        tg_json_string(line, json_string_value(json->id));
    else if (json->id != NULL && json_is_integer(json->id))
        tg_json_signed(line, json_integer_value(json->id));
    else
        tg_json_null(line);
}

/* Position of the console after a command. */
static void put_moment(const struct tg_json_console *json, struct tg_json *line)
{
    const struct tg_source *source = json->console->source;
    char focus[TG_FOCUS_TEXT];
    tg_json_key(line, "at");
    tg_json_begin_object(line);
    tg_json_member_unsigned(line, "event", source->number);
    tg_json_member_unsigned(line, "since_start_ns",
                            source->time_ns > source->start_ns ? source->time_ns - source->start_ns : 0);
    tg_json_member_string(line, "focus", tg_console_focus_text(json->console, focus));
    tg_json_end_object(line);
}

static void put_text(struct tg_json_console *json, struct tg_json *line)
{
    fflush(json->printed);
    tg_json_member_string(line, "text", tg_text_capture_take(&json->text));
}

static void tell_failure(void *context, const struct tg_console_failure *failure)
{
    struct tg_json_console *json = context;
    struct tg_json line = begin_line(json, "result");
    put_id(json, &line);
    tg_json_member_bool(&line, "ok", false);
    put_text(json, &line);
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
    put_moment(json, &line);
    end_line(json, &line);
    json->has_failed = true;
}

/* DATA: the answer as JSON, NULL none. */
static void tell_result(struct tg_json_console *json, const char *data)
{
    struct tg_json line = begin_line(json, "result");
    put_id(json, &line);
    tg_json_member_bool(&line, "ok", true);
    put_text(json, &line);
    if (data != NULL) {
        tg_json_key(&line, "data");
        fputs(data, json->out);
        line.after_key = false;
    }
    put_moment(json, &line);
    end_line(json, &line);
}

static void tell_refusal(struct tg_json_console *json, const char *code, const char *message)
{
    tell_failure(json, &(struct tg_console_failure){.code = code, .message = message});
}

/* ---- life */

/* Takes descriptor FROM away from what else uses it, which has INSTEAD from now on. */
static struct tg_error *take(int from, int instead, int *taken)
{
    *taken = fcntl(from, F_DUPFD_CLOEXEC, 3);
    if (*taken < 0 || dup2(instead, from) < 0)
        return tg_error_create_errno(errno, "cannot take the standard input and output");
    return NULL;
}

/* Whether there is a file behind FD that takes text: see tg_standard_files_open. */
static bool can_write(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static struct tg_error *take_streams(struct tg_json_console *json)
{
    int out = -1, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return tg_error_create_errno(errno, "cannot open /dev/null");
    fflush(stdout);
    struct tg_error *error = take(STDIN_FILENO, null, &json->in);
    if (error == NULL)
        error = take(STDOUT_FILENO, can_write(STDERR_FILENO) ? STDERR_FILENO : null, &out);
    close(null);
    if (error == NULL && (json->out = fdopen(out, "w")) == NULL)
        error = errno == ENOMEM ? tg_error_no_memory()
                                : tg_error_create_errno(errno, "cannot write to standard output");
    if (error != NULL && out >= 0)
        close(out);
    return error;
}

struct tg_error *tg_json_console_create(struct tg_json_console **json)
{
    struct tg_json_console *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->in = -1;
    made->sink = (struct tg_news_sink){tell_news, made};
    made->printed = tg_text_capture_open(&made->text);
    struct tg_error *error = made->printed == NULL ? tg_error_no_memory() : take_streams(made);
    if (error != NULL) {
        tg_json_console_destroy(made);
        return error;
    }
    signal(SIGPIPE, SIG_IGN); /* a reader that went away ends the input as well, or is told of no more */
    *json = made;
    return NULL;
}

void tg_json_console_destroy(struct tg_json_console *json)
{
    if (json == NULL)
        return;
    if (json->console != NULL)
        tg_tcl_capture_end(json->console->interp);
    if (json->printed != NULL)
        fclose(json->printed);
    if (json->out != NULL)
        fclose(json->out);
    if (json->in >= 0)
        close(json->in);
    tg_text_capture_deinit(&json->text);
    free(json->line);
    free(json);
}

void tg_json_console_options(struct tg_json_console *json, struct tg_console_options *options)
{
    options->out = json->printed;
    options->errors = json->printed;
    options->news = &json->sink;
    options->failed = tell_failure;
    options->failed_context = json;
    options->wants_data = true;
    options->listener_fd = fileno(json->out);
}

struct tg_error *tg_json_console_begin(struct tg_json_console *json, struct tg_console *console,
                                       const char *mode, const char *name, const char *version)
{
    struct tg_json line = begin_line(json, "hello");
    tg_json_member_unsigned(&line, "protocol", TG_JSON_PROTOCOL);
    tg_json_member_string(&line, "program", "tollgate");
    tg_json_member_string(&line, "version", version);
    tg_json_member_string(&line, "mode", mode);
    tg_json_member_string(&line, "name", name);
    end_line(json, &line);
    json->console = console;
    return tg_tcl_capture_begin(console->interp, json->printed);
}

void tg_json_console_end(struct tg_json_console *json, int status)
{
    struct tg_json line = begin_line(json, "bye");
    tg_json_member_signed(&line, "status", status);
    end_line(json, &line);
}

/* ---- running */

bool tg_json_console_eval(struct tg_json_console *json, const char *from, const char *script)
{
    const struct tg_console_place place = {.name = from, .line = 1};
    json->has_failed = false;
    bool well = tg_console_eval(json->console, script, TG_PRINT_ALL, &place);
    if (well)
        tg_console_settle(json->console);
    char *data = tg_console_take_data(json->console);
    if (!well && !json->has_failed)
        tell_refusal(json, "LIMIT", "the script is too long");
    else if (well)
        tell_result(json, data);
    free(data);
    return well;
}

static struct tg_error *read_script(const char *path, char **script)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return tg_error_create_errno(errno, "cannot open %s", path);
    char *text = malloc(TG_JSON_MAX_SCRIPT + 1);
    size_t size = text == NULL ? 0 : fread(text, 1, TG_JSON_MAX_SCRIPT + 1, file);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    struct tg_error *error = NULL;
    if (text == NULL)
        error = tg_error_no_memory();
    else if (failed != 0)
        error = tg_error_create_errno(failed, "cannot read %s", path);
    else if (size > TG_JSON_MAX_SCRIPT)
        error = tg_error_create(TG_ERROR_LIMIT, "%s is longer than %d bytes", path, TG_JSON_MAX_SCRIPT);
    else if (memchr(text, '\0', size) != NULL)
        error = tg_error_create(TG_ERROR_INPUT, "%s contains a NUL byte and is not a script", path);
    if (error != NULL) {
        free(text);
        return error;
    }
    text[size] = '\0';
    *script = text;
    return NULL;
}

bool tg_json_console_file(struct tg_json_console *json, const char *path)
{
    char *script = NULL;
    struct tg_error *error = read_script(path, &script);
    if (error != NULL) {
        tell_refusal(json, tg_error_code_name(tg_error_code(error)), tg_error_message(error));
        tg_error_destroy(error);
        return false;
    }
    bool well = tg_json_console_eval(json, path, script);
    free(script);
    return well;
}

/* ---- commands that come */

static void offer(void *context, const char *word)
{
    tg_json_string(context, word);
}

/* {"complete": LINE}: how the word at its end can go on. */
static void complete(struct tg_json_console *json, const char *text)
{
    char *answer = NULL, *words = NULL;
    size_t size, words_size, start = 0;
    struct tg_json inner, outer;
    FILE *stream = open_memstream(&words, &words_size), *whole = open_memstream(&answer, &size);
    if (stream == NULL || whole == NULL) {
        tell_refusal(json, "NO_MEMORY", "out of memory");
    } else {
        tg_json_init(&inner, stream, false);
        tg_json_begin_array(&inner);
        tg_console_complete(json->console, text, strlen(text), &start, offer, &inner);
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
        tell_result(json, answer);
    }
    if (stream != NULL)
        fclose(stream);
    if (whole != NULL)
        fclose(whole);
    free(words);
    free(answer);
}

/* A line that begins with '{'. */
static bool run_object(struct tg_json_console *json, const char *line, size_t size)
{
    json_error_t problem;
    char message[256];
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, &problem);
    if (object == NULL) {
        snprintf(message, sizeof message, "not a JSON object: %s at byte %d", problem.text, problem.position);
        tell_refusal(json, "INPUT", message);
        return false;
    }
    const json_t *command = json_object_get(object, "command"), *word = json_object_get(object, "complete");
    bool well = false;
    json->id = json_object_get(object, "id");
    if (json->id != NULL && !json_is_string(json->id) && !json_is_integer(json->id) &&
        !json_is_null(json->id))
        tell_refusal(json, "INPUT", "\"id\" must be a string, an integer or null");
    else if (json_is_string(command) && word == NULL)
        well = tg_json_console_eval(json, NULL, json_string_value(command));
    else if (json_is_string(word) && command == NULL)
        complete(json, json_string_value(word));
    else
        tell_refusal(json, "INPUT", "an object needs a \"command\" or a line to \"complete\", a string");
    well |= json_is_string(word) && command == NULL;
    json->id = NULL;
    json_decref(object);
    return well;
}

/* Runs one line, without its end. */
static bool run_line(struct tg_json_console *json, char *line, size_t size)
{
    if (size > 0 && line[size - 1] == '\r')
        size--;
    line[size] = '\0';
    size_t start = strspn(line, " \t");
    if (start == size)
        return true;
    if (strlen(line) < size) {
        tell_refusal(json, "INPUT", "a command must not contain a NUL byte");
        return false;
    }
    return line[start] == '{' ? run_object(json, line + start, size - start)
                              : tg_json_console_eval(json, NULL, line);
}

/* Runs the whole lines that have come; the last one need not end where the input does. */
static bool run_lines(struct tg_json_console *json)
{
    bool all_well = true;
    size_t done = 0;
    int status;
    while (done < json->size && !tg_console_has_quit(json->console, &status)) {
        char *line = json->line + done, *end = memchr(line, '\n', json->size - done);
        if (end == NULL && !json->at_end)
            break;
        size_t size = end == NULL ? json->size - done : (size_t)(end - line);
        if (json->is_too_long)
            json->is_too_long = false; /* the line ends here */
        else
            all_well &= run_line(json, line, size);
        tg_interrupt_clear(); /* the interrupt was for that command */
        done += size + (end != NULL);
    }
    if (done > 0)
        memmove(json->line, json->line + done, json->size - done);
    json->size -= done;
    if (json->size > TG_JSON_MAX_LINE && !json->is_too_long) {
        tell_refusal(json, "LIMIT", "a command is longer than 1 MiB");
        json->is_too_long = true;
        all_well = false;
    }
    if (json->is_too_long)
        json->size = 0;
    return all_well;
}

static bool read_more(struct tg_json_console *json)
{
    if (TG_ARRAY_RESERVE(json->line, json->capacity, json->size + BLOCK + 1) != NULL)
        return false;
    ssize_t got = read(json->in, json->line + json->size, BLOCK);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    json->at_end = got <= 0;
    json->size += got > 0 ? (size_t)got : 0;
    return true;
}

/* The interrupt key is for the command that runs, or has been sent: where there is none it does nothing. */
static bool wait_and_read(struct tg_json_console *json)
{
    struct pollfd inputs[] = {{.fd = json->in, .events = POLLIN}, {.events = POLLIN}};
    inputs[1].fd = tg_console_wake_fd(json->console); /* -1 is passed over */
    bool was_pressed = tg_interrupt_pending();
    int ready = poll(inputs, 2, was_pressed ? 0 : -1);
    if (ready < 0 && errno != EINTR)
        return false;
    if (was_pressed && (ready == 0 || (ready > 0 && inputs[0].revents == 0)))
        tg_interrupt_clear();
    if (ready > 0 && inputs[1].revents != 0)
        tg_console_attend(json->console);
    return ready <= 0 || inputs[0].revents == 0 || read_more(json);
}

bool tg_json_console_read(struct tg_json_console *json)
{
    bool all_well = true;
    int status;
    tg_interrupt_catch();
    while (!json->at_end && !tg_console_has_quit(json->console, &status)) {
        if (!wait_and_read(json)) {
            tell_refusal(json, "OS", "cannot read commands");
            all_well = false;
            break;
        }
        all_well &= run_lines(json);
    }
    tg_interrupt_release();
    return all_well;
}
