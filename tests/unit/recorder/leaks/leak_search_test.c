#include "recorder/leaks/leak_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS = 64, MANY = 100000 };

/* Blocks of this process that only the search's own root and words refer to, as far as it is told. */
static uint64_t memory[8][WORDS];

static bool is_allocators;

static struct tg_leak_block block_of(unsigned i, size_t words)
{
    return (struct tg_leak_block){
        .address = (uintptr_t)memory[i], .size_bytes = words * sizeof(uint64_t), .stack = i};
}

static struct tg_leak_found run(struct tg_leak_block *blocks, size_t count, const uint64_t *root,
                                size_t root_words, uint64_t word)
{
    const struct tg_leak_root roots[] = {{(uintptr_t)root, root_words * sizeof *root, is_allocators}};
    const struct tg_leak_search search = {.tid = getpid(),
                                          .blocks = blocks,
                                          .n_blocks = count,
                                          .roots = roots,
                                          .n_roots = root_words > 0,
                                          .words = &word,
                                          .n_words = 1};
    struct tg_leak_found found = {0};
    assert_null(tg_leak_search_run(&search, &found));
    return found;
}

static unsigned state_of(const struct tg_leak_block *blocks, size_t count, unsigned i)
{
    for (size_t k = 0; k < count; k++)
        if (blocks[k].stack == i)
            return blocks[k].state;
    return TG_LEAK_UNSEEN;
}

static uint64_t at(unsigned i, unsigned word)
{
    return (uintptr_t)&memory[i][word];
}

static void setup(void)
{
    memset(memory, 0, sizeof memory);
}

/* root -> 0 -> 1; register -> 2; 3 -> 4 and into 5: lost with all they lead to. */
static void test_chains(void **state)
{
    (void)state;
    setup();
    struct tg_leak_block blocks[6];
    for (unsigned i = 0; i < 6; i++)
        blocks[i] = block_of(5 - i, WORDS); /* in any order */
    uint64_t root[3] = {1, at(0, 0), UINT64_MAX};
    memory[0][WORDS - 1] = at(1, 0);
    memory[3][7] = at(4, 0);
    memory[3][8] = at(5, 9);
    struct tg_leak_found found = run(blocks, 6, root, 3, at(2, 0));
    assert_int_equal(found.unread_bytes, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(state_of(blocks, 6, i), TG_LEAK_REACHED);
    assert_int_equal(state_of(blocks, 6, 3), TG_LEAK_LOST);
    assert_int_equal(state_of(blocks, 6, 4), TG_LEAK_INDIRECT);
    assert_int_equal(state_of(blocks, 6, 5), TG_LEAK_INDIRECT);
}

/* A pointer into 0, whose own pointer leads to 1; one behind the end of 2; a start of 3 beside one into it. */
static void test_interior(void **state)
{
    (void)state;
    setup();
    struct tg_leak_block blocks[4];
    for (unsigned i = 0; i < 4; i++)
        blocks[i] = block_of(i, WORDS / 2);
    uint64_t root[4] = {at(0, 3) + 1, at(2, WORDS / 2), at(3, 2), at(3, 0)};
    memory[0][0] = at(1, 0);
    run(blocks, 4, root, 4, 0);
    assert_int_equal(state_of(blocks, 4, 0), TG_LEAK_INTERIOR);
    assert_int_equal(state_of(blocks, 4, 1), TG_LEAK_INTERIOR);
    assert_int_equal(state_of(blocks, 4, 2), TG_LEAK_LOST);
    assert_int_equal(state_of(blocks, 4, 3), TG_LEAK_REACHED);
}

/* 0 and 1 refer to each other, 2 to itself and to 3: one of each circle is what was lost. */
static void test_circles(void **state)
{
    (void)state;
    setup();
    struct tg_leak_block blocks[4];
    for (unsigned i = 0; i < 4; i++)
        blocks[i] = block_of(i, WORDS);
    memory[0][0] = at(1, 0);
    memory[1][0] = at(0, 0);
    memory[2][0] = at(2, 0);
    memory[2][1] = at(3, 0);
    run(blocks, 4, NULL, 0, 0);
    assert_int_equal(state_of(blocks, 4, 0), TG_LEAK_LOST);
    assert_int_equal(state_of(blocks, 4, 1), TG_LEAK_INDIRECT);
    assert_int_equal(state_of(blocks, 4, 2), TG_LEAK_LOST);
    assert_int_equal(state_of(blocks, 4, 3), TG_LEAK_INDIRECT);
}

/* Sizes that no block can have: one ends at the next block, of the last one the start is known, and no root is hidden. */
static void test_impossible_sizes(void **state)
{
    (void)state;
    setup();
    struct tg_leak_block blocks[3] = {block_of(0, WORDS), block_of(1, WORDS), block_of(2, WORDS)};
    blocks[0].size_bytes = UINT64_MAX;
    blocks[2].size_bytes = UINT64_C(1) << 62;
    uint64_t root[1] = {at(0, 0)};
    memory[0][WORDS - 1] = at(2, 0);
    struct tg_leak_found found = run(blocks, 3, root, 1, 0);
    assert_int_equal(found.unread_bytes, 0);
    assert_int_equal(state_of(blocks, 3, 0), TG_LEAK_REACHED);
    assert_int_equal(state_of(blocks, 3, 1), TG_LEAK_LOST);
    assert_int_equal(state_of(blocks, 3, 2), TG_LEAK_REACHED);
    blocks[2] = block_of(2, 0); /* as it was given, but at the end of all memory */
    blocks[2].size_bytes = UINT64_MAX;
    found = run(blocks, 3, root, 1, 0);
    assert_int_equal(state_of(blocks, 3, 0), TG_LEAK_REACHED);
}

/* Blocks within a root are no part of it: 0 lies in it and refers to 1, 2 lies beside and is referred to by the rest. */
static void test_block_in_root(void **state)
{
    (void)state;
    setup();
    struct tg_leak_block blocks[3];
    static uint64_t root[WORDS];
    blocks[0] = (struct tg_leak_block){.address = (uintptr_t)&root[8], .size_bytes = 64, .stack = 0};
    blocks[1] = block_of(1, WORDS);
    blocks[2] = block_of(2, WORDS);
    root[8] = at(1, 0);
    root[16] = at(2, 0);
    struct tg_leak_found found = run(blocks, 3, root, WORDS, 0);
    assert_int_equal(state_of(blocks, 3, 0), TG_LEAK_LOST);
    assert_int_equal(state_of(blocks, 3, 1), TG_LEAK_INDIRECT);
    assert_int_equal(state_of(blocks, 3, 2), TG_LEAK_REACHED);
    assert_true(found.searched_bytes >= (WORDS - 8) * sizeof(uint64_t));
}

/* Empty ones, and memory that cannot be read: said, and nothing else. */
static void test_odd_blocks(void **state)
{
    (void)state;
    setup();
    struct tg_leak_block blocks[] = {
        block_of(0, 0), {.address = 4096, .size_bytes = 64, .stack = 1}, block_of(2, 1)};
    uint64_t root[3] = {at(0, 0), 4096, at(2, 0)};
    struct tg_leak_found found = run(blocks, 3, root, 3, 0);
    assert_int_equal(found.unread_bytes, 64);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(state_of(blocks, 3, i), TG_LEAK_REACHED);
}

/* A list through many blocks, some small, some of several pages, in an order that jumps: more than one batch holds. */
static void test_many(void **state)
{
    (void)state;
    struct tg_leak_block *blocks = calloc(MANY, sizeof *blocks);
    uint64_t **next = calloc(MANY, sizeof *next), before = 0;
    assert_true(blocks != NULL && next != NULL);
    for (unsigned i = 0; i < MANY; i++) {
        size_t size = i % 1000 == 0 ? 40000 : i == 77 ? 3 << 20 : 16 + i % 200;
        next[i] = calloc(1, size);
        assert_non_null(next[i]);
        blocks[i] = (struct tg_leak_block){.address = (uintptr_t)next[i], .size_bytes = size, .stack = i};
    }
    for (unsigned i = 0; i < MANY; i++) {
        unsigned at = (unsigned)((uint64_t)i * 7919 % MANY);
        if (i % 2 == 0 || i > MANY - 10)
            continue;
        next[at][1] = before;
        before = (uintptr_t)next[at];
    }
    run(blocks, MANY, &before, 1, 0);
    unsigned reached = 0, lost = 0;
    for (unsigned i = 0; i < MANY; i++) {
        reached += blocks[i].state == TG_LEAK_REACHED;
        lost += blocks[i].state == TG_LEAK_LOST;
    }
    assert_int_equal(reached, MANY / 2 - 5);
    assert_int_equal(lost, MANY / 2 + 5);
    for (unsigned i = 0; i < MANY; i++)
        free(next[i]);
    free(next);
    free(blocks);
}

/* libc's allocator knows what follows a block, whose header begins in the block's last bytes: that is no pointer into it.
 * One of the program is, and so is one of libc's that leads elsewhere in the block. */
static void test_allocators_pointers(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        setup();
        static uint64_t aligned[4] __attribute__((aligned(16)));
        struct tg_leak_block block = {.address = (uintptr_t)aligned, .size_bytes = 24};
        uint64_t root = (uintptr_t)(i % 2 == 0 ? &aligned[2] : &aligned[1]);
        is_allocators = i < 2;
        run(&block, 1, &root, 1, 0);
        assert_int_equal(block.state, i == 0 ? TG_LEAK_LOST : TG_LEAK_INTERIOR);
    }
    is_allocators = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),        cmocka_unit_test(test_interior),
        cmocka_unit_test(test_circles),       cmocka_unit_test(test_impossible_sizes),
        cmocka_unit_test(test_block_in_root), cmocka_unit_test(test_odd_blocks),
        cmocka_unit_test(test_many),          cmocka_unit_test(test_allocators_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
