#include "tests/support/ring_producer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect(bool condition, const char *what)
{
    if (condition)
        return;
    perror(what);
    abort();
}

void ring_producer_init(struct ring_producer *producer, int directory, int32_t pid, unsigned n,
                        uint64_t data_bytes, uint64_t instance)
{
    *producer = (struct ring_producer){.data_bytes = data_bytes, .grows_at = 2};
    snprintf(producer->name, sizeof producer->name, "ring.%d.%u", pid, n);
    int fd = openat(directory, producer->name, O_RDWR | O_CREAT | O_EXCL, 0600);
    expect(fd >= 0 && fchmod(fd, 0600) == 0, producer->name);
    size_t size = TG_AGENT_RING_DATA_OFFSET + data_bytes;
    expect(ftruncate(fd, (off_t)size) == 0, "ftruncate");
    void *mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    expect(mapping != MAP_FAILED, "mmap");
    close(fd);
    producer->header = mapping;
    producer->data = (unsigned char *)mapping + TG_AGENT_RING_DATA_OFFSET;
    producer->header->protocol = TG_AGENT_PROTOCOL;
    producer->header->kind = TG_AGENT_RING_THREAD;
    producer->header->data_bytes = data_bytes;
    producer->header->pid = pid;
    producer->header->instance = instance;
    __atomic_store_n(&producer->header->magic, TG_AGENT_RING_MAGIC, __ATOMIC_RELEASE);
}

void ring_producer_deinit(struct ring_producer *producer)
{
    munmap(producer->header, TG_AGENT_RING_DATA_OFFSET + producer->data_bytes);
}

static uint64_t *place_of(const struct ring_producer *producer)
{
    return (uint64_t *)(void *)(producer->data + (producer->written & (producer->data_bytes - 1)));
}

static void publish(struct ring_producer *producer, size_t n_words)
{
    producer->written += n_words * sizeof(uint64_t);
    __atomic_store_n(&producer->header->head, producer->written, __ATOMIC_RELEASE);
}

/* Up to where the recorder has read, by positions that have the ring's size. */
static uint64_t read_until(const struct ring_producer *producer)
{
    uint64_t tail = __atomic_load_n(&producer->header->tail, __ATOMIC_ACQUIRE);
    uint32_t n = producer->header->n_growths;
    uint64_t from = n == 0 ? 0 : producer->header->growths[n - 1].from;
    return tail < from ? from - from % producer->data_bytes : tail;
}

static void grow(struct ring_producer *producer)
{
    uint64_t size = producer->data_bytes, granted = producer->header->granted_bytes;
    uint32_t n = producer->header->n_growths;
    if (granted <= size || n == TG_AGENT_RING_GROWTHS ||
        producer->written - read_until(producer) < size / producer->grows_at)
        return;
    void *longer = mremap(producer->header, TG_AGENT_RING_DATA_OFFSET + size,
                          TG_AGENT_RING_DATA_OFFSET + granted, MREMAP_MAYMOVE);
    expect(longer != MAP_FAILED, "mremap");
    producer->header = longer;
    producer->data = (unsigned char *)longer + TG_AGENT_RING_DATA_OFFSET;
    producer->data_bytes = granted;
    uint64_t from = (producer->written / granted + 1) * granted + size;
    producer->header->growths[n] =
        (struct tg_agent_growth){.until = producer->written, .from = from, .data_bytes = granted};
    __atomic_store_n(&producer->header->n_growths, n + 1, __ATOMIC_RELEASE);
    producer->written = from;
    __atomic_store_n(&producer->header->head, from, __ATOMIC_RELEASE);
}

bool ring_producer_put(struct ring_producer *producer, unsigned kind, uint64_t ticks, uint64_t place,
                       const uint64_t *arguments, size_t n_arguments)
{
    size_t n_words = (n_arguments + 3) & ~(size_t)1;
    grow(producer);
    uint64_t end = read_until(producer) + producer->data_bytes;
    uint64_t to_end = producer->data_bytes - (producer->written & (producer->data_bytes - 1));
    if (to_end < n_words * 8 && to_end <= end - producer->written) {
        uint64_t *pad = place_of(producer);
        pad[0] = 0;
        pad[1] = TG_RECORD_PAD | to_end / 8 << TG_AGENT_WORDS_SHIFT;
        publish(producer, to_end / 8);
        to_end = producer->data_bytes;
    }
    if (to_end < n_words * 8 || producer->written + n_words * 8 > end)
        return false;
    uint64_t *record = place_of(producer);
    record[0] = ticks;
    record[1] = kind | n_words << TG_AGENT_WORDS_SHIFT | place;
    if (n_arguments > 0)
        memcpy(record + 2, arguments, n_arguments * sizeof arguments[0]);
    if (n_arguments % 2 != 0)
        record[2 + n_arguments] = 0;
    publish(producer, n_words);
    return true;
}

static uint64_t name_of(size_t place, uint64_t serial, unsigned kind)
{
    uint64_t n_words = tg_agent_own_word(kind) == 0 ? 2 : 4;
    return TG_RECORD_AGAIN | n_words << TG_AGENT_WORDS_SHIFT | place << TG_AGENT_REPEAT_SHIFT |
           serial << TG_AGENT_SERIAL_SHIFT;
}

void ring_producer_fill(struct ring_producer *producer, size_t place, uint64_t serial, unsigned kind,
                        const uint64_t *arguments, size_t n_arguments)
{
    ring_producer_fill_at(producer, place, serial, kind, 0, arguments, n_arguments);
}

void ring_producer_fill_at(struct ring_producer *producer, size_t place, uint64_t serial, unsigned kind,
                           uint64_t where, const uint64_t *arguments, size_t n_arguments)
{
    struct tg_agent_repeat *repeats =
        (void *)((unsigned char *)producer->header + TG_AGENT_RING_HEADER_BYTES);
    size_t n_words = (n_arguments + 3) & ~(size_t)1;
    repeats[place] = (struct tg_agent_repeat){.name = name_of(place, serial, kind),
                                              .words = {kind | n_words << TG_AGENT_WORDS_SHIFT | where}};
    memcpy(repeats[place].words + 1, arguments, n_arguments * sizeof *arguments);
}

bool ring_producer_again(struct ring_producer *producer, size_t place, uint64_t serial, uint64_t number,
                         uint64_t ticks)
{
    return ring_producer_put(producer, TG_RECORD_AGAIN, ticks,
                             place << TG_AGENT_REPEAT_SHIFT | serial << TG_AGENT_SERIAL_SHIFT |
                                 number << TG_AGENT_NUMBER_SHIFT,
                             NULL, 0);
}

uint64_t ring_place(uint64_t team, uint64_t thread_num)
{
    return (team & TG_AGENT_TEAM_MASK) << TG_AGENT_TEAM_SHIFT | (thread_num & 0xffff)
                                                                    << TG_AGENT_THREAD_NUM_SHIFT;
}

size_t ring_string(uint64_t *words, const char *text)
{
    size_t n_words = strlen(text) / sizeof words[0] + 1;
    memset(words, 0, n_words * sizeof words[0]);
    memcpy(words, text, strlen(text));
    return n_words;
}
