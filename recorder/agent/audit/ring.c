#include "recorder/agent/audit/ring.h"

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/deep_bind.h"

#include <elf.h>
#include <errno.h>
#include <linux/limits.h>
#include <x86intrin.h>

enum {
    WAIT_NS = 20000000,       /* between looks whether the recorder still lives */
    MAX_DATA_BYTES = 1 << 18, /* loads are few: one ring of 256 KiB holds a thousand */
    MAX_NAMES = 1000,         /* rings that exist already: pids come round */
    MAX_AUXILIARY = 64,
    TOUCHED_BYTES = 1 << 16,   /* of a ring become memory at once; no fewer, so that so many are a ring */
    POPULATE_WRITE = 23,       /* MADV_POPULATE_WRITE, since Linux 5.14 */
    MAX_SPINS = 1 << 26,       /* pauses: some tenths of a second to some seconds */
    PAUSE_NS = 16,             /* one of them takes so long, about */
    MAX_STACK_BYTES = 1 << 18, /* initial stack that is looked through: may hold an LD_PRELOAD of 128 KiB */
};

/* All that there is: no other mutable state but audit.c's. */
static struct {
    char directory[PATH_MAX];
    unsigned char random[16];
    const char *initial_stack_end;    /* the kernel puts the random bytes right behind the initial stack */
    ino_t pid_namespace;              /* of that time; 0: not known */
    struct tg_agent_control *control; /* NULL: no recorder */
    struct tg_agent_ring_header *ring;
    unsigned char *data;
    uint64_t size; /* bytes of data; the program can overwrite the size in the header */
    uint64_t real; /* so many of them are memory for certain, the others are made it when they are used */
    uint64_t written;
    uint64_t from;    /* where the positions of this size begin: the recorder may still be before that */
    uint64_t dropped; /* since the last record that was kept */
    uint64_t waited;  /* ticks, for the recorder */
    uint32_t next_name;
    bool abandoned; /* the recorder is gone: nobody waits any more */
    bool has_clock; /* the thread that has its turn may read it */
    bool no_calls;  /* the program has forbidden itself system calls: none is made here */
} agent;

/* ---- what the kernel gave the program */

static bool read_auxiliary(void)
{
    Elf64_auxv_t vector[MAX_AUXILIARY];
    int fd = tg_raw_open_at(AT_FDCWD, "/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    long size = tg_raw_read(fd, vector, sizeof vector);
    tg_raw_close(fd);
    const unsigned char *random = NULL;
    for (long i = 0; i < size / (long)sizeof vector[0] && vector[i].a_type != AT_NULL; i++) {
        if (vector[i].a_type == AT_SECURE && vector[i].a_un.a_val != 0)
            return false;
        if (vector[i].a_type == AT_RANDOM)
            random = (const unsigned char *)vector[i].a_un.a_val; // NOLINT: an address
    }
    for (size_t i = 0; random != NULL && i < sizeof agent.random; i++)
        agent.random[i] = random[i];
    agent.initial_stack_end = (const char *)random;
    return size > 0;
}

/* Reads a stream of NUL-terminated variables: how much of the name has matched, and where the value goes. */
struct search {
    size_t matched; /* bytes of "NAME="; SIZE_MAX: this is another variable */
    size_t length;  /* bytes of the value so far */
    bool found;
};

static void search_byte(struct search *search, char byte)
{
    static const char wanted[] = TG_AGENT_VARIABLE "=";
    enum { LENGTH = sizeof wanted - 1 };
    if (search->matched == LENGTH) {
        if (search->length < sizeof agent.directory - 1)
            agent.directory[search->length++] = byte;
        else
            agent.directory[0] = '\0'; /* too long: no absolute path any more */
        if (byte == '\0')
            *search = (struct search){.found = true};
    } else if (byte == '\0') {
        search->matched = 0;
    } else if (search->matched != SIZE_MAX) {
        search->matched = wanted[search->matched] == byte ? search->matched + 1 : SIZE_MAX;
        search->length = 0;
    }
}

/* The byte behind the next NUL from AT on, END where there is none before that. */
static const char *behind_nul(const char *at, const char *end)
{
    enum { STEP = sizeof(__m128i) };
    for (; end - at >= STEP; at += STEP) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        unsigned nuls = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
        if (nuls != 0)
            return at + __builtin_ctz(nuls) + 1;
    }
    while (at < end)
        if (*at++ == '\0')
            return at;
    return end;
}

/* Variables added to the environment at exec by way of the initial stack (recorder/process/initial_stack.h)
 * are not in /proc/self/environ; its strings are the last thing on that stack. */
static bool read_stack(void)
{
    const char *start = __builtin_frame_address(0), *end = agent.initial_stack_end;
    struct search search = {.matched = SIZE_MAX};
    if (end == NULL || start >= end)
        return false;
    if (end - start > MAX_STACK_BYTES)
        start = end - MAX_STACK_BYTES;
    while (start < end) {
        if (search.matched == SIZE_MAX) {
            start = behind_nul(start, end);
            search.matched = 0;
        } else {
            search_byte(&search, *start++);
        }
    }
    return search.found && agent.directory[0] == '/';
}

/* The last variable of the name counts, as for the agent. */
static bool read_environment(void)
{
    if (read_stack())
        return true;
    int fd = tg_raw_open_at(AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    struct search search = {0};
    char buffer[4096];
    long size;
    while ((size = tg_raw_read(fd, buffer, sizeof buffer)) > 0 || size == -EINTR)
        for (long i = 0; i < size; i++)
            search_byte(&search, buffer[i]);
    tg_raw_close(fd);
    return search.found && agent.directory[0] == '/';
}

/* ---- the directory */

static bool is_ours(int fd, unsigned type, unsigned mode, uint64_t least_bytes)
{
    struct stat status;
    return tg_raw_stat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type &&
           (status.st_mode & 07777) == mode && status.st_uid == tg_raw_effective_user() &&
           (uint64_t)status.st_size >= least_bytes;
}

static int open_directory(void)
{
    int fd = tg_raw_open_at(AT_FDCWD, agent.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd >= 0 && !is_ours(fd, S_IFDIR, 0700, 0)) {
        tg_raw_close(fd);
        fd = -1;
    }
    return fd;
}

static ino_t current_pid_namespace(void)
{
    struct stat status;
    int fd = tg_raw_open_at(AT_FDCWD, "/proc/self/ns/pid", O_RDONLY | O_CLOEXEC, 0);
    bool is_known = fd >= 0 && tg_raw_stat(fd, &status) == 0;
    if (fd >= 0)
        tg_raw_close(fd);
    return is_known ? status.st_ino : 0;
}

/* Whether this process was forked into another pid namespace: its ids are not those by which the recorder knows it. */
static bool has_other_ids(void)
{
    ino_t here = agent.pid_namespace == 0 ? 0 : current_pid_namespace();
    return here != 0 && here != agent.pid_namespace;
}

static int open_control(int flags)
{
    int directory = open_directory();
    if (directory < 0)
        return -1;
    int fd = tg_raw_open_at(directory, "control", flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    tg_raw_close(directory);
    if (fd >= 0 && !is_ours(fd, S_IFREG, 0600, TG_AGENT_CONTROL_BYTES)) {
        tg_raw_close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_usable(const struct tg_agent_control *control)
{
    uint64_t bytes = control->ring_bytes;
    return control->magic == TG_AGENT_CONTROL_MAGIC && control->protocol == TG_AGENT_PROTOCOL &&
           bytes >= TG_AGENT_RING_MIN_BYTES && bytes <= TG_AGENT_RING_MAX_BYTES &&
           (bytes & (bytes - 1)) == 0 && (control->flags & TG_AGENT_LOADS) != 0 && control->over == 0;
}

bool tg_audit_ring_find_recorder(void)
{
    if (!read_auxiliary() || !read_environment())
        return false;
    int fd = open_control(O_RDWR);
    if (fd < 0)
        return false;
    struct tg_agent_control *control = tg_raw_map(fd, TG_AGENT_CONTROL_BYTES);
    tg_raw_close(fd);
    if (control == NULL)
        return false;
    agent.pid_namespace = current_pid_namespace();
    if (is_usable(control))
        agent.control = control;
    else
        tg_raw_unmap(control, TG_AGENT_CONTROL_BYTES);
    return agent.control != NULL;
}

/* Whether the recorder is surely no more: it holds a lock as long as it lives. */
static bool is_abandoned(void)
{
    int fd = open_control(O_RDONLY);
    if (fd < 0)
        return false;
    bool abandoned = tg_raw_lock(fd, LOCK_SH | LOCK_NB) == 0;
    tg_raw_close(fd);
    return abandoned;
}

const struct tg_agent_filter *tg_audit_ring_filter(void)
{
    const struct tg_agent_control *control = agent.control;
    if (control == NULL || agent.abandoned || __atomic_load_n(&control->over, __ATOMIC_RELAXED) != 0)
        return NULL;
    return (const struct tg_agent_filter *)(const void *)((const char *)control + TG_AGENT_FILTER_OFFSET);
}

bool tg_audit_ring_has_recorder(void)
{
    agent.abandoned = agent.abandoned || (!agent.no_calls && is_abandoned());
    return !agent.abandoned;
}

bool tg_audit_ring_is_there(void)
{
    return agent.ring != NULL;
}

/* ---- the ring's file */

static char *put_number(char *text, uint32_t number)
{
    char digits[10];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        *text++ = digits[--n];
    return text;
}

static void name_ring(char *name, int32_t pid, uint32_t number)
{
    for (const char *from = "ring."; *from != '\0'; from++)
        *name++ = *from;
    name = put_number(name, (uint32_t)pid);
    *name++ = '.';
    *put_number(name, number) = '\0';
}

/* A file beyond the limit is not just refused: SIGXFSZ kills whoever makes it. */
static bool is_allowed(uint64_t size)
{
    struct rlimit limit;
    return tg_raw_file_size_limit(&limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

/* Bytes [FROM, FROM + SIZE) of the mapped file become memory, for certain: 0, or -errno. */
static long populate(struct tg_agent_ring_header *header, uint64_t from, uint64_t size)
{
    enum { TRIES = 3 };
    long result = -EAGAIN;
    for (int i = 0; i < TRIES && (result == -EAGAIN || result == -EINTR); i++)
        result = tg_raw_advise((char *)header + from, size, POPULATE_WRITE);
    return result;
}

static bool allocate(int fd, uint64_t from, uint64_t size)
{
    int result;
    do
        result = tg_raw_allocate(fd, from, size);
    while (result == -EINTR);
    return result == 0;
}

/* Room that is only promised is a SIGBUS on a full file system. The header's page and the first bytes of the data are made memory
 * here, before the file has a size by which the recorder looks into it; the others when they are used. Where the kernel cannot be
 * asked for them, or a filter may forbid that, everything is. Returns how many of the data are; 0: none. */
static uint64_t reserve(int fd, uint64_t data_bytes, bool can_ask)
{
    uint64_t first = can_ask && data_bytes > TOUCHED_BYTES ? TOUCHED_BYTES : data_bytes;
    bool done = allocate(fd, 0, TG_AGENT_RING_HEADER_BYTES) && allocate(fd, TG_AGENT_RING_DATA_OFFSET, first);
    return done ? first : 0;
}

/* The file with its size, mapped; NULL: it cannot be had. */
static struct tg_agent_ring_header *map_file(int fd, uint64_t data_bytes)
{
    uint64_t size = TG_AGENT_RING_DATA_OFFSET + data_bytes;
    bool can_ask = !tg_raw_is_sealed();
    agent.real = reserve(fd, data_bytes, can_ask);
    if (agent.real == 0 || tg_raw_truncate(fd, size) != 0)
        return NULL;
    struct tg_agent_ring_header *header = tg_raw_map(fd, size);
    if (header == NULL || !can_ask || populate(header, 0, TG_AGENT_RING_HEADER_BYTES) == 0)
        return header;
    agent.real = reserve(fd, data_bytes, false);
    if (agent.real > 0)
        return header;
    tg_raw_unmap(header, size);
    return NULL;
}

/* *EXISTS: another name is worth a try. */
static struct tg_agent_ring_header *map_ring(int directory, const char *name, uint64_t data_bytes,
                                             bool *exists)
{
    int fd = tg_raw_open_at(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    *exists = fd == -EEXIST;
    if (fd < 0)
        return NULL;
    /* the program's umask must not decide */
    struct tg_agent_ring_header *header = tg_raw_change_mode(fd, 0600) == 0 ? map_file(fd, data_bytes) : NULL;
    tg_raw_close(fd);
    if (header == NULL)
        tg_raw_unlink_at(directory, name);
    return header;
}

static void ask_for_attention(void)
{
    uint32_t *attention = &agent.control->attention;
    __atomic_fetch_add(attention, 1, __ATOMIC_RELEASE);
    if (!agent.no_calls) /* else the recorder looks all the same, only later */
        tg_raw_futex_wake(attention, FUTEX_WAKE);
}

bool tg_audit_ring_make(int32_t pid)
{
    agent.ring = NULL;
    agent.dropped = 0;
    agent.abandoned = false;
    uint64_t data_bytes =
        agent.control->ring_bytes < MAX_DATA_BYTES ? agent.control->ring_bytes : MAX_DATA_BYTES;
    uint64_t size = TG_AGENT_RING_DATA_OFFSET + data_bytes;
    bool may_be = agent.control->over == 0 && is_allowed(size) && !has_other_ids();
    int directory = may_be ? open_directory() : -1;
    struct tg_agent_ring_header *header = NULL;
    bool exists = directory >= 0;
    for (int i = 0; header == NULL && exists && i < MAX_NAMES; i++) {
        char name[32];
        name_ring(name, pid, agent.next_name++);
        header = map_ring(directory, name, data_bytes, &exists);
    }
    if (directory >= 0)
        tg_raw_close(directory);
    if (header == NULL)
        return false;
    header->protocol = TG_AGENT_PROTOCOL;
    header->kind = TG_AGENT_RING_LOADER;
    header->data_bytes = data_bytes;
    header->pid = pid;
    header->state = TG_AGENT_RING_OPEN;
    header->instance = tg_agent_instance(agent.random, pid);
    agent.ring = header;
    agent.data = (unsigned char *)header + TG_AGENT_RING_DATA_OFFSET;
    agent.size = data_bytes;
    agent.written = agent.from = 0;
    __atomic_store_n(&header->magic, TG_AGENT_RING_MAGIC, __ATOMIC_RELEASE);
    __atomic_fetch_add(&agent.control->rings_made, 1, __ATOMIC_RELEASE);
    ask_for_attention();
    return true;
}

/* ---- room */

static uint64_t ticks(void)
{
    return agent.control->clock == TG_AGENT_CLOCK_TSC ? __rdtsc() : tg_raw_monotonic_ns();
}

static bool has_moved(uint64_t seen_tail)
{
    return __atomic_load_n(&agent.ring->tail, __ATOMIC_SEQ_CST) != seen_tail;
}

/* Without system calls. Who has waited longer than a living recorder would let it does not wait again. */
static void spin_for_recorder(uint64_t seen_tail)
{
    for (uint64_t i = 0; i < MAX_SPINS && !has_moved(seen_tail); i++)
        __builtin_ia32_pause();
    agent.abandoned = !has_moved(seen_tail);
}

static void wait_for_recorder(uint64_t seen_tail)
{
    const struct timespec timeout = {.tv_nsec = WAIT_NS};
    struct tg_agent_ring_header *ring = agent.ring;
    uint64_t begun = ticks();
    ask_for_attention();
    __atomic_store_n(&ring->waiting, 1, __ATOMIC_SEQ_CST);
    if (agent.no_calls)
        spin_for_recorder(seen_tail);
    else if (!has_moved(seen_tail) &&
             tg_raw_futex_wait(&ring->waiting, FUTEX_WAIT, 1, &timeout) == -ETIMEDOUT)
        agent.abandoned = is_abandoned();
    agent.waited += ticks() - begun;
}

/* What is to be written up to position END is memory; false: there is none for it, or a program that has restricted its system
 * calls since may not be made to ask for it. */
static bool touch(uint64_t end)
{
    if (end <= agent.real || agent.real >= agent.size)
        return true;
    if (agent.no_calls || tg_raw_is_sealed())
        return false;
    uint64_t bytes = agent.size - agent.real < TOUCHED_BYTES ? agent.size - agent.real : TOUCHED_BYTES;
    if (populate(agent.ring, TG_AGENT_RING_DATA_OFFSET + agent.real, bytes) != 0)
        return false;
    agent.real += bytes;
    return true;
}

/* The ring, which is empty, becomes so short that it is memory for certain: the largest power of two. */
static void shrink(void)
{
    struct tg_agent_ring_header *ring = agent.ring;
    uint64_t from = (agent.written | (agent.size - 1)) + 1, size = agent.size;
    while (size > agent.real)
        size /= 2;
    ring->growths[0] = (struct tg_agent_growth){.until = agent.written, .from = from, .data_bytes = size};
    __atomic_store_n(&ring->n_growths, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->stays, 1, __ATOMIC_RELEASE);
    agent.written = agent.from = from;
    agent.size = agent.real = size;
    __atomic_store_n(&ring->head, from, __ATOMIC_RELEASE);
}

/* Makes N_BYTES free at what was written; false: they are to be dropped. */
static bool find_room(uint64_t n_bytes)
{
    for (;;) {
        uint64_t size = agent.size;
        uint64_t tail = __atomic_load_n(&agent.ring->tail, __ATOMIC_ACQUIRE);
        uint64_t used = tail < agent.from ? agent.written - agent.from : agent.written - tail;
        if (used > size) /* the recorder's word is nonsense */
            return false;
        bool is_there = size - used >= n_bytes && touch(agent.written + n_bytes);
        if (!is_there && tail == agent.written && agent.real < size) {
            shrink();
            continue;
        }
        if (is_there) {
            if (used > size / 2)
                ask_for_attention();
            return true;
        }
        if ((agent.control->flags & TG_AGENT_LOSSY) != 0 || agent.abandoned ||
            __atomic_load_n(&agent.control->over, __ATOMIC_RELAXED) != 0)
            return false;
        wait_for_recorder(tail);
    }
}

/* Position of the next record. */
static uint64_t *place(void)
{
    return (uint64_t *)(void *)(agent.data + (agent.written & (agent.size - 1)));
}

/* The record that was written there is complete. */
static void publish(void)
{
    agent.written += (place()[1] >> TG_AGENT_WORDS_SHIFT & 0xfff) * 8;
    __atomic_store_n(&agent.ring->head, agent.written, __ATOMIC_RELEASE);
}

static uint64_t left_in_lap(void)
{
    return agent.size - (agent.written & (agent.size - 1));
}

/* Room in one piece: what is left up to the end of the data becomes a record of its own. */
static bool make_room(uint64_t n_bytes)
{
    for (;;) {
        uint64_t rest = left_in_lap();
        bool fits = rest >= n_bytes;
        if (!find_room(fits ? n_bytes : rest))
            return false;
        if (fits)
            return true;
        if (left_in_lap() != rest) /* the ring became shorter instead */
            continue;
        place()[0] = 0;
        place()[1] = TG_RECORD_PAD | rest / 8 << TG_AGENT_WORDS_SHIFT;
        publish();
    }
}

void tg_audit_ring_take_turn(unsigned forbidden)
{
    bool is_tsc = agent.control->clock == TG_AGENT_CLOCK_TSC;
    agent.no_calls = (forbidden & TG_DEEP_BIND_NO_CALLS) != 0;
    if (agent.no_calls)
        agent.has_clock = is_tsc && (forbidden & TG_DEEP_BIND_NO_CLOCK) == 0;
    else
        agent.has_clock = !is_tsc || tg_raw_may_read_tsc();
}

void tg_audit_ring_leave(void)
{
    agent.ring = NULL;
    agent.dropped = 0;
}

void tg_audit_ring_pause(uint64_t ns)
{
    static const uint32_t never = 0;
    const struct timespec pause = {.tv_nsec = (long)ns};
    if (!agent.no_calls)
        (void)tg_raw_futex_wait(&never, FUTEX_WAIT_PRIVATE, 0, &pause);
    for (uint64_t i = 0; agent.no_calls && i < ns / PAUSE_NS; i++)
        __builtin_ia32_pause();
}

uint64_t tg_audit_ring_ticks(void)
{
    return agent.has_clock ? ticks() - agent.waited : 0;
}

uint64_t *tg_audit_ring_begin(unsigned kind, size_t n_arguments)
{
    size_t n_words = (n_arguments + 3) & ~(size_t)1;
    if (agent.ring == NULL) {
        __atomic_fetch_add(&agent.control->unkept, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    if (!agent.has_clock || !make_room(n_words * 8 + (agent.dropped > 0 ? 32 : 0))) {
        agent.dropped++;
        __atomic_fetch_add(&agent.ring->lost, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    if (agent.dropped > 0) {
        uint64_t *lost = place();
        lost[0] = ticks();
        lost[1] = TG_RECORD_LOST | 4 << TG_AGENT_WORDS_SHIFT;
        lost[2] = agent.dropped;
        lost[3] = 0;
        agent.dropped = 0;
        publish();
    }
    uint64_t *record = place();
    record[0] = ticks();
    record[1] = kind | n_words << TG_AGENT_WORDS_SHIFT;
    record[n_words - 1] = 0;
    return record + 2;
}

void tg_audit_ring_commit(void)
{
    publish();
}

/* ---- strings */

size_t tg_audit_ring_string_words(const char *text)
{
    size_t length = 0;
    while (length < TG_AGENT_MAX_STRING_BYTES - 1 && text[length] != '\0')
        length++;
    return length / 8 + 1;
}

void tg_audit_ring_put_string(uint64_t *arguments, const char *text, size_t n_words)
{
    char *to = (char *)arguments;
    size_t i = 0;
    for (; i < n_words * 8 - 1 && text[i] != '\0'; i++)
        to[i] = text[i];
    for (; i < n_words * 8; i++)
        to[i] = '\0';
}
