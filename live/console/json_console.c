#include "live/console/json_console.h"

#include "format/base/array.h"
#include "live/console/flush.h"
#include "live/console/json_answer.h"
#include "live/console/tcl_capture.h"
#include "live/source/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };

struct tg_json_console {
    struct tg_console *console;
    int in; /* descriptor that commands come from */
    struct tg_json_answer answer;
    struct tg_news_sink sink;
    /* A line as far as it has come. */
    char *line;
    size_t size, capacity;
    bool is_too_long; /* input up to the line's end is dropped */
    bool at_end;
};

static void tell_news(void *context, const struct tg_news *news)
{
    struct tg_json_console *json = context;
    struct tg_json line = tg_json_answer_begin_line(&json->answer, "event");
    tg_news_json(news, &line);
    tg_json_answer_end_line(&json->answer, &line);
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
    if (!can_write(STDOUT_FILENO))
        return tg_flush_error(EBADF);
    int out = -1, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return tg_error_create_errno(errno, "cannot open /dev/null");
    fflush(stdout);
    struct tg_error *error = take(STDIN_FILENO, null, &json->in);
    if (error == NULL)
        error = take(STDOUT_FILENO, can_write(STDERR_FILENO) ? STDERR_FILENO : null, &out);
    close(null);
    if (error == NULL && (json->answer.out = fdopen(out, "w")) == NULL)
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
    struct tg_error *error = tg_json_answer_init(&made->answer);
    if (error == NULL)
        error = take_streams(made);
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
    if (json->answer.out != NULL)
        fclose(json->answer.out);
    if (json->in >= 0)
        close(json->in);
    tg_json_answer_deinit(&json->answer);
    free(json->line);
    free(json);
}

void tg_json_console_options(struct tg_json_console *json, struct tg_console_options *options)
{
    tg_json_answer_options(&json->answer, options);
    options->news = &json->sink;
    options->wants_data = true;
    options->listener_fd = fileno(json->answer.out);
}

struct tg_error *tg_json_console_begin(struct tg_json_console *json, struct tg_console *console,
                                       const char *mode, const char *name, const char *version)
{
    struct tg_json line = tg_json_answer_begin_line(&json->answer, "hello");
    tg_json_member_unsigned(&line, "protocol", TG_JSON_PROTOCOL);
    tg_json_member_string(&line, "program", "tollgate");
    tg_json_member_string(&line, "version", version);
    tg_json_member_string(&line, "mode", mode);
    tg_json_member_string(&line, "name", name);
    tg_json_answer_end_line(&json->answer, &line);
    json->console = json->answer.console = console;
    return tg_tcl_capture_begin(console->interp, json->answer.printed);
}

struct tg_error *tg_json_console_end(struct tg_json_console *json, int status)
{
    struct tg_json line = tg_json_answer_begin_line(&json->answer, "bye");
    tg_json_member_signed(&line, "status", status);
    tg_json_answer_end_line(&json->answer, &line);
    return tg_flush_error(json->answer.write_failed);
}

/* ---- running */

bool tg_json_console_eval(struct tg_json_console *json, const char *from, const char *script)
{
    return tg_json_answer_eval(&json->answer, from, script);
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
        tg_json_answer_refuse(&json->answer, tg_error_code_name(tg_error_code(error)),
                              tg_error_message(error));
        tg_error_destroy(error);
        return false;
    }
    bool well = tg_json_console_eval(json, path, script);
    free(script);
    return well;
}

/* ---- commands that come */

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
            all_well &= tg_json_answer_line(&json->answer, line, size);
        tg_interrupt_clear(); /* the interrupt was for that command */
        done += size + (end != NULL);
    }
    if (done > 0)
        memmove(json->line, json->line + done, json->size - done);
    json->size -= done;
    if (json->size > TG_JSON_MAX_LINE && !json->is_too_long) {
        tg_json_answer_refuse(&json->answer, "LIMIT", "a command is longer than 1 MiB");
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
    struct pollfd inputs[4] = {{.fd = json->in, .events = POLLIN}, {.events = POLLIN}};
    inputs[1].fd = tg_console_wake_fd(json->console); /* -1 is passed over */
    bool was_pressed = tg_interrupt_pending();
    nfds_t count = 2 + tg_console_visit_fds(json->console, inputs + 2);
    int ready = poll(inputs, count, was_pressed ? 0 : -1);
    if (ready < 0 && errno != EINTR)
        return false;
    if (was_pressed && (ready == 0 || (ready > 0 && inputs[0].revents == 0)))
        tg_interrupt_clear();
    if (ready > 0 && inputs[1].revents != 0)
        tg_console_attend(json->console);
    if (ready > 0 && tg_console_visit(json->console, inputs + 2))
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
            tg_json_answer_refuse(&json->answer, "OS", "cannot read commands");
            all_well = false;
            break;
        }
        all_well &= run_lines(json);
    }
    tg_interrupt_release();
    return all_well;
}
