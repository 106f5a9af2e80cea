#include "recorder/leaks/guard_check.h"

#include "recorder/agent/heap_block.h"
#include "recorder/leaks/kept_blocks.h"
#include "recorder/process/mappings.h"
#include "recorder/process/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 512, /* read at a time */
    GUARDS = 2,  /* of a block */
    TABLES = 16, /* of a process, at most */
    GUARD_BYTES = TG_HEAP_MOST_BEHIND,
};

/* The tables of a process. */
struct tables {
    struct {
        uint64_t start, n_blocks;
    } items[TABLES];
    size_t count;
    uint64_t generation; /* of the process's own blocks */
    uint64_t hoard;      /* address, 0 unknown */
};

struct pass {
    pid_t tid;
    struct tg_guard_check *check;
    struct tg_kept_blocks *kept; /* to be looked at as well; NULL: not those */
    uint64_t generation;         /* of blocks that are wanted; 0: all */
    struct tg_engine *engine;    /* NULL: CHECK gets the faults, as far as it has room */
    struct tg_thread *thread;
    unsigned char tags[SLOTS];
    struct tg_heap_block_entry entries[SLOTS];
    /* of the entries that have guards */
    struct tg_memory_range ranges[SLOTS * GUARDS];
    const struct tg_heap_block_entry *owners[SLOTS * GUARDS];
    unsigned char bytes[SLOTS * GUARDS][GUARD_BYTES];
};

static void emit(struct tg_engine *engine, struct tg_thread *thread, const struct tg_event_heap_error *fault)
{
    tg_engine_emit(engine, thread, &(struct tg_event){.kind = TG_EVENT_HEAP_ERROR, .heap_error = *fault});
}

static void add_fault(struct pass *pass, const struct tg_event_heap_error *fault)
{
    struct tg_guard_check *check = pass->check;
    check->n_wrong++;
    if (pass->engine != NULL)
        emit(pass->engine, pass->thread, fault);
    else if (check->n_faults < TG_GUARD_CHECK_FAULTS)
        check->faults[check->n_faults++] = *fault;
}

/* GENERATION: of the process that allocated, or freed, ENTRY's block. */
static bool is_wanted(const struct pass *pass, const struct tg_heap_block_entry *entry, uint32_t generation)
{
    bool is_told = pass->engine != NULL && entry->is_told;
    return !is_told && (pass->generation == 0 || generation == (uint32_t)pass->generation);
}

/* RANGE was read, a guard of ENTRY's. */
static void judge(struct pass *pass, const struct tg_heap_block_entry *entry,
                  const struct tg_memory_range *range)
{
    const unsigned char *bytes = range->buffer;
    unsigned char wanted = range->address < entry->block ? TG_HEAP_GUARD_BEFORE : TG_HEAP_GUARD_BEHIND;
    uint64_t first = 0, wrong = 0;
    for (size_t i = 0; i < range->size; i++)
        if (bytes[i] != wanted && wrong++ == 0)
            first = range->address + i;
    if (wrong > 0)
        add_fault(pass, &(struct tg_event_heap_error){.error = TG_HEAP_GUARD_CORRUPTION,
                                                      .address = first,
                                                      .block = entry->block,
                                                      .size_bytes = entry->size,
                                                      .allocated_tid = entry->allocated_tid,
                                                      .offset = (int64_t)(first - entry->block),
                                                      .wrong_bytes = wrong,
                                                      .call = ""});
}

/* The guards that entries have now. */
static size_t find_guards(struct pass *pass, size_t n_entries)
{
    size_t count = 0;
    for (size_t i = 0; i < n_entries; i++) {
        const struct tg_heap_block_entry *entry = &pass->entries[i];
        if (pass->tags[i] == 0 || entry->state != TG_HEAP_BLOCK_LIVE || !entry->has_guards ||
            !is_wanted(pass, entry, entry->allocated_generation))
            continue;
        size_t before = tg_heap_guard_before(entry);
        const struct tg_memory_range guards[GUARDS] = {
            {entry->block - before, NULL, before},
            {entry->block + entry->size, NULL, tg_heap_guard_behind(entry)}};
        pass->check->n_blocks++;
        for (size_t guard = 0; guard < GUARDS; guard++) {
            if (guards[guard].size == 0)
                continue;
            pass->ranges[count] = guards[guard];
            pass->ranges[count].buffer = pass->bytes[count];
            pass->owners[count++] = entry;
        }
    }
    return count;
}

static void look_at(struct pass *pass, size_t n_entries)
{
    size_t count = find_guards(pass, n_entries);
    for (size_t i = 0; i < count;) {
        size_t read = tg_memory_read_ranges(pass->tid, pass->ranges + i, count - i);
        for (size_t end = i + read; i < end; i++)
            judge(pass, pass->owners[i], &pass->ranges[i]);
        if (i < count) {
            pass->check->n_unread++;
            i++;
        }
    }
}

static void look_at_kept(struct pass *pass, size_t n_entries)
{
    struct tg_event_heap_error fault;
    for (size_t i = 0; i < n_entries; i++)
        if (pass->tags[i] != 0 && is_wanted(pass, &pass->entries[i], pass->entries[i].freed_generation) &&
            tg_kept_blocks_have_changed(pass->kept, &pass->entries[i], &fault))
            add_fault(pass, &fault);
}

static bool is_any_used(const unsigned char *tags, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tags[i] != 0)
            return true;
    return false;
}

/* The blocks of the table at START. */
static void look_at_table(struct pass *pass, uint64_t start, uint64_t n_blocks)
{
    uint64_t entries = start + TG_AGENT_HEAP_TABLE_OFFSET,
             tags = entries + n_blocks * sizeof pass->entries[0];
    for (uint64_t i = 0; i < n_blocks; i += SLOTS) {
        size_t count = n_blocks - i < SLOTS ? (size_t)(n_blocks - i) : SLOTS;
        if (!tg_memory_read(pass->tid, tags + i, pass->tags, count) || !is_any_used(pass->tags, count))
            continue;
        if (!tg_memory_read(pass->tid, entries + i * sizeof pass->entries[0], pass->entries,
                            count * sizeof pass->entries[0]))
            continue;
        look_at(pass, count);
        if (pass->kept != NULL)
            look_at_kept(pass, count);
    }
}

/* The program may have written what it likes there: no more is read than is mapped. */
static bool is_table(pid_t tid, const struct tg_mapping *mapping, struct tg_agent_heap_table *table)
{
    if (mapping->path[0] != '\0' || !mapping->readable || !mapping->writable ||
        !tg_memory_read(tid, mapping->start, table, sizeof *table) ||
        table->magic[0] != TG_AGENT_HEAP_TABLE_MAGIC || table->magic[1] != ~TG_AGENT_HEAP_TABLE_MAGIC)
        return false;
    uint64_t room = mapping->end - mapping->start - TG_AGENT_HEAP_TABLE_OFFSET;
    return table->n_blocks > 0 && table->n_blocks <= room / (sizeof(struct tg_heap_block_entry) + 1);
}

/* Errors: NOT_FOUND, there is none; TARGET, the mappings cannot be read. */
static struct tg_error *find_tables(pid_t tid, struct tables *tables)
{
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    struct tg_agent_heap_table table;
    *tables = (struct tables){0};
    if (!tg_mappings_open(&mappings, tid))
        return tg_error_create(TG_ERROR_TARGET, "/proc/%d/maps: %s", (int)tid, strerror(errno));
    while (tables->count < TABLES && tg_mappings_next(&mappings, &mapping)) {
        if (!is_table(tid, &mapping, &table))
            continue;
        tables->items[tables->count].start = mapping.start;
        tables->items[tables->count++].n_blocks = table.n_blocks;
        if (!tg_memory_read(tid, table.generation, &tables->generation, sizeof tables->generation))
            tables->generation = 0;
        if (table.hoard != 0)
            tables->hoard = table.hoard;
    }
    tg_mappings_close(&mappings);
    return tables->count > 0 ? NULL : tg_error_create(TG_ERROR_NOT_FOUND, "its blocks are not checked");
}

static void look_at_all(struct pass *pass, const struct tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        look_at_table(pass, tables->items[i].start, tables->items[i].n_blocks);
}

/* The number of the stack of BLOCK's allocation in the trace; 0 unknown. */
static uint64_t stack_of(const struct tg_leak_block *blocks, size_t count, uint64_t block)
{
    for (size_t i = 0; i < count; i++)
        if (blocks[i].address == block)
            return blocks[i].stack;
    return 0;
}

static void tell(struct tg_engine *engine, struct tg_live_blocks *live, struct tg_thread *thread,
                 struct tg_guard_check *check)
{
    struct tg_leak_block *blocks = NULL;
    size_t count = 0;
    if (check->n_faults > 0)
        tg_error_destroy(tg_live_blocks_copy(live, thread->process->pid, NULL, &blocks, &count));
    for (size_t i = 0; i < check->n_faults; i++) {
        struct tg_event_heap_error *fault = &check->faults[i];
        fault->allocated_stack = blocks == NULL ? 0 : stack_of(blocks, count, fault->block);
        emit(engine, thread, fault);
    }
    free(blocks);
}

struct tg_error *tg_guard_check_run(struct tg_engine *engine, struct tg_live_blocks *live,
                                    struct tg_thread *thread, struct tg_guard_check *check)
{
    *check = (struct tg_guard_check){0};
    for (struct tg_thread *t = thread->process->threads; t != NULL; t = t->hh.next)
        if (!tg_thread_is_kept(t))
            return tg_error_create(TG_ERROR_TARGET, "thread %d runs; dhalt stops it", t->tid);
    struct tables tables;
    struct tg_error *error = find_tables(thread->tid, &tables);
    if (error != NULL)
        return error;
    struct pass *pass = calloc(1, sizeof *pass);
    if (pass == NULL)
        return tg_error_no_memory();
    pass->tid = thread->tid;
    pass->check = check;
    look_at_all(pass, &tables);
    free(pass);
    tell(engine, live, thread, check);
    return NULL;
}

struct tg_error *tg_guard_check_at_end(struct tg_engine *engine, struct tg_thread *thread, bool is_own)
{
    struct tables tables;
    struct tg_kept_blocks kept = {0};
    struct tg_error *error = find_tables(thread->tid, &tables);
    if (error != NULL || (is_own && tables.generation == 0))
        return error;
    struct tg_guard_check *check = calloc(1, sizeof *check);
    struct pass *pass = calloc(1, sizeof *pass);
    if (check != NULL && pass != NULL) {
        pass->tid = thread->tid;
        pass->check = check;
        pass->kept = tg_kept_blocks_read(&kept, thread->tid, tables.hoard) ? &kept : NULL;
        pass->generation = is_own ? tables.generation : 0;
        pass->engine = engine;
        pass->thread = thread;
        look_at_all(pass, &tables);
    } else {
        error = tg_error_no_memory();
    }
    tg_kept_blocks_deinit(&kept);
    free(check);
    free(pass);
    return error;
}
