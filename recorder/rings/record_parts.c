#include "recorder/rings/record_parts.h"

#include "recorder/agent/deep_bind.h"
#include "recorder/agent/mpi/calls.h"
#include "recorder/agent/mpi/types.h"

#include <string.h>

const char *tg_record_string(const struct tg_record_words *record, size_t from)
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
static struct tg_list list_at(const struct tg_record_words *record, size_t from, size_t item_words)
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

enum { MAX_PARTS = 16 }; /* of a record, with an END */

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
        BITS, TG_RECORD_ARGUMENT + (argument), 64 - (low) - (n_bits), 64 - (n_bits), AT(at), 0, 0            \
    }
#define WHOLE(at, argument) SOME(at, argument, 0, 64)
#define ENUM(at)            SOME(at, 0, TG_AGENT_ENUM_SHIFT, 8)
#define TRUTH(at, argument)                                                                                  \
    {                                                                                                        \
        FLAG, TG_RECORD_ARGUMENT + (argument), 0, 0, AT(at), 0, 0                                            \
    }
#define TEXT(at, argument)                                                                                   \
    {                                                                                                        \
        STRING, TG_RECORD_ARGUMENT + (argument), 0, 0, AT(at), 0, 0                                          \
    }
#define TEXT_BEHIND(at, text)                                                                                \
    {                                                                                                        \
        STRING_BEHIND, 0, 0, 0, AT(at), AT(text), 0                                                          \
    }
#define CALL(at, argument)                                                                                   \
    {                                                                                                        \
        MPI_NAME, TG_RECORD_ARGUMENT + (argument), 0, 0, AT(at), 0, 0                                        \
    }
#define CALL_PART(what, at, low, n_bits)                                                                     \
    {                                                                                                        \
        what, TG_RECORD_ARGUMENT, 64 - (low) - (n_bits), 64 - (n_bits), AT(at), 0, 0                         \
    }
#define ITEMS(at, argument, item)                                                                            \
    {                                                                                                        \
        LIST, TG_RECORD_ARGUMENT + (argument), 0, 0, AT(at), 0, sizeof(item) / sizeof(uint64_t)              \
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

/* The event that a record of each kind becomes; kind 0: none, or not by its parts. */
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
                             WHOLE(mpi_comm.remote_size, 6), WHOLE(mpi_comm.link, 7),
                             ITEMS(mpi_comm.members, 8, struct tg_mpi_member)}},
    [TG_RECORD_MPI_ENTER] = {TG_EVENT_MPI_ENTER, {MPI_ENTER_PARTS}},
    [TG_RECORD_MPI_ENTER_REQUEST] = {TG_EVENT_MPI_ENTER, {MPI_ENTER_PARTS, WHOLE(mpi_enter.request, 8)}},
    [TG_RECORD_MPI_ENTER_BOTH] = {TG_EVENT_MPI_ENTER,
                                  {MPI_ENTER_PARTS, TRUTH(mpi_enter.receives, 8), WHOLE(mpi_enter.from, 9),
                                   WHOLE(mpi_enter.from_tag, 10)}},
    [TG_RECORD_MPI_REQUESTS] = {TG_EVENT_MPI_REQUESTS,
                                {ITEMS(mpi_requests.requests, 0, struct tg_mpi_request_item)}},
    [TG_RECORD_MPI_LEAVE] = {TG_EVENT_MPI_LEAVE,
                             {CALL_PART(MPI_NAME, mpi_leave.call, 0, TG_MPI_CALL_BITS),
                              SOME(mpi_leave.poll, 0, TG_MPI_CALL_POLL_SHIFT, TG_MPI_POLL_BITS),
                              WHOLE(mpi_leave.request, 1), WHOLE(mpi_leave.peer, 2), WHOLE(mpi_leave.tag, 3),
                              WHOLE(mpi_leave.bytes, 4), WHOLE(mpi_leave.result, 5)}},
    [TG_RECORD_MPI_COMPLETE] = {TG_EVENT_MPI_COMPLETE,
                                {WHOLE(mpi_complete.request, 0), WHOLE(mpi_complete.peer, 1),
                                 WHOLE(mpi_complete.tag, 2), WHOLE(mpi_complete.bytes, 3),
                                 TRUTH(mpi_complete.cancelled, 4)}},
    [TG_RECORD_MPI_ERROR] = {TG_EVENT_MPI_ERROR,
                             {WHOLE(mpi_error.code, 0), WHOLE(mpi_error.request, 1), TEXT(mpi_error.call, 2),
                              TEXT_BEHIND(mpi_error.error_class, mpi_error.call),
                              TEXT_BEHIND(mpi_error.text, mpi_error.error_class)}},
    [TG_RECORD_MPI_GROUP] = {TG_EVENT_MPI_GROUP, {ITEMS(mpi_group.members, 0, struct tg_mpi_rank_item)}},
    [TG_RECORD_MPI_PARTITIONS] = {TG_EVENT_MPI_PARTITIONS,
                                  {ITEMS(mpi_partitions.ranges, 0, struct tg_mpi_partition_range)}},
    [TG_RECORD_MPI_POLL] = {TG_EVENT_MPI_POLL,
                            {CALL(mpi_poll.call, 0), WHOLE(mpi_poll.comm, 1), WHOLE(mpi_poll.peer, 2),
                             WHOLE(mpi_poll.tag, 3), SOME(mpi_poll.code, 4, 0, TG_AGENT_SEEN_SHIFT),
                             WHOLE(mpi_poll.request, 5), WHOLE(mpi_poll.polls, 6),
                             WHOLE(mpi_poll.permille, 7), TRUTH(mpi_poll.various, 8)}},
    [TG_RECORD_MPI_POLL_SUM] = {TG_EVENT_MPI_POLL_SUM,
                                {CALL(mpi_poll_sum.call, 0),
                                 SOME(mpi_poll_sum.code, 1, 0, TG_AGENT_SEEN_SHIFT),
                                 WHOLE(mpi_poll_sum.polls, 2), WHOLE(mpi_poll_sum.inside_ns, 3),
                                 WHOLE(mpi_poll_sum.longest_ns, 4), WHOLE(mpi_poll_sum.first_ago_ns, 5),
                                 WHOLE(mpi_poll_sum.last_ago_ns, 6)}},
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
_Static_assert((int)TG_MPI_POLL_VAIN == (int)TG_MPI_POLL_IN_VAIN &&
                   (int)TG_MPI_POLL_FINDS == (int)TG_MPI_POLL_FOUND,
               "the agent's number is the event's");
#define IS_WAY(way, how) _Static_assert((int)(way) == (int)(how), "the agent's number is the event's")
IS_WAY(TG_DEEP_BIND_AUDIT, TG_DEEP_BIND_BY_AUDIT);
IS_WAY(TG_DEEP_BIND_WRAPPER, TG_DEEP_BIND_BY_WRAPPER);
IS_WAY(TG_DEEP_BIND_PASS_THROUGH, TG_DEEP_BIND_PASSED);
IS_WAY(TG_DEEP_BIND_LOADED, TG_DEEP_BIND_WAS_LOADED);
IS_WAY(TG_DEEP_BIND_FAILED, TG_DEEP_BIND_NOT_DONE);
#undef IS_WAY

static struct tg_omp_place place_of(const struct tg_record_words *record)
{
    return (struct tg_omp_place){
        .team = record->team.id,
        .thread_num = record->words[1] >> TG_AGENT_THREAD_NUM_SHIFT & 0xffff,
        .level = record->team.level,
        .code = record->words[TG_RECORD_ARGUMENT] & TG_AGENT_CODE_MASK,
        .seen = record->words[TG_RECORD_ARGUMENT] >> TG_AGENT_SEEN_SHIFT & 0xff,
    };
}

/* The string behind the one that the member at BEFORE points to. */
static const char *string_behind(const struct tg_record_words *record, const struct tg_event *event,
                                 size_t before)
{
    const char *text;
    memcpy(&text, (const char *)event + before, sizeof text);
    size_t word = (size_t)(text - (const char *)record->words) / sizeof(uint64_t);
    return tg_record_string(record, word + strlen(text) / sizeof(uint64_t) + 1);
}

#define PUT(member, value) memcpy((char *)event + (member), &(value), sizeof(value))

static void put_part(const struct tg_record_words *record, const struct part *part, struct tg_event *event)
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
        text = tg_record_string(record, part->word);
        PUT(part->member, text);
        break;
    case STRING_BEHIND:
        text = string_behind(record, event, part->before);
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

void tg_record_put(const struct tg_record_words *record, unsigned kind, struct tg_event *event)
{
    for (const struct part *part = events[kind].parts; part->from != END; part++)
        put_part(record, part, event);
    event->kind = events[kind].kind;
}

/* ---- forms */

void tg_record_forms(struct tg_record_form forms[TG_RECORD_COUNT])
{
    static const unsigned char least_arguments[TG_RECORD_COUNT] = {
#define X(symbol, n_arguments) [TG_RECORD_##symbol] = (n_arguments),
        TG_AGENT_RECORDS(X)
#undef X
    };
    for (unsigned kind = 0; kind < TG_RECORD_COUNT; kind++) {
        struct tg_record_form *form = &forms[kind];
        *form = (struct tg_record_form){.kind = events[kind].kind, .least_arguments = least_arguments[kind]};
        if (form->kind == 0)
            continue;
        form->payload_bytes = tg_event_schema(form->kind)->size_bytes;
        form->is_plain = kind != TG_RECORD_OMP_IMPLICIT_BEGIN && kind != TG_RECORD_OMP_IMPLICIT_END;
        for (const struct part *part = events[kind].parts; part->from != END; part++) {
            form->has_place |= part->from == PLACE;
            form->is_plain &= part->from != STRING && part->from != STRING_BEHIND && part->from != LIST;
        }
    }
}
