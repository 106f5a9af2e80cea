#include "live/console/base.h"

#include "analyzer/output/quantity.h"
#include "format/base/utf8.h"
#include "live/console/flush.h"
#include "live/console/news_printer.h"
#include "live/source/interrupt.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CATCH_UP_MS = 2000 }; /* events on their way take some tens, unless the machine is overloaded */

void *tg_console_state(const struct tg_console *console, const struct tg_console_state_kind *kind)
{
    for (size_t i = 0; i < console->n_states; i++)
        if (console->states[i].kind == kind)
            return console->states[i].state;
    assert(kind->is_live && console->options.live == NULL);
    return NULL;
}

/* ---- errors */

int tg_console_fail(struct tg_console *console, struct tg_error *error)
{
    Tcl_SetObjResult(console->interp, Tcl_NewStringObj(tg_error_message(error), -1));
    const char *code = tg_error_code_name(tg_error_code(error));
    char offset[24];
    if (console->error_text != NULL) {
        snprintf(offset, sizeof offset, "%zu", console->error_offset);
        Tcl_SetErrorCode(console->interp, "TOLLGATE", code, console->error_text, offset, NULL);
    } else {
        Tcl_SetErrorCode(console->interp, "TOLLGATE", code, NULL);
    }
    console->error_text = NULL;
    tg_error_destroy(error);
    return TCL_ERROR;
}

void tg_console_stop(struct tg_console *console)
{
    /* An exceeded limit cannot be caught, and unlike a cancellation it can be taken back. */
    Tcl_LimitSetCommands(console->interp, 0);
    Tcl_LimitTypeSet(console->interp, TCL_LIMIT_COMMANDS);
    console->is_stopped = true;
}

/* The error of a command is about the character at OFFSET of TEXT, a word of it: programs are told beside the
 * message. TEXT must live until the command returns. */
static void point_at(struct tg_console *console, const char *text, size_t offset)
{
    console->error_text = text;
    console->error_offset = offset;
}

struct tg_error *tg_console_pointed(struct tg_console *console, struct tg_error *error, const char *text,
                                    size_t position)
{
    if (position != SIZE_MAX)
        point_at(console, text, position);
    return tg_console_marked(error, text, position);
}

struct tg_error *tg_console_marked(struct tg_error *error, const char *text, size_t position)
{
    char *pointed = NULL;
    size_t size;
    FILE *stream = position == SIZE_MAX || tg_error_code(error) == TG_ERROR_NO_MEMORY
                       ? NULL
                       : open_memstream(&pointed, &size);
    if (stream == NULL)
        return error;
    fprintf(stream, "%s\n", tg_error_message(error));
    tg_ptset_point(text, position, stream);
    if (fclose(stream) == 0) {
        while (size > 0 && pointed[size - 1] == '\n')
            pointed[--size] = '\0';
        struct tg_error *told = tg_error_create(tg_error_code(error), "%s", pointed);
        tg_error_destroy(error);
        error = told;
    }
    free(pointed);
    return error;
}

/* ---- answers */

void tg_console_result_as_data(struct tg_console *console)
{
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (console->result == NULL)
        return;
    if (json != NULL)
        tg_console_data_put(json, console->result);
    Tcl_DecrRefCount(console->result);
    console->result = NULL;
}

char *tg_console_take_data(struct tg_console *console)
{
    return tg_console_data_take(&console->data);
}

char *tg_console_focus_text(const struct tg_console *console, char *buffer)
{
    if (tg_focus_is_plainly_of_ranks(&console->focus)) {
        snprintf(buffer, TG_FOCUS_TEXT, "ranks");
        return buffer;
    }
    char *text = console->options.live == NULL || console->focus.set == NULL
                     ? NULL
                     : tg_ptset_string(console->focus.set);
    if (text == NULL)
        return tg_focus_print(&console->focus, console->source, buffer);
    snprintf(buffer, TG_FOCUS_TEXT, "%s", text);
    free(text);
    return buffer;
}

void tg_console_set_focus(struct tg_console *console, const struct tg_focus *focus)
{
    tg_focus_deinit(&console->focus);
    console->focus = *focus;
    console->focus_changes++;
}

void tg_console_print_safely(FILE *stream, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        uint32_t code_point;
        size_t length = tg_utf8_decode(at, &code_point);
        if (length == 0)
            fprintf(stream, "\\x%02x", (unsigned char)*at++);
        else if (*at == '\n' || *at == '\t' || !tg_utf8_deceives(code_point))
            fwrite(at, 1, length, stream);
        else
            fprintf(stream, "\\u{%" PRIx32 "}", code_point);
        at += length;
    }
}

char *tg_console_prompt(const struct tg_console *console, char *buffer, size_t size)
{
    char moment[TG_QUANTITY_SIZE], focus[TG_FOCUS_TEXT];
    const struct tg_source *source = console->source;
    if (console->options.live != NULL) {
        snprintf(buffer, size, "%s> ", tg_console_focus_text(console, focus));
        return buffer;
    }
    snprintf(buffer, size, "(%s s, %s) ", tg_quantity_moment(source->time_ns, source->start_ns, 6, moment),
             tg_focus_print(&console->focus, source, focus));
    return buffer;
}

/* ---- time */

int tg_console_wake_fd(const struct tg_console *console)
{
    return console->source->wake_fd;
}

bool tg_console_attend_at_prompt(struct tg_console *console, void (*before)(void *context), void *context)
{
    struct tg_news_printer printer = {.stream = console->options.out, .before = before, .context = context};
    const struct tg_news_sink printed = {tg_news_printer_tell, &printer};
    const struct tg_news_sink *sink = console->options.news != NULL ? console->options.news : &printed;
    if (console->source->ops->attend == NULL)
        return false;
    struct tg_error *error = console->source->ops->attend(console->source, sink);
    if (error != NULL)
        tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = tg_error_message(error)});
    tg_error_destroy(error);
    for (size_t i = 0; i < console->n_states; i++)
        if (console->states[i].kind->attend != NULL)
            console->states[i].kind->attend(console, console->states[i].state, sink);
    tg_news_printer_flush(&printer);
    tg_flush(console->options.out, &console->write_failed);
    return printer.has_begun;
}

void tg_console_attend(struct tg_console *console)
{
    (void)tg_console_attend_at_prompt(console, NULL, NULL);
}

nfds_t tg_console_visit_fds(const struct tg_console *console, struct pollfd *fds)
{
    const struct tg_visitor *visitor = console->source->visitor;
    fds[0] = (struct pollfd){.fd = visitor == NULL ? -1 : visitor->asked_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = visitor == NULL || console->depth > 0 ? -1 : visitor->command_fd,
                             .events = POLLIN};
    return 2;
}

bool tg_console_visit(struct tg_console *console, const struct pollfd *fds)
{
    const struct tg_visitor *visitor = console->source->visitor;
    if (visitor == NULL || (fds[0].revents | fds[1].revents) == 0)
        return false;
    visitor->serve(visitor->context, console->depth == 0);
    return true;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void tg_console_catch_up(struct tg_console *console)
{
    struct tg_source *source = console->source;
    struct tg_event_mark mark;
    if (source->ops->mark == NULL)
        return;
    source->ops->mark(source, &mark);
    uint64_t until_ms = now_ms() + CATCH_UP_MS;
    for (;;) {
        tg_console_attend(console);
        uint64_t at_ms = now_ms();
        struct pollfd wake = {.fd = source->wake_fd, .events = POLLIN};
        if (source->ops->is_at(source, &mark) || at_ms >= until_ms || tg_interrupt_pending() ||
            (tg_visitor_poll(source->visitor, &wake, 1, (int)(until_ms - at_ms)) < 0 && errno != EINTR))
            return;
    }
}

void tg_console_settle(struct tg_console *console)
{
    for (size_t i = 0; i < console->n_states; i++) {
        const struct tg_console_state *state = &console->states[i];
        TG_AUTO_ERROR struct tg_error *error =
            state->kind->settle == NULL ? NULL : state->kind->settle(console, state->state);
        if (error == NULL)
            continue;
        tg_console_print_safely(console->options.errors, tg_error_message(error));
        fputc('\n', console->options.errors);
        fflush(console->options.errors);
    }
}

struct tg_error *tg_console_written(const struct tg_console *console)
{
    return tg_flush_error(console->write_failed);
}

bool tg_console_has_quit(const struct tg_console *console, int *status)
{
    if (console->has_quit && console->quit_status >= 0)
        *status = console->quit_status;
    return console->has_quit;
}
