#include "recorder/rings/decoder.h"

#include "format/base/hash.h"
#include "recorder/agent/deep_bind.h"
#include "recorder/agent/mpi/calls.h"
#include "recorder/agent/mpi/types.h"
#include "recorder/rings/known_records.h"
#include "recorder/rings/library_records.h"
#include "recorder/rings/team_table.h"

#include <stdlib.h>
#include <string.h>

/* A process, and the program that runs in it. */
struct process {
    int32_t pid;
    uint64_t instance;
    uint64_t previous; /* instance of the program before: what still comes of it is late */
    bool announced;
    struct tg_team_table *teams;  /* NULL: no region yet */
    struct tg_heap_program *heap; /* NULL: no record of it yet */
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

/* What is known of the kinds of record in advance. */
struct record_kind {
    unsigned char least_arguments;
    bool has_place;
    bool is_plain; /* its event depends on its words and the thread's team alone */
    size_t payload_bytes;
};

struct tg_ring_decoder {
    struct tg_event_sink sink;
    struct record_kind kinds[TG_RECORD_COUNT];
    struct tg_known_records *known;
    struct tg_agent_loader *loader;
    struct tg_heap_stacks *heap_stacks;
    struct process *processes;
    struct tg_ring_source *sources;
    struct tg_ring_decoder_stats stats;
};

/* One record on its way to an event. */
struct record {
    struct tg_ring_decoder *decoder;
    struct tg_ring_source *source;
    struct process *process;
    uint64_t *words;
    size_t n_words;
    struct tg_team team;
    struct tg_known_record *room; /* NULL: the event is not kept */
    struct tg_event event;
};

static void emit(struct record *record, enum tg_event_kind kind)
{
    record->event.kind = kind;
    record->decoder->sink.add(record->decoder->sink.context, &record->event);
}

/* The string that begins at word FROM; made to end within the record, whatever was written there. */
static const char *string_at(const struct record *record, size_t from)
{
    if (from >= record->n_words)
        return "";
    char *text = (char *)(record->words + from);
    size_t room = (record->n_words - from) * sizeof record->words[0];
    if (room > TG_AGENT_MAX_STRING_BYTES)
        room = TG_AGENT_MAX_STRING_BYTES;
    text[room - 1] = '\0';
    return text;
}

/* The list of items of ITEM_WORDS words whose count is word FROM: as many items as the record holds. */
static struct tg_list list_at(const struct record *record, size_t from, size_t item_words)
{
    size_t room = (record->n_words - from - 1) / item_words;
    uint64_t count = record->words[from];
    return (struct tg_list){.items = record->words + from + 1, .count = count < room ? count : room};
}

static const char *mpi_name(uint64_t call)
{
    static const char *const names[TG_MPI_CALL_COUNT] = {
#define X(name) [TG_MPI_CALL_##name] = "MPI_" #name,
        TG_MPI_CALLS(X)
#undef X
    };
    return call < TG_MPI_CALL_COUNT ? names[call] : "MPI_?";
}

static const char *mpi_type_name(uint64_t type)
{
    static const char *const names[TG_MPI_TYPE_COUNT_] = {
#define X(symbol, name) [TG_MPI_TYPE_##symbol] = "MPI_" name,
        TG_MPI_TYPES(X)
#undef X
    };
    return type > 0 && type < TG_MPI_TYPE_COUNT_ ? names[type] : "";
}

static const char *mpi_op_name(uint64_t op)
{
    static const char *const names[TG_MPI_OP_COUNT_] = {
#define X(symbol, name) [TG_MPI_OP_##symbol] = "MPI_" name,
        TG_MPI_OPS(X)
#undef X
            [TG_MPI_OP_OWN] = "own",
    };
    return op > 0 && op < TG_MPI_OP_COUNT_ ? names[op] : "";
}

static const struct tg_team_table no_table;
static const struct tg_team_stack no_stack;

static uint64_t low_team(const struct record *record)
{
    return record->words[1] >> TG_AGENT_TEAM_SHIFT;
}

static struct tg_team find_team(const struct record *record)
{
    const struct tg_team_table *table = record->process->teams;
    const struct tg_team_stack *stack = record->source->stack;
    return tg_team_find(table != NULL ? table : &no_table, stack != NULL ? stack : &no_stack,
                        low_team(record));
}

/* ---- events whose members are words of the record, or parts of them */

enum { ARGUMENT = 2, MAX_PARTS = 16 }; /* the word of the first argument; parts of a record with an END */

/* One member of the event, and the words that it comes from. */
struct part {
    enum { END, BITS, FLAG, STRING, STRING_BEHIND, MPI_NAME, MPI_TYPE, MPI_OP, LIST, PLACE } from;
    unsigned char word;
    unsigned char left, right; /* BITS: shifts of the word, one after the other */
    unsigned short member;     /* offset in struct tg_event */
    unsigned short before,
        words; /* STRING_BEHIND: the string before, by its member; LIST: words of an item */
};

#define AT(member) offsetof(struct tg_event, member)
#define SOME(at, argument, low, n_bits)                                                                      \
    {                                                                                                        \
        BITS, ARGUMENT + (argument), 64 - (low) - (n_bits), 64 - (n_bits), AT(at), 0, 0                      \
    }
#define WHOLE(at, argument) SOME(at, argument, 0, 64)
#define ENUM(at)            SOME(at, 0, TG_AGENT_ENUM_SHIFT, 8)
#define TRUTH(at, argument)                                                                                  \
    {                                                                                                        \
        FLAG, ARGUMENT + (argument), 0, 0, AT(at), 0, 0                                                      \
    }
#define TEXT(at, argument)                                                                                   \
    {                                                                                                        \
        STRING, ARGUMENT + (argument), 0, 0, AT(at), 0, 0                                                    \
    }
#define TEXT_BEHIND(at, text)                                                                                \
    {                                                                                                        \
        STRING_BEHIND, 0, 0, 0, AT(at), AT(text), 0                                                          \
    }
#define CALL(at, argument)                                                                                   \
    {                                                                                                        \
        MPI_NAME, ARGUMENT + (argument), 0, 0, AT(at), 0, 0                                                  \
    }
#define CALL_PART(what, at, low, n_bits)                                                                     \
    {                                                                                                        \
        what, ARGUMENT, 64 - (low) - (n_bits), 64 - (n_bits), AT(at), 0, 0                                   \
    }
#define ITEMS(at, argument, item)                                                                            \
    {                                                                                                        \
        LIST, ARGUMENT + (argument), 0, 0, AT(at), 0, sizeof(item) / sizeof(uint64_t)                        \
    }
#define PLACE(payload)                                                                                       \
    {                                                                                                        \
        PLACE, 0, 0, 0, AT(payload.team), 0, 0                                                               \
    } /* all members of TG_OMP_PLACE */

/* What the three forms of an entry have in common. */
#define MPI_ENTER_PARTS                                                                                      \
    CALL_PART(MPI_NAME, mpi_enter.call, 0, TG_MPI_CALL_BITS),                                                \
        CALL_PART(MPI_OP, mpi_enter.op, TG_MPI_CALL_OP_SHIFT, TG_MPI_TYPE_BITS),                             \
        CALL_PART(MPI_TYPE, mpi_enter.type, TG_MPI_CALL_TYPE_SHIFT, TG_MPI_TYPE_BITS),                       \
        CALL_PART(MPI_TYPE, mpi_enter.from_type, TG_MPI_CALL_FROM_TYPE_SHIFT, TG_MPI_TYPE_BITS),             \
        WHOLE(mpi_enter.comm, 1), WHOLE(mpi_enter.instance, 2), WHOLE(mpi_enter.peer, 3),                    \
        WHOLE(mpi_enter.tag, 4), WHOLE(mpi_enter.root, 5), WHOLE(mpi_enter.bytes, 6),                        \
        SOME(mpi_enter.code, 7, 0, TG_AGENT_SEEN_SHIFT)

/* The event that a record of each kind becomes; kind 0: none, or by decode_other. */
static const struct {
    enum tg_event_kind kind;
    struct part parts[MAX_PARTS];
} events[TG_RECORD_COUNT] = {
    [TG_RECORD_NOTE] = {TG_EVENT_NOTE, {TEXT(note.text, 0)}},
    [TG_RECORD_OMP_RUNTIME] = {TG_EVENT_OMP_RUNTIME,
                               {WHOLE(omp_runtime.seen, 0), TEXT(omp_runtime.name, 1),
                                TEXT_BEHIND(omp_runtime.version, omp_runtime.name)}},
    [TG_RECORD_OMP_PARALLEL_BEGIN] = {TG_EVENT_OMP_PARALLEL_BEGIN,
                                      {PLACE(omp_parallel_begin), WHOLE(omp_parallel_begin.new_team, 1),
                                       WHOLE(omp_parallel_begin.requested, 2),
                                       WHOLE(omp_parallel_begin.body, 3)}},
    [TG_RECORD_OMP_PARALLEL_END] = {TG_EVENT_OMP_PARALLEL_END,
                                    {PLACE(omp_parallel_end), WHOLE(omp_parallel_end.ended_team, 1)}},
    [TG_RECORD_OMP_IMPLICIT_BEGIN] = {TG_EVENT_OMP_IMPLICIT_BEGIN,
                                      {PLACE(omp_implicit_begin), WHOLE(omp_implicit_begin.team, 1),
                                       WHOLE(omp_implicit_begin.parent_team, 2),
                                       WHOLE(omp_implicit_begin.team_size, 3),
                                       WHOLE(omp_implicit_begin.level, 4)}},
    [TG_RECORD_OMP_IMPLICIT_END] = {TG_EVENT_OMP_IMPLICIT_END, {PLACE(omp_implicit_end)}},
    [TG_RECORD_OMP_ZONE_BEGIN] = {TG_EVENT_OMP_ZONE_BEGIN,
                                  {PLACE(omp_zone_begin), ENUM(omp_zone_begin.zone),
                                   SOME(omp_zone_begin.schedule, 1, 0, 8),
                                   SOME(omp_zone_begin.count, 1, 8, 56)}},
    [TG_RECORD_OMP_ZONE_END] = {TG_EVENT_OMP_ZONE_END, {PLACE(omp_zone_end), ENUM(omp_zone_end.zone)}},
    [TG_RECORD_OMP_SECTION] = {TG_EVENT_OMP_SECTION, {PLACE(omp_section), WHOLE(omp_section.section, 1)}},
    [TG_RECORD_OMP_SYNC_BEGIN] = {TG_EVENT_OMP_SYNC_BEGIN,
                                  {PLACE(omp_sync_begin), ENUM(omp_sync_begin.sync),
                                   WHOLE(omp_sync_begin.instance, 1)}},
    [TG_RECORD_OMP_SYNC_END] = {TG_EVENT_OMP_SYNC_END,
                                {PLACE(omp_sync_end), ENUM(omp_sync_end.sync),
                                 SOME(omp_sync_end.instance, 1, 0, 63),
                                 SOME(omp_sync_end.cancelled, 1, 63, 1)}},
    [TG_RECORD_OMP_MUTEX_WAIT] = {TG_EVENT_OMP_MUTEX_WAIT,
                                  {PLACE(omp_mutex_wait), ENUM(omp_mutex_wait.mutex),
                                   WHOLE(omp_mutex_wait.lock, 1)}},
    [TG_RECORD_OMP_MUTEX_ENTER] = {TG_EVENT_OMP_MUTEX_ENTER,
                                   {PLACE(omp_mutex_enter), ENUM(omp_mutex_enter.mutex),
                                    WHOLE(omp_mutex_enter.lock, 1)}},
    [TG_RECORD_OMP_MUTEX_LEAVE] = {TG_EVENT_OMP_MUTEX_LEAVE,
                                   {PLACE(omp_mutex_leave), ENUM(omp_mutex_leave.mutex),
                                    WHOLE(omp_mutex_leave.lock, 1)}},
    [TG_RECORD_OMP_MUTEX_TEST] = {TG_EVENT_OMP_MUTEX_TEST,
                                  {PLACE(omp_mutex_test), ENUM(omp_mutex_test.mutex),
                                   WHOLE(omp_mutex_test.lock, 1), WHOLE(omp_mutex_test.tests, 2)}},
    [TG_RECORD_OMP_TASK_CREATE] = {TG_EVENT_OMP_TASK_CREATE,
                                   {PLACE(omp_task_create), WHOLE(omp_task_create.task, 1),
                                    WHOLE(omp_task_create.parent_task, 2), WHOLE(omp_task_create.body, 3),
                                    WHOLE(omp_task_create.flags, 4),
                                    ITEMS(omp_task_create.dependences, 5, struct tg_omp_dependence)}},
    [TG_RECORD_OMP_TASK_BEGIN] = {TG_EVENT_OMP_TASK_BEGIN,
                                  {PLACE(omp_task_begin), SOME(omp_task_begin.task, 1, 0, 63),
                                   SOME(omp_task_begin.resumed, 1, 63, 1)}},
    [TG_RECORD_OMP_TASK_END] = {TG_EVENT_OMP_TASK_END,
                                {PLACE(omp_task_end), WHOLE(omp_task_end.task, 1), ENUM(omp_task_end.how)}},
    [TG_RECORD_OMP_CANCEL] = {TG_EVENT_OMP_CANCEL,
                              {PLACE(omp_cancel), ENUM(omp_cancel.construct),
                               TRUTH(omp_cancel.activated, 1)}},
    [TG_RECORD_OMP_CHUNK] = {TG_EVENT_OMP_CHUNK,
                             {PLACE(omp_chunk), WHOLE(omp_chunk.first, 1), WHOLE(omp_chunk.last, 2),
                              WHOLE(omp_chunk.stride, 3)}},
    [TG_RECORD_OMP_ITERATION] = {TG_EVENT_OMP_ITERATION,
                                 {PLACE(omp_iteration), ENUM(omp_iteration.what),
                                  ITEMS(omp_iteration.indices, 1, struct tg_omp_index)}},
    [TG_RECORD_MPI_COMM] = {TG_EVENT_MPI_COMM,
                            {WHOLE(mpi_comm.comm, 0), WHOLE(mpi_comm.parent, 1), WHOLE(mpi_comm.handle, 2),
                             WHOLE(mpi_comm.origin, 3), WHOLE(mpi_comm.rank, 4), WHOLE(mpi_comm.size, 5),
                             ITEMS(mpi_comm.members, 6, struct tg_mpi_member)}},
    [TG_RECORD_MPI_ENTER] = {TG_EVENT_MPI_ENTER, {MPI_ENTER_PARTS}},
    [TG_RECORD_MPI_ENTER_REQUEST] = {TG_EVENT_MPI_ENTER, {MPI_ENTER_PARTS, WHOLE(mpi_enter.request, 8)}},
    [TG_RECORD_MPI_ENTER_BOTH] = {TG_EVENT_MPI_ENTER,
                                  {MPI_ENTER_PARTS, TRUTH(mpi_enter.receives, 8), WHOLE(mpi_enter.from, 9),
                                   WHOLE(mpi_enter.from_tag, 10)}},
    [TG_RECORD_MPI_REQUESTS] = {TG_EVENT_MPI_REQUESTS,
                                {ITEMS(mpi_requests.requests, 0, struct tg_mpi_request_item)}},
    [TG_RECORD_MPI_LEAVE] = {TG_EVENT_MPI_LEAVE,
                             {CALL(mpi_leave.call, 0), WHOLE(mpi_leave.request, 1), WHOLE(mpi_leave.peer, 2),
                              WHOLE(mpi_leave.tag, 3), WHOLE(mpi_leave.bytes, 4),
                              WHOLE(mpi_leave.result, 5)}},
    [TG_RECORD_MPI_COMPLETE] = {TG_EVENT_MPI_COMPLETE,
                                {WHOLE(mpi_complete.request, 0), WHOLE(mpi_complete.peer, 1),
                                 WHOLE(mpi_complete.tag, 2), WHOLE(mpi_complete.bytes, 3),
                                 TRUTH(mpi_complete.cancelled, 4)}},
    [TG_RECORD_MPI_ERROR] = {TG_EVENT_MPI_ERROR,
                             {WHOLE(mpi_error.code, 0), WHOLE(mpi_error.request, 1), TEXT(mpi_error.call, 2),
                              TEXT_BEHIND(mpi_error.error_class, mpi_error.call),
                              TEXT_BEHIND(mpi_error.text, mpi_error.error_class)}},
    [TG_RECORD_MPI_COMM_NAME] = {TG_EVENT_MPI_COMM_NAME,
                                 {WHOLE(mpi_comm_name.comm, 0), TEXT(mpi_comm_name.name, 1)}},
    [TG_RECORD_DEEP_BIND] = {TG_EVENT_DEEP_BIND,
                             {WHOLE(deep_bind.way, 1), WHOLE(deep_bind.caller, 2),
                              TRUTH(deep_bind.is_kept, 3), TEXT(deep_bind.library, 4),
                              TEXT_BEHIND(deep_bind.wrapper, deep_bind.library),
                              TEXT_BEHIND(deep_bind.problem, deep_bind.wrapper),
                              TEXT_BEHIND(deep_bind.scope_before, deep_bind.problem),
                              TEXT_BEHIND(deep_bind.scope_after, deep_bind.scope_before)}},
};
#define IS_WAY(way, how) _Static_assert((int)(way) == (int)(how), "the agent's number is the event's")
IS_WAY(TG_DEEP_BIND_AUDIT, TG_DEEP_BIND_BY_AUDIT);
IS_WAY(TG_DEEP_BIND_WRAPPER, TG_DEEP_BIND_BY_WRAPPER);
IS_WAY(TG_DEEP_BIND_PASS_THROUGH, TG_DEEP_BIND_PASSED);
IS_WAY(TG_DEEP_BIND_LOADED, TG_DEEP_BIND_WAS_LOADED);
IS_WAY(TG_DEEP_BIND_FAILED, TG_DEEP_BIND_NOT_DONE);
#undef IS_WAY

static struct tg_omp_place place_of(const struct record *record)
{
    return (struct tg_omp_place){
        .team = record->team.id,
        .thread_num = record->words[1] >> TG_AGENT_THREAD_NUM_SHIFT & 0xffff,
        .level = record->team.level,
        .code = record->words[ARGUMENT] & TG_AGENT_CODE_MASK,
        .seen = record->words[ARGUMENT] >> TG_AGENT_SEEN_SHIFT & 0xff,
    };
}

/* The string behind the one that the member at BEFORE points to. */
static const char *string_behind(const struct record *record, size_t before)
{
    const char *text;
    memcpy(&text, (const char *)&record->event + before, sizeof text);
    size_t word = (size_t)(text - (const char *)record->words) / sizeof(uint64_t);
    return string_at(record, word + strlen(text) / sizeof(uint64_t) + 1);
}

#define PUT(member, value) memcpy((char *)&record->event + (member), &(value), sizeof(value))

static void put_part(struct record *record, const struct part *part)
{
    uint64_t word = record->words[part->word];
    const char *text = NULL;
    switch (part->from) {
    case END:
        break;
    case BITS:
        word = word << part->left >> part->right;
        PUT(part->member, word);
        break;
    case FLAG:
        word = word != 0;
        PUT(part->member, word);
        break;
    case STRING:
        text = string_at(record, part->word);
        PUT(part->member, text);
        break;
    case STRING_BEHIND:
        text = string_behind(record, part->before);
        PUT(part->member, text);
        break;
    case MPI_NAME:
        text = mpi_name(word << part->left >> part->right);
        PUT(part->member, text);
        break;
    case MPI_TYPE:
        text = mpi_type_name(word << part->left >> part->right);
        PUT(part->member, text);
        break;
    case MPI_OP:
        text = mpi_op_name(word << part->left >> part->right);
        PUT(part->member, text);
        break;
    case LIST: {
        struct tg_list list = list_at(record, part->word, part->words);
        PUT(part->member, list);
        break;
    }
    case PLACE: {
        struct tg_omp_place place = place_of(record);
        PUT(part->member, place);
        break;
    }
    }
}

/* ---- records that change what is known, and those of the loader */

/* Without memory the thread's level is not known, nothing else. */
static void enter_team(struct record *record)
{
    const uint64_t *arguments = record->words + ARGUMENT;
    if (record->process->teams == NULL)
        record->process->teams = calloc(1, sizeof *record->process->teams);
    if (record->source->stack == NULL)
        record->source->stack = calloc(1, sizeof *record->source->stack);
    struct tg_team team = {.id = arguments[1], .level = arguments[4]};
    if (record->process->teams != NULL && record->source->stack != NULL)
        tg_team_enter(record->process->teams, record->source->stack, team, arguments[2]);
}

static void add_lost(struct record *record)
{
    uint64_t count = record->words[ARGUMENT];
    record->source->told_lost += count;
    record->decoder->stats.told_lost += count;
    record->event.loss = (struct tg_event_loss){
        .source = TG_LOSS_RING, .count = tg_loss_count(count), .reason = "the thread's ring was full"};
    emit(record, TG_EVENT_LOSS);
}

static void add_agent_state(struct record *record, enum tg_agent_state state, const char *reason)
{
    record->process->announced = true;
    record->event.agent = (struct tg_event_agent){.state = state, .reason = reason};
    emit(record, TG_EVENT_AGENT);
}

/* STRING_FROM: the argument at which its string begins, SIZE_MAX none. */
static void add_loader(struct record *record, enum tg_agent_record kind, size_t string_from)
{
    if (string_from != SIZE_MAX)
        string_at(record, ARGUMENT + string_from);
    const struct tg_agent_loader_record given = {
        .pid = record->event.pid,
        .tid = record->event.tid,
        .instance = record->source->facts.instance,
        .time_ns = record->event.time_ns,
        .kind = kind,
        .arguments = record->words + ARGUMENT,
        .n_arguments = record->n_words - ARGUMENT,
    };
    tg_agent_loader_add(record->decoder->loader, &given, &record->decoder->sink);
}

static bool names_thread(enum tg_agent_record kind)
{
    return kind == TG_RECORD_THREAD || kind == TG_RECORD_LOADER_ACTIVITY || kind == TG_RECORD_LOADER_OPEN ||
           kind == TG_RECORD_LOADER_CLOSE || kind == TG_RECORD_LOADER_PREINIT || kind == TG_RECORD_DEEP_BIND;
}

static void decode_other(struct record *record, unsigned kind)
{
    if (kind == TG_RECORD_THREAD && record->source->stack != NULL)
        record->source->stack->n_teams = 0;
    else if (kind == TG_RECORD_LOST)
        add_lost(record);
    else if (kind == TG_RECORD_ASIDE)
        add_agent_state(record, TG_AGENT_ASIDE, string_at(record, ARGUMENT));
    else if (kind == TG_RECORD_LIBRARY_CALL)
        add_loader(record, TG_RECORD_LIBRARY_CALL, 5);
    else if (kind == TG_RECORD_LIBRARY_RETURN)
        add_loader(record, TG_RECORD_LIBRARY_RETURN, 2);
    else if (kind == TG_RECORD_LOADER_OPEN)
        add_loader(record, TG_RECORD_LOADER_OPEN, 9);
    else if (names_thread((enum tg_agent_record)kind) && kind != TG_RECORD_THREAD)
        add_loader(record, (enum tg_agent_record)kind, SIZE_MAX);
    else if (tg_heap_records_have((enum tg_agent_record)kind))
        tg_heap_records_add(record->decoder->heap_stacks, &record->process->heap, (enum tg_agent_record)kind,
                            record->words + ARGUMENT, record->n_words - ARGUMENT, &record->event,
                            &record->decoder->sink);
}

static void decode(struct record *record, unsigned kind)
{
    struct tg_ring_decoder *decoder = record->decoder;
    if (events[kind].kind == 0) {
        memset(TG_EVENT_PAYLOAD(&record->event), 0,
               sizeof record->event - offsetof(struct tg_event, process_start));
        decode_other(record, kind);
        return;
    }
    memset(TG_EVENT_PAYLOAD(&record->event), 0, decoder->kinds[kind].payload_bytes);
    for (const struct part *part = events[kind].parts; part->from != END; part++)
        put_part(record, part);
    record->event.kind = events[kind].kind;
    if (record->room != NULL)
        tg_known_records_keep(decoder->known, record->room, record->words, record->n_words, record->team,
                              &record->event, decoder->kinds[kind].payload_bytes);
    emit(record, events[kind].kind);
    if (kind == TG_RECORD_OMP_IMPLICIT_END && record->source->stack != NULL)
        tg_team_leave(record->source->stack, low_team(record));
}

/* Tells the event of RECORD if such a one was told before. */
static bool tell_known(struct record *record)
{
    struct tg_ring_decoder *decoder = record->decoder;
    struct tg_event *event =
        tg_known_records_find(decoder->known, record->words, record->n_words, record->team, &record->room);
    if (event == NULL)
        return false;
    event->time_ns = record->event.time_ns;
    event->pid = record->event.pid;
    event->tid = record->event.tid;
    decoder->sink.add(decoder->sink.context, event);
    return true;
}

static void describe_kinds(struct record_kind *kinds)
{
    static const unsigned char least_arguments[TG_RECORD_COUNT] = {
#define X(symbol, n_arguments) [TG_RECORD_##symbol] = (n_arguments),
        TG_AGENT_RECORDS(X)
#undef X
    };
    for (unsigned kind = 0; kind < TG_RECORD_COUNT; kind++) {
        struct record_kind *described = &kinds[kind];
        described->least_arguments = least_arguments[kind];
        if (events[kind].kind == 0)
            continue;
        described->payload_bytes = tg_event_schema(events[kind].kind)->size_bytes;
        described->is_plain = kind != TG_RECORD_OMP_IMPLICIT_BEGIN && kind != TG_RECORD_OMP_IMPLICIT_END;
        for (const struct part *part = events[kind].parts; part->from != END; part++) {
            described->has_place |= part->from == PLACE;
            described->is_plain &= part->from != STRING && part->from != STRING_BEHIND && part->from != LIST;
        }
    }
}

/* ---- programs */

static void end_program(struct tg_ring_decoder *decoder, struct process *process, uint64_t time_ns)
{
    tg_agent_loader_end(decoder->loader, process->pid, process->instance, time_ns, &decoder->sink);
    free(process->teams);
    process->teams = NULL;
    tg_heap_program_destroy(process->heap);
    process->heap = NULL;
    process->announced = false;
}

static struct process *add_process(struct tg_ring_decoder *decoder, const struct tg_ring_source *source)
{
    struct process *process;
    if (TG_HASH_CREATE(hh, decoder->processes, pid, &source->facts.pid, process) != NULL)
        return NULL;
    process->instance = process->previous = source->facts.instance;
    decoder->stats.n_processes++;
    return process;
}

/* The process of SOURCE, whose program is SOURCE's from now on unless it is one that has gone. NULL without
 * memory. */
static struct process *meet_program(struct tg_ring_decoder *decoder, struct tg_ring_source *source,
                                    uint64_t time_ns)
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
        end_program(decoder, process, time_ns);
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
    const struct record_kind *described = &decoder->kinds[kind];
    if (n_words < ARGUMENT + (size_t)described->least_arguments) {
        decoder->stats.misformed++;
        return;
    }
    struct record record; /* its event's payload, which is large, as far as it is needed */
    record.decoder = decoder;
    record.source = source;
    record.process = meet_program(decoder, source, time_ns);
    record.words = words;
    record.n_words = n_words;
    record.room = NULL;
    if (record.process == NULL) {
        decoder->stats.misformed++;
        return;
    }
    if (names_thread((enum tg_agent_record)kind))
        source->tid = (int32_t)words[ARGUMENT];
    record.event.time_ns = time_ns;
    record.event.stop_ns = 0;
    record.event.pid = source->facts.pid;
    record.event.tid = source->tid;
    record.event.payload_id = 0;
    announce(&record, (enum tg_agent_record)kind);
    if (kind == TG_RECORD_OMP_IMPLICIT_BEGIN)
        enter_team(&record);
    record.team = described->has_place ? find_team(&record) : (struct tg_team){0};
    if (!described->is_plain || !tell_known(&record))
        decode(&record, kind);
}

/* ---- life */

struct tg_error *tg_ring_decoder_create(const struct tg_event_sink *sink, struct tg_ring_decoder **decoder)
{
    struct tg_ring_decoder *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->sink = *sink;
    describe_kinds(made->kinds);
    struct tg_error *error = tg_known_records_create(&made->known);
    if (error == NULL)
        error = tg_agent_loader_create(&made->loader);
    if (error == NULL)
        error = tg_heap_stacks_create(&made->heap_stacks);
    if (error != NULL) {
        tg_ring_decoder_destroy(made);
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
        tg_heap_program_destroy(process->heap);
        free(process);
    }
    tg_known_records_destroy(decoder->known);
    tg_heap_stacks_destroy(decoder->heap_stacks);
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

/* What the program of SOURCE has told of its stacks so far. */
static struct tg_heap_program *copy_heap(const struct tg_ring_decoder *decoder,
                                         const struct tg_ring_source *source)
{
    const struct process *process;
    HASH_FIND_INT(decoder->processes, &source->facts.pid, process);
    return process != NULL && process->instance == source->facts.instance
               ? tg_heap_program_copy(process->heap)
               : NULL;
}

void tg_ring_decoder_foresee(struct tg_ring_decoder *decoder, const struct tg_ring_source *source,
                             uint64_t time_ns, uint64_t *record, struct tg_heap_program **program,
                             const struct tg_event_sink *sink)
{
    enum tg_agent_record kind = record[1] & 0xff;
    size_t n_words = record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff;
    struct tg_event event = {.time_ns = time_ns, .pid = source->facts.pid, .tid = source->tid};
    bool is_heap = tg_heap_records_have(kind);
    if ((!is_heap && kind != TG_RECORD_LOST) ||
        n_words < ARGUMENT + (size_t)decoder->kinds[kind].least_arguments)
        return;
    if (is_heap) {
        if (*program == NULL)
            *program = copy_heap(decoder, source);
        tg_heap_records_add(decoder->heap_stacks, program, kind, record + ARGUMENT, n_words - ARGUMENT,
                            &event, sink);
        return;
    }
    event.kind = TG_EVENT_LOSS;
    event.loss = (struct tg_event_loss){
        .source = TG_LOSS_RING, .count = tg_loss_count(record[ARGUMENT]), .reason = ""};
    sink->add(sink->context, &event);
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

void tg_ring_decoder_end_process(struct tg_ring_decoder *decoder, int32_t pid, uint64_t time_ns)
{
    struct process *process = NULL;
    HASH_FIND_INT(decoder->processes, &pid, process);
    if (process == NULL)
        return;
    end_program(decoder, process, time_ns);
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
