#include "live/commands/page/page_answers.h"

#include "analyzer/page/answer.h"
#include "live/commands/info/place.h"
#include "live/commands/page/board.h"
#include "live/commands/page/threads.h"
#include "live/console/json_answer.h"
#include "live/console/tcl_capture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 120 };

struct tg_error *tg_page_answers_init(struct tg_page_answers *answers, struct tg_console *console)
{
    *answers = (struct tg_page_answers){.console = console};
    return tg_news_queue_create(&answers->news);
}

void tg_page_answers_deinit(struct tg_page_answers *answers)
{
    tg_page_answers_end(answers);
    tg_news_queue_destroy(answers->news);
    *answers = (struct tg_page_answers){0};
}

/* ---- commands */

static void keep_news(void *context, const struct tg_news *news)
{
    tg_news_queue_add(context, news);
}

/* Shows a command that the page sent to people at the console. */
static void tell_command(struct tg_page_answers *answers, const char *line)
{
    char text[SHOWN + 16];
    size_t size = strcspn(line, "\n");
    bool is_whole = line[size] == '\0' && size <= SHOWN;
    snprintf(text, sizeof text, "page: %.*s%s", (int)(size < SHOWN ? size : SHOWN), line,
             is_whole ? "" : " ...");
    tg_news_queue_add(answers->news, &(struct tg_news){.kind = TG_NEWS_NOTE, .text = text});
}

static void evaluate(struct tg_json_answer *answer, const char *line)
{
    Tcl_Channel former = NULL;
    struct tg_error *error = tg_tcl_capture_swap(answer->console->interp, answer->printed, &former);
    if (error == NULL)
        (void)tg_json_answer_eval(answer, NULL, line);
    else
        tg_json_answer_refuse(answer, tg_error_code_name(tg_error_code(error)), tg_error_message(error));
    tg_error_destroy(error);
    tg_tcl_capture_restore(answer->console->interp, former);
}

static void complete(struct tg_json_answer *answer, const char *line)
{
    tg_json_answer_complete(answer, line);
}

/* The `result` that WORK has for LINE: the console speaks to the page meanwhile. NULL: no memory. */
static char *answer_with(struct tg_page_answers *answers, const char *line,
                         void (*work)(struct tg_json_answer *answer, const char *line))
{
    struct tg_console *console = answers->console;
    const struct tg_console_options options = console->options;
    const struct tg_news_sink sink = {keep_news, answers->news};
    bool wanted = console->data.wanted;
    struct tg_json_answer answer;
    char *text = NULL;
    size_t size;
    struct tg_error *error = tg_json_answer_init(&answer);
    if (error == NULL && (answer.out = open_memstream(&text, &size)) == NULL)
        error = tg_error_no_memory();
    if (error == NULL) {
        answer.console = console;
        tg_json_answer_options(&answer, &console->options);
        console->data.wanted = true;
        if (options.news == NULL)
            console->options.news = &sink;
        work(&answer, line);
        console->options = options;
        console->data.wanted = wanted;
        fclose(answer.out);
    }
    tg_json_answer_deinit(&answer);
    tg_error_destroy(error);
    return text;
}

static char *run(void *context, const char *line)
{
    tell_command(context, line);
    return answer_with(context, line, evaluate);
}

static char *offer(void *context, const char *line)
{
    return answer_with(context, line, complete);
}

/* ---- documents */

/* "NAME?QUERY" or NAME alone is WANTED. */
static bool is_named(const char *name, const char *wanted)
{
    size_t size = strlen(wanted);
    return strncmp(name, wanted, size) == 0 && (name[size] == '\0' || name[size] == '?');
}

/* Documents of the moment, and the time of a live job. */
static struct tg_error *write_of_moment(void *context, const char *name, const char *query, FILE *out)
{
    struct tg_page_answers *answers = context;
    struct tg_console *console = answers->console;
    const struct tg_source *source = console->source;
    bool is_live = console->options.live != NULL;
    if (is_named(name, "board"))
        return tg_page_board_write(console, out);
    if (is_named(name, "threads"))
        return tg_page_threads_write(console, query, out);
    const struct tg_page page = {
        .words = tg_console_words(console),
        .name = source->name,
        .path = answers->path,
        .moment_ns = source->time_ns,
        .end_ns = is_live || source->n_events == source->number ? source->time_ns : 0,
        .n_events = is_live ? 0 : source->number,
        .is_live = is_live,
        .is_over =
            !is_live && !source->is_recording && source->n_events != 0 && source->number == source->n_events,
        .timeline = answers->timeline,
        .services = console->options.services,
    };
    return tg_page_write(&page, name, query, out);
}

/* Documents of the trace. The page's thread. */
static struct tg_error *write_of_trace(void *context, const char *name, const char *query, FILE *out)
{
    struct tg_page_answers *answers = context;
    const struct tg_console *console = answers->console;
    struct tg_page page = {.name = console->source->name,
                           .path = answers->path,
                           .is_live = console->options.live != NULL,
                           .services = console->options.services};
    if (answers->pass != NULL) {
        tg_timeline_pass_fill(answers->pass, &page);
        page.n_events = atomic_load(&answers->number);
        page.moment_ns = atomic_load(&answers->time_ns);
    }
    return tg_page_write(&page, name, query, out);
}

static bool is_of_trace(void *context, const char *text)
{
    const struct tg_page_answers *answers = context;
    char name[32];
    size_t size = strcspn(text, "?");
    if (size >= sizeof name)
        return false;
    memcpy(name, text, size);
    name[size] = '\0';
    return tg_page_is_of_trace(name) && (answers->pass != NULL || strcmp(name, "strip") != 0);
}

static bool work_on_pass(void *context)
{
    enum { EVENTS_AT_ONCE = 200000 };
    struct tg_page_answers *answers = context;
    bool more = false;
    tg_error_destroy(
        tg_timeline_pass_work(answers->pass, EVENTS_AT_ONCE, &more)); /* without memory it ends there */
    return more;
}

struct tg_web_calls tg_page_answers_calls(struct tg_page_answers *answers)
{
    return (struct tg_web_calls){.context = answers, .run = run, .complete = offer, .write = write_of_moment};
}

struct tg_web_documents tg_page_answers_documents(struct tg_page_answers *answers)
{
    return (struct tg_web_documents){.context = answers,
                                     .has = is_of_trace,
                                     .write = write_of_trace,
                                     .work = answers->pass == NULL ? NULL : work_on_pass};
}

/* ---- time */

struct tg_error *tg_page_answers_begin(struct tg_page_answers *answers)
{
    const struct tg_source *source = answers->console->source;
    const struct tg_timeline_options options = {.start_ns = source->start_ns};
    answers->path = source->trace_path == NULL ? NULL : tg_source_trace_file(source);
    struct tg_error *error = NULL;
    if (answers->console->options.live != NULL)
        error = tg_timeline_create(&options, &answers->timeline);
    else if (answers->path != NULL)
        error = tg_timeline_pass_create(answers->path, &answers->pass);
    if (error != NULL)
        tg_page_answers_end(answers);
    return error;
}

void tg_page_answers_end(struct tg_page_answers *answers)
{
    tg_timeline_destroy(answers->timeline);
    tg_timeline_pass_destroy(answers->pass);
    free(answers->path);
    answers->timeline = NULL;
    answers->pass = NULL;
    answers->path = NULL;
}

void tg_page_answers_move(struct tg_page_answers *answers)
{
    atomic_store(&answers->number, answers->console->source->number);
    atomic_store(&answers->time_ns, answers->console->source->time_ns);
}

void tg_page_answers_take(struct tg_page_answers *answers, const struct tg_event *event, size_t process)
{
    struct tg_error *error =
        answers->timeline == NULL ? NULL : tg_timeline_feed(answers->timeline, event, process);
    if (error == NULL)
        return;
    tg_error_destroy(error);
    tg_timeline_destroy(answers->timeline); /* no memory: there is no strip any more */
    answers->timeline = NULL;
}
