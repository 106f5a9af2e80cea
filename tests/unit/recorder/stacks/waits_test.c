#include "recorder/stacks/waits.h"

#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

/* Memory from 0x1000 on. Threads 11 and 12 have their control blocks at 0x9000 and 0xa000, outside of it. */
enum { FIRST = 0x1000, STREAM = 0x1100, OTHER_STREAM = 0x1200, LOCK = 0x1300 };

struct memory {
    uint64_t words[128];
};

static size_t read_words(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct memory *memory = context;
    if (address < FIRST || address - FIRST + size > sizeof memory->words)
        return 0;
    memcpy(buffer, (const uint8_t *)memory->words + (address - FIRST), size);
    return size;
}

static void put(struct memory *memory, uint64_t address, uint64_t word)
{
    memory->words[(address - FIRST) / 8] = word;
}

/* What thread 11 waits for, which was stopped in a wait for the word at LOCK. */
static struct tg_event_thread_wait wait_of(struct memory *memory, uint64_t streams)
{
    struct tg_halted_thread items[] = {{.tid = 11, .is_stopped = true}, {.tid = 12, .is_stopped = true}};
    items[0].registers = (struct user_regs_struct){.orig_rax = SYS_futex,
                                                   .rax = (uint64_t)-512, /* is to be made anew */
                                                   .rdi = LOCK,
                                                   .rsi = FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
                                                   .rdx = 2,
                                                   .fs_base = 0x9000};
    items[1].registers.fs_base = 0xa000;
    const struct tg_elf_memory some = {read_words, memory};
    struct tg_halted_threads threads;
    struct tg_wait wait;
    assert_null(tg_halted_threads_init(items, 2, &threads));
    threads.streams = streams;
    assert_true(tg_wait_find(11, &some, false, &threads, 0, &wait));
    tg_halted_threads_deinit(&threads);
    return wait.is;
}

/* Two streams, of which OTHER_STREAM has the lock. */
static struct memory with_streams(uint64_t count)
{
    struct memory memory = {{0}};
    put(&memory, FIRST, STREAM);
    put(&memory, STREAM + 0x68, OTHER_STREAM);
    put(&memory, STREAM + 0x88, 0x1320);
    put(&memory, OTHER_STREAM + 0x88, LOCK);
    put(&memory, LOCK, count << 32 | 2);
    put(&memory, LOCK + 8, 0xa000);
    return memory;
}

static void owner_of_a_stream(void **state)
{
    (void)state;
    for (uint64_t count = 0; count < 3; count++) { /* glibc 2.41 counts from 0 */
        struct memory memory = with_streams(count);
        struct tg_event_thread_wait wait = wait_of(&memory, FIRST);
        assert_int_equal(wait.what, TG_WAIT_STREAM);
        assert_int_equal(wait.owner, 12);
    }
    struct memory memory = with_streams(1);
    assert_int_equal(wait_of(&memory, 0).owner, 12);
}

/* std::atomic<int> before std::thread in a structure. */
static void words_that_are_no_stream(void **state)
{
    (void)state;
    struct memory memory = with_streams(0);
    put(&memory, OTHER_STREAM + 0x88, 0x1340);
    assert_int_equal(wait_of(&memory, FIRST).what, TG_WAIT_FUTEX);
    memory = with_streams(0);
    assert_int_equal(wait_of(&memory, 0).what, TG_WAIT_FUTEX);
    put(&memory, STREAM + 0x68, STREAM); /* a circle, and a list that leads nowhere */
    assert_int_equal(wait_of(&memory, FIRST).what, TG_WAIT_FUTEX);
    put(&memory, STREAM + 0x68, 0x7000);
    assert_int_equal(wait_of(&memory, FIRST).what, TG_WAIT_FUTEX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_of_a_stream),
        cmocka_unit_test(words_that_are_no_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
