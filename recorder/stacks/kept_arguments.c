#include "recorder/stacks/kept_arguments.h"

#include "format/base/hash.h"
#include "recorder/stacks/argument_flow.h"
#include "recorder/stacks/call_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEVELS = 4, MAX_ENTRIES = 4096 };

/* ---- functions */

struct key {
    char build_id[48];
    uint64_t entry, pc; /* less the object's start */
};

struct entry {
    struct key key;
    bool is_known;
    struct tg_argument_flow flow; /* the flow's target is less the object's start */
    UT_hash_handle hh;
};

struct tg_kept_arguments {
    struct entry *entries;
};

struct tg_kept_arguments *tg_kept_arguments_create(void)
{
    return calloc(1, sizeof(struct tg_kept_arguments));
}

void tg_kept_arguments_destroy(struct tg_kept_arguments *kept)
{
    struct entry *entry, *next;
    if (kept == NULL)
        return;
    HASH_ITER (hh, kept->entries, entry, next) {
        HASH_DELETE(hh, kept->entries, entry);
        free(entry);
    }
    free(kept);
}

static bool find_flow(struct tg_kept_arguments *kept, struct tg_modules *modules,
                      const struct tg_inspect_memory *memory, uint64_t start, uint64_t pc,
                      struct tg_argument_flow *flow)
{
    const struct tg_module *module = tg_modules_find(modules, start);
    struct key key = {.entry = 0};
    struct entry *entry;
    if (module == NULL || tg_modules_find(modules, pc) != module)
        return false;
    if (*module->build_id == '\0' || strlen(module->build_id) >= sizeof key.build_id)
        return tg_argument_flow_find(modules, memory, start, pc, flow);
    snprintf(key.build_id, sizeof key.build_id, "%s", module->build_id);
    key.entry = start - module->start;
    key.pc = pc - module->start;
    HASH_FIND(hh, kept->entries, &key, sizeof key, entry);
    if (entry == NULL && HASH_COUNT(kept->entries) >= MAX_ENTRIES)
        return tg_argument_flow_find(modules, memory, start, pc, flow);
    if (entry == NULL) {
        if (TG_HASH_CREATE(hh, kept->entries, key, &key, entry) != NULL)
            return false;
        entry->is_known = tg_argument_flow_find(modules, memory, start, pc, &entry->flow);
        entry->flow.target -= entry->flow.target != 0 ? module->start : 0;
    }
    *flow = entry->flow;
    flow->target += flow->target != 0 ? module->start : 0;
    return entry->is_known;
}

/* The first instruction of the function that has PC, 0 unknown; TARGET is that of the call to it, 0 unknown. */
static uint64_t entry_of(struct tg_modules *modules, const struct tg_inspect_memory *memory, uint64_t pc,
                         uint64_t target)
{
    const char *name;
    uint64_t offset;
    if (target != 0)
        return tg_call_target_behind_stub(modules, memory, target);
    /* a part that the compiler moved away is not where the function begins */
    return tg_modules_symbol_at(modules, pc - 1, &name, &offset) && strstr(name, ".cold") == NULL
               ? pc - 1 - offset
               : 0;
}

/* ---- values */

/* An argument on its way to the functions that are called. */
struct way {
    int argument; /* of the function that is looked at, -1 lost */
    uint8_t bytes;
};

static bool take_home(const struct tg_argument_home *home, const struct tg_frame *frame, uint8_t bytes,
                      uint8_t least, const struct tg_inspect_memory *memory, uint64_t *value)
{
    if (bytes < least)
        return false;
    if (home->kept >= 0 && home->kept_bytes >= least &&
        tg_registers_has(&frame->registers, (enum tg_register)home->kept)) {
        *value = frame->registers.value[home->kept];
        return true;
    }
    *value = 0;
    return home->slot_bytes >= least && frame->cfa != 0 &&
           memory->read(memory->context, frame->cfa - 8 + (uint64_t)home->slot, value, least);
}

static void take_homes(const struct tg_argument_flow *flow, const struct tg_frame *frame, struct way *ways,
                       uint16_t wanted, uint16_t wide, const struct tg_inspect_memory *memory,
                       struct tg_call_arguments *arguments)
{
    for (int i = 0; i < TG_CALL_ARGUMENT_ALL; i++) {
        struct way *way = &ways[i];
        uint8_t least = wide >> i & 1 ? 8 : 4;
        if (way->argument < 0)
            continue;
        const struct tg_argument_home *home = &flow->homes[way->argument];
        uint64_t value;
        if ((wanted & ~arguments->known) >> i & 1 &&
            take_home(home, frame, way->bytes, least, memory, &value)) {
            arguments->value[i] = value;
            arguments->known |= (uint16_t)(1u << i);
        }
        way->argument = home->passed;
        way->bytes = way->bytes < home->passed_bytes ? way->bytes : home->passed_bytes;
    }
}

/* Whether the registers of all callers from INDEX inwards were found by rules. */
static bool is_certain(const struct tg_call_stack *stack, size_t index)
{
    for (size_t i = 0; i <= index; i++)
        if (stack->frames[i].guessed || stack->frames[i].kind != TG_FRAME_CODE)
            return false;
    return true;
}

void tg_kept_arguments_find_at(struct tg_kept_arguments *kept, struct tg_modules *modules,
                               const struct tg_inspect_memory *memory, const struct tg_call_stack *stack,
                               size_t index, uint64_t entry, uint16_t wanted, uint16_t wide,
                               struct tg_call_arguments *arguments)
{
    struct way ways[TG_CALL_ARGUMENT_ALL];
    struct tg_argument_flow flow = {.target = 0};
    for (int i = 0; i < TG_CALL_ARGUMENT_ALL; i++)
        ways[i] = (struct way){i, 8};
    if (kept == NULL || index >= stack->count || !is_certain(stack, index))
        return;
    for (size_t at = index, n = 0; at > 0 && n < MAX_LEVELS && (wanted & ~arguments->known) != 0; at--, n++) {
        const struct tg_frame *frame = &stack->unwound[at];
        uint64_t pc = frame->registers.value[TG_RIP];
        if (frame->is_activation)
            return;
        if (at != index || entry == 0)
            entry = entry_of(modules, memory, pc, flow.target);
        if (entry == 0 || !find_flow(kept, modules, memory, entry, pc, &flow))
            return;
        take_homes(&flow, frame, ways, wanted, wide, memory, arguments);
    }
}

void tg_kept_arguments_find(struct tg_kept_arguments *kept, struct tg_modules *modules,
                            const struct tg_inspect_memory *memory, const struct tg_call_stack *stack,
                            size_t index, uint16_t wanted, uint16_t wide, struct tg_call_arguments *arguments)
{
    tg_kept_arguments_find_at(kept, modules, memory, stack, index, 0, wanted, wide, arguments);
}
