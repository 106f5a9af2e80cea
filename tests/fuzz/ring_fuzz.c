/* Any bytes as the rings of a process, read, put in order and decoded to the end.
 *
 * The first byte says how the rest is used (enum mode); behind it, where RAW_HEADER says so, the first bytes
 * of the header as the file has them; then data from the ring's tail on. */
#include "fuzz.h"
#include "recorder/agent/contract.h"
#include "recorder/rings/mapping_guard.h"
#include "recorder/rings/ring_set.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum mode {
    RAW_HEADER = 1,
    LOADER = 2,      /* a ring of the audit library */
    SECOND_RING = 4, /* the same once more, of another program in the process */
    CLOSED = 8,
    AT_END = 16,  /* the data begins near the end of the ring, and goes on at its beginning */
    TWICE = 32,   /* more is published after a first round */
    SALVAGE = 64, /* of a recorder that was killed: its notes are in the header too */
};

enum {
    DATA = TG_AGENT_RING_MIN_BYTES,
    FROM_END = 512,
    SHORT_HEADER = 192, /* without the notes, or with what can lie there in short */
    IN_FILE = 1000,
};

static void see_item(const struct tg_record_schema *schema, const void *item)
{
    for (size_t i = 0; i < schema->n_fields; i++) {
        const char *field = (const char *)item + schema->fields[i].offset;
        if (schema->fields[i].type == TG_FIELD_STRING) {
            const char *text;
            memcpy(&text, field, sizeof text);
            assert(text == NULL || strlen(text) < 1 << 20);
        } else if (schema->fields[i].type == TG_FIELD_LIST) {
            struct tg_list list;
            memcpy(&list, field, sizeof list);
            for (uint64_t n = 0; n < list.count; n++)
                see_item(schema->fields[i].element,
                         (const char *)list.items + n * schema->fields[i].element->size_bytes);
        } else {
            uint64_t value;
            memcpy(&value, field, sizeof value);
            assert(schema->fields[i].type != TG_FIELD_BOOL || value <= 1);
        }
    }
}

/* Every event can be told by its schema. */
static void see(void *context, const struct tg_event *event)
{
    uint64_t *n_events = context;
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    assert(schema != NULL);
    struct tg_event copy = *event;
    see_item(schema, TG_EVENT_PAYLOAD(&copy));
    ++*n_events;
}

static void write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
    if (pwrite(fd, bytes, size, (off_t)offset) != (ssize_t)size)
        abort();
}

/* Returns the descriptor of the ring; PUBLISHED of the data is. */
static int make_ring(int directory, const char *name, uint8_t mode, uint64_t instance, const uint8_t *data,
                     size_t size, size_t published)
{
    struct tg_agent_ring_header header = {
        .magic = TG_AGENT_RING_MAGIC,
        .protocol = TG_AGENT_PROTOCOL,
        .kind = mode & LOADER ? TG_AGENT_RING_LOADER : TG_AGENT_RING_THREAD,
        .data_bytes = DATA,
        .pid = 1,
        .state = mode & CLOSED ? TG_AGENT_RING_CLOSED : TG_AGENT_RING_OPEN,
        .instance = instance,
        .tail = mode & AT_END ? DATA - FROM_END : 0,
    };
    if (mode & RAW_HEADER) {
        size_t most = mode & SALVAGE ? sizeof header : SHORT_HEADER;
        size_t n = size < most ? size : most;
        memcpy(&header, data, n);
        header.protocol += TG_AGENT_PROTOCOL - 1; /* inputs are of the time of protocol 1 */
        data += n;
        size -= n;
    } else {
        header.head = header.tail + published;
    }
    int fd = openat(directory, name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, TG_AGENT_RING_DATA_OFFSET + DATA) != 0)
        abort();
    write_at(fd, &header, sizeof header, 0);
    const uint64_t again =
        TG_RECORD_AGAIN | UINT64_C(2) << TG_AGENT_WORDS_SHIFT | UINT64_C(1) << TG_AGENT_SERIAL_SHIFT;
    const struct tg_agent_repeat repeats[] = {
        {.name = again, .words = {TG_RECORD_OMP_MUTEX_ENTER | 4 << TG_AGENT_WORDS_SHIFT, 0x401000, 0x5000}},
        {.name = again + (1 << TG_AGENT_REPEAT_SHIFT),
         .words = {TG_RECORD_MPI_LEAVE | 8 << TG_AGENT_WORDS_SHIFT, 1}},
    };
    write_at(fd, repeats, sizeof repeats, TG_AGENT_RING_HEADER_BYTES);
    write_at(fd, data, size < sizeof repeats[0] ? size : sizeof repeats[0],
             TG_AGENT_RING_HEADER_BYTES + sizeof repeats);
    const uint64_t in_team = UINT64_C(5) << TG_AGENT_TEAM_SHIFT;
    const struct tg_agent_repeat of_regions[] = {
        {.name = again + (3 << TG_AGENT_REPEAT_SHIFT),
         .words = {TG_RECORD_OMP_IMPLICIT_BEGIN | 8 << TG_AGENT_WORDS_SHIFT | in_team, 0x401000, 5, 0, 2, 1}},
        {.name = again + (4 << TG_AGENT_REPEAT_SHIFT),
         .words = {TG_RECORD_OMP_SYNC_END | 4 << TG_AGENT_WORDS_SHIFT | in_team, 0x401000, 1}},
    };
    write_at(fd, of_regions, sizeof of_regions,
             TG_AGENT_RING_HEADER_BYTES + sizeof repeats + sizeof repeats[0]);
    size_t first = mode & AT_END && size > FROM_END ? FROM_END : size;
    uint64_t at = mode & AT_END ? DATA - FROM_END : 0;
    write_at(fd, data, first, TG_AGENT_RING_DATA_OFFSET + at);
    write_at(fd, data + first, size - first, TG_AGENT_RING_DATA_OFFSET);
    return fd;
}

static void run_set(int directory, int ring, uint8_t mode, uint64_t head)
{
    uint64_t n_events = 0;
    struct tg_tick_clock *clock = NULL;
    struct tg_ring_set *set = NULL;
    if (tg_tick_clock_create(TG_AGENT_CLOCK_MONOTONIC, &clock) != NULL)
        abort();
    const struct tg_ring_set_options options = {
        .directory_fd = directory,
        .clock = clock,
        .sink = {.context = &n_events, .add = see},
        .salvage = (mode & SALVAGE) != 0,
        .n_in_file = IN_FILE,
    };
    if (tg_ring_set_create(&options, &set) != NULL)
        abort();
    if (mode & TWICE) {
        tg_ring_set_scan(set);
        tg_ring_set_take(set);
        tg_ring_set_tell(set, UINT64_MAX, 100);
        write_at(ring, &head, sizeof head, offsetof(struct tg_agent_ring_header, head));
        tg_ring_set_take(set);
        tg_ring_set_reap(set);
    }
    tg_ring_set_finish(set);
    assert(tg_ring_set_stats(set).rings <= 2);
    tg_ring_set_destroy(set);
    tg_tick_clock_destroy(clock);
}

/* One folder for all inputs, empty between them; removed at the end. */
static char folder[64];

static void remove_folder(void)
{
    rmdir(folder);
}

static int open_folder(void)
{
    static int fd = -1;
    if (fd >= 0)
        return fd;
    strcpy(folder, "/dev/shm/fuzz-rings-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        strcpy(folder, "/tmp/fuzz-rings-XXXXXX");
        if (mkdtemp(folder) == NULL)
            abort();
    }
    atexit(remove_folder);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        abort();
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > DATA / 2)
        return 0;
    uint8_t mode = data[0];
    int directory = open_folder();
    data++;
    size--;
    size_t whole = size & ~(size_t)15, half = whole / 2 & ~(size_t)15;
    tg_mapping_guard_install();
    int ring = make_ring(directory, "ring.1.0", mode, 1, data, size, mode & TWICE ? half : whole);
    if (mode & SECOND_RING)
        close(make_ring(directory, "ring.1.1", mode, 2, data, size, whole));
    run_set(directory, ring, mode, (mode & AT_END ? DATA - FROM_END : 0) + whole);
    close(ring);
    unlinkat(directory, "ring.1.0", 0);
    unlinkat(directory, "ring.1.1", 0);
    return 0;
}
