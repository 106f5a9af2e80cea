#include "live/commands/page/page_session.h"

#include "analyzer/sequence/command.h"
#include "live/commands/page/page_answers.h"
#include "live/source/interrupt.h"
#include "live/source/news_queue.h"
#include "live/web/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct page_session {
    struct tg_console *console;
    struct tg_web_session *web; /* NULL: there is no page */
    struct tg_visitor visitor;
    struct tg_web_calls calls;
    struct tg_page_answers answers;
    struct tg_web_state state;
    uint64_t focus_changes; /* of the state */
    char *opened;           /* a file with the link, for a browser; NULL none */
    bool is_serving;        /* a command of the page runs */
    bool is_leaving;        /* the command has asked for the end of the page */
};

static struct page_session *session_of(const struct tg_console *console)
{
    return tg_console_state(console, &tg_page_session_kind);
}

struct tg_web_session *tg_page_session_web(const struct tg_console *console)
{
    struct tg_web_session *web = session_of(console)->web;
    return web != NULL && tg_web_session_is_alive(web) ? web : NULL;
}

/* ---- telling */

/* Browsers are told where the console is, where that is not what they know. */
static void tell_state(struct page_session *page)
{
    const struct tg_source *source = page->console->source;
    char focus[TG_FOCUS_TEXT];
    tg_console_focus_text(page->console, focus);
    bool is_same = page->state.version > 0 && page->state.event == source->number &&
                   page->state.time_ns == tg_source_moment_ns(source) &&
                   page->focus_changes == page->console->focus_changes &&
                   strncmp(page->state.focus, focus, sizeof page->state.focus - 1) == 0;
    if (is_same)
        return;
    tg_page_answers_move(&page->answers);
    page->focus_changes = page->console->focus_changes;
    page->state.version++;
    page->state.event = source->number;
    page->state.time_ns = tg_source_moment_ns(source);
    page->state.start_ns = source->start_ns;
    snprintf(page->state.focus, sizeof page->state.focus, "%s", focus);
    tg_web_session_tell(page->web, &page->state);
}

/* A browser waits for it. */
static void document_is_there(void *context)
{
    struct page_session *page = context;
    if (page->web != NULL)
        tg_web_session_tell_late(page->web);
}

static void end_page(struct page_session *page)
{
    page->console->source->visitor = NULL;
    tg_page_late_quiet(page->answers.late); /* before what it tells is gone */
    tg_web_session_end(page->web);
    tg_page_answers_end(&page->answers);
    page->web = NULL;
    page->is_leaving = false;
    if (page->opened != NULL)
        unlink(page->opened);
    free(page->opened);
    page->opened = NULL;
}

/* ---- the visitor */

static void serve(void *context, bool with_commands)
{
    struct page_session *page = context;
    bool was_serving = page->is_serving;
    page->is_serving |= with_commands;
    tg_web_session_serve(page->web, &page->calls, with_commands && !was_serving);
    page->is_serving = was_serving;
    tell_state(page);
}

static void run(void *context, const char *command)
{
    struct page_session *page = context;
    bool was_interrupted = tg_web_session_set_busy(page->web, command);
    if (command != NULL)
        return;
    if (was_interrupted)
        tg_interrupt_clear(); /* the interrupt came too late: nobody here has pressed a key */
    tell_state(page);
}

static void take(void *context, const struct tg_event *event, size_t process)
{
    struct page_session *page = context;
    tg_page_answers_take(&page->answers, event, process);
}

/* ---- the console's state */

static struct tg_error *create(struct tg_console *console, void **state)
{
    struct page_session *page = calloc(1, sizeof *page);
    if (page == NULL)
        return tg_error_no_memory();
    page->console = console;
    struct tg_error *error = tg_page_answers_init(&page->answers, console);
    if (error != NULL) {
        free(page);
        return error;
    }
    page->calls = tg_page_answers_calls(&page->answers);
    *state = page;
    return NULL;
}

static void destroy(void *state)
{
    struct page_session *page = state;
    if (page == NULL)
        return;
    if (page->web != NULL)
        end_page(page);
    tg_page_answers_deinit(&page->answers);
    free(page);
}

static void attend(struct tg_console *console, void *state, const struct tg_news_sink *sink)
{
    struct page_session *page = state;
    (void)console;
    if (!page->is_serving)
        tg_news_queue_tell(page->answers.news, sink);
    if (page->web == NULL || page->is_serving)
        return;
    bool has_died = !tg_web_session_is_alive(page->web), is_leaving = page->is_leaving;
    if (!has_died && !is_leaving) {
        tell_state(page);
        return;
    }
    end_page(page);
    if (!is_leaving)
        tg_news_tell(sink,
                     &(struct tg_news){.kind = TG_NEWS_NOTE,
                                       .text = "the page's server has ended; `gui start` starts another"});
}

const struct tg_console_state_kind tg_page_session_kind = {
    .create = create, .destroy = destroy, .attend = attend};

/* ---- commands */

struct tg_error *tg_page_session_start(struct tg_console *console, const struct tg_page_start *start)
{
    struct page_session *page = session_of(console);
    if (page->web != NULL && tg_web_session_is_alive(page->web))
        return tg_error_create(TG_ERROR_EXISTS, "there is a page already: %s",
                               tg_web_session_link(page->web));
    if (page->web != NULL)
        end_page(page);
    struct tg_error *error = tg_page_answers_begin(&page->answers, document_is_there, page);
    if (error != NULL)
        return error;
    const struct tg_web_session_options options = {.host = start->host,
                                                   .port = start->port,
                                                   .view_only = start->view_only,
                                                   .mode = console->options.live != NULL ? "live" : "replay",
                                                   .name = console->source->name,
                                                   .documents = tg_page_answers_documents(&page->answers)};
    error = tg_web_session_start(&options, &page->web);
    if (error != NULL) {
        tg_page_answers_end(&page->answers);
        return error;
    }
    page->visitor = (struct tg_visitor){.asked_fd = tg_web_session_asked_fd(page->web),
                                        .command_fd = tg_web_session_command_fd(page->web),
                                        .serve = serve,
                                        .run = run,
                                        .take = take,
                                        .context = page};
    console->source->visitor = &page->visitor;
    page->state = (struct tg_web_state){0};
    tell_state(page);
    return NULL;
}

bool tg_page_session_end(struct tg_console *console)
{
    struct page_session *page = session_of(console);
    bool had_one = tg_page_session_web(console) != NULL;
    if (page->web != NULL && page->is_serving)
        page->is_leaving = true;
    else if (page->web != NULL)
        end_page(page);
    return had_one;
}

/* A file that leads to LINK, readable for this user alone: the arguments of a browser are seen by everybody on the
 * machine. The caller's. */
static struct tg_error *write_opener(const char *link, char **path)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    char *made = NULL;
    if (folder == NULL || *folder != '/')
        folder = "/tmp";
    if (asprintf(&made, "%s/tollgate-XXXXXX.html", folder) < 0)
        return tg_error_no_memory();
    int fd = mkostemps(made, 5, O_CLOEXEC); /* mode 0600 */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file != NULL)
        fprintf(
            file,
            "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n"
            "<title>tollgate</title>\n<a href=\"%s\">Open the page</a>\n",
            link, link);
    if (file == NULL || fclose(file) != 0) {
        struct tg_error *error = tg_error_create_errno(errno, "cannot write %s", made);
        if (fd >= 0)
            unlink(made);
        free(made);
        return error;
    }
    *path = made;
    return NULL;
}

struct tg_error *tg_page_session_open(struct tg_console *console, FILE *out)
{
    struct page_session *page = session_of(console);
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    if ((x == NULL || *x == '\0') && (wayland == NULL || *wayland == '\0')) {
        fputs("not opened: there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)\n", out);
        return NULL;
    }
    struct tg_error *error =
        page->opened == NULL ? write_opener(tg_web_session_link(page->web), &page->opened) : NULL;
    return error != NULL ? error : tg_sequence_open(page->opened);
}
