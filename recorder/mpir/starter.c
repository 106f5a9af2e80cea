#include "recorder/mpir/starter.h"

#include "recorder/process/memory.h"

#include <stdio.h>
#include <string.h>

static size_t read_ranges(void *context, const struct tg_memory_range *ranges, size_t count)
{
    return tg_memory_read_ranges(*(const pid_t *)context, ranges, count);
}

struct tg_mpir_memory tg_mpir_starter_memory(pid_t *pid)
{
    return (struct tg_mpir_memory){.context = pid, .read = read_ranges};
}

/* As much of the string at ADDRESS as fits and can be read; always with a NUL. */
static void read_text(pid_t pid, uint64_t address, char *text, size_t size)
{
    size_t done = address == 0 ? 0 : tg_memory_read_some(pid, address, text, size - 1);
    text[done] = '\0';
}

static enum tg_mpir_state state_of(int64_t raw)
{
    switch (raw) {
    case 0:
        return TG_MPIR_STATE_NULL;
    case 1:
        return TG_MPIR_STATE_SPAWNED;
    case 2:
        return TG_MPIR_STATE_ABORTING;
    default:
        return TG_MPIR_STATE_OTHER;
    }
}

/* Slurm's job and step, in variables of its own. */
static void read_job(const struct tg_mpir_variables *variables, unsigned bits, pid_t pid, char *job,
                     size_t size)
{
    char parts[2][24] = {"", ""};
    static const enum tg_mpir_name names[] = {TG_MPIR_SLURM_JOB, TG_MPIR_SLURM_STEP};
    for (size_t i = 0; i < 2; i++) {
        uint64_t address = 0; /* char *: little-endian, the low bytes come first */
        if (variables->found[names[i]] &&
            tg_memory_read(pid, variables->addresses[names[i]], &address, bits == 32 ? 4 : 8))
            read_text(pid, address, parts[i], sizeof parts[i]);
    }
    snprintf(job, size, "%s%s%s", parts[0], parts[0][0] != '\0' && parts[1][0] != '\0' ? "." : "", parts[1]);
}

void tg_mpir_starter_read(const struct tg_mpir_variables *variables, unsigned bits, pid_t pid,
                          struct tg_mpir_saying *saying)
{
    const size_t pointer = bits == 32 ? 4 : 8;
    int32_t state = 0, table_size = 0;
    uint64_t table = 0, abort_string = 0;
    const struct {
        enum tg_mpir_name name;
        void *value;
        size_t size;
    } wanted[] = {
        {TG_MPIR_DEBUG_STATE, &state, sizeof state},
        {TG_MPIR_PROCTABLE_SIZE, &table_size, sizeof table_size},
        {TG_MPIR_PROCTABLE, &table, pointer},
        {TG_MPIR_DEBUG_ABORT_STRING, &abort_string, pointer},
    };
    struct tg_memory_range ranges[sizeof wanted / sizeof wanted[0]];
    size_t n = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (variables->found[wanted[i].name])
            ranges[n++] = (struct tg_memory_range){variables->addresses[wanted[i].name], wanted[i].value,
                                                   wanted[i].size};
    size_t whole = tg_memory_read_ranges(pid, ranges, n);
    *saying = (struct tg_mpir_saying){
        .state =
            whole > 0 && variables->found[TG_MPIR_DEBUG_STATE] ? state_of(state) : TG_MPIR_STATE_UNREADABLE,
        .raw_state = state,
        .table_size = table_size,
        .table_address = table,
    };
    read_text(pid, abort_string, saying->abort_string, sizeof saying->abort_string);
    read_job(variables, bits, pid, saying->job, sizeof saying->job);
}

void tg_mpir_starter_read_array(const struct tg_mpir_variables *variables, enum tg_mpir_name name, pid_t pid,
                                char *text, size_t size)
{
    uint64_t extent = variables->sizes[name];
    text[0] = '\0';
    if (variables->found[name])
        read_text(pid, variables->addresses[name], text, extent > 0 && extent < size ? extent + 1 : size);
}

const char *tg_mpir_starter_write(const struct tg_mpir_variables *variables, enum tg_mpir_name name,
                                  pid_t pid, int32_t value)
{
    if (!variables->found[name])
        return "no such variable";
    if (variables->sizes[name] != 0 && variables->sizes[name] != sizeof value)
        return "not an int";
    return tg_memory_write(pid, variables->addresses[name], &value, sizeof value) ? NULL
                                                                                  : "cannot write its memory";
}
