#include "recorder/rings/ring_set.h"

#include "format/base/hash.h"
#include "recorder/rings/decoder.h"
#include "recorder/rings/event_merge.h"
#include "recorder/rings/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DEFAULT_MAX_BYTES = 64 << 20,
    MAX_RINGS = 20000, /* two mappings each; the kernel allows 65530 */
    MAX_RETIRED_BYTES = 32 << 20,
    MAX_GROWN_BYTES = 64 << 20, /* one ring's */
    SMALL_BYTES = 1 << 20,
    FINISH_RECORDS = 20000,
    FINISH_WAIT_NS = 1000000,
};

struct ring {
    struct tg_ring_teller teller; /* at the beginning: what the merge has */
    char name[64];
    struct tg_ring_reader *reader; /* NULL: refused, and said so; or it is retired */
    struct tg_merge_ring *merged;
    int32_t pid;
    bool was_alive;             /* the process was seen alive, so that it has gone when it is not any more */
    bool gone;                  /* the process */
    uint64_t over;              /* round after which nothing came any more, 0: still open */
    uint64_t looked;            /* round in which it was looked into last */
    uint64_t last_bytes;        /* taken since the set is finishing */
    uint64_t made_bytes;        /* how long it was made, ... */
    uint64_t grown_bytes;       /* ... and by how much it may become, or is, longer */
    bool has_filled;            /* more than an eighth, once: has a share of the growth */
    uint64_t told_lost;         /* what was told tells of so many dropped records */
    uint64_t marked;            /* how many were told when the last mark was made */
    struct tg_ring_past past;   /* salvage: what is in the file; of a ring that is told all of: nothing */
    uint64_t told_lost_in_file; /* salvage: told of what is in the file */
    struct tg_ring_reader *retired; /* read to its end: for its last marks ... */
    uint64_t retired_bytes;         /* ... of a file of so many bytes that stays until the trace's has ... */
    uint64_t retired_events;        /* ... so many events. 0 bytes: it is in use */
    UT_hash_handle hh;              /* by name, in the order of their coming */
};

struct tg_ring_set {
    struct tg_ring_set_options options;
    struct tg_event_merge *merge;
    struct tg_ring_decoder *decoder;
    struct ring *rings;
    uint64_t unknown, living; /* see struct tg_ring_set_stats */
    size_t n_rings;
    uint64_t round; /* counts takes */
    uint64_t opened;
    uint64_t retired_bytes; /* of all retired rings */
    uint64_t grown_bytes;   /* of all rings, retired ones included */
    size_t n_filled;        /* rings that have filled */
    bool takes_little;
    struct {
        struct ring *ring; /* ring of the record being decoded, NULL: none */
        uint64_t word;     /* second word of the record */
        bool again;        /* salvage: it is in the file */
        bool sealed;       /* the record's event got into a chunk as the last one: it counts as told ... */
        struct tg_agent_count before; /* ... and without it these are */
        uint64_t n_events;            /* up to that chunk */
    } telling;
    bool too_many_said;
    bool finishing;
};

/* ---- telling */

static void mark(const struct tg_ring_set *set, struct ring *ring, uint64_t n_events)
{
    struct tg_ring_reader *reader = ring->reader != NULL ? ring->reader : ring->retired;
    const struct tg_agent_mark note = {
        .events = n_events, .lost = ring->told_lost, .before = ring->teller.told};
    if (reader == NULL || set->options.salvage)
        return;
    tg_ring_reader_mark(reader, &note);
    ring->marked = ring->teller.told.records;
}

void tg_ring_set_seal(struct tg_ring_set *set, uint64_t n_events, bool with_last)
{
    struct ring *telling = set->telling.ring;
    if (telling != NULL && with_last && !set->telling.sealed) {
        set->telling.sealed = true;
        set->telling.before = telling->teller.told;
        set->telling.n_events = n_events;
        telling->told_lost = tg_ring_source_told_lost(telling->teller.source);
        tg_agent_count_record(&telling->teller.told, set->telling.word);
    }
    for (struct ring *ring = set->rings; ring != NULL; ring = ring->hh.next)
        if (ring->marked != ring->teller.told.records)
            mark(set, ring, n_events);
}

/* The record whose event was the last one of a chunk has another event, which is behind it. */
static void take_back(struct tg_ring_set *set)
{
    set->telling.sealed = false;
    set->telling.ring->teller.told = set->telling.before;
    mark(set, set->telling.ring, set->telling.n_events);
}

static void tell_record(void *context, void *source, uint64_t time_ns, uint64_t *record)
{
    struct tg_ring_set *set = context;
    struct ring *ring = source;
    set->telling.ring = ring;
    set->telling.word = record[1];
    set->telling.sealed = false;
    set->telling.again = ring->past.known && ring->teller.told.records < ring->past.in_file.records;
    if ((record[1] & 0xff) == TG_RECORD_AGAIN)
        tg_ring_decoder_add_again(set->decoder, ring->teller.source, time_ns,
                                  tg_ring_repeats_tell(ring->teller.repeats, record), record);
    else
        tg_ring_decoder_add(set->decoder, ring->teller.source, time_ns, record);
    if (!set->telling.sealed)
        tg_agent_count_record(&ring->teller.told, set->telling.word);
    ring->told_lost = tg_ring_source_told_lost(ring->teller.source);
    if (set->telling.again)
        ring->told_lost_in_file = ring->told_lost;
    set->telling.ring = NULL;
}

/* As the merge has it: what comes again goes to the tail. */
static void tell_run(void *context, struct tg_merge_run *run)
{
    const struct tg_ring_set *set = context;
    tg_ring_decoder_append(set->decoder, run);
}

/* Salvage: whether EVENT is in the file. */
static bool is_told(const struct tg_ring_set *set, const struct tg_event *event)
{
    if (set->telling.ring != NULL && set->telling.ring->past.known)
        return set->telling.again;
    return event->time_ns <= set->options.after_ns && event->kind != TG_EVENT_LOSS;
}

static void tell_event(void *context, const struct tg_event *event)
{
    struct tg_ring_set *set = context;
    if (set->options.salvage && is_told(set, event))
        return;
    if (set->telling.ring != NULL && set->telling.sealed)
        take_back(set);
    set->options.sink.add(set->options.sink.context, event);
}

/* The same for one that is alike but for its time; where it was the one of its record it is the last too. */
static void tell_event_again(void *context, const struct tg_event *event, struct tg_event_place *place)
{
    struct tg_ring_set *set = context;
    set->options.sink.add_again(set->options.sink.context, event, place);
}

/* An event of the engine's. */
static void tell_queued(void *context, const struct tg_event *event)
{
    struct tg_ring_set *set = context;
    if (event->kind == TG_EVENT_PROCESS_EXIT)
        tg_ring_decoder_process_ends(set->decoder, event->pid, event->time_ns);
    tell_event(set, event);
}

void tg_ring_set_tell_loss(struct tg_ring_set *set, int32_t pid, int32_t tid, uint64_t count,
                           const char *reason)
{
    uint64_t told_ns = tg_event_merge_told_ns(set->merge); /* time that the trace has reached */
    set->unknown += count == 0;
    if (told_ns == 0 && set->options.salvage) /* now would be a time that the job has not reached */
        told_ns = set->options.after_ns != 0 ? set->options.after_ns
                                             : tg_tick_clock_first(set->options.clock).time_ns;
    struct tg_event event = {
        .time_ns = told_ns != 0 ? told_ns : tg_tick_clock_last(set->options.clock).time_ns,
        .pid = pid,
        .tid = tid,
        .kind = TG_EVENT_LOSS,
        .loss = {.source = TG_LOSS_RING, .count = count, .reason = reason},
    };
    tell_event(set, &event);
}

static void tell_error(struct tg_ring_set *set, int32_t pid, struct tg_error *error)
{
    if (error == NULL)
        return;
    tg_ring_set_tell_loss(set, pid, pid, 0, tg_error_message(error));
    tg_error_destroy(error);
}

bool tg_ring_set_tell(struct tg_ring_set *set, uint64_t until_ns, uint64_t max_records)
{
    return tg_event_merge_tell(set->merge, until_ns, max_records);
}

/* ---- finding rings */

static bool is_alive(int32_t pid)
{
    return kill(pid, 0) == 0 || errno == EPERM;
}

static struct tg_error *set_up(struct tg_ring_set *set, struct ring *ring)
{
    const struct tg_ring_facts facts = tg_ring_reader_facts(ring->reader);
    struct tg_error *error = tg_ring_decoder_add_source(set->decoder, &facts, &ring->teller.source);
    if (error == NULL)
        error = tg_event_merge_add_ring(set->merge, ring, &ring->merged);
    ring->teller.repeats = tg_ring_reader_repeats(ring->reader);
    ring->pid = facts.pid;
    ring->made_bytes = facts.data_bytes;
    ring->was_alive = is_alive(facts.pid);
    return error;
}

static void forget_ring(struct tg_ring_set *set, struct ring *ring)
{
    tg_ring_reader_close(ring->reader);
    if (ring->merged != NULL)
        tg_event_merge_remove_ring(set->merge, ring->merged);
    if (ring->teller.source != NULL)
        tg_ring_decoder_remove_source(set->decoder, ring->teller.source);
    ring->reader = NULL;
    ring->merged = NULL;
    ring->teller.source = NULL;
}

/* Salvage: tells what is missing between the file and what is left in RING. */
static void begin_behind(struct tg_ring_set *set, struct ring *ring)
{
    static const char text[] =
        "the recorder was killed: records taken from a ring but not written were overwritten";
    const struct tg_ring_past *past = &ring->past;
    ring->teller.told = past->before;
    set->unknown += !past->known; /* what it holds is told by its times */
    set->living += !tg_ring_reader_is_finished(ring->reader) &&
                   !tg_ring_reader_is_orphan(ring->reader, set->options.directory_fd);
    if (past->known && past->before.events > past->in_file.events)
        tg_ring_set_tell_loss(set, ring->pid, ring->pid, past->before.events - past->in_file.events, text);
    else if (!past->known && !past->whole && past->first_ns > set->options.after_ns)
        tg_ring_set_tell_loss(set, ring->pid, ring->pid, 0, text);
}

/* A ring that cannot be opened is remembered as well: that it was refused is said once. */
static void add_ring(struct tg_ring_set *set, const char *name)
{
    struct ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return; /* another look finds it again */
    snprintf(ring->name, sizeof ring->name, "%.63s", name);
    struct tg_error *error =
        tg_ring_reader_open(set->options.directory_fd, name, set->options.clock, &ring->reader);
    if (error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND) {
        tg_error_destroy(error); /* still being made: another look will show */
        free(ring);
        return;
    }
    if (error == NULL && set->options.salvage)
        ring->past = tg_ring_reader_rewind(ring->reader, set->options.n_in_file);
    if (error == NULL)
        error = set_up(set, ring);
    if (error == NULL && set->options.salvage)
        begin_behind(set, ring);
    if (error != NULL) {
        forget_ring(set, ring);
        tell_error(set, 0, error);
    }
    if (TG_HASH_ADD_KEY(hh, set->rings, ring->name, strlen(ring->name), ring) != NULL) {
        forget_ring(set, ring);
        free(ring);
        return;
    }
    set->n_rings++;
    set->opened += ring->reader != NULL;
}

void tg_ring_set_scan(struct tg_ring_set *set)
{
    int fd = openat(set->options.directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (listing == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL) {
        struct ring *known = NULL;
        if (!tg_ring_reader_is_ring(entry->d_name))
            continue;
        HASH_FIND_STR(set->rings, entry->d_name, known);
        if (known != NULL)
            continue;
        if (set->n_rings < MAX_RINGS) {
            add_ring(set, entry->d_name);
        } else if (!set->too_many_said) {
            set->too_many_said = true;
            tg_ring_set_tell_loss(set, 0, 0, 0, "more than 20000 rings");
        }
    }
    closedir(listing);
}

/* ---- taking */

static size_t max_bytes(const struct tg_ring_set *set)
{
    return set->options.max_bytes == 0 ? DEFAULT_MAX_BYTES : set->options.max_bytes;
}

/* Records of RING that are later than what was taken from it already may be still to come. */
static void hold_order(const struct tg_ring_set *set, const struct ring *ring, struct tg_ring_round *round)
{
    uint64_t last_ns = tg_event_merge_last_ns(set->merge, ring->merged);
    round->order_ns = last_ns < round->order_ns ? last_ns : round->order_ns;
}

static bool is_full(const struct tg_ring_set *set)
{
    return set->takes_little || tg_event_merge_stats(set->merge).held_bytes >= max_bytes(set);
}

/* A ring of which nothing is held brings something in every round, however much is held of others, so that
 * the order gets on; but not more than it is long, however fast its thread is. */
static void take_ring(struct tg_ring_set *set, struct ring *ring, struct tg_ring_round *round)
{
    if (is_full(set) && !tg_merge_ring_is_empty(ring->merged)) {
        hold_order(set, ring, round);
        return;
    }
    ring->looked = set->round;
    uint64_t length = tg_ring_reader_facts(ring->reader).data_bytes, all = 0, first_left = 0;
    if (set->finishing && ring->last_bytes >= length)
        return; /* all that it held when the end came, and a living process goes on filling it */
    size_t taken;
    do {
        size_t size;
        uint64_t *room = tg_event_merge_room(set->merge, &size);
        struct tg_error *error = tg_ring_reader_take(ring->reader, room, size, &taken);
        if (all == 0)
            first_left = taken + tg_ring_reader_left(ring->reader);
        tell_error(set, ring->pid, error);
        error = tg_event_merge_add(set->merge, ring->merged, room, taken,
                                   tg_ring_reader_last_ticks(ring->reader));
        if (error != NULL)
            tell_error(set, ring->pid, tg_error_prefix(error, "%s: records dropped", ring->name));
        all += taken;
    } while (taken > 0 && tg_ring_reader_left(ring->reader) > 0 && all < length && !is_full(set));
    unsigned fill = (unsigned)(first_left * 256 / length);
    round->fullest = fill > round->fullest ? fill : round->fullest;
    round->taken_bytes += all;
    ring->last_bytes += set->finishing ? all : 0;
    if (tg_ring_reader_left(ring->reader) > 0)
        hold_order(set, ring, round);
}

struct tg_ring_round tg_ring_set_take(struct tg_ring_set *set)
{
    struct tg_ring_round round = {.order_ns = UINT64_MAX};
    set->round++;
    for (struct ring *ring = set->rings; ring != NULL; ring = ring->hh.next)
        if (ring->reader != NULL)
            take_ring(set, ring, &round);
    return round;
}

struct tg_ring_round tg_ring_set_take_little(struct tg_ring_set *set)
{
    set->takes_little = true;
    struct tg_ring_round round = tg_ring_set_take(set);
    set->takes_little = false;
    return round;
}

/* Four times as long as it is where it is small, otherwise twice, for an older kernel makes all of it memory at once; or as
 * much of that as there is: its share with the other rings that have filled. */
static void let_grow(struct tg_ring_set *set, struct ring *ring, uint64_t data_bytes)
{
    set->n_filled += !ring->has_filled;
    ring->has_filled = true;
    uint64_t share = set->options.growth_bytes / set->n_filled;
    uint64_t first = data_bytes < SMALL_BYTES ? 4 : 2;
    for (uint64_t factor = first; factor > 1; factor /= 2) {
        uint64_t grown = factor * data_bytes - ring->made_bytes;
        uint64_t more = grown > ring->grown_bytes ? grown - ring->grown_bytes : 0;
        if (factor * data_bytes > MAX_GROWN_BYTES || grown > share || more == 0 ||
            set->grown_bytes + more > set->options.growth_bytes ||
            !tg_ring_reader_grow(ring->reader, set->options.directory_fd, factor * data_bytes))
            continue;
        ring->grown_bytes = grown;
        set->grown_bytes += more;
        return;
    }
}

struct tg_ring_set_fill tg_ring_set_look(struct tg_ring_set *set)
{
    struct tg_ring_set_fill all = {.bytes = tg_event_merge_stats(set->merge).held_bytes};
    uint64_t over_bytes = 0;
    for (struct ring *ring = set->rings; ring != NULL; ring = ring->hh.next) {
        if (ring->reader == NULL)
            continue;
        struct tg_ring_fill fill = tg_ring_reader_look(ring->reader);
        uint64_t data_bytes = tg_ring_reader_facts(ring->reader).data_bytes;
        if (fill.bytes > data_bytes / 8)
            let_grow(set, ring, data_bytes);
        unsigned part = (unsigned)(fill.bytes * 256 / fill.of_bytes);
        all.fullest = part > all.fullest ? part : all.fullest;
        all.bytes += fill.bytes;
        all.is_new |=
            ring->teller.told.records == 0 && (fill.bytes > 0 || !tg_merge_ring_is_empty(ring->merged));
        over_bytes += ring->over != 0 ? TG_AGENT_RING_DATA_OFFSET + data_bytes : 0;
    }
    if (over_bytes > MAX_RETIRED_BYTES) /* processes come and go: their rings' files are not let pile up */
        all.fullest = 256;
    return all;
}

/* ---- what is not told yet */

struct visit {
    struct tg_ring_set *set;
    const struct ring *ring;
    const struct tg_event_sink *sink;
    struct tg_heap_program *program;
    bool of_objects, of_stacks; /* both false: of everything else */
};

static void foresee_record(void *context, uint64_t time_ns, const uint64_t *record)
{
    struct visit *visit = context;
    uint64_t copy[TG_AGENT_MAX_WORDS + 1];
    size_t n_words = record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff;
    unsigned kind = record[1] & 0xff;
    if ((kind == TG_RECORD_HEAP_OBJECT) != visit->of_objects ||
        (kind == TG_RECORD_HEAP_STACK) != visit->of_stacks || n_words > TG_AGENT_MAX_WORDS)
        return;
    memcpy(copy, record, n_words * sizeof copy[0]);
    tg_ring_decoder_foresee(visit->set->decoder, visit->ring->teller.source, time_ns, copy, &visit->program,
                            visit->sink);
}

static void visit_rings(struct visit *visit, const struct tg_ring_foresight *foresight)
{
    for (visit->ring = visit->set->rings; visit->ring != NULL; visit->ring = visit->ring->hh.next)
        if (visit->ring->reader != NULL && visit->ring->pid == foresight->pid)
            tg_event_merge_visit(visit->set->merge, visit->ring->merged, foresight->since_ns, foresee_record,
                                 visit);
}

bool tg_ring_set_foresee(struct tg_ring_set *set, struct tg_ring_foresight *foresight)
{
    struct visit visit = {.set = set, .sink = &foresight->sink};
    for (const struct ring *ring = set->rings; ring != NULL; ring = ring->hh.next)
        if (ring->reader != NULL && ring->pid == foresight->pid && tg_ring_reader_left(ring->reader) > 0)
            return false;
    foresight->told_ns = tg_event_merge_told_ns(set->merge);
    visit.of_objects = true; /* what one thread tells of, others use */
    visit_rings(&visit, foresight);
    visit.of_objects = false;
    visit.of_stacks = true;
    size_t n_stacks;
    do { /* the outer frames of a stack are one that perhaps another thread told */
        n_stacks = tg_heap_program_stacks(visit.program);
        visit_rings(&visit, foresight);
    } while (tg_heap_program_stacks(visit.program) > n_stacks);
    visit.of_stacks = false;
    visit_rings(&visit, foresight);
    tg_heap_program_destroy(visit.program);
    return true;
}

/* ---- closing */

static void tell_ring_losses(struct tg_ring_set *set, struct ring *ring)
{
    char text[160];
    uint64_t lost = tg_ring_reader_lost(ring->reader), told = ring->told_lost;
    if (ring->past.known)
        told += ring->past.lost_in_file - ring->told_lost_in_file;
    uint64_t wrong = tg_ring_reader_wrong_ticks(ring->reader);
    int32_t tid = tg_ring_source_tid(ring->teller.source);
    if (lost > told) {
        snprintf(text, sizeof text, "%s was full", ring->name);
        tg_ring_set_tell_loss(set, ring->pid, tid, tg_loss_count(lost - told), text);
    }
    if (wrong > 0) {
        snprintf(text, sizeof text, "%s: %" PRIu64 " records with impossible times", ring->name, wrong);
        tg_ring_set_tell_loss(set, ring->pid, tid, 0, text);
    }
}

static void unlink_ring(struct tg_ring_set *set, struct ring *ring)
{
    unlinkat(set->options.directory_fd, ring->name, 0);
    tg_ring_reader_close(ring->retired);
    set->retired_bytes -= ring->retired_bytes;
    set->grown_bytes -= ring->grown_bytes;
    HASH_DEL(set->rings, ring);
    free(ring);
}

/* Records taken from a ring may not be in the trace's file yet: until then its own stays. */
static void unlink_retired(struct tg_ring_set *set)
{
    const struct tg_ring_set_file *file = set->options.file;
    struct ring *ring, *next;
    if (file == NULL || set->retired_bytes == 0)
        return;
    uint64_t n_written = file->n_written(file->context);
    HASH_ITER (hh, set->rings, ring, next)
        if (ring->retired_bytes > 0 && n_written >= ring->retired_events)
            unlink_ring(set, ring);
    if (set->retired_bytes > MAX_RETIRED_BYTES)
        file->flush(file->context, true);
}

static void remove_ring(struct tg_ring_set *set, struct ring *ring)
{
    tell_ring_losses(set, ring);
    int32_t pid = ring->pid;
    bool gone = ring->gone;
    ring->retired_bytes = TG_AGENT_RING_DATA_OFFSET + tg_ring_reader_facts(ring->reader).data_bytes;
    set->retired_bytes += ring->retired_bytes;
    set->n_rings--;
    set->n_filled -= ring->has_filled;
    ring->retired = ring->reader;
    ring->reader = NULL;
    forget_ring(set, ring);
    if (set->options.file != NULL)
        ring->retired_events = set->options.file->n_events(set->options.file->context);
    else if (!set->options.salvage)
        unlink_ring(set, ring);
    for (const struct ring *other = set->rings; gone && other != NULL; other = other->hh.next)
        gone = other->reader == NULL || other->pid != pid;
    if (gone)
        tg_ring_decoder_end_process(set->decoder, pid, tg_event_merge_told_ns(set->merge));
}

static bool has_gone(struct tg_ring_set *set, struct ring *ring)
{
    if (is_alive(ring->pid)) {
        ring->was_alive = true;
        return false;
    }
    /* an id that was never seen alive can be of another namespace */
    return ring->was_alive || tg_ring_reader_is_orphan(ring->reader, set->options.directory_fd);
}

/* Notes from which round on nothing can come any more. What came just before is taken in the next one. */
static void look_for_end(struct tg_ring_set *set, struct ring *ring, bool *any_gone)
{
    if (ring->over != 0)
        return;
    ring->gone = has_gone(set, ring);
    *any_gone = *any_gone || ring->gone;
    if (ring->gone || tg_ring_reader_is_finished(ring->reader) ||
        tg_ring_decoder_is_superseded(set->decoder, ring->teller.source))
        ring->over = set->round;
}

void tg_ring_set_reap(struct tg_ring_set *set)
{
    struct ring *ring, *next;
    bool any_gone = false;
    for (ring = set->rings; ring != NULL; ring = ring->hh.next)
        if (ring->reader != NULL)
            look_for_end(set, ring, &any_gone);
    if (any_gone)
        tg_ring_set_scan(set); /* the process's last rings, before its last known one is closed */
    HASH_ITER (hh, set->rings, ring, next)
        if (ring->reader != NULL && ring->over != 0 && ring->over < ring->looked &&
            tg_ring_reader_left(ring->reader) == 0 && tg_merge_ring_is_empty(ring->merged))
            remove_ring(set, ring);
    unlink_retired(set);
}

static void tell_decoder_losses(struct tg_ring_set *set)
{
    struct tg_ring_decoder_stats stats = tg_ring_decoder_stats(set->decoder);
    if (stats.unknown > 0)
        tg_ring_set_tell_loss(set, 0, 0, stats.unknown, "agents' records of unknown kinds");
    if (stats.misformed > 0)
        tg_ring_set_tell_loss(set, 0, 0, stats.misformed, "agents' records with missing arguments");
}

/* At the file's pace: there is room for the marks of so many chunks that are not written. */
static void tell_up_to(struct tg_ring_set *set, uint64_t until_ns)
{
    const struct tg_ring_set_file *file = set->options.file;
    while (!tg_ring_set_tell(set, until_ns, FINISH_RECORDS))
        while (file != NULL && file->has_backlog(file->context))
            nanosleep(&(struct timespec){.tv_nsec = FINISH_WAIT_NS}, NULL);
}

void tg_ring_set_finish(struct tg_ring_set *set)
{
    struct ring *ring, *next;
    struct tg_ring_round round;
    tg_ring_set_scan(set);
    set->finishing = true;
    do {
        round = tg_ring_set_take(set);
        tell_up_to(set, round.order_ns);
    } while (round.order_ns != UINT64_MAX);
    HASH_ITER (hh, set->rings, ring, next) {
        ring->gone = true;
        if (ring->reader != NULL)
            remove_ring(set, ring);
    }
    tell_decoder_losses(set);
}

/* ---- life */

struct tg_error *tg_ring_set_create(const struct tg_ring_set_options *options, struct tg_ring_set **set)
{
    struct tg_ring_set *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    const bool tells_again = options->sink.add_again != NULL && !options->salvage;
    const struct tg_event_sink decoded = {.context = made,
                                          .add = tell_event,
                                          .add_again = tells_again ? tell_event_again : NULL,
                                          .tail = tells_again ? options->sink.tail : NULL};
    const struct tg_merge_sink merged = {.context = made,
                                         .record = tell_record,
                                         .run = decoded.tail != NULL ? tell_run : NULL,
                                         .event = tell_queued};
    struct tg_error *error = tg_ring_decoder_create(&decoded, options->clock, &made->decoder);
    if (error == NULL)
        error = tg_event_merge_create(options->clock, options->queue, &merged, &made->merge);
    if (error != NULL) {
        tg_ring_set_destroy(made);
        return error;
    }
    *set = made;
    return NULL;
}

void tg_ring_set_destroy(struct tg_ring_set *set)
{
    if (set == NULL)
        return;
    struct ring *ring, *next;
    HASH_ITER (hh, set->rings, ring, next) {
        HASH_DEL(set->rings, ring);
        forget_ring(set, ring);
        tg_ring_reader_close(ring->retired);
        free(ring);
    }
    tg_ring_decoder_destroy(set->decoder);
    tg_event_merge_destroy(set->merge);
    free(set);
}

bool tg_ring_set_is_empty(const struct tg_ring_set *set)
{
    return set->rings == NULL;
}

struct tg_ring_set_stats tg_ring_set_stats(const struct tg_ring_set *set)
{
    struct tg_merge_stats merged = tg_event_merge_stats(set->merge);
    return (struct tg_ring_set_stats){
        .records = merged.records,
        .out_of_order = merged.out_of_order,
        .programs = tg_ring_decoder_stats(set->decoder).programs,
        .rings = set->opened,
        .unknown = set->unknown,
        .living = set->living,
    };
}
