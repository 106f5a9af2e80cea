#include "recorder/leaks/leak_roots.h"

#include "format/base/array.h"
#include "recorder/agent/contract.h"
#include "recorder/process/mappings.h"
#include "recorder/process/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_BYTES = 64 << 20, /* glibc's arenas beside the first begin at multiples of that */
    RED_ZONE_BYTES = 128,   /* bytes that functions use below the stack pointer */
    PAGE_BYTES = 4096,
    THREAD_BYTES = 4096, /* of struct pthread, at most: 2304 in glibc 2.36 */
};

struct range {
    uint64_t start, end;
};

struct search {
    const struct tg_leak_roots_options *options;
    struct range *unused; /* parts of stacks of threads */
    size_t n_unused;
    uint64_t table_end; /* of the agent's table that was met last */
    struct range guard; /* the mapping before, where nobody may touch it */
    struct tg_leak_root *roots;
    size_t count, capacity;
};

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* An arena of glibc's: struct heap_info at its beginning says how much of it may be written. */
static bool is_arena(pid_t tid, const struct tg_mapping *mapping)
{
    uint64_t info[4]; /* the arena, the one before, size, writable size */
    return mapping->start % ARENA_BYTES == 0 && mapping->path[0] == '\0' &&
           tg_memory_read(tid, mapping->start, info, sizeof info) && info[2] <= info[3] &&
           info[3] == mapping->end - mapping->start && info[0] > mapping->start;
}

/* Cuts off a table of the agent's own, which may be several mappings: advice to the kernel divides them. */
static void skip_table(struct search *search, struct tg_mapping *mapping)
{
    struct tg_agent_heap_table table;
    if (mapping->path[0] == '\0' &&
        tg_memory_read(search->options->tid, mapping->start, &table, sizeof table) &&
        table.magic[0] == TG_AGENT_HEAP_TABLE_MAGIC && table.magic[1] == ~TG_AGENT_HEAP_TABLE_MAGIC)
        search->table_end = mapping->start + table.size_bytes;
    if (mapping->start < search->table_end)
        mapping->start = search->table_end < mapping->end ? search->table_end : mapping->end;
}

static bool is_left_out(const struct tg_leak_roots_options *options, const struct tg_mapping *mapping)
{
    const char *path = mapping->path, *directory = options->agent_directory;
    if (directory != NULL && begins_with(path, directory) && path[strlen(directory)] == '/')
        return true;
    if (begins_with(path, "/dev/") && !begins_with(path, "/dev/shm/") && !begins_with(path, "/dev/zero"))
        return true;
    return strcmp(path, "[heap]") == 0 || is_arena(options->tid, mapping);
}

/* Whether the words at WORDS are stackblock and stackblock_size of struct pthread: of a stack that has both the
 * stack pointer and, at its end, the struct itself; its guard, whose size follows, belongs to it. */
static bool is_stack(const struct tg_leak_thread *thread, const uint64_t *words, struct range *stack)
{
    uint64_t start = words[0], size = words[1], guard = words[2];
    if (start % PAGE_BYTES != 0 || size % PAGE_BYTES != 0 || size == 0 || size > UINT64_MAX - start ||
        guard >= size)
        return false;
    uint64_t end = start + size;
    if (thread->stack_pointer < start || thread->stack_pointer >= end || thread->thread_pointer < start ||
        thread->thread_pointer >= end || end - thread->thread_pointer > THREAD_BYTES + PAGE_BYTES ||
        thread->stack_pointer >= thread->thread_pointer)
        return false;
    *stack = (struct range){start, end};
    return true;
}

/* The stack of THREAD as glibc has it in struct pthread, whose layout differs between versions: that pair is looked
 * for which fits. */
static bool find_stack(pid_t tid, const struct tg_leak_thread *thread, struct range *stack)
{
    uint64_t words[THREAD_BYTES / sizeof(uint64_t)];
    size_t count = tg_memory_read_some(tid, thread->thread_pointer, words, sizeof words) / sizeof *words;
    for (size_t i = 0; i + 3 <= count; i++)
        if (is_stack(thread, words + i, stack))
            return true;
    return false;
}

static bool is_of_any_thread(const struct tg_leak_roots_options *options, const struct range *stack,
                             uint64_t thread_pointer)
{
    for (size_t i = 0; i < options->n_threads; i++) {
        const struct tg_leak_thread *thread = &options->threads[i];
        if (thread->thread_pointer == thread_pointer ||
            thread->stack_pointer - stack->start < stack->end - stack->start)
            return true;
    }
    return false;
}

/* Whether WORDS, COUNT of them from ADDRESS on, begin with struct pthread of a thread whose stack is STACK, behind a guard that is part of
 * GUARD, which may be one mapping with what lies before. */
static bool is_thread_of(const uint64_t *words, size_t count, uint64_t address, const struct range *stack,
                         const struct range *guard)
{
    if (words[0] != address || words[2] != address) /* both are its own address */
        return false;
    for (size_t i = 3; i + 3 <= count; i++)
        if (words[i] >= guard->start && words[i] < guard->end && words[i + 1] == stack->end - words[i] &&
            words[i + 2] == stack->start - words[i])
            return true;
    return false;
}

/* A stack that the thread library has made, and that no thread has any more: it keeps some for later threads, with what the last one
 * left there. Returns where what is the library's own begins; 0: MAPPING is none. */
static uint64_t end_of_left_stack(const struct search *search, const struct tg_mapping *mapping)
{
    enum { LAST_BYTES = 2 * PAGE_BYTES, STEP = 64 / sizeof(uint64_t), LEAST = 704 / sizeof(uint64_t) };
    uint64_t words[LAST_BYTES / sizeof(uint64_t)];
    const struct range stack = {mapping->start, mapping->end};
    if (!search->options->are_all || search->guard.end != mapping->start || mapping->path[0] != '\0' ||
        mapping->end - mapping->start < sizeof words ||
        !tg_memory_read(search->options->tid, mapping->end - sizeof words, words, sizeof words))
        return 0;
    size_t count = sizeof words / sizeof words[0];
    for (size_t i = count - count % STEP; i >= STEP; i -= STEP) {
        uint64_t address = mapping->end - sizeof words + (i - STEP) * sizeof words[0];
        if (count - (i - STEP) >= LEAST &&
            is_thread_of(words + (i - STEP), count - (i - STEP), address, &stack, &search->guard))
            return is_of_any_thread(search->options, &stack, address) ? 0 : address;
    }
    return 0;
}

static struct tg_error *find_unused(struct search *search)
{
    const struct tg_leak_roots_options *options = search->options;
    search->unused = calloc(options->n_threads + 1, sizeof *search->unused);
    if (search->unused == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < options->n_threads; i++) {
        const struct tg_leak_thread *thread = &options->threads[i];
        struct range stack;
        if (find_stack(options->tid, thread, &stack) && thread->stack_pointer - stack.start > RED_ZONE_BYTES)
            search->unused[search->n_unused++] =
                (struct range){stack.start, thread->stack_pointer - RED_ZONE_BYTES};
    }
    return NULL;
}

/* The lowest stack pointer in MAPPING, [stack], where no other memory can be below it. */
static uint64_t used_from(const struct tg_leak_roots_options *options, const struct tg_mapping *mapping)
{
    uint64_t from = UINT64_MAX;
    for (size_t i = 0; i < options->n_threads; i++) {
        uint64_t pointer = options->threads[i].stack_pointer;
        if (pointer >= mapping->start && pointer < mapping->end && pointer < from)
            from = pointer;
    }
    if (from == UINT64_MAX || from - mapping->start < RED_ZONE_BYTES)
        return mapping->start;
    return from - RED_ZONE_BYTES;
}

static bool is_libc(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && (begins_with(slash, "/libc.so") || begins_with(slash, "/libc-2"));
}

static struct tg_error *add_range(struct search *search, const struct tg_mapping *mapping, uint64_t start,
                                  uint64_t end)
{
    return start >= end ? NULL
                        : TG_ARRAY_APPEND(search->roots, search->count, search->capacity,
                                          (struct tg_leak_root){start, end - start, is_libc(mapping->path)});
}

/* What of MAPPING is in no unused part of a stack. */
static struct tg_error *add_used(struct search *search, const struct tg_mapping *mapping)
{
    uint64_t start = mapping->start;
    struct tg_error *error = NULL;
    while (error == NULL && start < mapping->end) {
        struct range next = {mapping->end, mapping->end}; /* the first unused part from START on */
        for (size_t i = 0; i < search->n_unused; i++) {
            const struct range *unused = &search->unused[i];
            if (unused->end > start && unused->start < next.start)
                next = *unused;
        }
        error = add_range(search, mapping, start, next.start);
        start = next.end;
    }
    return error;
}

/* Whether the program may have written pointers there: also to memory that is of no file and read-only now, which it has sealed
 * (arenas of settings, data beside code that it has made; what is in instructions is at any byte, and not found). */
static bool may_hold_pointers(const struct tg_mapping *mapping)
{
    bool is_of_no_file = !mapping->shared && mapping->inode == 0 &&
                         (mapping->path[0] == '\0' || begins_with(mapping->path, "[anon"));
    return mapping->readable && (mapping->writable || is_of_no_file);
}

static struct tg_error *add_mapping(struct search *search, struct tg_mapping mapping)
{
    const struct tg_leak_roots_options *options = search->options;
    uint64_t left_until = end_of_left_stack(search, &mapping);
    search->guard = !mapping.readable && !mapping.writable && mapping.path[0] == '\0'
                        ? (struct range){mapping.start, mapping.end}
                        : (struct range){0, 0};
    if (!may_hold_pointers(&mapping) || is_left_out(options, &mapping))
        return NULL;
    if (left_until != 0)
        mapping.start = left_until;
    skip_table(search, &mapping);
    if (strcmp(mapping.path, "[stack]") == 0)
        mapping.start = used_from(options, &mapping);
    return add_used(search, &mapping);
}

struct tg_error *tg_leak_roots_find(const struct tg_leak_roots_options *options, struct tg_leak_root **roots,
                                    size_t *count)
{
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    struct search search = {.options = options};
    *roots = NULL;
    *count = 0;
    if (!tg_mappings_open(&mappings, options->tid))
        return tg_error_create_errno(errno, "/proc/%d/maps", (int)options->tid);
    struct tg_error *error = find_unused(&search);
    while (error == NULL && tg_mappings_next(&mappings, &mapping))
        error = add_mapping(&search, mapping);
    tg_mappings_close(&mappings);
    free(search.unused);
    if (error != NULL) {
        free(search.roots);
        return error;
    }
    *roots = search.roots;
    *count = search.count;
    return NULL;
}
