/* The agent's core, linked into this program: it is observed by a recorder that the test plays. */
#include "recorder/agent/next.h"
#include "recorder/agent/openmp.h"
#include "recorder/agent/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

enum { MAX_RINGS = 256 };

struct ring {
    char name[256];
    struct tg_agent_ring_header *header;
    uint64_t seen;                             /* position up to which `next` has read */
    uint64_t tid;                              /* of the last THREAD record that it returned */
    uint64_t again[1 + TG_AGENT_REPEAT_WORDS]; /* what an AGAIN record stands for */
};

static struct {
    char path[64];
    struct tg_agent_control *control;
    int control_fd;
    struct ring rings[MAX_RINGS];
    size_t n_rings;
} recorder;

/* ---- the recorder's part */

/* The directory must be there before the agent, which is part of this program: made, and then exec'd. */
static int make_directory_and_run(char **argv)
{
    char path[128], fd[16];
    strcpy(recorder.path, "/tmp/agent-test-XXXXXX");
    if (mkdtemp(recorder.path) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/control", recorder.path);
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
    setenv("AGENT_TEST_CONTROL", fd, 1);
    setenv(TG_AGENT_VARIABLE, recorder.path, 1);
    execv("/proc/self/exe", argv);
    return 1;
}

static int open_directory(void **state)
{
    (void)state;
    snprintf(recorder.path, sizeof recorder.path, "%s", getenv(TG_AGENT_VARIABLE));
    recorder.control_fd = atoi(getenv("AGENT_TEST_CONTROL"));
    recorder.control =
        mmap(NULL, TG_AGENT_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.control_fd, 0);
    return recorder.control == MAP_FAILED;
}

static void find_rings(void)
{
    DIR *directory = opendir(recorder.path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        bool known = strncmp(entry->d_name, "ring.", 5) != 0;
        for (size_t i = 0; i < recorder.n_rings; i++)
            known |= strcmp(recorder.rings[i].name, entry->d_name) == 0;
        if (known)
            continue;
        struct ring *ring = &recorder.rings[recorder.n_rings++];
        assert_true(recorder.n_rings <= MAX_RINGS);
        snprintf(ring->name, sizeof ring->name, "%s", entry->d_name);
        char path[512];
        snprintf(path, sizeof path, "%s/%s", recorder.path, entry->d_name);
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
static const uint64_t *read_repeat(struct ring *ring, const uint64_t *record)
{
    const struct tg_agent_repeat *repeats =
        (const void *)((const char *)ring->header + TG_AGENT_RING_HEADER_BYTES);
    size_t place = record[1] >> TG_AGENT_REPEAT_SHIFT & 0xfff;
    assert_true(place < TG_AGENT_REPEATS);
    assert_int_equal(repeats[place].name, record[1]);
    ring->again[0] = record[0];
    memcpy(ring->again + 1, repeats[place].words, sizeof repeats[place].words);
    return ring->again;
}

/* The next record that RING holds, PADs left out; NULL where there is none. */
static const uint64_t *next(struct ring *ring)
{
    for (;;) {
        uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE);
        if (ring->seen == head)
            return NULL;
        const uint64_t *record = (const uint64_t *)(void *)((char *)ring->header + TG_AGENT_RING_DATA_OFFSET +
                                                            (ring->seen & (ring->header->data_bytes - 1)));
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

static void give_back(struct ring *ring)
{
    __atomic_store_n(&ring->header->tail, ring->seen, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&ring->header->waiting, 0, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, &ring->header->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static unsigned kind_of(const uint64_t *record)
{
    return record[1] & 0xff;
}

/* The ring that TID writes to. */
static struct ring *ring_of(int tid)
{
    struct ring *found = NULL;
    find_rings();
    for (size_t i = 0; i < recorder.n_rings; i++) {
        struct ring copy = recorder.rings[i];
        while (next(&copy) != NULL)
            ;
        if (copy.tid == (uint64_t)tid)
            found = &recorder.rings[i];
    }
    assert_non_null(found);
    return found;
}

/* Everything that was recorded so far is read and given back. */
static void skip_all(void)
{
    find_rings();
    for (size_t i = 0; i < recorder.n_rings; i++) {
        while (next(&recorder.rings[i]) != NULL)
            ;
        give_back(&recorder.rings[i]);
    }
}

/* Allows RING to become DATA_BYTES long, as the recorder does. */
static void let_grow(struct ring *ring, uint64_t data_bytes)
{
    char path[512];
    size_t size = TG_AGENT_RING_DATA_OFFSET + data_bytes;
    snprintf(path, sizeof path, "%s/%s", recorder.path, ring->name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    void *longer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(longer != MAP_FAILED);
    close(fd);
    munmap(ring->header, TG_AGENT_RING_DATA_OFFSET + ring->header->data_bytes);
    ring->header = longer;
    __atomic_store_n(&ring->header->granted_bytes, data_bytes, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&ring->header->waiting, 0, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, &ring->header->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* ---- tests: they share the agent's one state and run in this order */

/* The agent looks for its variable when it is loaded: another program is asked whether it observes. */
static bool would_observe(const char *directory)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (directory == NULL)
            unsetenv(TG_AGENT_VARIABLE);
        else
            setenv(TG_AGENT_VARIABLE, directory, 1);
        execl("/proc/self/exe", "agent_test", "--observes", NULL);
        _exit(2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1;
}

static void observes_for_a_recorder_alone(void **state)
{
    (void)state;
    assert_true(would_observe(recorder.path));
    assert_false(would_observe(NULL));
    assert_false(would_observe("/nonexistent"));
    assert_false(would_observe("/tmp"));
    assert_false(would_observe(""));
}

static void refuses_what_others_can_write(void **state)
{
    (void)state;
    assert_int_equal(chmod(recorder.path, 0755), 0);
    assert_false(would_observe(recorder.path));
    assert_int_equal(chmod(recorder.path, 0700), 0);
    assert_int_equal(fchmod(recorder.control_fd, 0666), 0);
    assert_false(would_observe(recorder.path));
    assert_int_equal(fchmod(recorder.control_fd, 0600), 0);
    recorder.control->protocol++;
    assert_false(would_observe(recorder.path));
    recorder.control->protocol--;
    assert_true(would_observe(recorder.path));
}

static void keeps_records_in_order(void **state)
{
    (void)state;
    assert_true(tg_agent_observes(TG_AGENT_OPENMP));
    assert_false(tg_agent_observes(TG_AGENT_OPENMP | TG_AGENT_MPI));
    tg_agent_set_place(5, 3);
    errno = 4711;
    tg_agent_record1(TG_RECORD_OMP_IMPLICIT_END, 42);
    tg_agent_record4(TG_RECORD_OMP_PARALLEL_BEGIN, 1, 2, 3, 4);
    tg_agent_say(TG_RECORD_NOTE, "a text of more than eight bytes");
    assert_int_equal(errno, 4711);
    struct ring *ring = ring_of(gettid());
    assert_int_equal(ring->header->magic, TG_AGENT_RING_MAGIC);
    assert_int_equal(ring->header->pid, getpid());
    const uint64_t *thread = next(ring), *first = next(ring), *second = next(ring), *third = next(ring);
    assert_int_equal(kind_of(thread), TG_RECORD_THREAD);
    assert_int_equal(kind_of(first), TG_RECORD_OMP_IMPLICIT_END);
    assert_int_equal(first[2], 42);
    assert_int_equal(first[1] >> TG_AGENT_TEAM_SHIFT, 5);
    assert_int_equal(first[1] >> TG_AGENT_THREAD_NUM_SHIFT & 0xffff, 3);
    assert_true(first[0] <= second[0] && second[0] <= third[0]);
    assert_int_equal(second[5], 4);
    assert_string_equal((const char *)(third + 2), "a text of more than eight bytes");
    assert_null(next(ring));
}

struct consumer {
    struct ring *ring;
    uint64_t expected;
    uint64_t last;
};

/* Reads slowly enough for the ring to be full most of the time. */
static void *consume(void *argument)
{
    struct consumer *consumer = argument;
    while (consumer->expected < consumer->last) {
        const uint64_t *record = next(consumer->ring);
        if (record == NULL) {
            sched_yield();
            continue;
        }
        if (kind_of(record) != TG_RECORD_OMP_SECTION || record[2] != consumer->expected)
            return consumer;
        consumer->expected++;
        if (consumer->expected % 64 == 0 || consumer->expected == consumer->last)
            give_back(consumer->ring);
    }
    return NULL;
}

static void waits_for_room(void **state)
{
    (void)state;
    skip_all();
    struct consumer consumer = {.ring = ring_of(gettid()), .last = 100000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, consume, &consumer), 0);
    for (uint64_t i = 0; i < consumer.last; i++) {
        uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_SECTION, 1 + i % 37); /* sizes that need PADs */
        assert_non_null(arguments);
        arguments[0] = i;
        tg_agent_commit();
    }
    void *result;
    pthread_join(thread, &result);
    assert_null(result);
    assert_int_equal(consumer.ring->header->lost, 0);
}

static void counts_what_it_drops(void **state)
{
    (void)state;
    skip_all();
    struct ring *ring = ring_of(gettid());
    tg_agent.flags |= TG_AGENT_LOSSY;
    uint64_t tried = 3 * TG_AGENT_RING_MIN_BYTES / 32, kept = 0, told = 0;
    for (uint64_t i = 0; i < tried; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, i, i);
    uint64_t lost = ring->header->lost;
    assert_true(lost > 0);
    while (next(ring) != NULL)
        kept++;
    assert_int_equal(kept + lost, tried);
    give_back(ring);
    tg_agent_record2(TG_RECORD_OMP_SECTION, 1, 1);
    const uint64_t *record = next(ring);
    assert_int_equal(kind_of(record), TG_RECORD_LOST);
    told = record[2];
    assert_int_equal(told, lost);
    assert_int_equal(kind_of(next(ring)), TG_RECORD_OMP_SECTION);
    tg_agent.flags &= ~(uint32_t)TG_AGENT_LOSSY;
}

static void drops_when_the_recorder_is_gone(void **state)
{
    (void)state;
    skip_all();
    struct ring *ring = ring_of(gettid());
    uint64_t before = ring->header->lost;
    assert_int_equal(flock(recorder.control_fd, LOCK_UN), 0);
    for (uint64_t i = 0; i < 2 * TG_AGENT_RING_MIN_BYTES / 32; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, i, i); /* a hang here is the failure */
    assert_true(ring->header->lost > before);
    assert_int_equal(flock(recorder.control_fd, LOCK_EX), 0);
}

static void a_child_has_rings_of_its_own(void **state)
{
    (void)state;
    skip_all();
    struct ring *ours = ring_of(gettid());
    uint64_t head = ours->header->head, instance = ours->header->instance;
    /* not fork(): nobody runs handlers for this one */
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
    assert_true(child >= 0);
    if (child == 0) {
        tg_agent_record2(TG_RECORD_OMP_SECTION, 77, 77);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(ours->header->head, head);
    struct ring *theirs = ring_of(child);
    assert_int_equal(theirs->header->pid, child);
    assert_true(theirs->header->instance != instance);
    assert_int_equal(kind_of(next(theirs)), TG_RECORD_THREAD);
    assert_int_equal(next(theirs)[2], 77);
}

static pthread_key_t late_key;

static void record_late(void *value)
{
    (void)value;
    tg_agent_record2(TG_RECORD_OMP_SECTION, 99, 99);
}

static void *record_and_end(void *argument)
{
    *(int *)argument = gettid();
    tg_agent_record2(TG_RECORD_OMP_SECTION, 1, 1);
    pthread_setspecific(late_key, argument);
    return NULL;
}

static void threads_hand_their_rings_on(void **state)
{
    (void)state;
    skip_all();
    size_t n_rings = 0;
    pthread_key_create(&late_key, record_late);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        int tid = 0;
        assert_int_equal(pthread_create(&thread, NULL, record_and_end, &tid), 0);
        pthread_join(thread, NULL);
        struct ring *ring = ring_of(tid);
        const uint64_t *record = next(ring);
        assert_int_equal(kind_of(record), TG_RECORD_THREAD);
        assert_int_equal(record[2], tid);
        assert_int_equal(next(ring)[2], 1);
        assert_int_equal(next(ring)[2], 99); /* by a destructor of somebody else */
        assert_null(next(ring));
        assert_int_equal(ring->header->state, TG_AGENT_RING_IDLE);
        n_rings = i == 0 ? recorder.n_rings : n_rings;
    }
    assert_int_equal(recorder.n_rings, n_rings);
}

static void in_handler(int signal)
{
    (void)signal;
    tg_agent_record2(TG_RECORD_OMP_SECTION, 200, 200);
    tg_agent_record2(TG_RECORD_OMP_SECTION, 201, 201);
}

static void a_handler_may_interrupt(void **state)
{
    (void)state;
    tg_agent_record1(TG_RECORD_OMP_IMPLICIT_END, 0); /* with word of what was lost before */
    skip_all();
    struct ring *ring = ring_of(gettid());
    signal(SIGUSR1, in_handler);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_SECTION, 2);
    assert_non_null(arguments);
    arguments[0] = 100;
    raise(SIGUSR1);
    arguments[1] = 100;
    tg_agent_commit();
    tg_agent_record2(TG_RECORD_OMP_SECTION, 101, 101);
    static const uint64_t expected[] = {100, 200, 201, 101};
    for (size_t i = 0; i < 4; i++) {
        const uint64_t *record = next(ring);
        assert_non_null(record);
        assert_int_equal(record[2], expected[i]);
        assert_int_equal(record[3], expected[i]);
    }
    assert_null(next(ring));
}

enum { TOO_MANY = 100 };

static void record_too_much(int signal)
{
    (void)signal;
    for (uint64_t i = 0; i < TOO_MANY; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, 200 + i, 0);
}

/* There is room for some of it; the rest is told with the next record, and by the header if that never comes. */
static void a_handler_may_record_too_much(void **state)
{
    (void)state;
    tg_agent_record1(TG_RECORD_OMP_IMPLICIT_END, 0); /* with word of what was lost before */
    skip_all();
    struct ring *ring = ring_of(gettid());
    uint64_t before = ring->header->lost, kept = 0;
    signal(SIGUSR1, record_too_much);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_SECTION, 2);
    assert_non_null(arguments);
    arguments[0] = arguments[1] = 100;
    raise(SIGUSR1);
    tg_agent_commit();
    assert_int_equal(next(ring)[2], 100);
    for (const uint64_t *record; (record = next(ring)) != NULL; kept++)
        assert_int_equal(record[2], 200 + kept);
    assert_true(kept > 0 && kept < TOO_MANY);
    assert_int_equal(ring->header->lost - before, TOO_MANY - kept);
    tg_agent_record2(TG_RECORD_OMP_SECTION, 101, 101);
    const uint64_t *record = next(ring);
    assert_int_equal(kind_of(record), TG_RECORD_LOST);
    assert_int_equal(record[2], TOO_MANY - kept);
    assert_int_equal(next(ring)[2], 101);
    assert_null(next(ring));
}

static sigjmp_buf away;

static void jump_away(int signal)
{
    (void)signal;
    siglongjmp(away, 1);
}

static __attribute__((noinline)) void record_interrupted(void)
{
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_SECTION, 2);
    arguments[0] = 300;
    raise(SIGUSR1);
    tg_agent_commit();
}

static void a_handler_may_jump_away(void **state)
{
    (void)state;
    tg_agent_record1(TG_RECORD_OMP_IMPLICIT_END, 0); /* with word of what was lost before */
    skip_all();
    struct ring *ring = ring_of(gettid());
    signal(SIGUSR1, jump_away);
    if (sigsetjmp(away, 1) == 0)
        record_interrupted();
    for (uint64_t i = 0; i < 3; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, i, i);
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t *record = next(ring);
        assert_non_null(record);
        assert_int_equal(record[2], i);
    }
}

/* So that no PAD comes in the next records. */
static void go_to_the_first_half(struct ring *ring)
{
    while ((ring->header->head & (ring->header->data_bytes - 1)) > ring->header->data_bytes / 2) {
        tg_agent_record2(TG_RECORD_OMP_CANCEL, 0, 0);
        skip_all();
    }
}

static void what_comes_again_takes_two_words(void **state)
{
    (void)state;
    skip_all();
    struct ring *ring = ring_of(gettid());
    go_to_the_first_half(ring);
    uint64_t before = ring->header->head, ticks = 0;
    for (int i = 0; i < 5; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, 7777, 8888);
    assert_int_equal(ring->header->head - before, 32 + 4 * 16);
    for (int i = 0; i < 5; i++) {
        const uint64_t *record = next(ring);
        assert_non_null(record);
        assert_int_equal(kind_of(record), TG_RECORD_OMP_SECTION);
        assert_int_equal(record[2], 7777);
        assert_int_equal(record[3], 8888);
        assert_true(record[0] > ticks);
        ticks = record[0];
    }
    before = ring->header->head;
    for (int i = 0; i < 3; i++)
        tg_agent_record2(TG_RECORD_OMP_TASK_BEGIN, 7777, 8888); /* tasks never come again */
    assert_int_equal(ring->header->head - before, 3 * 32);
}

/* Many more records come again than there is room for what they repeat: it is theirs that came lately, and none is taken for
 * another one (next looks at serials). */
static void repeats_are_filled_anew(void **state)
{
    (void)state;
    enum { RECORDS = 20000, TIMES = 3 };
    skip_all();
    struct ring *ring = ring_of(gettid());
    uint64_t n_short = 0;
    for (uint64_t i = 0; i < RECORDS; i++) {
        uint64_t before = ring->header->head;
        for (int k = 0; k < TIMES; k++)
            tg_agent_record2(TG_RECORD_OMP_MUTEX_ENTER, i, i << 40 ^ i);
        n_short += ring->header->head - before < TIMES * 32;
        for (int k = 0; k < TIMES; k++) {
            const uint64_t *record = next(ring);
            assert_non_null(record);
            assert_int_equal(kind_of(record), TG_RECORD_OMP_MUTEX_ENTER);
            assert_int_equal(record[2], i);
            assert_int_equal(record[3], i << 40 ^ i);
        }
        give_back(ring);
    }
    assert_true(n_short > 10 * TG_AGENT_REPEATS);
}

static void finds_the_next_definition(void **state)
{
    (void)state;
    /* the "agent" is this program: what comes behind are its libraries */
    assert_ptr_equal(tg_agent_next("getpagesize"), (void *)(uintptr_t)getpagesize);
    assert_null(tg_agent_next("no_such_function_anywhere"));
    assert_null(tg_agent_next("main"));
}

static int remove_directory(void **state)
{
    (void)state;
    find_rings();
    char path[512];
    for (size_t i = 0; i < recorder.n_rings; i++) {
        snprintf(path, sizeof path, "%s/%s", recorder.path, recorder.rings[i].name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/control", recorder.path);
    unlink(path);
    return rmdir(recorder.path);
}

/* ---- gates */

enum { TEAM = 77, INSTANCE = 3 };

/* The recorder's part: a gate behind barrier INSTANCE, or a later one, of TEAM. */
static struct tg_agent_gate *open_gate(uint32_t number)
{
    struct tg_agent_gate *gate = (void *)((char *)recorder.control + TG_AGENT_GATES_OFFSET);
    *gate = (struct tg_agent_gate){
        .instance = tg_agent_thread.header->instance,
        .team = TEAM,
        .rules = {
            {TG_AGENT_GATE_KIND(OMP_SYNC_END), 1 << TG_OMP_SYNC_BARRIER, TG_AGENT_GATE_AT_LEAST, INSTANCE},
            {TG_AGENT_GATE_KIND(OMP_MUTEX_LEAVE), UINT16_MAX, TG_AGENT_GATE_EQUAL, 0x4711}}};
    __atomic_store_n(&gate->number, number, __ATOMIC_RELEASE);
    __atomic_store_n(&recorder.control->n_gates, 1, __ATOMIC_RELEASE);
    return gate;
}

static struct tg_agent_slot *slots(void)
{
    return (void *)((char *)recorder.control + TG_AGENT_SLOTS_OFFSET);
}

static void close_gate(struct tg_agent_gate *gate)
{
    __atomic_store_n(&gate->number, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&recorder.control->n_gates, 0, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < recorder.control->n_slots; i++) {
        __atomic_store_n(&slots()[i].gate, 0, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &slots()[i].gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
}

static int n_waiting(uint32_t number)
{
    int count = 0;
    for (uint32_t i = 0; i < __atomic_load_n(&recorder.control->n_slots, __ATOMIC_ACQUIRE); i++)
        count += __atomic_load_n(&slots()[i].gate, __ATOMIC_ACQUIRE) == number && slots()[i].tid != 0;
    return count;
}

static void await_waiting(uint32_t number, int count)
{
    while (n_waiting(number) != count)
        usleep(1000);
}

static int n_through; /* __atomic */

static void *leave_barrier(void *instance)
{
    tg_openmp_frame.team = TEAM;
    errno = EDOM;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, (uintptr_t)instance, false);
    __atomic_fetch_add(&n_through, 1, __ATOMIC_SEQ_CST);
    return (void *)(uintptr_t)(errno == EDOM);
}

static void *leave_lock(void *lock)
{
    tg_openmp_frame.team = TEAM;
    tg_openmp_mutex_leave(NULL, TG_OMP_WRAPPED, TG_OMP_MUTEX_LOCK, lock);
    __atomic_fetch_add(&n_through, 1, __ATOMIC_SEQ_CST); /* the release comes between the two */
    tg_gate_wait();
    __atomic_fetch_add(&n_through, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void join(pthread_t thread, bool kept_errno)
{
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    if (kept_errno)
        assert_non_null(result);
}

/* A thread that leaves the barrier that a gate is behind waits there until the gate is closed, behind a later one as well. */
static void waits_at_a_gate(void **state)
{
    (void)state;
    pthread_t threads[2];
    tg_agent_record2(TG_RECORD_OMP_ZONE_END, 0, 0); /* gives this thread its ring */
    n_through = 0;
    struct tg_agent_gate *gate = open_gate(5);
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, leave_barrier, (void *)(INSTANCE + i)); // NOLINT: a number
    await_waiting(5, 2);
    assert_int_equal(n_through, 0);
    close_gate(gate);
    for (int i = 0; i < 2; i++)
        join(threads[i], true);
    assert_int_equal(n_through, 2);
    assert_int_equal(n_waiting(5), 0);
    assert_int_equal(gate->unplaced, 0);
}

/* Another instance, another team, an explicit task, the gate of another program: nobody waits. */
static void passes_gates_of_others(void **state)
{
    (void)state;
    struct tg_agent_gate *gate = open_gate(6);
    tg_openmp_frame.team = TEAM;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE - 1, false);
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_TASKWAIT, INSTANCE, false);
    tg_openmp_frame.task = 9;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    tg_openmp_frame.task = 0;
    gate->tid = 1;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    gate->tid = 0;
    gate->skip = 1;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    assert_int_equal(gate->skip, 0);
    gate->instance++;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    tg_openmp_frame.team = TEAM + 1;
    gate->instance--;
    tg_openmp_sync_end(NULL, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER, INSTANCE, false);
    tg_openmp_frame.team = 0;
    close_gate(gate);
}

/* A lock is released before its thread waits. */
static void waits_behind_a_release(void **state)
{
    (void)state;
    pthread_t thread;
    n_through = 0;
    struct tg_agent_gate *gate = open_gate(7);
    pthread_create(&thread, NULL, leave_lock, (void *)0x4711); // NOLINT: a number
    await_waiting(7, 1);
    assert_int_equal(n_through, 1);
    close_gate(gate);
    join(thread, false);
    assert_int_equal(n_through, 2);
}

/* A controller that was killed leaves its gates: they hold nobody for longer than it takes to see that. */
static void no_gate_of_the_dead_holds(void **state)
{
    (void)state;
    pthread_t thread;
    n_through = 0;
    struct tg_agent_gate *gate = open_gate(8);
    pthread_create(&thread, NULL, leave_barrier, (void *)INSTANCE); // NOLINT: a number
    await_waiting(8, 1);
    assert_int_equal(flock(recorder.control_fd, LOCK_UN), 0);
    join(thread, true);
    assert_int_equal(n_through, 1);
    assert_int_equal(flock(recorder.control_fd, LOCK_EX), 0);
    pthread_create(&thread, NULL, leave_barrier, (void *)INSTANCE); // NOLINT: a number
    await_waiting(8, 1);
    __atomic_store_n(&recorder.control->over, 1, __ATOMIC_SEQ_CST);
    join(thread, true);
    __atomic_store_n(&recorder.control->over, 0, __ATOMIC_SEQ_CST);
    close_gate(gate);
}

static uint64_t lap_of(const struct ring *ring)
{
    return ring->header->head / ring->header->data_bytes;
}

static void skip_ring(struct ring *ring)
{
    while (next(ring) != NULL)
        continue;
    give_back(ring);
}

/* To PLACE in a lap that is number LAP of N. */
static void go_to(struct ring *ring, uint64_t lap, uint64_t n, uint64_t place)
{
    skip_ring(ring);
    while (lap_of(ring) % n != lap || (ring->header->head & (ring->header->data_bytes - 1)) != place) {
        tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
        skip_ring(ring);
    }
}

static void record_numbers(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        tg_agent_record2(TG_RECORD_OMP_TASK_BEGIN, i, ~i);
}

static void expect_numbers(struct ring *ring, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        const uint64_t *record = next(ring);
        assert_non_null(record);
        assert_int_equal(kind_of(record), TG_RECORD_OMP_TASK_BEGIN);
        assert_int_equal(record[2], i);
        assert_int_equal(record[3], ~i);
    }
    assert_null(next(ring));
}

/* LAP: of four; a lap behind whose end the ring may be FACTOR times as long. Nothing is given back until it is. */
static void grow_behind(uint64_t lap, uint64_t factor)
{
    struct ring *ring = ring_of(gettid());
    uint64_t size = ring->header->data_bytes, lost = ring->header->lost;
    go_to(ring, lap, 4, size / 2);
    record_numbers(0, size / 2 / 32 - 1);
    let_grow(ring, 4 * size);
    assert_int_equal(ring->header->data_bytes, size);
    uint64_t fit = (size / 2 + (factor - 1) * size) / 32;
    record_numbers(size / 2 / 32 - 1, fit);
    assert_int_equal(ring->header->data_bytes, factor * size);
    expect_numbers(ring, 0, fit);
    give_back(ring);
    uint64_t more = factor * size / 32 + 100; /* from the end to the beginning */
    for (uint64_t i = 0; i < more; i += 100) {
        record_numbers(i, i + 100);
        expect_numbers(ring, i, i + 100);
        give_back(ring);
    }
    assert_int_equal(ring->header->lost, lost);
}

static void *grow_twice(void *unused)
{
    (void)unused;
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    grow_behind(2, 2); /* half of the four times that are allowed would move what is not read */
    grow_behind(0, 4);
    return NULL;
}

static void a_ring_grows_at_the_end_of_a_lap(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, grow_twice, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *wait_full(void *ring)
{
    (void)ring;
    tg_agent_record1(TG_RECORD_OMP_CANCEL, 0);
    struct ring *own = ring_of(gettid());
    uint64_t size = own->header->data_bytes;
    go_to(own, 0, 2, 0);
    __atomic_store_n((struct ring **)ring, own, __ATOMIC_RELEASE);
    record_numbers(0, size / 32 + 10);
    return NULL;
}

/* Starts a thread, and returns its ring when it waits for room at the end of a lap. */
static struct ring *start_full(pthread_t *thread)
{
    static struct ring *ring;
    __atomic_store_n(&ring, NULL, __ATOMIC_RELAXED);
    assert_int_equal(pthread_create(thread, NULL, wait_full, &ring), 0);
    while (__atomic_load_n(&ring, __ATOMIC_ACQUIRE) == NULL)
        usleep(100);
    while (__atomic_load_n(&ring->header->waiting, __ATOMIC_SEQ_CST) == 0)
        usleep(100);
    return ring;
}

static void a_ring_stays_as_it_is_where_address_space_is_limited(void **state)
{
    (void)state;
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, limited = {UINT64_C(1) << 46, RLIM_INFINITY};
    pthread_t thread;
    struct ring *ring = start_full(&thread);
    uint64_t size = ring->header->data_bytes;
    assert_int_equal(setrlimit(RLIMIT_AS, &limited), 0);
    let_grow(ring, 2 * size);
    while (__atomic_load_n(&ring->header->stays, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    assert_int_equal(ring->header->data_bytes, size);
    expect_numbers(ring, 0, size / 32);
    give_back(ring);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    expect_numbers(ring, size / 32, size / 32 + 10);
    give_back(ring);
    ring->header->stays = 0; /* for the tests that get it next */
    ring->header->granted_bytes = 0;
}

static void a_thread_that_waits_for_room_goes_on_when_its_ring_may_grow(void **state)
{
    (void)state;
    pthread_t thread;
    struct ring *ring = start_full(&thread);
    uint64_t tail = ring->header->tail, size = ring->header->data_bytes;
    let_grow(ring, 2 * size);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ring->header->tail, tail);
    expect_numbers(ring, 0, size / 32 + 10);
    give_back(ring);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(observes_for_a_recorder_alone),
        cmocka_unit_test(refuses_what_others_can_write),
        cmocka_unit_test(keeps_records_in_order),
        cmocka_unit_test(waits_for_room),
        cmocka_unit_test(a_thread_that_waits_for_room_goes_on_when_its_ring_may_grow),
        cmocka_unit_test(a_ring_stays_as_it_is_where_address_space_is_limited),
        cmocka_unit_test(counts_what_it_drops),
        cmocka_unit_test(drops_when_the_recorder_is_gone),
        cmocka_unit_test(a_child_has_rings_of_its_own),
        cmocka_unit_test(threads_hand_their_rings_on),
        cmocka_unit_test(a_handler_may_interrupt),
        cmocka_unit_test(a_handler_may_record_too_much),
        cmocka_unit_test(a_handler_may_jump_away),
        cmocka_unit_test(what_comes_again_takes_two_words),
        cmocka_unit_test(repeats_are_filled_anew),
        cmocka_unit_test(finds_the_next_definition),
        cmocka_unit_test(waits_at_a_gate),
        cmocka_unit_test(passes_gates_of_others),
        cmocka_unit_test(waits_behind_a_release),
        cmocka_unit_test(no_gate_of_the_dead_holds),
        cmocka_unit_test(a_ring_grows_at_the_end_of_a_lap),
    };
    if (argc == 2 && strcmp(argv[1], "--observes") == 0)
        return tg_agent_observes(0);
    if (getenv("AGENT_TEST_CONTROL") == NULL)
        return make_directory_and_run(argv);
    return cmocka_run_group_tests(tests, open_directory, remove_directory);
}
