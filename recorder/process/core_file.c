#include "recorder/process/core_file.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "format/image/elf_decode.h"
#include "recorder/process/memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_SEGMENTS = 1 << 20,
    MAX_NOTE_BYTES = 256 << 20, /* registers of a thread take some KiB */
    MAX_THREADS = 1 << 16,
    MAX_MAPPINGS = 1 << 20,
};

struct tg_core_segment {
    uint64_t start, size, offset;
    uint64_t whole; /* size that it should have */
};

/* ---- the file */

static bool decode_core(const uint8_t *bytes, size_t size, struct tg_elf_header *header)
{
    return tg_elf_header_decode(bytes, size, header) && header->type == ET_CORE;
}

/* Where there are too many for the header, the first section says how many. */
static size_t count_segments(const struct tg_core_file *core, const struct tg_elf_header *header)
{
    Elf64_Shdr first;
    if (header->n_segments != PN_XNUM)
        return header->n_segments;
    return tg_memory_file_read(core->fd, header->sections_at, &first, sizeof first) == sizeof first
               ? first.sh_info
               : 0;
}

/* ---- notes */

static struct tg_error *take_thread(struct tg_core_file *core, const uint8_t *bytes, size_t size)
{
    struct elf_prstatus status;
    struct tg_core_thread thread;
    if (size < sizeof status || core->n_threads >= MAX_THREADS)
        return NULL;
    memcpy(&status, bytes, sizeof status);
    _Static_assert(sizeof status.pr_reg == sizeof thread.registers, "the kernel's order of registers");
    thread.tid = status.pr_pid;
    memcpy(&thread.registers, status.pr_reg, sizeof thread.registers);
    if (core->n_threads == 0 && core->signal == 0)
        core->signal = status.pr_cursig;
    return TG_ARRAY_APPEND(core->threads, core->n_threads, core->threads_capacity, thread);
}

static void take_process(struct tg_core_file *core, const uint8_t *bytes, size_t size)
{
    struct elf_prpsinfo process;
    if (size < sizeof process)
        return;
    memcpy(&process, bytes, sizeof process);
    core->pid = process.pr_pid;
    memcpy(core->program, process.pr_fname, sizeof core->program - 1);
    memcpy(core->command, process.pr_psargs, sizeof core->command - 1);
}

static void take_signal(struct tg_core_file *core, const uint8_t *bytes, size_t size)
{
    siginfo_t info;
    if (size < sizeof info)
        return;
    memcpy(&info, bytes, sizeof info);
    core->signal = info.si_signo;
    bool is_fault = info.si_signo == SIGSEGV || info.si_signo == SIGBUS || info.si_signo == SIGFPE ||
                    info.si_signo == SIGILL;
    core->has_fault = is_fault && info.si_code > 0 && info.si_code != SI_KERNEL;
    core->fault = core->has_fault ? (uint64_t)(uintptr_t)info.si_addr : 0;
}

/* Two words, three for each mapping, and then the names. */
static struct tg_error *take_mappings(struct tg_core_file *core, const uint8_t *bytes, size_t size)
{
    uint64_t count = size >= 16 ? tg_elf_u64(bytes) : 0, page = size >= 16 ? tg_elf_u64(bytes + 8) : 0;
    if (core->n_mappings > 0 || count > MAX_MAPPINGS || count > (size - 16) / 24)
        return NULL;
    size_t at = 16 + (size_t)count * 24;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < count && at < size; i++) {
        const uint8_t *words = bytes + 16 + i * 24;
        struct tg_core_mapping mapping = {.start = tg_elf_u64(words),
                                          .end = tg_elf_u64(words + 8),
                                          .offset = tg_elf_u64(words + 16) * page,
                                          .path = (const char *)bytes + at};
        at += strnlen(mapping.path, size - at) + 1; /* NUL is behind the last note */
        if (mapping.end > mapping.start)
            error = TG_ARRAY_APPEND(core->mappings, core->n_mappings, core->mappings_capacity, mapping);
    }
    return error;
}

static struct tg_error *take_auxiliary(struct tg_core_file *core, const uint8_t *bytes, size_t size)
{
    enum { MAX_PAIRS = 256 };
    size_t count = size / 16 < MAX_PAIRS ? size / 16 : MAX_PAIRS;
    if (core->auxiliary != NULL || count == 0)
        return NULL;
    core->auxiliary = calloc(count, 16);
    if (core->auxiliary == NULL)
        return tg_error_no_memory();
    memcpy(core->auxiliary, bytes, count * 16);
    core->n_auxiliary = count;
    return NULL;
}

static struct tg_error *take_note(struct tg_core_file *core, uint32_t type, const uint8_t *bytes, size_t size)
{
    switch (type) {
    case NT_PRSTATUS:
        return take_thread(core, bytes, size);
    case NT_PRPSINFO:
        take_process(core, bytes, size);
        return NULL;
    case NT_SIGINFO:
        if (core->n_threads <= 1) /* gdb writes one for each thread */
            take_signal(core, bytes, size);
        return NULL;
    case NT_FILE:
        return take_mappings(core, bytes, size);
    case NT_AUXV:
        return take_auxiliary(core, bytes, size);
    default:
        return NULL;
    }
}

/* SIZE bytes with a NUL behind them. */
static struct tg_error *take_notes(struct tg_core_file *core, const uint8_t *bytes, size_t size)
{
    struct tg_error *error = NULL;
    for (size_t at = 0; error == NULL && size - at >= 12;) {
        uint64_t name = ((uint64_t)tg_elf_u32(bytes + at) + 3) & ~(uint64_t)3,
                 content = tg_elf_u32(bytes + at + 4);
        uint32_t type = tg_elf_u32(bytes + at + 8);
        at += 12;
        if (name > size - at || content > size - at - name)
            break;
        bool is_core = tg_elf_u32(bytes + at - 12) == 5 && memcmp(bytes + at, "CORE", 5) == 0;
        at += name;
        if (is_core)
            error = take_note(core, type, bytes + at, content);
        uint64_t whole = (content + 3) & ~(uint64_t)3;
        at += whole < size - at ? whole : size - at;
    }
    return error;
}

static struct tg_error *read_notes(struct tg_core_file *core, const struct tg_elf_segment *segment)
{
    if (core->notes != NULL || segment->offset >= core->size)
        return NULL;
    uint64_t there = core->size - segment->offset;
    uint64_t size = segment->file_size < there ? segment->file_size : there;
    size = size < MAX_NOTE_BYTES ? size : MAX_NOTE_BYTES;
    core->notes = calloc(size + 1, 1);
    if (core->notes == NULL)
        return tg_error_no_memory();
    return take_notes(core, core->notes, tg_memory_file_read(core->fd, segment->offset, core->notes, size));
}

/* ---- segments */

static int compare(const void *a, const void *b)
{
    const struct tg_core_segment *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void take_segment(struct tg_core_file *core, const struct tg_elf_segment *segment)
{
    uint64_t size = segment->file_size,
             there = segment->offset < core->size ? core->size - segment->offset : 0;
    if (size > there) {
        core->missing =
            core->missing > UINT64_MAX - (size - there) ? UINT64_MAX : core->missing + (size - there);
        size = there;
    }
    if (segment->file_size > 0 && segment->file_size <= UINT64_MAX - segment->address)
        core->segments[core->n_segments++] =
            (struct tg_core_segment){segment->address, size, segment->offset, segment->file_size};
}

static struct tg_error *read_segments(struct tg_core_file *core, const struct tg_elf_header *header)
{
    size_t count = count_segments(core, header), size = tg_elf_segment_size(64);
    if (count > MAX_SEGMENTS)
        count = MAX_SEGMENTS;
    if (header->segments_at > core->size || count > (core->size - header->segments_at) / size)
        count = header->segments_at > core->size ? 0 : (size_t)((core->size - header->segments_at) / size);
    uint8_t *bytes = malloc(count * size + 1);
    core->segments = calloc(count + 1, sizeof *core->segments);
    struct tg_error *error = bytes == NULL || core->segments == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL)
        count = tg_memory_file_read(core->fd, header->segments_at, bytes, count * size) / size;
    for (size_t i = 0; error == NULL && i < count; i++) {
        const struct tg_elf_segment segment = tg_elf_segment_decode(64, bytes + i * size);
        if (segment.type == PT_NOTE)
            error = read_notes(core, &segment);
        else if (segment.type == PT_LOAD)
            take_segment(core, &segment);
    }
    if (core->n_segments > 0)
        qsort(core->segments, core->n_segments, sizeof *core->segments, compare);
    free(bytes);
    return error;
}

/* ---- opening */

static struct tg_error *read_core(struct tg_core_file *core)
{
    uint8_t bytes[TG_ELF_HEADER_BYTES];
    struct tg_elf_header header;
    struct stat status;
    if (fstat(core->fd, &status) != 0)
        return tg_error_create_errno(errno, "cannot get its status (stat)");
    core->size = status.st_size > 0 ? (uint64_t)status.st_size : 0;
    if (!S_ISREG(status.st_mode) ||
        !decode_core(bytes, tg_memory_file_read(core->fd, 0, bytes, sizeof bytes), &header))
        return tg_error_create(TG_ERROR_INPUT, "is not a core file");
    if (header.bits != 64 || header.machine != EM_X86_64)
        return tg_error_create(TG_ERROR_INPUT,
                               "is a core file of a 32-bit program or of another machine: only those of "
                               "64-bit x86 programs can be read");
    struct tg_error *error = read_segments(core, &header);
    if (error == NULL && core->n_threads == 0)
        error = tg_error_create(TG_ERROR_INPUT, "has no threads: it is truncated or damaged");
    if (error == NULL && core->pid == 0)
        core->pid = core->threads[0].tid;
    return error;
}

struct tg_error *tg_core_file_read(int fd, struct tg_core_file **result)
{
    struct tg_core_file *core = calloc(1, sizeof *core);
    if (core == NULL) {
        close(fd);
        return tg_error_no_memory();
    }
    core->fd = fd;
    struct tg_error *error = read_core(core);
    if (error != NULL)
        tg_core_file_close(core);
    else
        *result = core;
    return error;
}

struct tg_error *tg_core_file_open(const char *path, struct tg_core_file **core)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? tg_error_create_errno(errno, "cannot be opened") : tg_core_file_read(fd, core);
}

void tg_core_file_close(struct tg_core_file *core)
{
    if (core == NULL)
        return;
    close(core->fd);
    free(core->threads);
    free(core->mappings);
    free(core->auxiliary);
    free(core->segments);
    free(core->notes);
    free(core);
}

bool tg_core_file_is_one(const char *path)
{
    uint8_t bytes[TG_ELF_HEADER_BYTES];
    struct tg_elf_header header;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_core = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                   decode_core(bytes, tg_memory_file_read(fd, 0, bytes, sizeof bytes), &header);
    if (fd >= 0)
        close(fd);
    return is_core;
}

/* ---- memory */

size_t tg_core_file_memory(const struct tg_core_file *core, uint64_t address, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        uint64_t at = address + done;
        size_t i = TG_PARTITION_POINT(core->n_segments, k, core->segments[k].start <= at);
        const struct tg_core_segment *segment = i > 0 ? &core->segments[i - 1] : NULL;
        if (at < address || segment == NULL || at - segment->start >= segment->size)
            break;
        uint64_t inside = at - segment->start, part = segment->size - inside;
        part = part < size - done ? part : size - done;
        size_t n =
            tg_memory_file_read(core->fd, segment->offset + inside, (char *)buffer + done, (size_t)part);
        done += n;
        if (n < part)
            break;
    }
    return done;
}

bool tg_core_file_is_cut(const struct tg_core_file *core, uint64_t address)
{
    size_t i = TG_PARTITION_POINT(core->n_segments, k, core->segments[k].start <= address);
    const struct tg_core_segment *segment = i > 0 ? &core->segments[i - 1] : NULL;
    return segment != NULL && address - segment->start >= segment->size &&
           address - segment->start < segment->whole;
}

uint64_t tg_core_file_auxiliary(const struct tg_core_file *core, uint64_t type)
{
    for (size_t i = 0; i < core->n_auxiliary; i++)
        if (core->auxiliary[2 * i] == type)
            return core->auxiliary[2 * i + 1];
    return 0;
}

/* ---- environment */

/* The first word of the auxiliary vector on the stack, in the BYTES below the strings: the kernel's own order. */
static size_t find_vector(const struct tg_core_file *core, const uint64_t *words, size_t count)
{
    size_t n = core->n_auxiliary * 2;
    for (size_t i = count; n > 0 && i-- > 0;)
        if (words[i] == core->auxiliary[0] && count - i >= n &&
            memcmp(words + i, core->auxiliary, n * 8) == 0)
            return i;
    return SIZE_MAX;
}

/* The strings from START to END. */
static char *read_strings(const struct tg_core_file *core, uint64_t start, uint64_t end, size_t *size)
{
    enum { MAX_BYTES = 16 << 20 };
    if (end <= start || end - start > MAX_BYTES)
        return NULL;
    char *text = malloc(end - start);
    *size = text == NULL ? 0 : tg_core_file_memory(core, start, text, end - start);
    if (*size == 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *tg_core_file_environment(const struct tg_core_file *core, size_t *size)
{
    enum { WORD_BYTES = 1 << 20 };
    uint64_t random = tg_core_file_auxiliary(core, AT_RANDOM), name = tg_core_file_auxiliary(core, AT_EXECFN);
    uint64_t end = (random & ~(uint64_t)7) + 16, start = end > WORD_BYTES ? end - WORD_BYTES : 0;
    uint64_t *words = random == 0 ? NULL : malloc(WORD_BYTES);
    char *text = NULL;
    size_t n = 0;
    for (; words != NULL && start < end && n == 0; start += 4096) /* where the stack begins */
        n = tg_core_file_memory(core, start, words, end - start) / 8;
    size_t vector = n > 0 ? find_vector(core, words, n) : SIZE_MAX, first = vector;
    if (vector != SIZE_MAX && vector > 1 && words[vector - 1] == 0)
        for (first = vector - 1; first > 0 && words[first - 1] != 0;)
            first--;
    if (vector != SIZE_MAX && first < vector - 1 && first > 0)
        text = read_strings(core, words[first], name, size);
    free(words);
    return text;
}
