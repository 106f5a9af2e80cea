#include "recorder/openmp/runtime.h"

#include "recorder/process/mapped_file.h"
#include "recorder/process/memory.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_LOOKS = 64,
    MAX_VERSIONS = 4, /* of a symbol: the locks of OMP_1.0 are functions of their own */
};

/* omp_get_thread_num reads a word at a fixed distance from the thread pointer:
 *     mov $offset, %rax  or  mov offset@GOT(%rip), %rax;  mov %fs:disp8(%rax), %eax
 * or  mov %fs:disp32, %eax */
static bool decode_thread_num(pid_t tid, uint64_t address, int64_t *offset)
{
    static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const unsigned char load[] = {0x64, 0x8b, 0x40}, absolute[] = {0x64, 0x8b, 0x04, 0x25};
    unsigned char code[32];
    int32_t number;
    if (!tg_memory_read(tid, address, code, sizeof code))
        return false;
    size_t at = memcmp(code, endbr, sizeof endbr) == 0 ? sizeof endbr : 0;
    if (memcmp(code + at, absolute, sizeof absolute) == 0) {
        memcpy(&number, code + at + 4, sizeof number);
        *offset = number;
        return true;
    }
    if (code[at] != 0x48 || memcmp(code + at + 7, load, sizeof load) != 0)
        return false;
    memcpy(&number, code + at + 3, sizeof number);
    if (code[at + 1] == 0xc7 && code[at + 2] == 0xc0)
        *offset = number;
    else if (code[at + 1] != 0x8b || code[at + 2] != 0x05 ||
             !tg_memory_read(tid, address + at + 7 + (uint64_t)(int64_t)number, offset, sizeof *offset))
        return false;
    *offset += (int8_t)code[at + 10];
    return true;
}

/* The runtime's code reaches from its first entry point to its last one, in an archive as in a library. */
static void cover(struct tg_openmp_process *process, uint64_t address)
{
    if (process->runtime_end == 0 || address < process->runtime_start)
        process->runtime_start = address;
    if (address >= process->runtime_end)
        process->runtime_end = address + 1;
}

/* Plants on every entry point in IMAGE, loaded with BIAS; returns on how many. */
static size_t plant_entries(struct tg_openmp_stop *stop, struct tg_image *image, uint64_t bias)
{
    size_t planted = 0;
    for (size_t i = 0; i < tg_gomp_entry_count(); i++) {
        const struct tg_gomp_entry *entry = tg_gomp_entry_at(i);
        uint64_t addresses[MAX_VERSIONS];
        size_t found = tg_image_find_function(image, entry->name, addresses, MAX_VERSIONS);
        for (size_t at = 0; at < found && at < MAX_VERSIONS; at++) {
            if (tg_openmp_process_add_site(stop->process, bias + addresses[at], entry) == NULL)
                continue;
            tg_openmp_calls_plant(stop, bias + addresses[at]);
            cover(stop->process, bias + addresses[at]);
            planted++;
        }
    }
    uint64_t address;
    if (planted > 0 && tg_image_find_function(image, "omp_get_thread_num", &address, 1) > 0)
        stop->process->knows_thread_num =
            decode_thread_num(stop->thread->tid, bias + address, &stop->process->thread_num_offset);
    return planted;
}

/* LLVM's runtime and its relatives tell a tool, which would have to be in the program. */
static void note_unseen(const struct tg_openmp_stop *stop, const char *what)
{
    char text[200];
    snprintf(text, sizeof text,
             "OpenMP is not recorded in this program: %s reports only by OMPT, to a tool inside the program, "
             "and the agent cannot be in this one",
             what);
    tg_openmp_stop_note(stop, text);
    stop->process->looks = MAX_LOOKS;
}

static void watch_image(struct tg_openmp_stop *stop, struct tg_image_cache *images,
                        const struct tg_image_source *source, const char *name)
{
    struct tg_image *image = tg_image_cache_find(images, source);
    uint64_t address;
    if (image == NULL)
        return;
    uint64_t bias = source->header == 0 ? source->load_bias : source->header - tg_image_info(image)->start;
    if (plant_entries(stop, image, bias) > 0) {
        tg_engine_emit(stop->calls->engine, stop->thread,
                       &(struct tg_event){.kind = TG_EVENT_OMP_RUNTIME,
                                          .omp_runtime = {.name = name, .seen = TG_OMP_BREAKPOINT}});
        if (!stop->process->knows_thread_num)
            tg_openmp_stop_note(
                stop, "the OpenMP thread numbers of this process are unknown: all are recorded as 0");
    } else if (tg_image_find_function(image, "__kmpc_fork_call", &address, 1) > 0) {
        note_unseen(stop, "LLVM's runtime, which it is linked with statically,");
    }
    tg_image_unref(image);
}

static bool is_libgomp(const char *name)
{
    return strncmp(name, "libgomp.so", 10) == 0 || strncmp(name, "libgomp-", 8) == 0;
}

static bool is_of_llvm(const char *name)
{
    return strncmp(name, "libomp.so", 9) == 0 || strncmp(name, "libomp-", 7) == 0 ||
           strncmp(name, "libiomp5.so", 11) == 0;
}

void tg_openmp_runtime_look(struct tg_openmp_calls *calls, struct tg_image_cache *images,
                            struct tg_thread *thread)
{
    struct tg_openmp_stop stop = {.calls = calls, .thread = thread};
    const struct tg_process *process = thread->process;
    stop.process = tg_openmp_calls_process(calls, thread);
    if (stop.process == NULL || !stop.process->wanted || stop.process->sites != NULL ||
        stop.process->looks >= MAX_LOOKS)
        return;
    stop.process->looks++;
    stop.registers = tg_thread_registers(thread);
    stop.state = tg_openmp_process_thread(stop.process, thread->tid);
    if (stop.state == NULL || stop.registers == NULL)
        return;
    if (process->loader_base == 0) {
        const struct tg_image_source source = {.pid = thread->tid};
        stop.process->looks = MAX_LOOKS; /* nothing can come later */
        watch_image(&stop, images, &source, "libgomp (static)");
        return;
    }
    struct tg_mapped_file library;
    if (!tg_mapped_file_find(process->pid, is_libgomp, &library)) {
        if (tg_mapped_file_find(process->pid, is_of_llvm, &library))
            note_unseen(&stop, "LLVM's runtime");
        return;
    }
    const struct tg_image_source source = {.pid = thread->tid, .path = library.path, .header = library.start};
    watch_image(&stop, images, &source, "libgomp");
}
