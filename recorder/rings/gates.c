#include "recorder/rings/gates.h"

#include "format/base/array.h"
#include "recorder/process/proc_status.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>

struct program {
    pid_t pid;
    uint64_t instance;
};

struct tg_gates {
    const struct tg_agent_directory *directory;
    bool are_memory;                  /* the first one was opened */
    uint32_t last;                    /* number that was given last */
    uint32_t numbers[TG_AGENT_GATES]; /* 0: free */
    struct program *programs;         /* programs whose threads may wait */
    size_t n_programs, max_programs;
};

static uint64_t offset_of(size_t place)
{
    return TG_AGENT_GATES_OFFSET + place * sizeof(struct tg_agent_gate);
}

struct tg_error *tg_gates_create(const struct tg_agent_directory *directory, struct tg_gates **gates)
{
    struct tg_gates *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->directory = directory;
    *gates = made;
    return NULL;
}

void tg_gates_destroy(struct tg_gates *gates)
{
    if (gates == NULL)
        return;
    free(gates->programs);
    free(gates);
}

/* ---- up and away */

/* How many have to be looked at by agents. */
static bool write_count(const struct tg_gates *gates)
{
    uint32_t n_gates = 0;
    for (uint32_t i = 0; i < TG_AGENT_GATES; i++)
        if (gates->numbers[i] != 0)
            n_gates = i + 1;
    return tg_agent_directory_write(gates->directory, offsetof(struct tg_agent_control, n_gates), &n_gates,
                                    sizeof n_gates);
}

static bool write_number(const struct tg_gates *gates, size_t place, uint32_t number)
{
    return tg_agent_directory_write(
        gates->directory, offset_of(place) + offsetof(struct tg_agent_gate, number), &number, sizeof number);
}

struct tg_error *tg_gates_open(struct tg_gates *gates, const struct tg_agent_gate *gate, uint32_t *number)
{
    size_t place = 0;
    if (!gates->are_memory && !tg_agent_directory_reserve(gates->directory, TG_AGENT_GATES_OFFSET,
                                                          TG_AGENT_FILTER_OFFSET - TG_AGENT_GATES_OFFSET))
        return tg_error_create_errno(errno, "cannot write to %s/control",
                                     tg_agent_directory_path(gates->directory));
    gates->are_memory = true;
    while (place < TG_AGENT_GATES && gates->numbers[place] != 0)
        place++;
    if (place == TG_AGENT_GATES)
        return tg_error_create(TG_ERROR_LIMIT, "more than %d gates at once", TG_AGENT_GATES);
    struct tg_agent_gate written = *gate;
    written.number = 0;
    written.unplaced = 0;
    if (++gates->last == 0)
        gates->last = 1;
    if (!tg_agent_directory_write(gates->directory, offset_of(place), &written, sizeof written) ||
        !write_number(gates, place, gates->last))
        return tg_error_create_errno(errno, "cannot write to %s/control",
                                     tg_agent_directory_path(gates->directory));
    gates->numbers[place] = gates->last;
    *number = gates->last;
    if (!write_count(gates))
        return tg_error_create_errno(errno, "cannot write to %s/control",
                                     tg_agent_directory_path(gates->directory));
    return NULL;
}

/* The slots that were ever taken. *COUNT of them, the caller's to free; NULL without memory, or with none. */
static struct tg_agent_slot *read_slots(const struct tg_gates *gates, size_t *count)
{
    size_t n_slots = tg_agent_directory_control(gates->directory).n_slots;
    *count = n_slots < TG_AGENT_SLOTS ? n_slots : TG_AGENT_SLOTS;
    struct tg_agent_slot *slots = *count == 0 ? NULL : calloc(*count, sizeof *slots);
    if (slots == NULL ||
        !tg_agent_directory_read(gates->directory, TG_AGENT_SLOTS_OFFSET, slots, *count * sizeof *slots)) {
        *count = 0;
        free(slots);
        return NULL;
    }
    return slots;
}

static void let_go(const struct tg_gates *gates, size_t slot)
{
    static const uint32_t none = 0;
    uint64_t offset =
        TG_AGENT_SLOTS_OFFSET + slot * sizeof(struct tg_agent_slot) + offsetof(struct tg_agent_slot, gate);
    if (tg_agent_directory_write(gates->directory, offset, &none, sizeof none))
        tg_agent_directory_wake(gates->directory, offset);
}

void tg_gates_close(struct tg_gates *gates, uint32_t number)
{
    size_t n_slots;
    for (size_t i = 0; i < TG_AGENT_GATES; i++) {
        if (gates->numbers[i] != number)
            continue;
        gates->numbers[i] = 0;
        (void)write_number(gates, i, 0);
        (void)write_count(gates);
    }
    struct tg_agent_slot *slots = read_slots(gates, &n_slots);
    for (size_t i = 0; i < n_slots; i++)
        if (slots[i].gate == number)
            let_go(gates, i);
    free(slots);
}

void tg_gates_close_all(struct tg_gates *gates)
{
    for (size_t i = 0; i < TG_AGENT_GATES; i++)
        if (gates->numbers[i] != 0)
            tg_gates_close(gates, gates->numbers[i]);
}

/* ---- programs */

/* Takes the slots of the threads of INSTANCE, which are no more: nobody else gives them back. */
static void take_slots(const struct tg_gates *gates, uint64_t instance)
{
    static const struct tg_agent_slot none;
    size_t n_slots;
    struct tg_agent_slot *slots = read_slots(gates, &n_slots);
    for (size_t i = 0; i < n_slots; i++)
        if (slots[i].instance == instance && slots[i].tid != 0)
            (void)tg_agent_directory_write(gates->directory, TG_AGENT_SLOTS_OFFSET + i * sizeof none, &none,
                                           sizeof none);
    free(slots);
}

static struct program *find_program(const struct tg_gates *gates, pid_t pid)
{
    for (size_t i = 0; i < gates->n_programs; i++)
        if (gates->programs[i].pid == pid)
            return &gates->programs[i];
    return NULL;
}

void tg_gates_forget(struct tg_gates *gates, pid_t pid)
{
    struct program *program = find_program(gates, pid);
    if (program == NULL)
        return;
    take_slots(gates, program->instance);
    *program = gates->programs[--gates->n_programs];
}

struct tg_error *tg_gates_meet(struct tg_gates *gates, pid_t pid)
{
    const struct program met = {pid, tg_gates_instance(pid)};
    const struct program *known = find_program(gates, pid);
    if (known != NULL && known->instance == met.instance)
        return NULL;
    tg_gates_forget(gates, pid);
    return met.instance == 0 ? NULL
                             : TG_ARRAY_APPEND(gates->programs, gates->n_programs, gates->max_programs, met);
}

/* ---- questions */

/* Index of the slot in which the thread of WAITER waits; SIZE_MAX none. *GATE is then whose. */
static size_t find_slot(const struct tg_gates *gates, const struct tg_gate_waiter *waiter, uint32_t *gate)
{
    size_t n_slots, found = SIZE_MAX;
    struct tg_agent_slot *slots = read_slots(gates, &n_slots);
    for (size_t i = 0; i < n_slots && found == SIZE_MAX; i++) {
        if (slots[i].tid != waiter->tid || slots[i].instance != waiter->instance || slots[i].gate == 0)
            continue;
        found = i;
        *gate = slots[i].gate;
    }
    free(slots);
    return found;
}

bool tg_gates_find(const struct tg_gates *gates, struct tg_gate_waiter *waiter)
{
    return find_slot(gates, waiter, &waiter->gate) != SIZE_MAX;
}

struct tg_gate_waiter *tg_gates_list(const struct tg_gates *gates, size_t *count)
{
    size_t n_slots;
    struct tg_agent_slot *slots = read_slots(gates, &n_slots);
    struct tg_gate_waiter *waiters = n_slots == 0 ? NULL : calloc(n_slots, sizeof *waiters);
    *count = 0;
    for (size_t i = 0; waiters != NULL && i < n_slots; i++)
        if (slots[i].gate != 0 && slots[i].tid != 0)
            waiters[(*count)++] = (struct tg_gate_waiter){slots[i].instance, slots[i].tid, slots[i].gate};
    free(slots);
    return waiters;
}

size_t tg_gates_count(const struct tg_gates *gates, uint32_t number)
{
    size_t n_slots, count = 0;
    struct tg_agent_slot *slots = read_slots(gates, &n_slots);
    for (size_t i = 0; i < n_slots; i++)
        count += number != 0 && slots[i].gate == number && slots[i].tid != 0;
    free(slots);
    return count;
}

void tg_gates_pass(const struct tg_gates *gates, const struct tg_gate_waiter *waiter)
{
    uint32_t gate;
    size_t slot = find_slot(gates, waiter, &gate);
    if (slot != SIZE_MAX)
        let_go(gates, slot);
}

uint32_t tg_gates_unplaced(const struct tg_gates *gates, uint32_t number)
{
    struct tg_agent_gate gate;
    for (size_t i = 0; i < TG_AGENT_GATES; i++)
        if (gates->numbers[i] == number &&
            tg_agent_directory_read(gates->directory, offset_of(i), &gate, sizeof gate))
            return gate.unplaced;
    return 0;
}

uint64_t tg_gates_instance(pid_t pid)
{
    char path[40];
    Elf64_auxv_t entry;
    uint64_t address = 0;
    unsigned char random[16];
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fread(&entry, sizeof entry, 1, file) == 1 && entry.a_type != AT_NULL)
        if (entry.a_type == AT_RANDOM)
            address = entry.a_un.a_val;
    if (file != NULL)
        fclose(file);
    const struct iovec local = {random, sizeof random}, remote = {(void *)(uintptr_t)address, sizeof random};
    if (address == 0 || process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof random)
        return 0;
    return tg_agent_instance(random, tg_proc_status_own_pid(pid));
}
