#include "tests/support/agent_recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

struct agent_recorder agent_recorder;

static const char control_variable[] = "AGENT_TEST_CONTROL";

/* The directory must be there before the agent, which is part of this program: made, and then exec'd. */
static int make_directory_and_run(char **argv)
{
    char path[128], fd[16];
    strcpy(agent_recorder.path, "/tmp/agent-test-XXXXXX");
    if (mkdtemp(agent_recorder.path) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/control", agent_recorder.path);
    int control = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    const struct tg_agent_control contents = {
        .magic = TG_AGENT_CONTROL_MAGIC,
        .protocol = TG_AGENT_PROTOCOL,
        .flags = TG_AGENT_OPENMP,
        .clock = TG_AGENT_CLOCK_TSC,
        .ring_bytes = TG_AGENT_RING_MIN_BYTES,
    };
    if (control < 0 || ftruncate(control, TG_AGENT_CONTROL_BYTES) != 0 || flock(control, LOCK_EX) != 0 ||
        pwrite(control, &contents, sizeof contents, 0) != sizeof contents)
        return 1;
    snprintf(fd, sizeof fd, "%d", control);
    setenv(control_variable, fd, 1);
    setenv(TG_AGENT_VARIABLE, agent_recorder.path, 1);
    execv("/proc/self/exe", argv);
    return 1;
}

int agent_recorder_run(char **argv, int (*run)(void))
{
    return getenv(control_variable) == NULL ? make_directory_and_run(argv) : run();
}

int agent_recorder_open(void **state)
{
    (void)state;
    snprintf(agent_recorder.path, sizeof agent_recorder.path, "%s", getenv(TG_AGENT_VARIABLE));
    agent_recorder.control_fd = atoi(getenv(control_variable));
    agent_recorder.control =
        mmap(NULL, TG_AGENT_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, agent_recorder.control_fd, 0);
    return agent_recorder.control == MAP_FAILED;
}

void agent_recorder_find_rings(void)
{
    DIR *directory = opendir(agent_recorder.path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        bool known = strncmp(entry->d_name, "ring.", 5) != 0;
        for (size_t i = 0; i < agent_recorder.n_rings; i++)
            known |= strcmp(agent_recorder.rings[i].name, entry->d_name) == 0;
        if (known)
            continue;
        struct agent_ring *ring = &agent_recorder.rings[agent_recorder.n_rings++];
        assert_true(agent_recorder.n_rings <= AGENT_RECORDER_MAX_RINGS);
        snprintf(ring->name, sizeof ring->name, "%s", entry->d_name);
        char path[512];
        snprintf(path, sizeof path, "%s/%s", agent_recorder.path, entry->d_name);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        struct stat status;
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
        ring->header = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_true(ring->header != MAP_FAILED);
        close(fd);
    }
    closedir(directory);
}

/* What RECORD stands for. */
static const uint64_t *read_repeat(struct agent_ring *ring, const uint64_t *record)
{
    const struct tg_agent_repeat *repeats =
        (const void *)((const char *)ring->header + TG_AGENT_RING_HEADER_BYTES);
    size_t place = record[1] >> TG_AGENT_REPEAT_SHIFT & (TG_AGENT_REPEATS - 1);
    assert_int_equal(repeats[place].name, record[1] & TG_AGENT_NAME_MASK);
    ring->again[0] = record[0];
    memcpy(ring->again + 1, repeats[place].words, sizeof repeats[place].words);
    if (tg_agent_moves(ring->again[1] & 0xff) == TG_AGENT_MOVES_NOTHING)
        assert_int_equal(record[1] >> TG_AGENT_NUMBER_SHIFT, 0);
    tg_agent_move(ring->again, record[1] >> TG_AGENT_NUMBER_SHIFT);
    size_t own = tg_agent_own_word(ring->again[1] & 0xff);
    assert_int_equal(record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff, own == 0 ? 2 : 4);
    if (own != 0)
        ring->again[own] = record[2];
    return ring->again;
}

/* How long the data are where POSITION is. */
static uint64_t size_at(const struct tg_agent_ring_header *header, uint64_t position)
{
    uint32_t n = header->n_growths;
    while (n > 0 && position < header->growths[n - 1].from)
        n--;
    return n == 0 ? header->data_bytes : header->growths[n - 1].data_bytes;
}

uint64_t agent_ring_size(const struct agent_ring *ring)
{
    return size_at(ring->header, ring->header->head);
}

const uint64_t *agent_ring_next(struct agent_ring *ring)
{
    for (;;) {
        uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i < ring->header->n_growths; i++)
            if (ring->seen == ring->header->growths[i].until)
                ring->seen = ring->header->growths[i].from;
        if (ring->seen >= head) /* or it has grown since */
            return NULL;
        uint64_t place = ring->seen & (size_at(ring->header, ring->seen) - 1);
        const uint64_t *record =
            (const uint64_t *)(void *)((char *)ring->header + TG_AGENT_RING_DATA_OFFSET + place);
        size_t n_words = record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff;
        assert_true(n_words >= 2 && n_words % 2 == 0);
        ring->seen += n_words * 8;
        assert_true(ring->seen <= head);
        if ((record[1] & 0xff) == TG_RECORD_THREAD)
            ring->tid = record[2];
        if ((record[1] & 0xff) == TG_RECORD_AGAIN)
            return read_repeat(ring, record);
        if ((record[1] & 0xff) != TG_RECORD_PAD)
            return record;
    }
}

/* The thread that waits for room in RING, if one does. */
static void wake(struct agent_ring *ring)
{
    if (__atomic_exchange_n(&ring->header->waiting, 0, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, &ring->header->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void agent_ring_give_back(struct agent_ring *ring)
{
    __atomic_store_n(&ring->header->tail, ring->seen, __ATOMIC_SEQ_CST);
    wake(ring);
}

void agent_ring_skip(struct agent_ring *ring)
{
    while (agent_ring_next(ring) != NULL)
        continue;
    agent_ring_give_back(ring);
}

unsigned agent_record_kind(const uint64_t *record)
{
    return record[1] & 0xff;
}

struct agent_ring *agent_recorder_ring_of(int tid)
{
    struct agent_ring *found = NULL;
    agent_recorder_find_rings();
    for (size_t i = 0; i < agent_recorder.n_rings; i++) {
        struct agent_ring copy = agent_recorder.rings[i];
        while (agent_ring_next(&copy) != NULL)
            ;
        if (copy.tid == (uint64_t)tid)
            found = &agent_recorder.rings[i];
    }
    assert_non_null(found);
    return found;
}

void agent_recorder_skip_all(void)
{
    agent_recorder_find_rings();
    for (size_t i = 0; i < agent_recorder.n_rings; i++)
        agent_ring_skip(&agent_recorder.rings[i]);
}

void agent_ring_let_grow(struct agent_ring *ring, uint64_t data_bytes)
{
    agent_ring_promise(ring, data_bytes, data_bytes);
}

void agent_ring_promise(struct agent_ring *ring, uint64_t data_bytes, uint64_t real_bytes)
{
    char path[512];
    size_t size = TG_AGENT_RING_DATA_OFFSET + data_bytes;
    snprintf(path, sizeof path, "%s/%s", agent_recorder.path, ring->name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)(TG_AGENT_RING_DATA_OFFSET + real_bytes)), 0);
    void *longer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(longer != MAP_FAILED);
    close(fd);
    munmap(ring->header, TG_AGENT_RING_DATA_OFFSET + agent_ring_size(ring));
    ring->header = longer;
    __atomic_store_n(&ring->header->granted_bytes, data_bytes, __ATOMIC_SEQ_CST);
    wake(ring);
}

int agent_recorder_remove(void **state)
{
    (void)state;
    agent_recorder_find_rings();
    char path[512];
    for (size_t i = 0; i < agent_recorder.n_rings; i++) {
        snprintf(path, sizeof path, "%s/%s", agent_recorder.path, agent_recorder.rings[i].name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/control", agent_recorder.path);
    unlink(path);
    return rmdir(agent_recorder.path);
}
