#include "analyzer/models/event_headline.h"

#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct summary;

typedef void print_function(const struct tg_event_headline *headline, const struct summary *summary,
                            char *buffer, size_t size);

/* The members that a headline keeps of events of one kind, and how it shows them. */
struct summary {
    uint16_t number, address; /* offsets in struct tg_event of 64 bits each; 0: none */
    uint16_t text;            /* offset of a string */
    uint16_t libraries;       /* offset of a list of struct tg_library: its first library, and how many */
    const char *value;        /* name of an enum field, whose value's name is the text... */
    uint16_t value_at;        /* ...and its offset */
    print_function *print;    /* NULL: the kind's name */
    const char *words, *after;
};

/* ---- printing */

const char *tg_event_headline_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

static void print_number(const struct tg_event_headline *headline, const struct summary *summary,
                         char *buffer, size_t size)
{
    snprintf(buffer, size, "%s %" PRId64 "%s", summary->words, headline->number,
             summary->after == NULL ? "" : summary->after);
}

static void print_words(const char *words, const char *text, char *buffer, size_t size)
{
    char shown[200];
    tg_printable(text, shown, sizeof shown);
    snprintf(buffer, size, "%s %s", words, shown);
}

static void print_text(const struct tg_event_headline *headline, const struct summary *summary, char *buffer,
                       size_t size)
{
    print_words(summary->words, headline->text, buffer, size);
}

/* The text is a path. */
static void print_path(const struct tg_event_headline *headline, const struct summary *summary, char *buffer,
                       size_t size)
{
    print_words(summary->words, tg_event_headline_base_name(headline->text), buffer, size);
}

/* "MPIR rank 3: attached". */
static void print_number_and_text(const struct tg_event_headline *headline, const struct summary *summary,
                                  char *buffer, size_t size)
{
    char text[160];
    tg_printable(headline->text, text, sizeof text);
    snprintf(buffer, size, "%s %" PRId64 "%s%s", summary->words, headline->number, summary->after, text);
}

static void print_write(const struct tg_event_headline *headline, const struct summary *summary, char *buffer,
                        size_t size)
{
    (void)summary;
    char text[160];
    tg_printable(headline->text, text, sizeof text);
    snprintf(buffer, size, "%s = %" PRId64, text, headline->number);
}

static void print_libraries(const struct tg_event_headline *headline, const struct summary *summary,
                            char *buffer, size_t size)
{
    char name[160];
    tg_printable(tg_event_headline_base_name(headline->text), name, sizeof name);
    if (headline->number > 1)
        snprintf(buffer, size, "%s %s (+%" PRId64 ")", summary->words, name, headline->number - 1);
    else
        snprintf(buffer, size, "%s %s", summary->words, headline->number == 0 ? "(no libraries)" : name);
}

static void print_call(const struct tg_event_headline *headline, const struct summary *summary, char *buffer,
                       size_t size)
{
    (void)summary;
    print_words(headline->number == TG_CALL_DLCLOSE ? "dlclose" : "dlopen",
                tg_event_headline_base_name(headline->text), buffer, size);
}

static void print_identity(const struct tg_event_headline *headline, const struct summary *summary,
                           char *buffer, size_t size)
{
    if (headline->number >= 0)
        print_number(headline, summary, buffer, size);
    else
        snprintf(buffer, size, "identity");
}

static void print_signal(const struct tg_event_headline *headline, const struct summary *summary,
                         char *buffer, size_t size)
{
    (void)summary;
    char name[32];
    tg_signal_name(headline->number, name, sizeof name);
    if (headline->kind == TG_EVENT_GROUP_STOP)
        snprintf(buffer, size, headline->number == 0 ? "continued" : "stopped by %s", name);
    else if (headline->address != 0)
        snprintf(buffer, size, "%s at 0x%" PRIx64, name, headline->address);
    else
        snprintf(buffer, size, "%s", name);
}

static void print_breakpoint(const struct tg_event_headline *headline, const struct summary *summary,
                             char *buffer, size_t size)
{
    char name[160] = "";
    if (*headline->text != '\0')
        tg_printable(tg_event_headline_base_name(headline->text), name, sizeof name);
    snprintf(buffer, size, "breakpoint %" PRId64 " %s at 0x%" PRIx64 "%s%s", headline->number, summary->words,
             headline->address, *name == '\0' ? "" : " in ", name);
}

static void print_end(const struct tg_event_headline *headline, const struct summary *summary, char *buffer,
                      size_t size)
{
    (void)summary;
    char name[32];
    if (headline->address == TG_EXIT_SIGNAL)
        snprintf(buffer, size, "killed by %s", tg_signal_name(headline->number, name, sizeof name));
    else if (headline->address == TG_EXIT_STATUS)
        snprintf(buffer, size, "exit %" PRId64, headline->number);
    else
        snprintf(buffer, size, "end not seen");
}

/* A hold by a command (number 0), or by a barrier. */
static void print_hold(const struct tg_event_headline *headline, const struct summary *summary, char *buffer,
                       size_t size)
{
    if (headline->number == 0)
        snprintf(buffer, size, "%s", summary->words);
    else
        snprintf(buffer, size, "%s %s barrier %" PRId64, summary->words, summary->after, headline->number);
}

static void print_enabled(const struct tg_event_headline *headline, const struct summary *summary,
                          char *buffer, size_t size)
{
    (void)summary;
    snprintf(buffer, size, "barrier %" PRId64 " %s", headline->number,
             headline->address != 0 ? "enabled" : "disabled");
}

/* ---- the table */

/* 16 families of 32 kinds: the high byte of a kind, and its low one. */
#define INDEX(kind) (((kind) >> 8 & 0xf) << 5 | ((kind)&0x1f))
#define TG_EVENT(symbol, number, name, ...)                                                                  \
    _Static_assert(((number) & ~0xf1f) == 0, "beyond 16 families of 32 kinds: " #name);
#include "format/event/events.def"
#define AT(member) offsetof(struct tg_event, member)
static const struct summary summaries[16 << 5] = {
    [INDEX(TG_EVENT_PROCESS_START)] = {.number = AT(process_start.parent_pid)},
    [INDEX(TG_EVENT_PROGRAM)] = {.text = AT(program.path), .print = print_path, .words = "program"},
    [INDEX(TG_EVENT_EXEC)] = {.text = AT(exec.path), .print = print_path, .words = "exec"},
    [INDEX(TG_EVENT_COMMAND_LINE)] = {.number = AT(command_line.arguments.count)},
    [INDEX(TG_EVENT_ENVIRONMENT)] = {.number = AT(environment.variables.count)},
    [INDEX(TG_EVENT_IDENTITY)] = {.number = AT(identity.rank),
                                  .text = AT(identity.host),
                                  .print = print_identity,
                                  .words = "identified as rank"},
    [INDEX(TG_EVENT_THREAD_START)] = {.print = print_number, .words = "thread", .after = " started"},
    [INDEX(TG_EVENT_THREAD_EXIT)] = {.print = print_number, .words = "thread", .after = " ended"},
    [INDEX(TG_EVENT_PROCESS_EXIT)] = {.number = AT(process_exit.status),
                                      .address = AT(process_exit.how),
                                      .print = print_end},
    [INDEX(TG_EVENT_DETACH)] = {.text = AT(detach.reason), .print = print_text, .words = "detached:"},
    [INDEX(TG_EVENT_ENTRY)] = {.address = AT(entry.address)},
    [INDEX(TG_EVENT_SIGNAL)] = {.number = AT(signal.signal),
                                .address = AT(signal.address),
                                .print = print_signal},
    [INDEX(TG_EVENT_GROUP_STOP)] = {.number = AT(group_stop.signal), .print = print_signal},
    [INDEX(TG_EVENT_BREAKPOINT_HIT)] = {.number = AT(breakpoint_hit.breakpoint),
                                        .address = AT(breakpoint_hit.address),
                                        .print = print_breakpoint,
                                        .words = "hit"},
    [INDEX(TG_EVENT_WATCH_SET)] = {.text = AT(watch_set.text), .print = print_text, .words = "watchpoint:"},
    [INDEX(TG_EVENT_WATCH_HIT)] = {.text = AT(watch_hit.after),
                                   .print = print_text,
                                   .words = "watched value is now"},
    [INDEX(TG_EVENT_LIBRARY_LOAD)] = {.libraries = AT(library_load.libraries),
                                      .print = print_libraries,
                                      .words = "load"},
    [INDEX(TG_EVENT_LIBRARY_UNLOAD)] = {.libraries = AT(library_unload.libraries),
                                        .print = print_libraries,
                                        .words = "unload"},
    [INDEX(TG_EVENT_BREAKPOINT_SPEC)] = {.number = AT(breakpoint_spec.breakpoint),
                                         .text = AT(breakpoint_spec.text)},
    [INDEX(TG_EVENT_BREAKPOINT_PLANTED)] = {.number = AT(breakpoint_planted.breakpoint),
                                            .address = AT(breakpoint_planted.address),
                                            .text = AT(breakpoint_planted.library),
                                            .print = print_breakpoint,
                                            .words = "planted"},
    [INDEX(TG_EVENT_BREAKPOINT_REMOVED)] = {.number = AT(breakpoint_removed.breakpoint),
                                            .address = AT(breakpoint_removed.address),
                                            .text = AT(breakpoint_removed.library),
                                            .print = print_breakpoint,
                                            .words = "removed"},
    [INDEX(TG_EVENT_LIBRARY_CALL)] = {.number = AT(library_call.call),
                                      .text = AT(library_call.path),
                                      .print = print_call},
    [INDEX(TG_EVENT_FILTER_SETTINGS)] = {.number = AT(filter_settings.mode),
                                         .text = AT(filter_settings.match)},
    [INDEX(TG_EVENT_FILTER_DECISION)] = {.number = AT(filter_decision.decision)},
    [INDEX(TG_EVENT_DEFERRED_HANDLED)] = {.number = AT(deferred_handled.libraries)},
    [INDEX(TG_EVENT_OMP_PARALLEL_BEGIN)] = {.number = AT(omp_parallel_begin.new_team)},
    [INDEX(TG_EVENT_MPI_ENTER)] = {.address = AT(mpi_enter.comm),
                                   .text = AT(mpi_enter.call),
                                   .print = print_text,
                                   .words = "in"},
    [INDEX(TG_EVENT_MPI_LEAVE)] = {.number = AT(mpi_leave.result),
                                   .text = AT(mpi_leave.call),
                                   .print = print_text,
                                   .words = "left"},
    [INDEX(TG_EVENT_MPI_POLL_SUM)] = {.number = AT(mpi_poll_sum.polls),
                                      .text = AT(mpi_poll_sum.call),
                                      .words = "polls in vain by"},
    [INDEX(TG_EVENT_MPI_POLL)] = {.number = AT(mpi_poll.polls),
                                  .text = AT(mpi_poll.call),
                                  .print = print_text,
                                  .words = "polls by"},
    [INDEX(TG_EVENT_MPIR_SYMBOLS)] = {.text = AT(mpir_symbols.object),
                                      .print = print_path,
                                      .words = "MPIR symbols in"},
    [INDEX(TG_EVENT_MPIR_WRITE)] = {.number = AT(mpir_write.value),
                                    .text = AT(mpir_write.symbol),
                                    .print = print_write},
    [INDEX(TG_EVENT_MPIR_STATE)] = {.value = "state",
                                    .value_at = AT(mpir_state.state),
                                    .print = print_text,
                                    .words = "MPIR state"},
    [INDEX(TG_EVENT_MPIR_TABLE)] = {.number = AT(mpir_table.entries.count),
                                    .print = print_number,
                                    .words = "MPIR table with",
                                    .after = " entries"},
    [INDEX(TG_EVENT_MPIR_RANK)] = {.number = AT(mpir_rank.rank),
                                   .value = "state",
                                   .value_at = AT(mpir_rank.state),
                                   .print = print_number_and_text,
                                   .words = "MPIR rank",
                                   .after = ": "},
    [INDEX(
        TG_EVENT_MPIR_JOB)] = {.text = AT(mpir_job.launcher), .print = print_text, .words = "job launcher:"},
    [INDEX(TG_EVENT_BARRIER_CREATED)] = {.number = AT(barrier_created.barrier),
                                         .text = AT(barrier_created.location),
                                         .print = print_number_and_text,
                                         .words = "barrier",
                                         .after = " at "},
    [INDEX(TG_EVENT_BARRIER_ARRIVAL)] = {.number = AT(barrier_arrival.barrier),
                                         .print = print_number,
                                         .words = "at barrier"},
    [INDEX(TG_EVENT_BARRIER_HELD)] = {.number = AT(barrier_held.barrier),
                                      .print = print_hold,
                                      .words = "held",
                                      .after = "at"},
    [INDEX(TG_EVENT_BARRIER_SATISFIED)] = {.number = AT(barrier_satisfied.barrier),
                                           .print = print_number,
                                           .words = "barrier",
                                           .after = " satisfied"},
    [INDEX(TG_EVENT_BARRIER_RELEASED)] = {.number = AT(barrier_released.barrier),
                                          .print = print_hold,
                                          .words = "released",
                                          .after = "from"},
    [INDEX(TG_EVENT_BARRIER_DELETED)] = {.number = AT(barrier_deleted.barrier),
                                         .print = print_number,
                                         .words = "barrier",
                                         .after = " deleted"},
    [INDEX(TG_EVENT_BARRIER_STUCK)] = {.number = AT(barrier_stuck.barrier),
                                       .print = print_number,
                                       .words = "barrier",
                                       .after = " can no longer be satisfied"},
    [INDEX(TG_EVENT_BARRIER_LEFT)] = {.number = AT(barrier_left.barrier),
                                      .print = print_number,
                                      .words = "left barrier"},
    [INDEX(TG_EVENT_BARRIER_ENABLED)] = {.number = AT(barrier_enabled.barrier),
                                         .address = AT(barrier_enabled.enabled),
                                         .print = print_enabled},
    [INDEX(TG_EVENT_CONTROL_PROCESS)] = {.number = AT(control_process.dpid),
                                         .print = print_number,
                                         .words = "is process"},
    [INDEX(TG_EVENT_CONTROL_THREAD)] = {.number = AT(control_thread.dtid),
                                        .print = print_number,
                                        .words = "is thread",
                                        .after = " of its process"},
    [INDEX(TG_EVENT_LOSS)] = {.number = AT(loss.count),
                              .text = AT(loss.reason),
                              .print = print_text,
                              .words = "loss"},
    [INDEX(TG_EVENT_NOTE)] = {.text = AT(note.text), .print = print_text, .words = "note"},
};
#undef AT

/* ---- keeping */

/* The agent and its auditor, which no program asked for. */
static bool is_own(const struct tg_library *library)
{
    static const char *const names[] = {"tollgate-agent.so", "tollgate-audit.so", "tollgate-heap.so"};
    const char *name = tg_event_headline_base_name(library->path);
    return strcmp(name, names[0]) == 0 || strcmp(name, names[1]) == 0 || strcmp(name, names[2]) == 0;
}

const struct tg_library *tg_event_headline_library(const struct tg_list *list, uint64_t *count)
{
    const struct tg_library *libraries = list->items, *first = NULL, *asked_for = NULL;
    *count = 0;
    for (uint64_t i = 0; i < list->count; i++) {
        if (is_own(&libraries[i]))
            continue;
        ++*count;
        if (first == NULL)
            first = &libraries[i];
        if (asked_for == NULL && !libraries[i].dependency)
            asked_for = &libraries[i];
    }
    return asked_for != NULL ? asked_for : first;
}

static uint64_t number_at(const struct tg_event *event, size_t offset)
{
    uint64_t number;
    memcpy(&number, (const char *)event + offset, sizeof number);
    return number;
}

/* The name of VALUE, which an OpenMP event of KIND has behind its place: what the event is about. NULL: none. */
static const char *openmp_text(unsigned kind, uint64_t value)
{
    enum { BEHIND_PLACE = sizeof(struct tg_omp_place) / sizeof(uint64_t) };
    const struct tg_record_schema *schema = tg_event_schema(kind);
    if (schema->n_fields <= BEHIND_PLACE || schema->fields[BEHIND_PLACE].type != TG_FIELD_ENUM)
        return NULL;
    return tg_field_value_name(&schema->fields[BEHIND_PLACE], value);
}

static bool is_openmp(unsigned kind)
{
    return tg_event_has_place(kind) && kind != TG_EVENT_OMP_PARALLEL_BEGIN;
}

/* The text of EVENT that goes with it, NULL none; *NUMBER where that comes from a list. */
static const char *own_text_of(const struct tg_event *event, const struct summary *summary, int64_t *number)
{
    if (summary->text != 0) {
        const char *text;
        memcpy(&text, (const char *)event + summary->text, sizeof text);
        return text;
    }
    if (summary->libraries != 0) {
        const struct tg_list *list = (const struct tg_list *)((const char *)event + summary->libraries);
        uint64_t count;
        const struct tg_library *library = tg_event_headline_library(list, &count);
        if (library == NULL && list->count > 0) {
            library = list->items;
            count = list->count;
        }
        *number = (int64_t)count;
        return library == NULL ? NULL : library->path;
    }
    return NULL;
}

/* A text for EVENT that is there for ever, "" none. */
static const char *constant_text_of(const struct tg_event *event, const struct summary *summary)
{
    if (summary->value == NULL)
        return "";
    const char *name = tg_event_value_name(event->kind, summary->value, number_at(event, summary->value_at));
    return name != NULL ? name : "unknown";
}

/* What most events are: nothing of them is copied or looked up. */
static void keep_openmp(struct tg_event_headline *headline, const struct tg_event *event)
{
    headline->text = NULL;
    memcpy(&headline->value, (const char *)TG_EVENT_PAYLOAD(event) + sizeof(struct tg_omp_place),
           sizeof headline->value);
    headline->time_ns = event->time_ns;
    headline->tid = event->tid;
    headline->kind = event->kind;
    headline->number = 0;
    headline->address = 0;
}

const char *tg_event_headline_text(const struct tg_event_headline *headline)
{
    if (headline->text != NULL)
        return headline->text;
    const char *text = is_openmp(headline->kind) ? openmp_text(headline->kind, headline->value) : NULL;
    return text != NULL ? text : "";
}

struct tg_error *tg_event_headline_keep(struct tg_event_headline *headline, const struct tg_event *event)
{
    if (is_openmp(event->kind)) {
        keep_openmp(headline, event);
        return NULL;
    }
    const struct summary *summary = &summaries[INDEX(event->kind)];
    int64_t number = summary->number != 0 ? (int64_t)number_at(event, summary->number) : 0;
    if (event->kind == TG_EVENT_THREAD_START || event->kind == TG_EVENT_THREAD_EXIT)
        number = event->tid;
    const char *text = own_text_of(event, summary, &number);
    if (text != NULL) {
        size_t size = strlen(text) + 1;
        struct tg_error *error = TG_ARRAY_RESERVE(headline->own, headline->own_capacity, size);
        if (error != NULL)
            return error;
        text = memcpy(headline->own, text, size);
    }
    headline->text = text != NULL ? text : constant_text_of(event, summary);
    headline->time_ns = event->time_ns;
    headline->tid = event->tid;
    headline->kind = event->kind;
    headline->number = number;
    headline->address = summary->address != 0 ? number_at(event, summary->address) : 0;
    return NULL;
}

struct tg_error *tg_event_headline_copy(const struct tg_event_headline *from, struct tg_event_headline *to)
{
    bool is_own = from->text != NULL && from->text == from->own;
    char *own = is_own ? strdup(from->own) : NULL;
    if (is_own && own == NULL)
        return tg_error_no_memory();
    *to = *from;
    to->own = own;
    to->own_capacity = is_own ? strlen(own) + 1 : 0;
    if (is_own)
        to->text = own;
    return NULL;
}

void tg_event_headline_deinit(struct tg_event_headline *headline)
{
    free(headline->own);
    *headline = (struct tg_event_headline){0};
}

char *tg_event_headline_print(const struct tg_event_headline *headline, char *buffer, size_t size)
{
    const struct summary *summary = &summaries[INDEX(headline->kind)];
    if (summary->print != NULL && headline->text != NULL) {
        summary->print(headline, summary, buffer, size);
        return buffer;
    }
    const char *text = is_openmp(headline->kind) ? tg_event_headline_text(headline) : "";
    snprintf(buffer, size, "%s%s%s", headline->kind == 0 ? "" : tg_event_kind_name(headline->kind),
             *text != '\0' ? ": " : "", text);
    for (char *c = buffer; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    return buffer;
}
