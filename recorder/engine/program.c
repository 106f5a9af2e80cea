#include "recorder/engine/program.h"
#include "recorder/engine/address_space.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/tracee.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_AUXV_BYTES = 4096,
    MAX_PATH_BYTES = 4096,
    CS_32_BIT = 0x23,
};

/* ---- auxiliary vector */

static size_t read_auxv(pid_t tid, unsigned char *buffer, size_t size)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, buffer, size);
    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

static void take_auxv_entry(struct tg_process *process, uint64_t type, uint64_t value)
{
    switch (type) {
    case AT_ENTRY:
        process->entry = value;
        break;
    case AT_BASE:
        process->loader_base = value;
        break;
    case AT_PHDR:
        process->phdr = value;
        break;
    case AT_PHNUM:
        process->n_phdr = value;
        break;
    case AT_SECURE:
        process->secure = value != 0;
        break;
    default:
        break;
    }
}

static void load_auxv(struct tg_tracee *tracee)
{
    struct tg_process *process = tracee->thread.process;
    unsigned char bytes[MAX_AUXV_BYTES];
    size_t n = read_auxv(tracee->thread.tid, bytes, sizeof bytes);
    process->bits = !tg_tracee_load_registers(tracee) ? 0 : tracee->regs.cs == CS_32_BIT ? 32 : 64;
    process->entry = process->loader_base = process->phdr = process->n_phdr = 0;
    process->secure = false;
    size_t word = process->bits == 32 ? 4 : 8;
    for (size_t at = 0; at + 2 * word <= n; at += 2 * word) {
        uint64_t type = 0, value = 0; /* little-endian: the low bytes come first */
        memcpy(&type, bytes + at, word);
        memcpy(&value, bytes + at + word, word);
        if (type == AT_NULL)
            break;
        take_auxv_entry(process, type, value);
    }
    if (n == 0)
        tg_stop_note(tracee,
                     "cannot read the auxiliary vector of process %d: the process is recorded without its "
                     "libraries",
                     (int)process->pid);
}

/* ---- entry stop */

static void entry_reached(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    (void)context;
    struct tg_process *process = thread->process;
    struct tg_event event = {.kind = TG_EVENT_ENTRY, .entry = {.address = process->entry}};
    tg_breakpoint_remove(process, breakpoint);
    tg_engine_emit(process->engine, thread, &event);
    tg_observers_stopped(tg_tracee_of(thread), TG_TRIGGER_ENTRY, 0);
}

static void plant_entry(struct tg_tracee *tracee)
{
    struct tg_process *process = tracee->thread.process;
    if (process->entry == 0)
        return;
    TG_AUTO_ERROR struct tg_error *error =
        tg_breakpoint_plant(process, process->entry, TG_BREAKPOINT_INTERNAL, entry_reached, NULL, NULL);
    if (error != NULL)
        tg_stop_note(tracee, "no stop at the entry point of process %d: %s", (int)process->pid,
                     tg_error_message(error));
}

/* The first instruction of a program: the entry point of its dynamic loader, a static one at its own; 0
 * unknown. */
static uint64_t first_instruction(pid_t tid, const struct tg_process *process)
{
    union {
        Elf64_Ehdr wide;
        Elf32_Ehdr narrow;
    } header;
    if (process->loader_base == 0)
        return process->entry;
    if (!tg_memory_read(tid, process->loader_base, &header, sizeof header))
        return 0;
    return process->loader_base + (process->bits == 32 ? header.narrow.e_entry : header.wide.e_entry);
}

/* Whether nothing of the program has run yet: a launcher left the process stopped right behind its exec, for
 * a debugger to come. No program comes back to that instruction. */
static bool has_not_begun(struct tg_tracee *tracee)
{
    const struct tg_process *process = tracee->thread.process;
    return tracee->regs_valid && HASH_COUNT(process->threads) == 1 && tracee->regs.rip != 0 &&
           tracee->regs.rip == first_instruction(tracee->thread.tid, process);
}

void tg_program_loaded(struct tg_tracee *tracee, bool attached)
{
    struct tg_engine *engine = tracee->thread.process->engine;
    tg_address_space_keep_memory(tracee->thread.process->space, tracee->thread.tid, &engine->n_memories);
    load_auxv(tracee);
    /* A process that is to live on without a tracer is left alone all the same: no breakpoint is planted
     * unasked. */
    if (attached && !tracee->thread.process->attached && has_not_begun(tracee))
        attached = false;
    if (!attached)
        plant_entry(tracee);
    tg_observers_program_loaded(tracee, attached);
}

/* ---- exec */

static void note_lost_privilege(struct tg_tracee *tracee, const char *link)
{
    /* Under a tracer without CAP_SYS_PTRACE the kernel runs set-uid and set-gid programs without what the
     * file would give them; nothing that a tracer can do would change that. */
    struct stat file, owner;
    char proc[32];
    snprintf(proc, sizeof proc, "/proc/%d", (int)tracee->thread.process->pid);
    if (geteuid() == 0 || stat(link, &file) != 0 || stat(proc, &owner) != 0)
        return;
    if (((file.st_mode & S_ISUID) && file.st_uid != owner.st_uid) ||
        ((file.st_mode & S_ISGID) && (file.st_mode & S_IXGRP) && file.st_gid != owner.st_gid))
        tg_stop_note(tracee, "a set-uid or set-gid program runs without its privilege because it is traced; "
                             "record as root to keep it");
}

void tg_program_emit_exec(struct tg_tracee *tracee, pid_t former_tid)
{
    char link[32], path[MAX_PATH_BYTES] = "";
    snprintf(link, sizeof link, "/proc/%d/exe", (int)tracee->thread.process->pid);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    struct tg_event event = {.kind = TG_EVENT_EXEC, .exec = {.path = path, .former_tid = former_tid}};
    tg_engine_emit(tracee->thread.process->engine, &tracee->thread, &event);
    note_lost_privilege(tracee, link);
}
