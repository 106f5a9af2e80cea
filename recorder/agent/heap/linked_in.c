#include "recorder/agent/heap/linked_in.h"

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/heap/walk.h"
#include "recorder/agent/next.h"
#include "recorder/agent/record.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

enum {
    OPERATORS = 32,  /* there are 20 */
    DEPTH = 4,       /* calls from malloc to who called an operator, at most: new[](nothrow), new[], new */
    CALL_BYTES = 5,  /* E8, and how far the function is */
    NAME_BYTES = 64, /* no name of an operator is longer */
    SEGMENTS = 16,
    MOST_SYMBOLS = 1 << 22,
};

struct operator_code {
    uintptr_t start, end;
    bool is_delete, is_array;
};

bool tg_heap_linked_in;

static struct {
    struct operator_code items[OPERATORS];
    unsigned count;
    uintptr_t get_new_handler; /* only libstdc++'s own operator new has a reason to call it */
    struct {
        uintptr_t start, size;
    } segments[SEGMENTS]; /* of the program */
    unsigned n_segments;
} linked;

extern void tg_heap_own_free(void *block) __attribute__((visibility("hidden")));

/* ---- code */

static bool has(uintptr_t address, size_t bytes)
{
    for (unsigned i = 0; i < linked.n_segments; i++) {
        uintptr_t offset = address - linked.segments[i].start;
        if (offset < linked.segments[i].size && bytes <= linked.segments[i].size - offset)
            return true;
    }
    return false;
}

/* BYTES at ADDRESS, as a number; 0 where that is not in the program. */
static uint64_t code(uintptr_t address, unsigned bytes)
{
    uint64_t value = 0;
    if (has(address, bytes))
        __builtin_memcpy(&value, (const void *)address, bytes); // NOLINT: an address
    return value;
}

/* Where the jump, call or word leads to whose distance is at ADDRESS. */
static uintptr_t target_of(uintptr_t address)
{
    return address + 4 + (uintptr_t)(intptr_t)(int32_t)code(address, 4);
}

/* The function that ADDRESS, in the program's table of calls into libraries, jumps to; 0: it is no such place. */
static uintptr_t through_table(uintptr_t address)
{
    if (code(address, 4) == 0xfa1e0ff3) /* endbr64 */
        address += 4;
    if (code(address, 1) == 0xf2) /* bnd */
        address++;
    return code(address, 2) == 0x25ff ? code(target_of(address + 2), sizeof(uintptr_t)) : 0;
}

/* What the call in front of the return address CALLER has called; 0: nobody knows. */
static uintptr_t called_before(uintptr_t caller)
{
    if (code(caller - CALL_BYTES, 1) == 0xe8) {
        uintptr_t target = target_of(caller - 4), function = through_table(target);
        return function != 0 ? function : target;
    }
    if (code(caller - 6, 2) == 0x15ff) /* by way of the table's word itself */
        return code(target_of(caller - 4), sizeof(uintptr_t));
    return 0;
}

static const struct operator_code *find_around(uintptr_t address)
{
    for (unsigned i = 0; i < linked.count; i++)
        if (address - linked.items[i].start < linked.items[i].end - linked.items[i].start)
            return &linked.items[i];
    return NULL;
}

static const struct operator_code *find_at(uintptr_t address)
{
    const struct operator_code *found = find_around(address);
    return found != NULL && found->start == address ? found : NULL;
}

/* ---- calls */

static enum tg_heap_linked_in_form form_of(const struct operator_code *found)
{
    return found->is_array ? TG_HEAP_LINKED_IN_ARRAY : TG_HEAP_LINKED_IN_ONE;
}

/* CALLERS are return addresses, the innermost of which is in an operator. The first one that is in none has called the outermost
 * of them. */
static enum tg_heap_linked_in_form form_by(const uint64_t *callers, size_t count, bool is_delete)
{
    for (size_t i = 1; i < count; i++) {
        if (find_around(callers[i] - 1) != NULL)
            continue;
        const struct operator_code *called = find_at(called_before(callers[i]));
        return called != NULL && called->is_delete == is_delete ? form_of(called) : TG_HEAP_LINKED_IN_EITHER;
    }
    return TG_HEAP_LINKED_IN_EITHER;
}

enum tg_heap_linked_in_form tg_heap_linked_in_new(const void *frame)
{
    uintptr_t caller = ((const uintptr_t *)frame)[1];
    const struct operator_code *around = find_around(caller - 1);
    if (around == NULL || around->is_delete)
        return TG_HEAP_LINKED_IN_NONE;
    uint64_t callers[DEPTH];
    enum tg_stack_end end;
    return form_by(callers, tg_heap_walk(frame, tg_agent_unloads(), callers, DEPTH, &end), false);
}

enum tg_heap_linked_in_form tg_heap_linked_in_delete(const void *frame)
{
    uintptr_t caller = ((const uintptr_t *)frame)[1];
    const struct operator_code *around = find_around(caller - 1);
    if (around != NULL && around->is_delete) {
        uint64_t callers[DEPTH];
        enum tg_stack_end end;
        return form_by(callers, tg_heap_walk(frame, tg_agent_unloads(), callers, DEPTH, &end), true);
    }
    uintptr_t called = called_before(caller);
    const struct operator_code *operator_called = find_at(called);
    if (operator_called != NULL)
        return operator_called->is_delete ? form_of(operator_called) : TG_HEAP_LINKED_IN_UNKNOWN;
    return called == (uintptr_t)&tg_heap_own_free ? TG_HEAP_LINKED_IN_NONE : TG_HEAP_LINKED_IN_UNKNOWN;
}

bool tg_heap_linked_in_is_near(uintptr_t caller)
{
    struct dl_find_object object, libc;
    return has(caller, 1) || (_dl_find_object((void *)caller, &object) == 0 && // NOLINT: an address
                              _dl_find_object((void *)(uintptr_t)__errno_location, &libc) == 0 &&
                              object.dlfo_link_map == libc.dlfo_link_map);
}

/* ---- symbols */

static bool read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    return tg_raw_call(SYS_pread64, fd, (long)buffer, (long)size, (long)offset, 0, 0) == (long)size;
}

static bool is_same(const char *one, const char *other)
{
    for (; *one != '\0' && *one == *other; one++)
        other++;
    return *one == *other;
}

/* Bytes [OFFSET, OFFSET + SIZE) of FD, mapped; *START and *MAPPED are what is to be unmapped. */
static const void *map_part(int fd, uint64_t offset, uint64_t size, uintptr_t *start, size_t *mapped)
{
    uint64_t page = offset & ~UINT64_C(4095);
    *mapped = (size_t)(offset - page + size);
    long result = tg_raw_call(SYS_mmap, 0, (long)*mapped, PROT_READ, MAP_PRIVATE, fd, (long)page);
    *start = result < 0 && result > -4096 ? 0 : (uintptr_t)result;
    return *start == 0 ? NULL : (const void *)(*start + (uintptr_t)(offset - page)); // NOLINT: an address
}

static void take(const char *name, uintptr_t address, uint64_t size)
{
    bool is_delete = name[2] == 'd';
    if (is_same(name, "_ZSt15get_new_handlerv"))
        linked.get_new_handler = address;
    if (name[1] != 'Z' || (name[2] != 'n' && !is_delete) || size == 0 || linked.count == OPERATORS)
        return;
    bool is_operator = is_delete ? (name[3] == 'l' || name[3] == 'a') && name[4] == 'P' && name[5] == 'v'
                                 : (name[3] == 'w' || name[3] == 'a') && name[4] == 'm';
    const char *rest = name + (is_delete ? 6 : 5);
    if (is_operator && is_delete && *rest == 'm')
        rest++;
    static const char *const endings[] = {"", "RKSt9nothrow_t", "St11align_val_t",
                                          "St11align_val_tRKSt9nothrow_t"};
    for (unsigned i = 0; is_operator && i < sizeof endings / sizeof endings[0]; i++)
        if (is_same(rest, endings[i])) {
            linked.items[linked.count++] =
                (struct operator_code){address, address + size, is_delete, name[3] == 'a'};
            return;
        }
}

/* The name of SYMBOL, a function of the object that NAMES, NAMES_SIZE bytes of them, are of; "": it is none. */
static const char *function_name(const Elf64_Sym *symbol, const char *names, uint64_t names_size)
{
    bool is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
                       symbol->st_name + NAME_BYTES <= names_size;
    return is_function ? names + symbol->st_name : "";
}

/* The operators among the COUNT SYMBOLS of an object of load bias BASE. None where the linker has folded them with other
 * functions of the same code, which are then called by their address. */
static void look_through(const Elf64_Sym *symbols, uint64_t count, const char *names, uint64_t names_size,
                         uintptr_t base)
{
    for (uint64_t i = 0; i < count; i++) {
        const char *name = function_name(&symbols[i], names, names_size);
        if (name[0] == '_' && name[1] == 'Z' && (name[2] == 'n' || name[2] == 'd' || name[2] == 'S'))
            take(name, base + symbols[i].st_value, symbols[i].st_size);
    }
    for (uint64_t i = 0; linked.count > 0 && i < count; i++) {
        const char *name = function_name(&symbols[i], names, names_size);
        if (name[0] != '\0' && find_at(base + symbols[i].st_value) != NULL &&
            !(name[0] == '_' && name[1] == 'Z' && (name[2] == 'n' || name[2] == 'd')))
            linked.count = 0;
    }
}

static void read_symbols(int fd, uintptr_t base)
{
    Elf64_Ehdr header;
    Elf64_Shdr section, strings;
    if (!read_at(fd, &header, sizeof header, 0) || header.e_shentsize != sizeof section)
        return;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        if (!read_at(fd, &section, sizeof section, header.e_shoff + i * sizeof section))
            return;
        if (section.sh_type != SHT_SYMTAB)
            continue;
        uint64_t count = section.sh_size / sizeof(Elf64_Sym);
        if (count > MOST_SYMBOLS ||
            !read_at(fd, &strings, sizeof strings, header.e_shoff + section.sh_link * sizeof strings))
            return;
        uintptr_t starts[2];
        size_t mapped[2];
        const Elf64_Sym *symbols = map_part(fd, section.sh_offset, section.sh_size, &starts[0], &mapped[0]);
        const char *names = map_part(fd, strings.sh_offset, strings.sh_size, &starts[1], &mapped[1]);
        if (symbols != NULL && names != NULL)
            look_through(symbols, count, names, strings.sh_size, base);
        for (unsigned k = 0; k < 2; k++)
            if (starts[k] != 0)
                tg_raw_unmap((void *)starts[k], mapped[k]); // NOLINT: an address
        return;
    }
}

/* Whether an operator new of these asks for the new handler, which libstdc++'s does where there is no memory, and each delete is
 * nothing but a jump: those of others may be compiled into who calls them. */
static bool are_libraries(void)
{
    bool asks = false;
    for (unsigned i = 0; i < linked.count; i++) {
        const struct operator_code *one = &linked.items[i];
        if (one->is_delete) {
            uintptr_t at = one->start + (code(one->start, 4) == 0xfa1e0ff3 ? 4 : 0);
            if (code(at, 1) != 0xe9)
                return false;
            continue;
        }
        for (uintptr_t at = one->start; at + CALL_BYTES <= one->end; at++)
            asks |= linked.get_new_handler != 0 && code(at, 1) == 0xe8 &&
                    target_of(at + 1) == linked.get_new_handler;
    }
    return asks;
}

static int look_at_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (unsigned i = 0; i < info->dlpi_phnum && linked.n_segments < SEGMENTS; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_R) == 0)
            continue;
        linked.segments[linked.n_segments].start = info->dlpi_addr + segment->p_vaddr;
        linked.segments[linked.n_segments++].size = segment->p_memsz;
    }
    int fd = tg_raw_open_at(AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        read_symbols(fd, info->dlpi_addr);
        tg_raw_close(fd);
    }
    return 1; /* the program is the first one */
}

void tg_heap_linked_in_prepare(void)
{
    if (tg_agent.no_calls)
        return;
    dl_iterate_phdr(look_at_program, NULL);
    if (linked.count > 0 && are_libraries())
        __atomic_store_n(&tg_heap_linked_in, true, __ATOMIC_RELEASE);
}
