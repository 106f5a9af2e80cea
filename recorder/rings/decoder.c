#include "recorder/rings/decoder.h"

#include "recorder/agent/mpi/calls.h"
#include "recorder/rings/library_records.h"
#include "recorder/rings/team_table.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* A process, and the program that runs in it. */
struct process {
    int32_t pid;
    uint64_t instance;
    uint64_t previous; /* instance of the program before: what still comes of it is late */
    bool announced;
    struct tg_team_table *teams; /* NULL: no region yet */
    UT_hash_handle hh;
};

struct tg_ring_source {
    struct tg_ring_facts facts;
    int32_t tid;
    uint64_t told_lost;
    struct tg_team_stack *stack; /* NULL: no region yet */
    struct process *process;     /* NULL: not looked for yet */
    struct tg_ring_source *next, *previous;
};

struct tg_ring_decoder {
    struct tg_event_sink sink;
    struct tg_agent_loader *loader;
    struct process *processes;
    struct tg_ring_source *sources;
    struct tg_ring_decoder_stats stats;
};

static const unsigned char least_arguments[TG_RECORD_COUNT] = {
#define X(symbol, n_arguments) [TG_RECORD_##symbol] = (n_arguments),
    TG_AGENT_RECORDS(X)
#undef X
};

static const char *const mpi_names[TG_MPI_CALL_COUNT] = {
#define X(name) [TG_MPI_CALL_##name] = "MPI_" #name,
    TG_MPI_CALLS(X)
#undef X
};

/* One record on its way to an event. */
struct record {
    struct tg_ring_decoder *decoder;
    struct tg_ring_source *source;
    struct process *process;
    uint64_t *arguments;
    size_t n_arguments;
    uint64_t place; /* the second word, where OpenMP says the thread is */
    struct tg_event event;
};

static void emit(struct record *record, enum tg_event_kind kind)
{
    record->event.kind = kind;
    record->decoder->sink.add(record->decoder->sink.context, &record->event);
}

/* The string that begins at argument FROM; it ends within the record, whatever was written there. */
static const char *string_at(const struct record *record, size_t from)
{
    if (from >= record->n_arguments)
        return "";
    char *text = (char *)(record->arguments + from);
    size_t room = (record->n_arguments - from) * sizeof record->arguments[0];
    if (room > TG_AGENT_MAX_STRING_BYTES)
        room = TG_AGENT_MAX_STRING_BYTES;
    text[room - 1] = '\0';
    return text;
}

/* The list of items of WORDS words whose count is argument FROM: as many as are really there. */
static struct tg_list list_at(const struct record *record, size_t from, size_t words)
{
    size_t room = (record->n_arguments - from - 1) / words;
    uint64_t count = record->arguments[from];
    return (struct tg_list){.items = record->arguments + from + 1, .count = count < room ? count : room};
}

/* ---- OpenMP */

static const struct tg_team_table no_table;
static const struct tg_team_stack no_stack;

static struct tg_team find_team(const struct record *record)
{
    const struct tg_team_table *table = record->process->teams;
    const struct tg_team_stack *stack = record->source->stack;
    return tg_team_find(table != NULL ? table : &no_table, stack != NULL ? stack : &no_stack,
                        record->place >> TG_AGENT_TEAM_SHIFT);
}

/* Fills the members of TG_OMP_PLACE, which all payloads of OpenMP but omp_runtime begin with. */
static void put_place(struct record *record)
{
    struct tg_event_omp_implicit_end *place = &record->event.omp_implicit_end;
    struct tg_team team = find_team(record);
    *place = (struct tg_event_omp_implicit_end){
        .team = team.id,
        .thread_num = record->place >> TG_AGENT_THREAD_NUM_SHIFT & 0xffff,
        .level = team.level,
        .code = record->arguments[0] & TG_AGENT_CODE_MASK,
        .seen = record->arguments[0] >> TG_AGENT_SEEN_SHIFT & 0xff,
    };
}

static uint64_t place_enum(const struct record *record)
{
    return record->arguments[0] >> TG_AGENT_ENUM_SHIFT;
}

static void add_omp_runtime(struct record *record)
{
    const char *name = string_at(record, 1);
    record->event.omp_runtime = (struct tg_event_omp_runtime){
        .name = name, .version = string_at(record, 2 + strlen(name) / 8), .seen = record->arguments[0]};
    emit(record, TG_EVENT_OMP_RUNTIME);
}

static void add_parallel_begin(struct record *record)
{
    put_place(record);
    record->event.omp_parallel_begin.new_team = record->arguments[1];
    record->event.omp_parallel_begin.requested = record->arguments[2];
    record->event.omp_parallel_begin.body = record->arguments[3];
    emit(record, TG_EVENT_OMP_PARALLEL_BEGIN);
}

static void add_parallel_end(struct record *record)
{
    put_place(record);
    record->event.omp_parallel_end.ended_team = record->arguments[1];
    emit(record, TG_EVENT_OMP_PARALLEL_END);
}

/* Without memory the thread's level is not known, nothing else. */
static void enter_team(struct record *record, struct tg_team team, uint64_t parent)
{
    if (record->process->teams == NULL)
        record->process->teams = calloc(1, sizeof *record->process->teams);
    if (record->source->stack == NULL)
        record->source->stack = calloc(1, sizeof *record->source->stack);
    if (record->process->teams != NULL && record->source->stack != NULL)
        tg_team_enter(record->process->teams, record->source->stack, team, parent);
}

static void add_implicit_begin(struct record *record)
{
    const uint64_t *arguments = record->arguments;
    struct tg_team team = {.id = arguments[1], .level = arguments[4]};
    enter_team(record, team, arguments[2]);
    put_place(record);
    record->event.omp_implicit_begin.team = team.id;
    record->event.omp_implicit_begin.level = team.level;
    record->event.omp_implicit_begin.parent_team = arguments[2];
    record->event.omp_implicit_begin.team_size = arguments[3];
    emit(record, TG_EVENT_OMP_IMPLICIT_BEGIN);
}

static void add_implicit_end(struct record *record)
{
    put_place(record);
    emit(record, TG_EVENT_OMP_IMPLICIT_END);
    if (record->source->stack != NULL)
        tg_team_leave(record->source->stack, record->place >> TG_AGENT_TEAM_SHIFT);
}

static void add_zone(struct record *record, bool begins)
{
    put_place(record);
    record->event.omp_zone_begin.zone = place_enum(record);
    if (begins) {
        record->event.omp_zone_begin.schedule = record->arguments[1] & 0xff;
        record->event.omp_zone_begin.count = record->arguments[1] >> 8;
    }
    emit(record, begins ? TG_EVENT_OMP_ZONE_BEGIN : TG_EVENT_OMP_ZONE_END);
}

static void add_section(struct record *record)
{
    put_place(record);
    record->event.omp_section.section = record->arguments[1];
    emit(record, TG_EVENT_OMP_SECTION);
}

static void add_sync(struct record *record, bool begins)
{
    put_place(record);
    record->event.omp_sync_begin.sync = place_enum(record);
    record->event.omp_sync_begin.instance = record->arguments[1];
    if (!begins) {
        record->event.omp_sync_end.instance = record->arguments[1] & ~(UINT64_C(1) << 63);
        record->event.omp_sync_end.cancelled = record->arguments[1] >> 63;
    }
    emit(record, begins ? TG_EVENT_OMP_SYNC_BEGIN : TG_EVENT_OMP_SYNC_END);
}

static void add_mutex(struct record *record, enum tg_event_kind kind)
{
    put_place(record);
    record->event.omp_mutex_wait.mutex = place_enum(record);
    record->event.omp_mutex_wait.lock = record->arguments[1];
    emit(record, kind);
}

static void add_task_create(struct record *record)
{
    put_place(record);
    struct tg_event_omp_task_create *task = &record->event.omp_task_create;
    task->task = record->arguments[1];
    task->parent_task = record->arguments[2];
    task->body = record->arguments[3];
    task->flags = record->arguments[4];
    task->dependences = list_at(record, 5, sizeof(struct tg_omp_dependence) / sizeof(uint64_t));
    emit(record, TG_EVENT_OMP_TASK_CREATE);
}

static void add_task_begin(struct record *record)
{
    put_place(record);
    record->event.omp_task_begin.task = record->arguments[1] & ~(UINT64_C(1) << 63);
    record->event.omp_task_begin.resumed = record->arguments[1] >> 63;
    emit(record, TG_EVENT_OMP_TASK_BEGIN);
}

static void add_task_end(struct record *record)
{
    put_place(record);
    record->event.omp_task_end.task = record->arguments[1];
    record->event.omp_task_end.how = place_enum(record);
    emit(record, TG_EVENT_OMP_TASK_END);
}

static void add_cancel(struct record *record)
{
    put_place(record);
    record->event.omp_cancel.construct = place_enum(record);
    record->event.omp_cancel.activated = record->arguments[1] != 0;
    emit(record, TG_EVENT_OMP_CANCEL);
}

/* ---- MPI */

static const char *mpi_name(uint64_t call)
{
    return call < TG_MPI_CALL_COUNT ? mpi_names[call] : "MPI_?";
}

static void add_mpi_comm(struct record *record)
{
    const uint64_t *arguments = record->arguments;
    record->event.mpi_comm = (struct tg_event_mpi_comm){
        .comm = arguments[0],
        .parent = arguments[1],
        .handle = arguments[2],
        .origin = arguments[3],
        .rank = (int64_t)arguments[4],
        .size = (int64_t)arguments[5],
        .members = list_at(record, 6, sizeof(struct tg_mpi_member) / sizeof(uint64_t)),
    };
    emit(record, TG_EVENT_MPI_COMM);
}

static void add_mpi_enter(struct record *record)
{
    const uint64_t *arguments = record->arguments;
    record->event.mpi_enter = (struct tg_event_mpi_enter){
        .call = mpi_name(arguments[0]),
        .comm = arguments[1],
        .instance = arguments[2],
        .peer = (int64_t)arguments[3],
        .tag = (int64_t)arguments[4],
        .root = (int64_t)arguments[5],
        .bytes = arguments[6],
        .code = arguments[7] & TG_AGENT_CODE_MASK,
    };
    emit(record, TG_EVENT_MPI_ENTER);
}

static void add_mpi_leave(struct record *record)
{
    const uint64_t *arguments = record->arguments;
    record->event.mpi_leave = (struct tg_event_mpi_leave){
        .call = mpi_name(arguments[0]),
        .request = arguments[1],
        .peer = (int64_t)arguments[2],
        .tag = (int64_t)arguments[3],
        .bytes = arguments[4],
        .result = (int64_t)arguments[5],
    };
    emit(record, TG_EVENT_MPI_LEAVE);
}

static void add_mpi_complete(struct record *record)
{
    const uint64_t *arguments = record->arguments;
    record->event.mpi_complete = (struct tg_event_mpi_complete){
        .request = arguments[0],
        .peer = (int64_t)arguments[1],
        .tag = (int64_t)arguments[2],
        .bytes = arguments[3],
        .cancelled = arguments[4] != 0,
    };
    emit(record, TG_EVENT_MPI_COMPLETE);
}

/* ---- of the agent itself, and of the loader */

static void add_lost(struct record *record)
{
    record->source->told_lost += record->arguments[0];
    record->decoder->stats.told_lost += record->arguments[0];
    record->event.loss = (struct tg_event_loss){
        .source = TG_LOSS_RING, .count = record->arguments[0], .reason = "the ring of the thread was full"};
    emit(record, TG_EVENT_LOSS);
}

static void add_note(struct record *record)
{
    record->event.note.text = string_at(record, 0);
    emit(record, TG_EVENT_NOTE);
}

static void add_agent_state(struct record *record, enum tg_agent_state state, const char *reason)
{
    record->process->announced = true;
    record->event.agent = (struct tg_event_agent){.state = state, .reason = reason};
    emit(record, TG_EVENT_AGENT);
}

/* Where the string of a record for the loader begins, SIZE_MAX: it has none. */
static size_t loader_string(enum tg_agent_record kind)
{
    return kind == TG_RECORD_LIBRARY_CALL     ? 5
           : kind == TG_RECORD_LIBRARY_RETURN ? 2
           : kind == TG_RECORD_LOADER_OPEN    ? 9
                                              : SIZE_MAX;
}

static void add_loader(struct record *record, enum tg_agent_record kind)
{
    if (loader_string(kind) != SIZE_MAX)
        string_at(record, loader_string(kind));
    const struct tg_agent_loader_record given = {
        .pid = record->event.pid,
        .tid = record->event.tid,
        .instance = record->source->facts.instance,
        .time_ns = record->event.time_ns,
        .kind = kind,
        .arguments = record->arguments,
        .n_arguments = record->n_arguments,
    };
    tg_agent_loader_add(record->decoder->loader, &given, &record->decoder->sink);
}

static bool names_thread(enum tg_agent_record kind)
{
    return kind == TG_RECORD_THREAD || kind == TG_RECORD_LOADER_ACTIVITY || kind == TG_RECORD_LOADER_OPEN ||
           kind == TG_RECORD_LOADER_CLOSE || kind == TG_RECORD_LOADER_PREINIT;
}

static void decode(struct record *record, enum tg_agent_record kind)
{
    switch (kind) {
    case TG_RECORD_THREAD:
        if (record->source->stack != NULL)
            record->source->stack->n_teams = 0;
        break;
    case TG_RECORD_LOST:
        add_lost(record);
        break;
    case TG_RECORD_NOTE:
        add_note(record);
        break;
    case TG_RECORD_ASIDE:
        add_agent_state(record, TG_AGENT_ASIDE, string_at(record, 0));
        break;
    case TG_RECORD_LIBRARY_CALL:
    case TG_RECORD_LIBRARY_RETURN:
    case TG_RECORD_LOADER_ACTIVITY:
    case TG_RECORD_LOADER_OPEN:
    case TG_RECORD_LOADER_CLOSE:
    case TG_RECORD_LOADER_PREINIT:
        add_loader(record, kind);
        break;
    case TG_RECORD_OMP_RUNTIME:
        add_omp_runtime(record);
        break;
    case TG_RECORD_OMP_PARALLEL_BEGIN:
        add_parallel_begin(record);
        break;
    case TG_RECORD_OMP_PARALLEL_END:
        add_parallel_end(record);
        break;
    case TG_RECORD_OMP_IMPLICIT_BEGIN:
        add_implicit_begin(record);
        break;
    case TG_RECORD_OMP_IMPLICIT_END:
        add_implicit_end(record);
        break;
    case TG_RECORD_OMP_ZONE_BEGIN:
    case TG_RECORD_OMP_ZONE_END:
        add_zone(record, kind == TG_RECORD_OMP_ZONE_BEGIN);
        break;
    case TG_RECORD_OMP_SECTION:
        add_section(record);
        break;
    case TG_RECORD_OMP_SYNC_BEGIN:
    case TG_RECORD_OMP_SYNC_END:
        add_sync(record, kind == TG_RECORD_OMP_SYNC_BEGIN);
        break;
    case TG_RECORD_OMP_MUTEX_WAIT:
        add_mutex(record, TG_EVENT_OMP_MUTEX_WAIT);
        break;
    case TG_RECORD_OMP_MUTEX_ENTER:
        add_mutex(record, TG_EVENT_OMP_MUTEX_ENTER);
        break;
    case TG_RECORD_OMP_MUTEX_LEAVE:
        add_mutex(record, TG_EVENT_OMP_MUTEX_LEAVE);
        break;
    case TG_RECORD_OMP_TASK_CREATE:
        add_task_create(record);
        break;
    case TG_RECORD_OMP_TASK_BEGIN:
        add_task_begin(record);
        break;
    case TG_RECORD_OMP_TASK_END:
        add_task_end(record);
        break;
    case TG_RECORD_OMP_CANCEL:
        add_cancel(record);
        break;
    case TG_RECORD_MPI_COMM:
        add_mpi_comm(record);
        break;
    case TG_RECORD_MPI_ENTER:
        add_mpi_enter(record);
        break;
    case TG_RECORD_MPI_LEAVE:
        add_mpi_leave(record);
        break;
    case TG_RECORD_MPI_COMPLETE:
        add_mpi_complete(record);
        break;
    case TG_RECORD_NONE:
    case TG_RECORD_PAD:
    case TG_RECORD_COUNT:
        break;
    }
}

/* ---- programs */

static void end_program(struct tg_ring_decoder *decoder, struct process *process)
{
    tg_agent_loader_end(decoder->loader, process->pid, process->instance, &decoder->sink);
    free(process->teams);
    process->teams = NULL;
    process->announced = false;
}

static struct process *add_process(struct tg_ring_decoder *decoder, const struct tg_ring_source *source)
{
    struct process *process = calloc(1, sizeof *process);
    if (process == NULL)
        return NULL;
    process->pid = source->facts.pid;
    process->instance = process->previous = source->facts.instance;
    HASH_ADD_INT(decoder->processes, pid, process);
    if (process->hh.tbl == NULL) { /* no memory */
        free(process);
        return NULL;
    }
    decoder->stats.n_processes++;
    return process;
}

/* The process of SOURCE, whose program is SOURCE's from now on unless it is one that has gone. NULL without
 * memory. */
static struct process *meet_program(struct tg_ring_decoder *decoder, struct tg_ring_source *source)
{
    struct process *process = source->process;
    if (process == NULL)
        HASH_FIND_INT(decoder->processes, &source->facts.pid, process);
    if (process == NULL)
        process = add_process(decoder, source);
    source->process = process;
    if (process == NULL)
        return NULL;
    if (process->instance != source->facts.instance && process->previous != source->facts.instance) {
        end_program(decoder, process);
        process->previous = process->instance;
        process->instance = source->facts.instance;
    }
    return process;
}

/* The first record of a program says that it is watched; one that says why it is not, says it better. */
static void announce(struct record *record, enum tg_agent_record kind)
{
    if (record->process->announced || kind == TG_RECORD_THREAD ||
        record->process->instance != record->source->facts.instance)
        return;
    record->decoder->stats.programs++;
    if (kind != TG_RECORD_ASIDE)
        add_agent_state(record, TG_AGENT_WATCHING, "");
}

void tg_ring_decoder_add(struct tg_ring_decoder *decoder, struct tg_ring_source *source, uint64_t time_ns,
                         uint64_t *words)
{
    unsigned kind = words[1] & 0xff;
    size_t n_words = words[1] >> TG_AGENT_WORDS_SHIFT & 0xfff;
    if (kind == TG_RECORD_NONE || kind >= TG_RECORD_COUNT) {
        decoder->stats.unknown++;
        return;
    }
    if (n_words < 2 || n_words - 2 < least_arguments[kind]) {
        decoder->stats.misformed++;
        return;
    }
    struct record record = {
        .decoder = decoder,
        .source = source,
        .process = meet_program(decoder, source),
        .arguments = words + 2,
        .n_arguments = n_words - 2,
        .place = words[1],
    };
    if (record.process == NULL) {
        decoder->stats.misformed++;
        return;
    }
    if (names_thread((enum tg_agent_record)kind))
        source->tid = (int32_t)words[2];
    record.event.time_ns = time_ns;
    record.event.pid = source->facts.pid;
    record.event.tid = source->tid;
    announce(&record, (enum tg_agent_record)kind);
    decode(&record, (enum tg_agent_record)kind);
}

/* ---- life */

struct tg_error *tg_ring_decoder_create(const struct tg_event_sink *sink, struct tg_ring_decoder **decoder)
{
    struct tg_ring_decoder *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->sink = *sink;
    struct tg_error *error = tg_agent_loader_create(&made->loader);
    if (error != NULL) {
        free(made);
        return error;
    }
    *decoder = made;
    return NULL;
}

void tg_ring_decoder_destroy(struct tg_ring_decoder *decoder)
{
    if (decoder == NULL)
        return;
    while (decoder->sources != NULL)
        tg_ring_decoder_remove_source(decoder, decoder->sources);
    struct process *process, *next;
    HASH_ITER (hh, decoder->processes, process, next) {
        HASH_DEL(decoder->processes, process);
        free(process->teams);
        free(process);
    }
    tg_agent_loader_destroy(decoder->loader);
    free(decoder);
}

struct tg_error *tg_ring_decoder_add_source(struct tg_ring_decoder *decoder,
                                            const struct tg_ring_facts *facts, struct tg_ring_source **source)
{
    struct tg_ring_source *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->facts = *facts;
    made->tid = facts->tid;
    made->next = decoder->sources;
    if (made->next != NULL)
        made->next->previous = made;
    decoder->sources = made;
    *source = made;
    return NULL;
}

void tg_ring_decoder_remove_source(struct tg_ring_decoder *decoder, struct tg_ring_source *source)
{
    if (source->next != NULL)
        source->next->previous = source->previous;
    if (source->previous != NULL)
        source->previous->next = source->next;
    else
        decoder->sources = source->next;
    free(source->stack);
    free(source);
}

bool tg_ring_decoder_is_superseded(const struct tg_ring_decoder *decoder, const struct tg_ring_source *source)
{
    struct process *process = NULL;
    HASH_FIND_INT(decoder->processes, &source->facts.pid, process);
    return process != NULL && process->instance != source->facts.instance &&
           process->previous == source->facts.instance;
}

uint64_t tg_ring_source_told_lost(const struct tg_ring_source *source)
{
    return source->told_lost;
}

int32_t tg_ring_source_tid(const struct tg_ring_source *source)
{
    return source->tid;
}

void tg_ring_decoder_process_ends(struct tg_ring_decoder *decoder, int32_t pid, uint64_t time_ns)
{
    struct process *process;
    HASH_FIND_INT(decoder->processes, &pid, process);
    if (process != NULL)
        tg_agent_loader_end_load(decoder->loader, pid, process->instance, time_ns, &decoder->sink);
}

void tg_ring_decoder_end_process(struct tg_ring_decoder *decoder, int32_t pid)
{
    struct process *process = NULL;
    HASH_FIND_INT(decoder->processes, &pid, process);
    if (process == NULL)
        return;
    end_program(decoder, process);
    for (struct tg_ring_source *source = decoder->sources; source != NULL; source = source->next)
        if (source->process == process)
            source->process = NULL;
    HASH_DEL(decoder->processes, process);
    free(process);
    decoder->stats.n_processes--;
}

struct tg_ring_decoder_stats tg_ring_decoder_stats(const struct tg_ring_decoder *decoder)
{
    return decoder->stats;
}
