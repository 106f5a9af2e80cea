#include "analyzer/models/event_headline.h"

#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gist {
    int64_t number;
    uint64_t address;
    const char *text;
};

/* The library that an event is named after: the first that was asked for. */
/* The agent and its auditor, which no program asked for. */
static bool is_own(const struct tg_library *library)
{
    static const char *const names[] = {"tollgate-agent.so", "tollgate-audit.so"};
    const char *name = tg_event_headline_base_name(library->path);
    return strcmp(name, names[0]) == 0 || strcmp(name, names[1]) == 0;
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

static struct gist libraries_gist(const struct tg_list *list)
{
    const struct tg_library *libraries = list->items;
    uint64_t count;
    const struct tg_library *library = tg_event_headline_library(list, &count);
    if (library == NULL && list->count > 0) {
        library = libraries;
        count = list->count;
    }
    return (struct gist){.number = (int64_t)count, .text = library == NULL ? "" : library->path};
}

static struct gist list_gist(const struct tg_list *list)
{
    const struct tg_string_item *items = list->items;
    return (struct gist){.number = (int64_t)list->count, .text = list->count == 0 ? "" : items[0].text};
}

/* Behind where it took place an OpenMP event says what it is about: the name of that. */
static struct gist openmp_gist(const struct tg_event *event)
{
    enum { BEHIND_PLACE = 5 };
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    struct gist gist = {0};
    if (schema->n_fields <= BEHIND_PLACE || schema->fields[BEHIND_PLACE].type != TG_FIELD_ENUM)
        return gist;
    uint64_t value;
    memcpy(&value, (const char *)TG_EVENT_PAYLOAD(event) + schema->fields[BEHIND_PLACE].offset, sizeof value);
    gist.text = tg_field_value_name(&schema->fields[BEHIND_PLACE], value);
    return gist;
}

static struct gist mpir_gist(const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_MPIR_SYMBOLS:
        return (struct gist){.text = event->mpir_symbols.object};
    case TG_EVENT_MPIR_WRITE:
        return (struct gist){.number = event->mpir_write.value, .text = event->mpir_write.symbol};
    case TG_EVENT_MPIR_STATE:
        return (struct gist){.text = tg_event_value_name(event->kind, "state", event->mpir_state.state)};
    case TG_EVENT_MPIR_TABLE:
        return (struct gist){.number = (int64_t)event->mpir_table.entries.count};
    case TG_EVENT_MPIR_RANK:
        return (struct gist){.number = event->mpir_rank.rank,
                             .text = tg_event_value_name(event->kind, "state", event->mpir_rank.state)};
    default:
        return (struct gist){.text = event->mpir_job.launcher};
    }
}

/* Events of barriers begin with the barrier's number. */
static struct gist barrier_gist(const struct tg_event *event)
{
    struct gist gist = {.number = (int64_t)event->barrier_deleted.barrier};
    if (event->kind == TG_EVENT_BARRIER_CREATED)
        gist.text = event->barrier_created.location;
    else if (event->kind == TG_EVENT_BARRIER_ENABLED)
        gist.address = event->barrier_enabled.enabled;
    return gist;
}

static struct gist event_gist(const struct tg_event *event)
{
    if (event->kind >= TG_EVENT_MPIR_SYMBOLS && event->kind <= TG_EVENT_MPIR_JOB)
        return mpir_gist(event);
    if (event->kind > TG_EVENT_OMP_PARALLEL_BEGIN && event->kind <= TG_EVENT_OMP_CANCEL)
        return openmp_gist(event);
    if (event->kind >= TG_EVENT_BARRIER_CREATED && event->kind <= TG_EVENT_BARRIER_ENABLED)
        return barrier_gist(event);
    switch ((unsigned)event->kind) { /* kinds without a gist fall through */
    case TG_EVENT_PROCESS_START:
        return (struct gist){.number = event->process_start.parent_pid};
    case TG_EVENT_PROGRAM:
        return (struct gist){.text = event->program.path};
    case TG_EVENT_EXEC:
        return (struct gist){.text = event->exec.path};
    case TG_EVENT_COMMAND_LINE:
        return list_gist(&event->command_line.arguments);
    case TG_EVENT_ENVIRONMENT:
        return (struct gist){.number = (int64_t)event->environment.variables.count};
    case TG_EVENT_IDENTITY:
        return (struct gist){.number = event->identity.rank, .text = event->identity.host};
    case TG_EVENT_THREAD_START:
        return (struct gist){.number = event->tid};
    case TG_EVENT_THREAD_EXIT:
        return (struct gist){.number = event->tid};
    case TG_EVENT_PROCESS_EXIT:
        return (struct gist){.number = event->process_exit.status, .address = event->process_exit.how};
    case TG_EVENT_DETACH:
        return (struct gist){.text = event->detach.reason};
    case TG_EVENT_ENTRY:
        return (struct gist){.address = event->entry.address};
    case TG_EVENT_SIGNAL:
        return (struct gist){.number = event->signal.signal, .address = event->signal.address};
    case TG_EVENT_GROUP_STOP:
        return (struct gist){.number = event->group_stop.signal};
    case TG_EVENT_BREAKPOINT_HIT:
        return (struct gist){.number = (int64_t)event->breakpoint_hit.breakpoint,
                             .address = event->breakpoint_hit.address};
    case TG_EVENT_LIBRARY_LOAD:
        return libraries_gist(&event->library_load.libraries);
    case TG_EVENT_LIBRARY_UNLOAD:
        return libraries_gist(&event->library_unload.libraries);
    case TG_EVENT_BREAKPOINT_SPEC:
        return (struct gist){.number = (int64_t)event->breakpoint_spec.breakpoint,
                             .text = event->breakpoint_spec.text};
    case TG_EVENT_BREAKPOINT_PLANTED:
        return (struct gist){.number = (int64_t)event->breakpoint_planted.breakpoint,
                             .address = event->breakpoint_planted.address,
                             .text = event->breakpoint_planted.library};
    case TG_EVENT_BREAKPOINT_REMOVED:
        return (struct gist){.number = (int64_t)event->breakpoint_removed.breakpoint,
                             .address = event->breakpoint_removed.address,
                             .text = event->breakpoint_removed.library};
    case TG_EVENT_FILTER_DECISION:
        return (struct gist){.number = (int64_t)event->filter_decision.decision};
    case TG_EVENT_DEFERRED_HANDLED:
        return (struct gist){.number = (int64_t)event->deferred_handled.libraries};
    case TG_EVENT_CONTROL_PROCESS:
        return (struct gist){.number = (int64_t)event->control_process.dpid};
    case TG_EVENT_CONTROL_THREAD:
        return (struct gist){.number = (int64_t)event->control_thread.dtid};
    case TG_EVENT_LOSS:
        return (struct gist){.number = (int64_t)event->loss.count, .text = event->loss.reason};
    case TG_EVENT_NOTE:
        return (struct gist){.text = event->note.text};
    case TG_EVENT_FILTER_SETTINGS:
        return (struct gist){.number = (int64_t)event->filter_settings.mode,
                             .text = event->filter_settings.match};
    case TG_EVENT_LIBRARY_CALL:
        return (struct gist){.number = (int64_t)event->library_call.call, .text = event->library_call.path};
    case TG_EVENT_OMP_PARALLEL_BEGIN:
        return (struct gist){.number = (int64_t)event->omp_parallel_begin.new_team};
    case TG_EVENT_MPI_ENTER:
        return (struct gist){.address = event->mpi_enter.comm, .text = event->mpi_enter.call};
    case TG_EVENT_MPI_LEAVE:
        return (struct gist){.number = event->mpi_leave.result, .text = event->mpi_leave.call};
    default:
        break;
    }
    return (struct gist){0};
}

struct tg_error *tg_event_headline_keep(struct tg_event_headline *headline, const struct tg_event *event)
{
    struct gist gist = event_gist(event);
    const char *text = gist.text == NULL ? "" : gist.text;
    size_t size = strlen(text) + 1;
    if (size > headline->text_capacity) {
        char *larger = realloc(headline->text, size);
        if (larger == NULL)
            return tg_error_no_memory();
        headline->text = larger;
        headline->text_capacity = size;
    }
    memcpy(headline->text, text, size);
    headline->time_ns = event->time_ns;
    headline->tid = event->tid;
    headline->kind = event->kind;
    headline->number = gist.number;
    headline->address = gist.address;
    return NULL;
}

struct tg_error *tg_event_headline_copy(const struct tg_event_headline *from, struct tg_event_headline *to)
{
    char *text = from->text == NULL ? NULL : strdup(from->text);
    if (from->text != NULL && text == NULL)
        return tg_error_no_memory();
    *to = *from;
    to->text = text;
    to->text_capacity = text == NULL ? 0 : strlen(text) + 1;
    return NULL;
}

void tg_event_headline_deinit(struct tg_event_headline *headline)
{
    free(headline->text);
    *headline = (struct tg_event_headline){0};
}

const char *tg_event_headline_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

static void print_libraries(const struct tg_event_headline *headline, const char *verb, char *buffer,
                            size_t size)
{
    char name[160];
    tg_printable(tg_event_headline_base_name(headline->text), name, sizeof name);
    if (headline->number > 1)
        snprintf(buffer, size, "%s %s (+%" PRId64 ")", verb, name, headline->number - 1);
    else
        snprintf(buffer, size, "%s %s", verb, headline->number == 0 ? "of nothing" : name);
}

static void print_signal(const struct tg_event_headline *headline, char *buffer, size_t size)
{
    char name[32];
    tg_signal_name(headline->number, name, sizeof name);
    if (headline->kind == TG_EVENT_GROUP_STOP)
        snprintf(buffer, size, headline->number == 0 ? "continued" : "stopped by %s", name);
    else if (headline->address != 0)
        snprintf(buffer, size, "%s at 0x%" PRIx64, name, headline->address);
    else
        snprintf(buffer, size, "%s", name);
}

static void print_with_text(const char *words, const char *text, char *buffer, size_t size)
{
    char shown[200];
    tg_printable(text, shown, sizeof shown);
    snprintf(buffer, size, "%s %s", words, shown);
}

static void print_breakpoint(const struct tg_event_headline *headline, char *buffer, size_t size)
{
    const char *what = headline->kind == TG_EVENT_BREAKPOINT_HIT       ? "hit"
                       : headline->kind == TG_EVENT_BREAKPOINT_PLANTED ? "planted"
                                                                       : "removed";
    char name[160] = "";
    if (*headline->text != '\0')
        tg_printable(tg_event_headline_base_name(headline->text), name, sizeof name);
    snprintf(buffer, size, "breakpoint %" PRId64 " %s at 0x%" PRIx64 "%s%s", headline->number, what,
             headline->address, *name == '\0' ? "" : " in ", name);
}

static void print_end(const struct tg_event_headline *headline, char *buffer, size_t size)
{
    char name[32];
    if (headline->address == TG_EXIT_SIGNAL)
        snprintf(buffer, size, "killed by %s", tg_signal_name(headline->number, name, sizeof name));
    else if (headline->address == TG_EXIT_STATUS)
        snprintf(buffer, size, "exit %" PRId64, headline->number);
    else
        snprintf(buffer, size, "end not seen");
}

static char *print_mpir(const struct tg_event_headline *headline, char *buffer, size_t size)
{
    char text[160];
    tg_printable(headline->text == NULL ? "" : headline->text, text, sizeof text);
    switch ((unsigned)headline->kind) {
    case TG_EVENT_MPIR_SYMBOLS:
        print_with_text("symbols of MPIR in", tg_event_headline_base_name(headline->text), buffer, size);
        break;
    case TG_EVENT_MPIR_WRITE:
        snprintf(buffer, size, "%s = %" PRId64, text, headline->number);
        break;
    case TG_EVENT_MPIR_STATE:
        snprintf(buffer, size, "MPIR state %s", *text == '\0' ? "unknown" : text);
        break;
    case TG_EVENT_MPIR_TABLE:
        snprintf(buffer, size, "%" PRId64 " entries of the MPIR table", headline->number);
        break;
    case TG_EVENT_MPIR_RANK:
        snprintf(buffer, size, "rank %" PRId64 " of the MPIR table: %s", headline->number,
                 *text == '\0' ? "unknown" : text);
        break;
    default:
        snprintf(buffer, size, "starter of %s", *text == '\0' ? "no known kind" : text);
        break;
    }
    return buffer;
}

static char *print_barrier(const struct tg_event_headline *headline, char *buffer, size_t size)
{
    int64_t number = headline->number;
    char text[160];
    switch ((unsigned)headline->kind) {
    case TG_EVENT_BARRIER_CREATED:
        tg_printable(headline->text == NULL ? "" : headline->text, text, sizeof text);
        snprintf(buffer, size, "barrier %" PRId64 " at %s", number, text);
        break;
    case TG_EVENT_BARRIER_ARRIVAL:
        snprintf(buffer, size, "at barrier %" PRId64, number);
        break;
    case TG_EVENT_BARRIER_HELD:
        snprintf(buffer, size, number == 0 ? "held" : "held at barrier %" PRId64, number);
        break;
    case TG_EVENT_BARRIER_RELEASED:
        snprintf(buffer, size, number == 0 ? "released" : "released from barrier %" PRId64, number);
        break;
    case TG_EVENT_BARRIER_LEFT:
        snprintf(buffer, size, "left barrier %" PRId64, number);
        break;
    default:
        snprintf(buffer, size, "barrier %" PRId64 " %s", number,
                 headline->kind == TG_EVENT_BARRIER_SATISFIED ? "satisfied"
                 : headline->kind == TG_EVENT_BARRIER_DELETED ? "deleted"
                 : headline->kind == TG_EVENT_BARRIER_STUCK   ? "can be satisfied no more"
                 : headline->address != 0                     ? "enabled"
                                                              : "disabled");
        break;
    }
    return buffer;
}

char *tg_event_headline_print(const struct tg_event_headline *headline, char *buffer, size_t size)
{
    if (headline->kind >= TG_EVENT_MPIR_SYMBOLS && headline->kind <= TG_EVENT_MPIR_JOB)
        return print_mpir(headline, buffer, size);
    if (headline->kind >= TG_EVENT_BARRIER_CREATED && headline->kind <= TG_EVENT_BARRIER_ENABLED)
        return print_barrier(headline, buffer, size);
    const char *base = headline->text == NULL ? "" : tg_event_headline_base_name(headline->text);
    switch ((unsigned)headline->kind) {
    case TG_EVENT_EXEC:
        print_with_text("exec", base, buffer, size);
        return buffer;
    case TG_EVENT_PROGRAM:
        print_with_text("program", base, buffer, size);
        return buffer;
    case TG_EVENT_THREAD_START:
        snprintf(buffer, size, "thread %" PRId64 " started", headline->number);
        return buffer;
    case TG_EVENT_THREAD_EXIT:
        snprintf(buffer, size, "thread %" PRId64 " ended", headline->number);
        return buffer;
    case TG_EVENT_PROCESS_EXIT:
        print_end(headline, buffer, size);
        return buffer;
    case TG_EVENT_IDENTITY:
        if (headline->number >= 0)
            snprintf(buffer, size, "is rank %" PRId64, headline->number);
        else
            snprintf(buffer, size, "identity");
        return buffer;
    case TG_EVENT_CONTROL_PROCESS:
        snprintf(buffer, size, "is process %" PRId64, headline->number);
        return buffer;
    case TG_EVENT_CONTROL_THREAD:
        snprintf(buffer, size, "is thread %" PRId64 " of its process", headline->number);
        return buffer;
    case TG_EVENT_SIGNAL:
    case TG_EVENT_GROUP_STOP:
        print_signal(headline, buffer, size);
        return buffer;
    case TG_EVENT_LIBRARY_LOAD:
        print_libraries(headline, "load", buffer, size);
        return buffer;
    case TG_EVENT_LIBRARY_UNLOAD:
        print_libraries(headline, "unload", buffer, size);
        return buffer;
    case TG_EVENT_BREAKPOINT_HIT:
    case TG_EVENT_BREAKPOINT_PLANTED:
    case TG_EVENT_BREAKPOINT_REMOVED:
        print_breakpoint(headline, buffer, size);
        return buffer;
    case TG_EVENT_DETACH:
        print_with_text("detached:", headline->text, buffer, size);
        return buffer;
    case TG_EVENT_LOSS:
    case TG_EVENT_NOTE:
        print_with_text(tg_event_kind_name(headline->kind), headline->text, buffer, size);
        return buffer;
    case TG_EVENT_LIBRARY_CALL:
        print_with_text(headline->number == TG_CALL_DLCLOSE ? "dlclose" : "dlopen", base, buffer, size);
        return buffer;
    case TG_EVENT_MPI_ENTER:
        print_with_text("in", headline->text, buffer, size);
        return buffer;
    case TG_EVENT_MPI_LEAVE:
        print_with_text("left", headline->text, buffer, size);
        return buffer;
    default:
        break;
    }
    bool is_openmp = headline->kind > TG_EVENT_OMP_PARALLEL_BEGIN && headline->kind <= TG_EVENT_OMP_CANCEL;
    bool has_text = is_openmp && headline->text != NULL && *headline->text != '\0';
    snprintf(buffer, size, "%s%s%s", headline->kind == 0 ? "" : tg_event_kind_name(headline->kind),
             has_text ? ": " : "", has_text ? headline->text : "");
    for (char *c = buffer; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    return buffer;
}
