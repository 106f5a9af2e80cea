#include "live/commands/page/page_answers.h"

#include "analyzer/page/answer.h"
#include "analyzer/page/culprits.h"
#include "analyzer/page/query.h"
#include "live/commands/info/place.h"
#include "live/commands/page/board.h"
#include "live/commands/page/source_view.h"
#include "live/commands/page/stopped.h"
#include "live/commands/page/threads.h"
#include "live/console/json_answer.h"
#include "live/console/tcl_capture.h"
#include "live/inspect/dwarf/source_lines.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN = 120, NAME_SIZE = 32 };

struct tg_error *tg_page_answers_init(struct tg_page_answers *answers, struct tg_console *console)
{
    *answers = (struct tg_page_answers){.console = console};
    pthread_mutex_init(&answers->blame.lock, NULL);
    return tg_news_queue_create(&answers->news);
}

void tg_page_answers_deinit(struct tg_page_answers *answers)
{
    tg_page_answers_end(answers);
    tg_source_lines_destroy(answers->sources);
    tg_news_queue_destroy(answers->news);
    pthread_mutex_destroy(&answers->blame.lock);
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

/* The name of the document that NAME_AND_QUERY asks for; false where it is too long to be any. */
static bool take_name(const char *name_and_query, char name[NAME_SIZE])
{
    size_t size = strcspn(name_and_query, "?");
    if (size >= NAME_SIZE)
        return false;
    memcpy(name, name_and_query, size);
    name[size] = '\0';
    return true;
}

/* The moment that QUERY asks for in place of the session's, in ns after the start; UINT64_MAX: none. */
static uint64_t moment_asked(const char *query)
{
    return tg_query_number(query, "at", UINT64_MAX);
}

static double monotonic_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Has the file of a live job's trace have its latest events, but not often; false: not now. */
static bool sync_now_and_then(struct tg_page_answers *answers)
{
    struct tg_source *source = answers->console->source;
    double now_s = monotonic_s();
    uint64_t now_ns = source->ops->now_ns == NULL ? 0 : source->ops->now_ns(source);
    if (source->ops->sync == NULL || answers->synced_number == source->number) {
        answers->synced_ns = now_ns;
        return true;
    }
    if (now_s < answers->synced_s + 1)
        return false;
    answers->synced_ns = now_ns;
    tg_error_destroy(source->ops->sync(source)); /* what is missing is missing */
    answers->synced_s = now_s;
    answers->synced_number = source->number;
    return true;
}

/* One that is made of the trace's file, by another thread. */
static struct tg_error *write_late(struct tg_page_answers *answers, const char *name, const char *query,
                                   int wait_ms, FILE *out)
{
    const struct tg_source *source = answers->console->source;
    if (answers->console->options.live !=
        NULL) { /* another run, or the end of the job: the file has another name */
        free(answers->path);
        answers->path = source->trace_path == NULL ? NULL : tg_source_trace_file(source);
    }
    if (answers->path == NULL) {
        fputs("{\"there\": false}", out);
        return NULL;
    }
    const struct tg_page_wanted wanted = {
        .name = name,
        .query = query == NULL ? "" : query,
        .path = answers->path,
        .start_ns = source->start_ns,
        .at_ns = moment_asked(query),
        .known_ns = answers->console->options.live == NULL ? 0 : answers->synced_ns,
        .moment_ns = atomic_load(&answers->time_ns),
        .n_events = answers->console->options.live != NULL ? 0 : atomic_load(&answers->number)};
    struct tg_error *error = tg_page_late_write(answers->late, &wanted, wait_ms, out);
    if (error == NULL || tg_error_code(error) != TG_ERROR_NOT_FOUND || answers->console->options.live == NULL)
        return error;
    tg_error_destroy(error); /* the trace's file is being renamed, or was removed */
    fputs("{\"there\": false}", out);
    return NULL;
}

static void keep_blame(struct tg_page_blame *blame, const struct tg_verdict *verdict)
{
    struct tg_page_culprit *culprits = NULL;
    size_t count = 0;
    tg_error_destroy(tg_page_culprits(verdict, &culprits, &count)); /* without memory nobody is red */
    pthread_mutex_lock(&blame->lock);
    free(blame->culprits);
    blame->culprits = culprits;
    blame->count = count;
    pthread_mutex_unlock(&blame->lock);
}

/* A copy of whom the verdict blames that QUERY's moment has, the caller's. */
static struct tg_page_culprit *copy_blame(struct tg_page_answers *answers, const char *query, size_t *count)
{
    struct tg_page_blame *blame = &answers->blame;
    uint64_t at_ns = moment_asked(query);
    if (at_ns != UINT64_MAX)
        return tg_page_late_culprits(answers->late, at_ns, count);
    pthread_mutex_lock(&blame->lock);
    struct tg_page_culprit *copy = malloc((blame->count + 1) * sizeof *copy);
    *count = copy == NULL ? 0 : blame->count;
    if (*count > 0)
        memcpy(copy, blame->culprits, *count * sizeof *copy);
    pthread_mutex_unlock(&blame->lock);
    return copy;
}

static struct tg_error *write_verdict(struct tg_page_answers *answers, struct tg_page *page,
                                      const char *query, FILE *out)
{
    struct tg_verdict verdict = {0};
    struct tg_error *error = tg_verdict_make(&page->words, &verdict);
    if (error == NULL) {
        keep_blame(&answers->blame, &verdict);
        page->verdict = &verdict;
        error = tg_page_write(page, "verdict", query, out);
    }
    tg_verdict_deinit(&verdict);
    return error;
}

/* The time line of a live job goes on where nothing happens. */
static void reach(struct tg_page_answers *answers, uint64_t now_ns)
{
    if (answers->pass != NULL)
        tg_timeline_pass_reach(answers->pass, now_ns);
    else if (answers->timeline != NULL)
        tg_timeline_reach(answers->timeline, now_ns);
}

/* The strip of a live job, which is fed on the console's thread; of a trace, on the page's. */
static struct tg_error *write_strip(struct tg_page_answers *answers, struct tg_page *page, const char *query,
                                    FILE *out)
{
    struct tg_page_culprit *culprits = copy_blame(answers, query, &page->n_culprits);
    page->culprits = culprits;
    if (answers->pass != NULL)
        tg_timeline_pass_fill(answers->pass, page);
    struct tg_error *error = tg_page_write(page, "strip", query, out);
    free(culprits);
    return error;
}

/* Documents that have stacks as they are now: of a live job's stopped threads. */
static struct tg_error *write_with_stopped(struct tg_page_answers *answers, struct tg_page *page,
                                           const char *name, const char *query, FILE *out)
{
    struct tg_page_stopped stopped = {0};
    struct tg_console *console = answers->console;
    struct tg_error *error = console->options.live == NULL ? NULL : tg_page_stopped_take(console, &stopped);
    page->stopped = stopped.stacks;
    page->n_stopped = stopped.count;
    page->stopped_is_cut = stopped.is_cut;
    if (error == NULL && strcmp(name, "source") == 0)
        error = tg_page_source_write(console, &answers->sources, stopped.stacks, stopped.count, query, out);
    else if (error == NULL && strcmp(name, "verdict") == 0)
        error = write_verdict(answers, page, query, out);
    else if (error == NULL)
        error = tg_page_write(page, name, query, out);
    tg_page_stopped_deinit(&stopped);
    return error;
}

/* Documents of the moment, and all of a live job. */
static struct tg_error *write_of_moment(void *context, const char *name, const char *query, FILE *out)
{
    struct tg_page_answers *answers = context;
    struct tg_console *console = answers->console;
    struct tg_source *source = console->source;
    bool is_live = console->options.live != NULL, is_strip = strcmp(name, "strip") == 0;
    uint64_t now_ns = source->ops->now_ns != NULL ? source->ops->now_ns(source) : tg_source_moment_ns(source);
    if (is_live && ((tg_page_is_of_trace(name) && !is_strip) || moment_asked(query) != UINT64_MAX)) {
        bool is_there = is_strip || sync_now_and_then(answers);
        if (!is_there)
            fputs("{\"pending\": true}", out);
        if (!is_strip)
            return is_there ? write_late(answers, name, query, 0, out) : NULL;
    }
    if (strcmp(name, "board") == 0)
        return tg_page_board_write(console, out);
    if (strcmp(name, "threads") == 0)
        return tg_page_threads_write(console, query, out);
    struct tg_page page = {
        .words = tg_console_words(console),
        .name = source->name,
        .moment_ns = now_ns,
        .end_ns = is_live ? source->time_ns : atomic_load(&answers->end_ns),
        .n_events = is_live ? 0 : source->number,
        .is_live = is_live,
        .is_untraced = source->is_untraced,
        .is_over =
            !is_live && !source->is_recording && source->n_events != 0 && source->number == source->n_events,
        .timeline = answers->timeline,
        .seen_from_ns = answers->seen_from_ns,
        .services = console->options.services,
    };
    if (is_live && is_strip)
        reach(answers, now_ns);
    if (is_strip)
        return write_strip(answers, &page, query, out);
    if (strcmp(name, "stacks") == 0 || strcmp(name, "source") == 0 || strcmp(name, "verdict") == 0)
        return write_with_stopped(answers, &page, name, query, out);
    return tg_page_write(&page, name, query, out);
}

/* Documents of the trace, and of moments that are not the session's. The page's thread, of a recorded job. */
static struct tg_error *write_of_trace(void *context, const char *name, const char *query, FILE *out)
{
    enum { WAIT_MS = 40 }; /* most are there by then, and nobody else waits long */
    struct tg_page_answers *answers = context;
    const struct tg_console *console = answers->console;
    if (strcmp(name, "strip") != 0)
        return write_late(answers, name, query, WAIT_MS, out);
    struct tg_page page = {.name = console->source->name, .services = console->options.services};
    page.n_events = atomic_load(&answers->number);
    page.moment_ns = atomic_load(&answers->time_ns);
    return write_strip(answers, &page, query, out);
}

static bool is_of_trace(void *context, const char *text)
{
    const struct tg_page_answers *answers = context;
    char name[NAME_SIZE];
    if (answers->console->options.live != NULL || answers->pass == NULL || !take_name(text, name))
        return false;
    if (strcmp(name, "threads") == 0 || strcmp(name, "source") == 0)
        return false; /* of the session alone */
    return tg_page_is_of_trace(name) ||
           (strchr(text, '?') != NULL && moment_asked(strchr(text, '?') + 1) != UINT64_MAX);
}

static bool work_on_pass(void *context)
{
    enum { EVENTS_AT_ONCE = 1000 };
    struct tg_page_answers *answers = context;
    struct tg_page page = {0};
    bool more = false;
    const double until_s =
        monotonic_s() + 0.03; /* an event of ten thousand ranks takes longer than one of four */
    do
        tg_error_destroy(
            tg_timeline_pass_work(answers->pass, EVENTS_AT_ONCE, &more)); /* without memory it ends there */
    while (more && monotonic_s() < until_s);
    tg_timeline_pass_fill(answers->pass, &page);
    atomic_store(&answers->end_ns, page.end_ns);
    return more;
}

struct tg_web_calls tg_page_answers_calls(struct tg_page_answers *answers)
{
    return (struct tg_web_calls){.context = answers, .run = run, .complete = offer, .write = write_of_moment};
}

struct tg_web_documents tg_page_answers_documents(struct tg_page_answers *answers)
{
    return (struct tg_web_documents){
        .context = answers,
        .has = is_of_trace,
        .write = write_of_trace,
        .work = answers->pass == NULL || answers->console->options.live != NULL ? NULL : work_on_pass};
}

/* ---- time */

/* The time line begins with the next event. */
static struct tg_error *begin_now(struct tg_page_answers *answers)
{
    const struct tg_source *source = answers->console->source;
    const struct tg_timeline_options options = {.start_ns = source->start_ns};
    tg_timeline_destroy(answers->timeline);
    tg_timeline_pass_destroy(answers->pass);
    answers->pass = NULL;
    answers->timeline = NULL;
    answers->start_ns = source->start_ns;
    answers->seen_from_ns = source->number > 1 ? source->time_ns : 0;
    if (answers->seen_from_ns == 0)
        return tg_timeline_pass_create_live(source->start_ns, &answers->pass);
    return tg_timeline_create(&options, &answers->timeline);
}

/* What a live job did before is read from its trace, unless that takes long: the console waits. */
static struct tg_error *read_past(struct tg_page_answers *answers)
{
    enum { MOST_EVENTS = 3000000 }; /* about a second */
    struct tg_source *source = answers->console->source;
    bool more = false, is_known = answers->path != NULL && source->number <= MOST_EVENTS;
    struct tg_error *error = is_known && source->ops->sync != NULL ? source->ops->sync(source) : NULL;
    if (error == NULL && is_known && source->number > 0)
        error = tg_timeline_pass_create(answers->path, &answers->pass);
    if (error == NULL && answers->pass != NULL) /* creating the pass has read one event */
        error = tg_timeline_pass_work(answers->pass, source->number - 1, &more);
    if (error == NULL && answers->pass != NULL) {
        tg_timeline_pass_go_live(answers->pass);
        answers->start_ns = source->start_ns;
        return NULL;
    }
    tg_error_destroy(error); /* the strip begins now then, and says so */
    return begin_now(answers);
}

struct tg_error *tg_page_answers_begin(struct tg_page_answers *answers, void (*ready)(void *context),
                                       void *context)
{
    const struct tg_source *source = answers->console->source;
    answers->path = source->trace_path == NULL ? NULL : tg_source_trace_file(source);
    tg_page_answers_move(answers);
    atomic_store(&answers->end_ns, source->time_ns);
    struct tg_error *error =
        tg_page_late_begin(answers->console->options.services, source->name, ready, context, &answers->late);
    if (error == NULL && answers->console->options.live != NULL)
        error = read_past(answers);
    else if (error == NULL && answers->path != NULL)
        error = tg_timeline_pass_create(answers->path, &answers->pass);
    if (error != NULL)
        tg_page_answers_end(answers);
    return error;
}

void tg_page_answers_end(struct tg_page_answers *answers)
{
    tg_page_late_end(answers->late);
    tg_timeline_destroy(answers->timeline);
    tg_timeline_pass_destroy(answers->pass);
    free(answers->path);
    free(answers->blame.culprits);
    answers->late = NULL;
    answers->timeline = NULL;
    answers->pass = NULL;
    answers->path = NULL;
    answers->seen_from_ns = 0;
    answers->blame.culprits = NULL;
    answers->blame.count = 0;
}

void tg_page_answers_move(struct tg_page_answers *answers)
{
    atomic_store(&answers->number, answers->console->source->number);
    atomic_store(&answers->time_ns, tg_source_moment_ns(answers->console->source));
}

void tg_page_answers_take(struct tg_page_answers *answers, const struct tg_event *event, size_t process)
{
    struct tg_error *error = NULL;
    if (answers->start_ns != answers->console->source->start_ns)
        error = begin_now(answers); /* the first event, or another run of the job */
    if (error == NULL && answers->pass != NULL)
        error = tg_timeline_pass_take(answers->pass, event);
    else if (error == NULL && answers->timeline != NULL)
        error = tg_timeline_feed(answers->timeline, event, process);
    if (error == NULL)
        return;
    tg_error_destroy(error);
    tg_timeline_destroy(answers->timeline); /* no memory: there is no strip any more */
    tg_timeline_pass_destroy(answers->pass);
    answers->timeline = NULL;
    answers->pass = NULL;
}
