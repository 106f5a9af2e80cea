#include "live/commands/page/page_answers.h"

#include "live/console/json_answer.h"
#include "live/console/tcl_capture.h"

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
    tg_news_queue_destroy(answers->news);
    *answers = (struct tg_page_answers){0};
}

/* ---- commands */

static void keep_news(void *context, const struct tg_news *news)
{
    tg_news_queue_add(context, news);
}

/* Whoever looks at the console is told of a command that came from elsewhere. */
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

static struct tg_error *write_document(void *context, const char *name, const char *query, FILE *out)
{
    (void)context;
    (void)query;
    (void)out;
    return tg_error_create(TG_ERROR_NOT_FOUND, "there is no document '%s'", name);
}

struct tg_web_calls tg_page_answers_calls(struct tg_page_answers *answers)
{
    return (struct tg_web_calls){.context = answers, .run = run, .complete = offer, .write = write_document};
}

struct tg_web_documents tg_page_answers_documents(struct tg_page_answers *answers)
{
    (void)answers;
    return (struct tg_web_documents){0};
}
