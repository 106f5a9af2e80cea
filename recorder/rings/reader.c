#include "recorder/rings/reader.h"

#include "recorder/rings/mapping_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    WORD_BYTES = 8,
    RECORD_UNIT = 2 * WORD_BYTES,
    TOLERATED_TICKS = 100000, /* between processors */
};

struct tg_ring_reader {
    struct tg_agent_ring_header *header; /* shared, as is the data behind it */
    const unsigned char *data;
    size_t mapped_bytes;
    struct tg_ring_facts facts;
    uint64_t made_bytes;
    struct tg_agent_growth growths[TG_AGENT_RING_GROWTHS]; /* checked ones */
    unsigned n_growths;
    unsigned n_passed; /* of them TAIL is behind so many */
    const struct tg_tick_clock *clock;
    uint64_t tail;                /* the authoritative one; the header has a copy */
    uint64_t noted;               /* the last boundary */
    struct tg_agent_count before; /* TAIL */
    unsigned next_mark;
    bool keep;     /* and not even that */
    int32_t tid;   /* of the thread that is recorded at TAIL */
    uint64_t head; /* as seen by the last take */
    bool closed;   /* was said before head was seen */
    bool stays;    /* cannot become longer */
    bool waits;    /* the thread does, for room */
    bool given_up;
    uint64_t wrong_ticks;
    uint64_t last_ticks; /* the latest of the records of the last take */
    struct tg_ring_repeats *repeats;
    char name[64];
};

/* ---- opening */

static bool parse_name(const char *name, int32_t *pid)
{
    unsigned n;
    int end = 0;
    if (sscanf(name, "ring.%9" SCNd32 ".%9u%n", pid, &n, &end) != 2 || name[end] != '\0')
        return false;
    char canonical[64];
    snprintf(canonical, sizeof canonical, "ring.%" PRId32 ".%u", *pid, n);
    return *pid > 0 && strcmp(canonical, name) == 0;
}

bool tg_ring_reader_is_ring(const char *name)
{
    int32_t pid;
    return parse_name(name, &pid);
}

static struct tg_error *refuse(const char *name, const char *reason)
{
    return tg_error_create(TG_ERROR_INPUT, "%s: %s", name, reason);
}

static struct tg_error *open_file(int directory, const char *name, int *fd, size_t *size)
{
    *fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 && errno == ENOENT)
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s: gone", name);
    if (*fd < 0)
        return tg_error_create_errno(errno, "cannot open %s", name);
    struct stat status;
    if (fstat(*fd, &status) != 0)
        return tg_error_create_errno(errno, "cannot stat %s", name);
    if (!S_ISREG(status.st_mode))
        return refuse(name, "not a regular file");
    if (status.st_uid != geteuid() || (status.st_mode & 07777) != 0600)
        return refuse(name, "not a private file of this user (mode 0600)");
    if (status.st_size == 0) /* just made: it gets its size and its header next */
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s: being created", name);
    uint64_t least = TG_AGENT_RING_DATA_OFFSET + (uint64_t)TG_AGENT_RING_MIN_BYTES;
    uint64_t most = TG_AGENT_RING_DATA_OFFSET + (uint64_t)TG_AGENT_RING_MAX_BYTES;
    if ((uint64_t)status.st_size < least || (uint64_t)status.st_size > most)
        return refuse(name, "impossible size");
    *size = (size_t)status.st_size;
    return NULL;
}

static struct tg_error *map_file(struct tg_ring_reader *reader, int directory)
{
    int fd = -1;
    struct tg_error *error = open_file(directory, reader->name, &fd, &reader->mapped_bytes);
    if (error == NULL) {
        void *mapping = mmap(NULL, reader->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapping == MAP_FAILED) {
            error = tg_error_create_errno(errno, "cannot map %s", reader->name);
        } else {
            reader->header = mapping;
            reader->data = (const unsigned char *)mapping + TG_AGENT_RING_DATA_OFFSET;
        }
    }
    if (fd >= 0)
        close(fd);
    return error;
}

static bool is_possible_size(const struct tg_ring_reader *reader, uint64_t data_bytes)
{
    return data_bytes >= TG_AGENT_RING_MIN_BYTES &&
           data_bytes <= reader->mapped_bytes - TG_AGENT_RING_DATA_OFFSET &&
           (data_bytes & (data_bytes - 1)) == 0;
}

/* ---- sizes, of their times */

static uint64_t size_after(const struct tg_ring_reader *reader, unsigned n_growths)
{
    return n_growths == 0 ? reader->made_bytes : reader->growths[n_growths - 1].data_bytes;
}

static uint64_t first_after(const struct tg_ring_reader *reader, unsigned n_growths)
{
    return n_growths == 0 ? 0 : reader->growths[n_growths - 1].from;
}

/* How many growths there were when POSITION was written; READER knows those up to its head. */
static unsigned growths_before(const struct tg_ring_reader *reader, uint64_t position)
{
    unsigned n = reader->n_growths;
    while (n > 0 && position < reader->growths[n - 1].from)
        n--;
    return n;
}

static uint64_t size_at_tail(const struct tg_ring_reader *reader)
{
    return size_after(reader, reader->n_passed);
}

/* Where what is of the size at TAIL ends. */
static uint64_t end_at_tail(const struct tg_ring_reader *reader)
{
    return reader->n_passed < reader->n_growths ? reader->growths[reader->n_passed].until : reader->head;
}

/* What begins at a later size is read by that. */
static void pass_growths(struct tg_ring_reader *reader)
{
    while (reader->n_passed < reader->n_growths && reader->tail == end_at_tail(reader))
        reader->tail = reader->growths[reader->n_passed++].from;
}

/* Bytes between TAIL and the head. */
static uint64_t held_bytes(const struct tg_ring_reader *reader)
{
    uint64_t held = 0, at = reader->tail;
    for (unsigned i = reader->n_passed; i < reader->n_growths; i++) {
        held += reader->growths[i].until - at;
        at = reader->growths[i].from;
    }
    return held + reader->head - at;
}

/* The first position whose place nothing later was written to. */
static uint64_t whole_from(const struct tg_ring_reader *reader)
{
    uint64_t end = reader->head;
    for (unsigned n = reader->n_growths;; n--) {
        uint64_t size = size_after(reader, n), first = first_after(reader, n);
        uint64_t former = n == 0 ? 0 : size_after(reader, n - 1);
        if (former > size || end - first > size - former) /* what was before is overwritten, or read */
            return end - first > size ? end - size : first;
        if (n == 0)
            return 0;
        end = reader->growths[n - 1].until;
    }
}

/* Takes over how the ring has grown up to HEAD. Returns why that cannot be, NULL where it can. */
static const char *follow_growths(struct tg_ring_reader *reader, const struct tg_agent_ring_header *header,
                                  uint64_t head)
{
    uint32_t n = __atomic_load_n(&header->n_growths, __ATOMIC_ACQUIRE);
    if (n > TG_AGENT_RING_GROWTHS)
        return "grown more often than it can";
    while (reader->n_growths < n && header->growths[reader->n_growths].from <= head) {
        const struct tg_agent_growth growth = header->growths[reader->n_growths];
        uint64_t size = size_after(reader, reader->n_growths), first = first_after(reader, reader->n_growths);
        bool is_smaller =
            growth.data_bytes <= reader->made_bytes && growth.data_bytes < size; /* for want of memory */
        if ((growth.data_bytes <= size && !is_smaller) || !is_possible_size(reader, growth.data_bytes) ||
            growth.until < first || growth.until % RECORD_UNIT != 0 || growth.from <= growth.until ||
            growth.from % growth.data_bytes != (is_smaller ? 0 : size))
            return "size that it was not given";
        reader->growths[reader->n_growths++] = growth;
    }
    reader->facts.data_bytes = size_after(reader, reader->n_growths);
    return NULL;
}

static struct tg_error *check_header(struct tg_ring_reader *reader, int32_t named_pid)
{
    struct tg_agent_ring_header header;
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    uint64_t magic = __atomic_load_n(&reader->header->magic, __ATOMIC_ACQUIRE);
    memcpy(&header, reader->header, sizeof header);
    bool whole = tg_mapping_guard_end();
    if (!whole)
        return refuse(reader->name, "truncated");
    if (magic == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s: being created", reader->name);
    if (magic != TG_AGENT_RING_MAGIC)
        return refuse(reader->name, "not a ring");
    if (header.protocol != TG_AGENT_PROTOCOL)
        return refuse(reader->name, "different protocol version");
    if (header.kind > TG_AGENT_RING_LOADER)
        return refuse(reader->name, "unknown kind");
    if (!is_possible_size(reader, header.data_bytes))
        return refuse(reader->name, "unexpected size in the header");
    if (header.pid != named_pid)
        return refuse(reader->name, "the header names a different process");
    reader->facts = (struct tg_ring_facts){.kind = (enum tg_agent_ring_kind)header.kind,
                                           .pid = header.pid,
                                           .instance = header.instance,
                                           .data_bytes = header.data_bytes,
                                           .tid = header.pid};
    reader->tid = header.pid;
    reader->made_bytes = header.data_bytes;
    const char *reason = follow_growths(reader, &header, header.head);
    if (reason != NULL)
        return refuse(reader->name, reason);
    reader->tail = reader->head = header.tail;
    reader->n_passed = growths_before(reader, reader->tail);
    return NULL;
}

struct tg_error *tg_ring_reader_open(int fd, const char *name, const struct tg_tick_clock *clock,
                                     struct tg_ring_reader **reader)
{
    int32_t pid;
    if (!parse_name(name, &pid))
        return refuse(name, "not the name of a ring");
    struct tg_ring_reader *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->clock = clock;
    made->repeats = tg_ring_repeats_create();
    if (made->repeats == NULL) {
        tg_ring_reader_close(made);
        return tg_error_no_memory();
    }
    snprintf(made->name, sizeof made->name, "%s", name);
    struct tg_error *error = map_file(made, fd);
    if (error == NULL)
        error = check_header(made, pid);
    if (error != NULL) {
        tg_ring_reader_close(made);
        return error;
    }
    *reader = made;
    return NULL;
}

void tg_ring_reader_close(struct tg_ring_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->header != NULL)
        munmap(reader->header, reader->mapped_bytes);
    tg_ring_repeats_destroy(reader->repeats);
    free(reader);
}

struct tg_ring_facts tg_ring_reader_facts(const struct tg_ring_reader *reader)
{
    return reader->facts;
}

/* Where what follows POSITION begins: behind a growth before which there was nothing more, its place may have been written to
 * since. */
static uint64_t behind_growths(const struct tg_ring_reader *reader, uint64_t position)
{
    for (unsigned n = 0; n < reader->n_growths; n++)
        if (position == reader->growths[n].until)
            position = reader->growths[n].from;
    return position;
}

static bool is_boundary(const struct tg_ring_reader *reader, const struct tg_agent_passed *passed)
{
    unsigned n = growths_before(reader, passed->position);
    uint64_t end = n < reader->n_growths ? reader->growths[n].until : reader->head;
    return passed->position % RECORD_UNIT == 0 && passed->position <= end &&
           passed->position >= whole_from(reader) && passed->tid > 0 && passed->tid <= INT32_MAX &&
           passed->before.records <= passed->position / RECORD_UNIT &&
           passed->before.events <= passed->before.records;
}

/* The mark for a file of N_EVENTS; NULL: none. Without any nothing of the ring is in it. */
static const struct tg_agent_mark *find_mark(const struct tg_agent_ring_header *header, uint64_t n_events)
{
    const struct tg_agent_mark *found = NULL;
    for (unsigned i = 0; i < TG_AGENT_RING_MARKS && n_events != UINT64_MAX; i++) {
        const struct tg_agent_mark *mark = &header->marks[i];
        bool can_be = mark->before.records <= header->head / RECORD_UNIT &&
                      mark->before.events <= mark->before.records && mark->lost <= header->lost;
        if (can_be && mark->events <= n_events && (found == NULL || mark->events >= found->events))
            found = mark;
    }
    return found;
}

struct tg_ring_past tg_ring_reader_rewind(struct tg_ring_reader *reader, uint64_t n_events)
{
    struct tg_agent_ring_header header;
    struct tg_ring_past past = {.whole = true};
    uint64_t ticks = 0;
    reader->keep = true;
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    memcpy(&header, reader->header, sizeof header);
    reader->head = header.head;
    if (follow_growths(reader, &header, header.head) == NULL &&
        whole_from(reader) == 0) { /* never overwritten */
        reader->tail = 0;
    } else {
        for (unsigned i = 0; i < sizeof header.passed / sizeof header.passed[0]; i++) {
            struct tg_agent_passed *passed = &header.passed[i];
            passed->position = behind_growths(reader, passed->position);
            if (!is_boundary(reader, passed))
                continue;
            reader->tail = passed->position;
            reader->tid = reader->facts.tid = (int32_t)passed->tid;
            past.before = passed->before;
            break;
        }
        past.whole = reader->tail == 0;
        reader->facts.begins_late = !past.whole;
    }
    reader->n_passed = growths_before(reader, reader->tail);
    pass_growths(reader);
    if (reader->tail % RECORD_UNIT ==
        0) /* else no record begins there: the header is not what an agent wrote */
        memcpy(&ticks, reader->data + (reader->tail & (size_at_tail(reader) - 1)), sizeof ticks);
    tg_mapping_guard_end();
    past.first_ns = tg_tick_clock_time(reader->clock, ticks);
    const struct tg_agent_mark *mark = find_mark(&header, n_events);
    if (mark == NULL || (!past.whole && past.before.records == 0))
        return past;
    past.known = true;
    past.in_file = mark->before;
    past.lost_in_file = mark->lost;
    return past;
}

void tg_ring_reader_mark(struct tg_ring_reader *reader, const struct tg_agent_mark *mark)
{
    if (reader->header == NULL)
        return;
    struct tg_agent_mark *place = &reader->header->marks[reader->next_mark++ % TG_AGENT_RING_MARKS];
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    __atomic_store_n(&place->events, UINT64_MAX, __ATOMIC_RELEASE); /* if this is killed half-way */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    place->lost = mark->lost;
    place->before = mark->before;
    __atomic_store_n(&place->events, mark->events, __ATOMIC_RELEASE);
    tg_mapping_guard_end();
}

/* ---- taking */

/* A position of 0 is none of a ring that was overwritten: what is cut off half-way does not count. */
static void pass(struct tg_agent_passed *place, const struct tg_agent_passed *passed)
{
    __atomic_store_n(&place->position, 0, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    place->tid = passed->tid;
    place->before = passed->before;
    __atomic_store_n(&place->position, passed->position, __ATOMIC_RELEASE);
}

/* Under the guard: a boundary now and then, so that of the last half of what was taken one is known; and
 * where taking has got to, from where on nothing is overwritten. */
static void note_boundary(struct tg_ring_reader *reader)
{
    struct tg_agent_ring_header *header = reader->header;
    if (reader->keep)
        return;
    const struct tg_agent_passed here = {
        .position = reader->tail, .tid = reader->tid, .before = reader->before};
    pass(&header->passed[2], &here);
    if (reader->tail - reader->noted < size_at_tail(reader) / 4)
        return;
    const struct tg_agent_passed older = header->passed[1];
    reader->noted = reader->tail;
    pass(&header->passed[0], &older);
    pass(&header->passed[1], &here);
}

/* Under the guard. */
static void wake(struct tg_agent_ring_header *header)
{
    if (__atomic_load_n(&header->waiting, __ATOMIC_SEQ_CST) == 0)
        return;
    __atomic_store_n(&header->waiting, 0, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &header->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Under the guard. The order of the two makes sure that no sleeper is missed: see the agent's side. */
static void tell_tail(struct tg_ring_reader *reader)
{
    struct tg_agent_ring_header *header = reader->header;
    if (reader->keep)
        return;
    __atomic_store_n(&header->tail, reader->tail, __ATOMIC_SEQ_CST);
    wake(header);
}

static void clamp_ticks(struct tg_ring_reader *reader, uint64_t *ticks, uint64_t first, uint64_t last)
{
    if (*ticks >= first && *ticks <= last)
        return;
    uint64_t off = *ticks < first ? first - *ticks : *ticks - last;
    *ticks = *ticks < first ? first : last;
    reader->wrong_ticks += off > TOLERATED_TICKS;
}

/* A piece copied out of the ring at once, and what became of it. */
struct piece {
    uint64_t *words;
    size_t bytes;
    bool cut;            /* may end within a record, for lack of room */
    size_t used;         /* bytes consumed, ... */
    size_t taken;        /* ... of which as many, from the beginning on, are records, ... */
    uint64_t last_ticks; /* ... the latest of these */
};

/* RECORD is of the kind AGAIN. Returns what is wrong with it, NULL: nothing. */
static const char *take_repeat(struct tg_ring_reader *reader, uint64_t *record)
{
    size_t place;
    if (tg_ring_repeats_needs(reader->repeats, record, &place)) {
        const struct tg_agent_repeat *repeats =
            (const void *)((const unsigned char *)reader->header + TG_AGENT_RING_HEADER_BYTES);
        struct tg_agent_repeat copy = {0};
        tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
        memcpy(&copy, &repeats[place], sizeof copy);
        if (!tg_mapping_guard_end())
            return "truncated";
        const char *reason = tg_ring_repeats_read(reader->repeats, record, place, &copy);
        if (reason != NULL)
            return reason;
    }
    tg_ring_repeats_take(reader->repeats, record);
    return NULL;
}

/* Most records are repeats that are known. Returns their bytes. */
static size_t take_run(struct tg_ring_reader *reader, struct piece *piece, size_t at, uint64_t first,
                       uint64_t last)
{
    size_t n_words = tg_ring_repeats_take_run(reader->repeats, piece->words + at / WORD_BYTES,
                                              (piece->bytes - at) / WORD_BYTES, first, &last);
    uint64_t n = n_words / TG_AGENT_AGAIN_WORDS;
    if (n == 0)
        return 0;
    reader->before.records += n;
    reader->before.events += n;
    piece->last_ticks = last > piece->last_ticks ? last : piece->last_ticks;
    piece->used = piece->taken = at + n_words * WORD_BYTES;
    return n_words * WORD_BYTES;
}

/* Returns why the rest is nonsense, NULL where it is not. */
static const char *check_records(struct tg_ring_reader *reader, struct piece *piece)
{
    uint64_t first = tg_tick_clock_first(reader->clock).ticks;
    uint64_t last = tg_tick_clock_now(reader->clock), noted = tg_tick_clock_last(reader->clock).ticks;
    last = last > noted ? last : noted; /* the machine may have been started anew since they were written */
    size_t at = 0;
    while (piece->bytes - at >= RECORD_UNIT) {
        uint64_t *record = piece->words + at / WORD_BYTES;
        bool is_again = (record[1] & 0xff) == TG_RECORD_AGAIN;
        size_t n_run = is_again ? take_run(reader, piece, at, first, last) : 0;
        if (n_run > 0) {
            at += n_run;
            continue;
        }
        size_t n_words = record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff;
        if (n_words < 2 || n_words % 2 != 0 || n_words > TG_AGENT_MAX_WORDS)
            return "record of impossible size";
        if (n_words * WORD_BYTES > piece->bytes - at)
            return piece->cut ? NULL : "record beyond the end";
        at += n_words * WORD_BYTES;
        if ((record[1] & 0xff) == TG_RECORD_PAD) {
            piece->used = at;
            /* of the data, or of what they were before the ring grew */
            return (reader->tail + at) % TG_AGENT_RING_MIN_BYTES == 0 ? NULL : "filler short of the end";
        }
        const char *reason = is_again ? take_repeat(reader, record) : NULL;
        if (reason != NULL)
            return reason;
        clamp_ticks(reader, &record[0], first, last);
        piece->last_ticks = record[0] > piece->last_ticks ? record[0] : piece->last_ticks;
        if ((record[1] & 0xff) == TG_RECORD_THREAD && n_words > 2)
            reader->tid = (int32_t)record[2];
        tg_agent_count_record(&reader->before, record[1]);
        piece->used = piece->taken = at;
    }
    return NULL;
}

/* Under the guard. Returns why the positions cannot be, NULL where they can. */
static const char *look(struct tg_ring_reader *reader)
{
    uint32_t state = __atomic_load_n(&reader->header->state, __ATOMIC_ACQUIRE);
    reader->head = __atomic_load_n(&reader->header->head, __ATOMIC_ACQUIRE);
    reader->closed = state == TG_AGENT_RING_CLOSED;
    reader->stays = __atomic_load_n(&reader->header->stays, __ATOMIC_ACQUIRE) != 0;
    reader->waits = __atomic_load_n(&reader->header->waiting, __ATOMIC_ACQUIRE) != 0;
    const char *reason = follow_growths(reader, reader->header, reader->head);
    if (reason != NULL)
        return reason;
    pass_growths(reader);
    uint64_t held = end_at_tail(reader) - reader->tail;
    if (reader->tail % RECORD_UNIT != 0 || held % RECORD_UNIT != 0 || reader->head % RECORD_UNIT != 0)
        return "positions between records";
    if (held > size_at_tail(reader) || reader->head - first_after(reader, reader->n_growths) > INT64_MAX)
        return "positions further apart than the ring's size";
    return NULL;
}

static struct tg_error *give_up(struct tg_ring_reader *reader, const char *reason)
{
    reader->given_up = true;
    return refuse(reader->name, reason);
}

/* Nobody shall wait for room in it. */
static void empty(struct tg_ring_reader *reader)
{
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    reader->tail = reader->head = __atomic_load_n(&reader->header->head, __ATOMIC_ACQUIRE);
    reader->n_passed = reader->n_growths;
    tell_tail(reader);
    tg_mapping_guard_end();
}

static void copy_out(struct tg_ring_reader *reader, size_t room, struct piece *piece)
{
    uint64_t size = size_at_tail(reader);
    uint64_t place = reader->tail & (size - 1);
    uint64_t held = end_at_tail(reader) - reader->tail;
    uint64_t n = held < size - place ? held : size - place;
    piece->cut = n > room;
    piece->bytes = piece->cut ? room & ~(size_t)(RECORD_UNIT - 1) : (size_t)n;
    memcpy(piece->words, reader->data + place, piece->bytes);
}

/* Returns why the ring is to be given up. PIECE has what was taken also then. */
static const char *take_piece(struct tg_ring_reader *reader, size_t room, struct piece *piece)
{
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    const char *reason = look(reader);
    if (reason == NULL)
        copy_out(reader, room, piece);
    /* passed a growth behind which there is nothing yet: its thread may wait for that, where it has no memory there */
    if (reason == NULL && piece->bytes == 0 &&
        __atomic_load_n(&reader->header->tail, __ATOMIC_RELAXED) != reader->tail)
        tell_tail(reader);
    if (!tg_mapping_guard_end())
        return "truncated";
    if (reason != NULL || piece->bytes == 0)
        return reason;
    reason = check_records(reader, piece);
    reader->tail += piece->used;
    pass_growths(reader);
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    note_boundary(reader);
    tell_tail(reader);
    tg_mapping_guard_end();
    return reason;
}

struct tg_error *tg_ring_reader_take(struct tg_ring_reader *reader, void *room, size_t size, size_t *taken)
{
    *taken = 0;
    if (reader->given_up) {
        if (reader->header != NULL)
            empty(reader);
        return NULL;
    }
    struct piece piece = {.words = room};
    const char *reason = take_piece(reader, size, &piece);
    if (reason == NULL && piece.taken == 0 && piece.used > 0) { /* a filler alone: go on at the beginning */
        piece = (struct piece){.words = room};
        reason = take_piece(reader, size, &piece);
    }
    *taken = piece.taken;
    reader->last_ticks = piece.last_ticks;
    return reason == NULL ? NULL : give_up(reader, reason);
}

struct tg_ring_fill tg_ring_reader_look(struct tg_ring_reader *reader)
{
    const struct tg_ring_reader before = *reader;
    const uint64_t size = reader->facts.data_bytes;
    if (reader->given_up)
        return (struct tg_ring_fill){.of_bytes = size};
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    const char *reason = look(reader);
    if (!tg_mapping_guard_end() || reason != NULL) { /* a take says so */
        *reader = before;
        return (struct tg_ring_fill){.bytes = size, .of_bytes = size};
    }
    if (reader->waits && held_bytes(reader) > 0)
        return (struct tg_ring_fill){.bytes = size, .of_bytes = size};
    /* until what was before it grew is read, none of that is free */
    uint64_t last = first_after(reader, reader->n_growths), last_size = reader->facts.data_bytes;
    uint64_t from = reader->n_passed == reader->n_growths ? reader->tail : last - last % last_size;
    uint64_t granted = reader->mapped_bytes - TG_AGENT_RING_DATA_OFFSET;
    return (struct tg_ring_fill){.bytes = reader->head - from,
                                 .of_bytes = reader->stays ? last_size : granted};
}

/* Whether a thread can ask the kernel for memory where it may have none to give (MADV_POPULATE_WRITE, since Linux 5.14). */
static bool can_populate(void)
{
    enum { POPULATE_WRITE = 23, BYTES = 4096 };
    void *page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool can = page != MAP_FAILED && madvise(page, BYTES, POPULATE_WRITE) == 0;
    if (page != MAP_FAILED)
        munmap(page, BYTES);
    return can;
}

static bool has_room(int fd, uint64_t n_bytes)
{
    struct statvfs system;
    return fstatvfs(fd, &system) == 0 && system.f_bavail > n_bytes / system.f_frsize;
}

/* Room that is only promised would kill the program with SIGBUS where the file system is full; the agent asks for it before it
 * writes there, where it can. */
static bool reserve(const struct tg_ring_reader *reader, int directory, uint64_t file_bytes)
{
    int fd = openat(directory, reader->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool reserved =
        fd >= 0 && (can_populate() ? has_room(fd, file_bytes) && ftruncate(fd, (off_t)file_bytes) == 0
                                   : fallocate(fd, 0, 0, (off_t)file_bytes) == 0);
    if (fd >= 0)
        close(fd);
    return reserved;
}

bool tg_ring_reader_grow(struct tg_ring_reader *reader, int fd, uint64_t data_bytes)
{
    uint64_t file_bytes = TG_AGENT_RING_DATA_OFFSET + data_bytes;
    if (reader->given_up || reader->keep || reader->stays || reader->header == NULL ||
        reader->facts.kind != TG_AGENT_RING_THREAD || data_bytes > TG_AGENT_RING_MAX_BYTES ||
        file_bytes <= reader->mapped_bytes || !reserve(reader, fd, file_bytes))
        return false;
    void *mapping = mremap(reader->header, reader->mapped_bytes, file_bytes, MREMAP_MAYMOVE);
    if (mapping == MAP_FAILED)
        return false;
    reader->header = mapping;
    reader->data = (const unsigned char *)mapping + TG_AGENT_RING_DATA_OFFSET;
    reader->mapped_bytes = file_bytes;
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    __atomic_store_n(&reader->header->granted_bytes, data_bytes, __ATOMIC_SEQ_CST);
    wake(reader->header);
    tg_mapping_guard_end();
    return true;
}

uint64_t tg_ring_reader_last_ticks(const struct tg_ring_reader *reader)
{
    return reader->last_ticks;
}

struct tg_ring_repeats *tg_ring_reader_repeats(const struct tg_ring_reader *reader)
{
    return reader->repeats;
}

uint64_t tg_ring_reader_left(const struct tg_ring_reader *reader)
{
    return reader->given_up ? 0 : held_bytes(reader);
}

bool tg_ring_reader_is_finished(const struct tg_ring_reader *reader)
{
    return !reader->given_up && reader->closed && held_bytes(reader) == 0;
}

/* A read lease is granted where nobody has the file open for writing, and a writable mapping counts. */
static bool can_have_lease(int directory, const char *name)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT;
    bool granted = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    if (granted)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    close(fd);
    return granted;
}

bool tg_ring_reader_is_orphan(struct tg_ring_reader *reader, int fd)
{
    if (reader->header == NULL)
        return true;
    size_t before_bytes = reader->mapped_bytes;
    munmap(reader->header, reader->mapped_bytes); /* our own mapping counts too */
    reader->header = NULL;
    bool orphan = can_have_lease(fd, reader->name);
    struct tg_error *error = map_file(reader, fd);
    if (error != NULL || reader->mapped_bytes != before_bytes)
        reader->given_up = true; /* somebody took it away, or changed its size */
    tg_error_destroy(error);
    return orphan;
}

uint64_t tg_ring_reader_lost(struct tg_ring_reader *reader)
{
    if (reader->header == NULL)
        return 0;
    tg_mapping_guard_begin(reader->header, reader->mapped_bytes);
    uint64_t lost = __atomic_load_n(&reader->header->lost, __ATOMIC_RELAXED);
    tg_mapping_guard_end();
    return lost;
}

uint64_t tg_ring_reader_wrong_ticks(const struct tg_ring_reader *reader)
{
    return reader->wrong_ticks;
}
