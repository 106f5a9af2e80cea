#include "recorder/rings/decoder.h"

#include "format/base/hash.h"
#include "format/trace/chunk_encoder.h"
#include "format/trace/chunk_tail.h"
#include "recorder/rings/known_records.h"
#include "recorder/rings/library_records.h"
#include "recorder/rings/record_parts.h"
#include "recorder/rings/repeat_event.h"
#include "recorder/rings/team_table.h"

#include <stdlib.h>
#include <string.h>

/* A process, and the program that runs in it. */
struct process {
    int32_t pid;
    uint64_t instance;
    uint64_t previous; /* instance of the program before: what still comes of it is late */
    bool announced;
    uint64_t
        state; /* another number, never the same again, when anything changes that says where its threads are */
    struct tg_team_table *teams;  /* NULL: no region yet */
    struct tg_heap_program *heap; /* NULL: no record of it yet */
    UT_hash_handle hh;
};

/* The latest event of a kind that a thread tells again and again with other numbers, and where it is. */
struct place_of_kind {
    struct tg_event event;
    struct tg_event_place place;
};

struct tg_ring_source {
    struct tg_ring_facts facts;
    int32_t tid;
    uint64_t told_lost;
    struct tg_team_stack *stack;           /* NULL: no region yet */
    struct process *process;               /* NULL: not looked for yet */
    struct place_of_kind given_out, freed; /* blocks of its heap */
    struct tg_ring_source *next, *previous;
};

/* Told of an event that is alike but for its time. */
struct again {
    void *context;
    void (*add)(void *context, const struct tg_event *event, struct tg_event_place *place);
};

struct tg_ring_decoder {
    struct tg_event_sink sink;
    struct again again;
    struct tg_chunk_tail *const *tail;
    struct tg_record_form forms[TG_RECORD_COUNT];
    struct tg_known_records *known;
    const struct tg_tick_clock *clock; /* NULL: not known */
    struct tg_agent_loader *loader;
    struct tg_heap_stacks *heap_stacks;
    struct process *processes;
    struct tg_ring_source *sources;
    uint64_t n_states; /* of processes, ever */
    struct tg_ring_decoder_stats stats;
};

/* One record on its way to an event. */
struct record {
    struct tg_ring_decoder *decoder;
    struct tg_ring_source *source;
    struct process *process;
    struct tg_record_words given;
    struct tg_known_record *room; /* NULL: the event is not kept */
    struct tg_event event;
};

static void emit(struct record *record, enum tg_event_kind kind)
{
    record->event.kind = kind;
    record->decoder->sink.add(record->decoder->sink.context, &record->event);
}

static void change_state(struct tg_ring_decoder *decoder, struct process *process)
{
    process->state = ++decoder->n_states;
}

static const struct tg_team_table no_table;
static const struct tg_team_stack no_stack;
static const struct tg_event_place nowhere;
static struct tg_chunk_tail *const no_tail = NULL;

static uint64_t low_team(const uint64_t *words)
{
    return words[1] >> TG_AGENT_TEAM_SHIFT;
}

/* Where a record of SOURCE with these WORDS says its thread is. */
static struct tg_team find_team(const struct process *process, const struct tg_ring_source *source,
                                const uint64_t *words)
{
    return tg_team_find(process->teams != NULL ? process->teams : &no_table,
                        source->stack != NULL ? source->stack : &no_stack, low_team(words));
}

/* ---- records that change what is known, and those of the loader */

/* The thread of SOURCE begins its part of a region, as WORDS say. Without memory its level is not known, nothing else. */
static void enter_team(struct tg_ring_decoder *decoder, struct tg_ring_source *source, const uint64_t *words)
{
    const uint64_t *arguments = words + TG_RECORD_ARGUMENT;
    struct process *process = source->process;
    if (process->teams == NULL)
        process->teams = calloc(1, sizeof *process->teams);
    if (source->stack == NULL)
        source->stack = calloc(1, sizeof *source->stack);
    struct tg_team team = {.id = arguments[1], .level = arguments[4]};
    if (process->teams != NULL && source->stack != NULL)
        tg_team_enter(process->teams, source->stack, team, arguments[2]);
    change_state(decoder, process);
}

/* The part in the team with the bits LOW ends. */
static void leave_team(struct tg_ring_decoder *decoder, struct tg_ring_source *source, uint64_t low)
{
    if (source->stack == NULL)
        return;
    tg_team_leave(source->stack, low);
    change_state(decoder, source->process);
}

static void add_lost(struct record *record)
{
    uint64_t count = record->given.words[TG_RECORD_ARGUMENT];
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

/* How long TICKS were before RECORD; 0: longer ago than can be, or not known. */
static uint64_t duration_ns(const struct record *record, uint64_t ticks)
{
    const struct tg_tick_clock *clock = record->decoder->clock;
    uint64_t now = record->given.words[0];
    return clock != NULL && ticks < now
               ? tg_tick_clock_time(clock, now) - tg_tick_clock_time(clock, now - ticks)
               : 0;
}

/* What the auditor took of the process so far, as a record of KIND says. */
static uint64_t busy_ns(const struct record *record, enum tg_agent_record kind)
{
    size_t argument = kind == TG_RECORD_LOADER_ACTIVITY ? 3 : 6;
    return kind == TG_RECORD_LOADER_ACTIVITY || kind == TG_RECORD_LOADER_DECISION
               ? duration_ns(record, record->given.words[TG_RECORD_ARGUMENT + argument])
               : 0;
}

/* STRING_FROM: the argument at which its string begins, SIZE_MAX none. */
static void add_loader(struct record *record, enum tg_agent_record kind, size_t string_from)
{
    if (string_from != SIZE_MAX)
        tg_record_string(&record->given, TG_RECORD_ARGUMENT + string_from);
    const struct tg_agent_loader_record given = {
        .pid = record->event.pid,
        .tid = record->event.tid,
        .instance = record->source->facts.instance,
        .time_ns = record->event.time_ns,
        .busy_ns = busy_ns(record, kind),
        .begins_late = record->source->facts.begins_late,
        .kind = kind,
        .arguments = record->given.words + TG_RECORD_ARGUMENT,
        .n_arguments = record->given.n_words - TG_RECORD_ARGUMENT,
    };
    tg_agent_loader_add(record->decoder->loader, &given, &record->decoder->sink);
}

static bool names_thread(enum tg_agent_record kind)
{
    return kind == TG_RECORD_THREAD || kind == TG_RECORD_LOADER_ACTIVITY || kind == TG_RECORD_LOADER_OPEN ||
           kind == TG_RECORD_LOADER_CLOSE || kind == TG_RECORD_LOADER_PREINIT ||
           kind == TG_RECORD_LOADER_DECISION || kind == TG_RECORD_DEEP_BIND;
}

static void decode_other(struct record *record, unsigned kind)
{
    if (kind == TG_RECORD_THREAD && record->source->stack != NULL)
        record->source->stack->n_teams = 0;
    else if (kind == TG_RECORD_LOST)
        add_lost(record);
    else if (kind == TG_RECORD_ASIDE)
        add_agent_state(record, TG_AGENT_ASIDE, tg_record_string(&record->given, TG_RECORD_ARGUMENT));
    else if (kind == TG_RECORD_LIBRARY_CALL)
        add_loader(record, TG_RECORD_LIBRARY_CALL, 5);
    else if (kind == TG_RECORD_LIBRARY_RETURN)
        add_loader(record, TG_RECORD_LIBRARY_RETURN, 2);
    else if (kind == TG_RECORD_LOADER_OPEN)
        add_loader(record, TG_RECORD_LOADER_OPEN, 9);
    else if (kind == TG_RECORD_LOADER_DECISION)
        add_loader(record, TG_RECORD_LOADER_DECISION, 7);
    else if (names_thread((enum tg_agent_record)kind) && kind != TG_RECORD_THREAD)
        add_loader(record, (enum tg_agent_record)kind, SIZE_MAX);
}

/* So far they are ticks. */
static void put_durations(struct record *record)
{
    struct tg_event_mpi_poll_sum *sum = &record->event.mpi_poll_sum;
    sum->inside_ns = duration_ns(record, sum->inside_ns);
    sum->longest_ns = duration_ns(record, sum->longest_ns);
    sum->first_ago_ns = duration_ns(record, sum->first_ago_ns);
    sum->last_ago_ns = duration_ns(record, sum->last_ago_ns);
}

static void decode(struct record *record, unsigned kind)
{
    struct tg_ring_decoder *decoder = record->decoder;
    const struct tg_record_form *form = &decoder->forms[kind];
    if (tg_heap_records_have((enum tg_agent_record)kind)) {
        tg_heap_records_add(decoder->heap_stacks, &record->process->heap, (enum tg_agent_record)kind,
                            record->given.words + TG_RECORD_ARGUMENT,
                            record->given.n_words - TG_RECORD_ARGUMENT, &record->event, &decoder->sink);
        return;
    }
    if (form->kind == 0) {
        memset(TG_EVENT_PAYLOAD(&record->event), 0,
               sizeof record->event - offsetof(struct tg_event, process_start));
        decode_other(record, kind);
        return;
    }
    memset(TG_EVENT_PAYLOAD(&record->event), 0, form->payload_bytes);
    tg_record_put(&record->given, kind, &record->event);
    if (kind == TG_RECORD_MPI_POLL_SUM)
        put_durations(record);
    if (record->room != NULL)
        tg_known_records_keep(decoder->known, record->room, record->given.words, record->given.n_words,
                              record->given.team, &record->event, form->payload_bytes);
    emit(record, form->kind);
    if (kind == TG_RECORD_OMP_IMPLICIT_END)
        leave_team(decoder, record->source, low_team(record->given.words));
}

/* Tells the event of RECORD if such a one was told before. */
static bool tell_known(struct record *record)
{
    struct tg_ring_decoder *decoder = record->decoder;
    struct tg_event *event = tg_known_records_find(decoder->known, record->given.words, record->given.n_words,
                                                   record->given.team, &record->room);
    if (event == NULL)
        return false;
    event->time_ns = record->event.time_ns;
    event->pid = record->event.pid;
    event->tid = record->event.tid;
    decoder->sink.add(decoder->sink.context, event);
    return true;
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
    change_state(decoder, process);
}

static struct process *add_process(struct tg_ring_decoder *decoder, const struct tg_ring_source *source)
{
    struct process *process;
    if (TG_HASH_CREATE(hh, decoder->processes, pid, &source->facts.pid, process) != NULL)
        return NULL;
    process->instance = process->previous = source->facts.instance;
    change_state(decoder, process);
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

/* Whether what SOURCE has is of the program that runs in its process, of which an event was told. */
static bool is_current(const struct tg_ring_source *source)
{
    const struct process *process = source->process;
    return process != NULL && process->instance == source->facts.instance && process->announced;
}

/* A block that SOURCE's thread, which is current, was given, or has freed. */
static void add_change(struct tg_ring_decoder *decoder, struct tg_ring_source *source, uint64_t time_ns,
                       enum tg_agent_record kind, const uint64_t *arguments)
{
    struct place_of_kind *last = kind == TG_RECORD_HEAP_FREE ? &source->freed : &source->given_out;
    if (last->event.tid != source->tid) {
        last->event.pid = source->facts.pid;
        last->event.tid = source->tid;
        last->place = nowhere;
    }
    last->event.time_ns = time_ns;
    tg_heap_records_put_change(source->process->heap, kind, arguments, &last->event);
    last->place.changed = TG_EVENT_ALL_FIELDS;
    decoder->again.add(decoder->again.context, &last->event, &last->place);
}

void tg_ring_decoder_add(struct tg_ring_decoder *decoder, struct tg_ring_source *source, uint64_t time_ns,
                         uint64_t *words)
{
    unsigned kind = words[1] & 0xff;
    size_t n_words = words[1] >> TG_AGENT_WORDS_SHIFT & 0xfff;
    if (tg_heap_records_are_changes((enum tg_agent_record)kind) && n_words == TG_RECORD_ARGUMENT + 2 &&
        is_current(source) && source->process->heap != NULL) {
        add_change(decoder, source, time_ns, (enum tg_agent_record)kind, words + TG_RECORD_ARGUMENT);
        return;
    }
    if (kind == TG_RECORD_NONE || kind >= TG_RECORD_COUNT) {
        decoder->stats.unknown++;
        return;
    }
    const struct tg_record_form *form = &decoder->forms[kind];
    if (n_words < TG_RECORD_ARGUMENT + (size_t)form->least_arguments) {
        decoder->stats.misformed++;
        return;
    }
    struct record record; /* the event's payload, which is large, is filled as far as it is needed */
    record.decoder = decoder;
    record.source = source;
    record.process = meet_program(decoder, source, time_ns);
    record.given.words = words;
    record.given.n_words = n_words;
    record.room = NULL;
    if (record.process == NULL) {
        decoder->stats.misformed++;
        return;
    }
    if (names_thread((enum tg_agent_record)kind)) {
        source->tid = (int32_t)words[TG_RECORD_ARGUMENT];
        change_state(decoder, record.process);
    }
    record.event.time_ns = time_ns;
    record.event.stop_ns = 0;
    record.event.pid = source->facts.pid;
    record.event.tid = source->tid;
    record.event.payload_id = 0;
    announce(&record, (enum tg_agent_record)kind);
    if (kind == TG_RECORD_OMP_IMPLICIT_BEGIN)
        enter_team(decoder, source, words);
    record.given.team = form->has_place ? find_team(record.process, source, words) : (struct tg_team){0};
    if (!form->is_plain || !tell_known(&record))
        decode(&record, kind);
}

/* The event of REPEAT, whose WORDS with NUMBER were added just now by SOURCE, if it can be told again without them. */
static void keep_event(struct tg_ring_decoder *decoder, const struct tg_ring_source *source, uint64_t *words,
                       uint64_t number, struct tg_ring_repeat *repeat)
{
    struct tg_known_record *room;
    unsigned kind = words[1] & 0xff;
    const struct tg_record_form *form = &decoder->forms[kind];
    bool has_list = kind == TG_RECORD_MPI_REQUESTS; /* which is in REPEAT's words as long as that is there */
    struct tg_record_words given = {.words = has_list ? repeat->words : words,
                                    .n_words = words[1] >> TG_AGENT_WORDS_SHIFT & 0xfff};
    if (source->process == NULL || (!form->is_plain && !has_list && !tg_repeat_event_is_apart(kind)) ||
        given.n_words < TG_RECORD_ARGUMENT + (size_t)form->least_arguments)
        return;
    given.team = form->has_place ? find_team(source->process, source, words) : (struct tg_team){0};
    const struct tg_event *event =
        form->is_plain ? tg_known_records_find(decoder->known, words, given.n_words, given.team, &room)
                       : NULL;
    if (event != NULL) {
        repeat->event = *event;
    } else {
        repeat->event = (struct tg_event){.kind = form->kind};
        tg_record_put(&given, kind, &repeat->event);
    }
    if (kind == TG_RECORD_OMP_TASK_CREATE && repeat->event.omp_task_create.dependences.count > 0)
        return;
    repeat->event.payload_id = 0; /* of an event that changes */
    repeat->event.pid = source->facts.pid;
    repeat->event.tid = source->tid;
    repeat->event.stop_ns = 0;
    repeat->team = given.team;
    repeat->place = nowhere;
    repeat->is_known = true;
    repeat->number = number;
    tg_repeat_event_find_fields(repeat, form->has_place);
}

/* Where the thread of an AGAIN record with NUMBER is: in another team than that of REPEAT, its event is the other one's from now
 * on. */
static void follow_team(const struct tg_ring_source *source, uint64_t number, struct tg_ring_repeat *repeat)
{
    uint64_t words[2] = {0, repeat->words[1]};
    if (tg_agent_moves_team(repeat->kind, number))
        words[1] += tg_agent_team_move(repeat->kind, number) << TG_AGENT_TEAM_SHIFT;
    tg_repeat_event_put_team(repeat, find_team(source->process, source, words));
}

/* The event of REPEAT becomes that of a record of SOURCE with NUMBER, and with OWN as the word of its own, if it has one. */
static void follow(const struct tg_ring_decoder *decoder, const struct tg_ring_source *source,
                   uint64_t number, uint64_t own, struct tg_ring_repeat *repeat)
{
    if (decoder->forms[repeat->kind].has_place)
        follow_team(source, number, repeat);
    tg_repeat_event_put_words(repeat, number, own);
    if (repeat->event.tid != source->tid) {
        repeat->event.tid = source->tid;
        repeat->place = nowhere;
    }
    repeat->state = tg_repeat_event_is_apart(repeat->kind) ? 0 : source->process->state;
}

static void add_in_full(struct tg_ring_decoder *decoder, struct tg_ring_source *source, uint64_t time_ns,
                        struct tg_ring_repeat *repeat, const uint64_t *again, uint64_t number)
{
    uint64_t own = tg_agent_own_word(repeat->kind);
    uint64_t words[sizeof repeat->words / sizeof *repeat->words];
    memcpy(words, repeat->words, sizeof words);
    tg_agent_move(words, number);
    if (own != 0)
        words[own] = again[2];
    tg_ring_decoder_add(decoder, source, time_ns, words);
    keep_event(decoder, source, words, number, repeat);
}

/* The thread of SOURCE begins its part of the region that REPEAT is with NUMBER. */
static void enter_again(struct tg_ring_decoder *decoder, struct tg_ring_source *source,
                        const struct tg_ring_repeat *repeat, uint64_t number)
{
    uint64_t words[TG_RECORD_ARGUMENT + 5];
    memcpy(words, repeat->words, sizeof words);
    tg_agent_move(words, number);
    enter_team(decoder, source, words);
}

/* REPEAT has another number than before, or threads are elsewhere, or it comes for the first time. */
static __attribute__((noinline)) void add_changed(struct tg_ring_decoder *decoder,
                                                  struct tg_ring_source *source, uint64_t time_ns,
                                                  struct tg_ring_repeat *repeat, const uint64_t *again,
                                                  uint64_t number)
{
    if (!repeat->is_known || !is_current(source)) {
        add_in_full(decoder, source, time_ns, repeat, again, number);
        return;
    }
    if (repeat->kind == TG_RECORD_OMP_IMPLICIT_BEGIN)
        enter_again(decoder, source, repeat, number);
    follow(decoder, source, number, tg_agent_own_word(repeat->kind) != 0 ? again[2] : 0, repeat);
    repeat->event.time_ns = time_ns;
    decoder->again.add(decoder->again.context, &repeat->event, &repeat->place);
    if (repeat->kind == TG_RECORD_OMP_IMPLICIT_END)
        leave_team(decoder, source, repeat->team.id & TG_AGENT_TEAM_MASK);
}

void tg_ring_decoder_add_again(struct tg_ring_decoder *decoder, struct tg_ring_source *source,
                               uint64_t time_ns, struct tg_ring_repeat *repeat, const uint64_t *again)
{
    const struct process *process = source->process;
    uint64_t number = repeat->is_numbered ? again[1] >> TG_AGENT_NUMBER_SHIFT : 0;
    if (process == NULL || process->state != repeat->state || number != repeat->number) {
        add_changed(decoder, source, time_ns, repeat, again, number);
        return;
    }
    if (repeat->is_numbered && decoder->tail != &no_tail) /* else the event has it */
        tg_repeat_event_put_number(repeat);
    repeat->event.time_ns = time_ns;
    decoder->again.add(decoder->again.context, &repeat->event, &repeat->place);
}

/* Whether an event at TIME_NS goes where that of REPEAT went, if its numbers do. */
static bool has_room(const struct tg_chunk_tail *tail, const struct tg_ring_repeat *repeat, uint64_t time_ns)
{
    struct tg_chunk_pen pen = tg_chunk_pen_begin(tail);
    return tg_chunk_pen_has_room(&pen, &repeat->place, time_ns >> pen.time_shift << pen.time_shift);
}

/* Appends the event of a record of SOURCE with NUMBER, and with OWN as its own word, that differs from what REPEAT was last. False:
 * it is still to be added, in another way. */
static bool append_changed(struct tg_ring_decoder *decoder, struct tg_ring_source *source, uint64_t time_ns,
                           struct tg_ring_repeat *repeat, uint64_t number, uint64_t own)
{
    if (!repeat->is_known || !is_current(source))
        return false;
    if (repeat->kind == TG_RECORD_OMP_IMPLICIT_BEGIN) {
        if (!has_room(*decoder->tail, repeat, time_ns))
            return false;
        enter_again(decoder, source, repeat, number);
    }
    follow(decoder, source, number, own, repeat);
    repeat->event.time_ns = time_ns;
    if (!tg_chunk_encoder_add_again((*decoder->tail)->encoder, &repeat->event, &repeat->place))
        return false;
    if (repeat->kind == TG_RECORD_OMP_IMPLICIT_END)
        leave_team(decoder, source, repeat->team.id & TG_AGENT_TEAM_MASK);
    return true;
}

/* The same where the number is all that differs. False: more does, or it cannot be appended so; nothing was done. */
static inline bool append_moved(const struct process *process, struct tg_chunk_pen *pen, uint64_t time_ns,
                                struct tg_ring_repeat *repeat, uint64_t number)
{
    if (repeat->moving == TG_RING_NO_FIELD || process->state != repeat->state ||
        ((number | repeat->number) & repeat->team_bit) != 0 ||
        !tg_chunk_pen_append_moved(pen, &repeat->place, repeat->moving, repeat->counted + number, time_ns))
        return false;
    repeat->number = number;
    return true;
}

/* Appends the event of RECORD, which repeats the one that it names of ALL. False: it is still to be added, in another way. */
static inline bool append_record(struct tg_ring_decoder *decoder, struct tg_ring_source *source,
                                 struct tg_ring_repeat *const *all, const uint64_t *record, uint64_t time_ns,
                                 struct tg_chunk_pen *pen)
{
    const struct process *process = source->process;
    uint64_t word = record[1];
    struct tg_ring_repeat *repeat = all[tg_ring_repeats_number(word) - 1];
    uint64_t number = word >> TG_AGENT_NUMBER_SHIFT & -(uint64_t)repeat->is_numbered; /* without a branch */
    if (process->state == repeat->state && number == repeat->number && repeat->place.changed == 0)
        return tg_chunk_pen_append(pen, &repeat->place, time_ns);
    if (append_moved(process, pen, time_ns, repeat, number))
        return true;
    tg_chunk_pen_end(pen, *decoder->tail);
    uint64_t own = tg_agent_own_word(repeat->kind) != 0 ? record[2] : 0;
    if (!append_changed(decoder, source, time_ns, repeat, number, own))
        return false;
    *pen = tg_chunk_pen_begin(*decoder->tail);
    return true;
}

/* Appends as many of RUN as can be; returns whether any was. */
static bool append_run(struct tg_ring_decoder *decoder, struct tg_merge_run *run, struct tg_chunk_pen *pen)
{
    enum { AHEAD_WORDS = 64 };
    struct tg_ring_teller *teller = run->source;
    struct tg_ring_source *source = teller->source;
    if (source->process == NULL)
        return false;
    struct tg_ring_repeat *const *all = tg_ring_repeats_all(teller->repeats);
    struct tg_merge_run left = *run; /* nobody else sees it: in registers */
    uint64_t time_ns;
    while (tg_merge_run_next(&left, &time_ns)) {
        const uint64_t *record = left.records;
        uint64_t n_words = record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff;
        __builtin_prefetch(record + AHEAD_WORDS);
        if ((record[1] & 0xff) != TG_RECORD_AGAIN || n_words > left.n_words ||
            !append_record(decoder, source, all, record, time_ns, pen)) {
            run->is_refused = true;
            break;
        }
        tg_merge_run_told(&left, n_words, time_ns);
    }
    run->last_ns = left.last_ns;
    run->n_told = left.n_told;
    run->n_told_words = left.n_told_words;
    tg_ring_repeats_told(teller->repeats, run->n_told);
    tg_agent_count_repeats(&teller->told, run->n_told);
    return run->n_told > 0;
}

void tg_ring_decoder_append(struct tg_ring_decoder *decoder, struct tg_merge_run *run)
{
    if (*decoder->tail == NULL)
        return;
    struct tg_chunk_pen pen = tg_chunk_pen_begin(*decoder->tail);
    while (append_run(decoder, run, &pen) && tg_merge_run_turn(run)) {
    }
    tg_chunk_pen_end(&pen, *decoder->tail);
}

/* ---- life */

/* For a sink that has no use for places. */
static void add_anew(void *context, const struct tg_event *event, struct tg_event_place *place)
{
    (void)place;
    const struct tg_ring_decoder *decoder = context;
    decoder->sink.add(decoder->sink.context, event);
}

struct tg_error *tg_ring_decoder_create(const struct tg_event_sink *sink, const struct tg_tick_clock *clock,
                                        struct tg_ring_decoder **decoder)
{
    struct tg_ring_decoder *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->sink = *sink;
    made->clock = clock;
    made->again = sink->add_again != NULL ? (struct again){sink->context, sink->add_again}
                                          : (struct again){made, add_anew};
    made->tail = sink->tail != NULL ? sink->tail : &no_tail;
    tg_record_forms(made->forms);
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
        n_words < TG_RECORD_ARGUMENT + (size_t)decoder->forms[kind].least_arguments)
        return;
    if (is_heap) {
        if (*program == NULL)
            *program = copy_heap(decoder, source);
        tg_heap_records_add(decoder->heap_stacks, program, kind, record + TG_RECORD_ARGUMENT,
                            n_words - TG_RECORD_ARGUMENT, &event, sink);
        return;
    }
    event.kind = TG_EVENT_LOSS;
    event.loss = (struct tg_event_loss){
        .source = TG_LOSS_RING, .count = tg_loss_count(record[TG_RECORD_ARGUMENT]), .reason = ""};
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
