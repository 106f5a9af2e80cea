#include "recorder/stacks/critical_sections.h"

#include "format/base/array.h"
#include "recorder/dwarf/function_range.h"
#include "recorder/stacks/call_target.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_CODE_BYTES = 64 * 1024,  /* of a function */
    MAX_ALL_BYTES = 1024 * 1024, /* of a process */
    MAX_CALLEES = 4096,
    MAX_PLACES = 512,
    UNNAMED = 1, /* locks of the runtime's own, which programs do not name */
    ATOMIC = 2,
};

struct tg_critical_memo {
    struct {
        uint64_t address; /* 0: free */
        struct tg_critical_call is;
    } callees[MAX_CALLEES];
    struct {
        uint64_t pc;
        struct tg_critical_place is;
    } places[MAX_PLACES];
};

/* LLVM's runtime has GCC's functions as well, named __kmp_api_... A version (@VERSION) or "@plt" may follow the name. */
static bool is_function(const char *name, const char *function)
{
    enum { PREFIX = 10 }; /* "__kmp_api_" */
    size_t size = strlen(function);
    if (strncmp(name, "__kmp_api_", PREFIX) == 0)
        name += PREFIX;
    return strncmp(name, function, size) == 0 && (name[size] == '\0' || name[size] == '@');
}

static struct tg_critical_call call_by_name(const char *name)
{
    static const struct {
        const char *name;
        struct tg_critical_call is;
    } functions[] = {{"__kmpc_critical", {TG_CRITICAL_BEGINS, TG_RDX, 0}},
                     {"__kmpc_critical_with_hint", {TG_CRITICAL_BEGINS, TG_RDX, 0}},
                     {"__kmpc_end_critical", {TG_CRITICAL_ENDS, TG_RDX, 0}},
                     {"GOMP_critical_start", {TG_CRITICAL_BEGINS, -1, UNNAMED}},
                     {"GOMP_critical_end", {TG_CRITICAL_ENDS, -1, UNNAMED}},
                     {"GOMP_critical_name_start", {TG_CRITICAL_BEGINS, TG_RDI, 0}},
                     {"GOMP_critical_name_end", {TG_CRITICAL_ENDS, TG_RDI, 0}},
                     {"GOMP_atomic_start", {TG_CRITICAL_BEGINS, -1, ATOMIC}},
                     {"GOMP_atomic_end", {TG_CRITICAL_ENDS, -1, ATOMIC}}};
    static const char *const last[] = {"abort",          "exit",         "_exit",         "_Exit",
                                       "quick_exit",     "pthread_exit", "__assert_fail", "__stack_chk_fail",
                                       "__chk_fail",     "longjmp",      "siglongjmp",    "__longjmp_chk",
                                       "_Unwind_Resume", "__cxa_throw",  "__cxa_rethrow", "__cxa_bad_cast",
                                       "_ZSt9terminatev"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_function(name, functions[i].name))
            return functions[i].is;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (is_function(name, last[i]))
            return (struct tg_critical_call){TG_CRITICAL_NEVER_RETURNS, -1, 0};
    return (struct tg_critical_call){TG_CRITICAL_OTHER, -1, 0};
}

/* An entry in the procedure linkage table has its function's name, also before the first call has bound it. */
static struct tg_critical_call call_at(const struct tg_stack_process *process, uint64_t target)
{
    const char *name;
    uint64_t offset;
    return tg_modules_symbol_at(process->modules, target, &name, &offset) && offset == 0
               ? call_by_name(name)
               : (struct tg_critical_call){TG_CRITICAL_OTHER, -1, 0};
}

static struct tg_critical_call find_call(void *context, uint64_t target)
{
    struct tg_criticals *criticals = context;
    size_t at = (size_t)(target * 0x9e3779b97f4a7c15u >> 52) % MAX_CALLEES;
    for (size_t n = 0; n < 8; n++, at = (at + 1) % MAX_CALLEES) {
        if (criticals->memos->callees[at].address == target)
            return criticals->memos->callees[at].is;
        if (criticals->memos->callees[at].address == 0)
            break;
    }
    criticals->memos->callees[at].address = target;
    criticals->memos->callees[at].is = call_at(criticals->process, target);
    return criticals->memos->callees[at].is;
}

/* ---- places */

/* As much of SIZE bytes from START on as is there: what is taken for the end of an object's last function lies behind its
 * code. */
static size_t read_code(const struct tg_criticals *criticals, uint64_t start, uint8_t *code, size_t size)
{
    size_t done = 0, part = 4096;
    while (done < size && part > 0) {
        size_t wanted = part < size - done ? part : size - done;
        if (criticals->memory->read(criticals->memory->context, start + done, code + done, wanted))
            done += wanted;
        else
            part /= 2;
    }
    return done;
}

/* What holds at the instruction with byte PC, which is in the program's own code or a library's. */
static void read_place(struct tg_criticals *criticals, uint64_t pc, struct tg_critical_place *place)
{
    uint64_t bias;
    struct tg_function_range range;
    const struct tg_critical_calls calls = {criticals, find_call};
    struct tg_debug_info *info = tg_modules_debug_info_at(criticals->process->modules, pc, &bias);
    *place = (struct tg_critical_place){0};
    if (info == NULL ||
        !tg_function_range_find(tg_image_object(tg_debug_info_image(info)), pc - bias, &range))
        return;
    uint64_t start = range.start + bias;
    size_t size = range.end - range.start < MAX_CODE_BYTES ? range.end - range.start : MAX_CODE_BYTES;
    uint8_t *code = criticals->n_bytes < MAX_ALL_BYTES ? malloc(size) : NULL;
    size = code != NULL ? read_code(criticals, start, code, size) : 0;
    criticals->n_bytes += size;
    if (pc - start < size)
        tg_critical_code_read(code, size, start, &calls, criticals->memory, pc, place);
    free(code);
}

static const struct tg_critical_place *find_place(struct tg_criticals *criticals, uint64_t pc)
{
    static const struct tg_critical_place nowhere;
    for (size_t i = 0; i < criticals->n_places; i++)
        if (criticals->memos->places[i].pc == pc)
            return &criticals->memos->places[i].is;
    if (criticals->n_places == MAX_PLACES)
        return &nowhere;
    size_t at = criticals->n_places++;
    criticals->memos->places[at].pc = pc;
    read_place(criticals, pc, &criticals->memos->places[at].is);
    return &criticals->memos->places[at].is;
}

/* ---- threads */

/* Whether frame INDEX called the library that waits, and does not run itself. */
static bool is_caller(const struct tg_call_stack *stack, size_t index)
{
    return index > 0 && stack->frames[index].kind == TG_FRAME_CODE &&
           stack->frames[index - 1].kind == TG_FRAME_CODE;
}

static bool is_file(const char *module, const char *beginning)
{
    const char *slash = strrchr(module, '/');
    return slash != NULL && strncmp(slash + 1, beginning, strlen(beginning)) == 0;
}

/* Whether MODULE has the functions for critical sections: a runtime, or our agent, which stands before it. */
static bool is_runtime(const char *module)
{
    return tg_kmp_is_runtime(module) || is_file(module, "libgomp.") ||
           strstr(module, "tollgate-agent") != NULL;
}

/* Where the frames that are certain end. */
static size_t count_certain(const struct tg_call_stack *stack)
{
    size_t n = 0;
    while (n < stack->count && (n == 0 || !stack->frames[n - 1].guessed))
        n++;
    return n;
}

bool tg_critical_is_awaited(const struct tg_stack_process *process, const struct tg_inspect_memory *memory,
                            const struct tg_call_stack *stack)
{
    enum { MAX_DEPTH = 16 }; /* of a runtime that waits */
    size_t count = count_certain(stack);
    for (size_t i = 1; process->modules != NULL && i < count && i < MAX_DEPTH; i++) {
        uint64_t target =
            is_caller(stack, i) ? tg_call_target_find(process->modules, memory, stack->frames[i].pc) : 0;
        if (target != 0 && call_at(process, target).what == TG_CRITICAL_BEGINS)
            return true;
    }
    return false;
}

void tg_criticals_begin(const struct tg_stack_process *process, const struct tg_inspect_memory *memory,
                        struct tg_criticals *criticals)
{
    *criticals = (struct tg_criticals){
        .process = process, .memory = memory, .memos = calloc(1, sizeof *criticals->memos)};
}

void tg_criticals_end(struct tg_criticals *criticals)
{
    free(criticals->memos);
    *criticals = (struct tg_criticals){0};
}

void tg_critical_thread_init(struct tg_criticals *criticals, const struct tg_call_stack *stack,
                             struct tg_critical_thread *thread)
{
    size_t count = count_certain(stack), capacity = 0;
    *thread = (struct tg_critical_thread){0};
    for (size_t i = 0; criticals->memos != NULL && criticals->process->modules != NULL && i < count; i++) {
        const struct tg_stack_frame *frame = &stack->frames[i];
        if (frame->kind != TG_FRAME_CODE || is_runtime(frame->module) || is_file(frame->module, "libc."))
            continue;
        const struct tg_critical_place *place = find_place(criticals, frame->pc - is_caller(stack, i));
        if (place->lock != 0 && thread->wanted == 0 && is_caller(stack, i))
            thread->wanted = place->lock;
        for (size_t k = 0; k < place->n_held; k++)
            tg_error_destroy(TG_ARRAY_APPEND(thread->held, thread->n_held, capacity, place->held[k]));
    }
}

void tg_critical_thread_deinit(struct tg_critical_thread *thread)
{
    free(thread->held);
    *thread = (struct tg_critical_thread){0};
}

size_t tg_critical_owner(const struct tg_critical_thread *threads, size_t count, size_t index)
{
    size_t owner = SIZE_MAX;
    for (size_t i = 0; threads[index].wanted != 0 && i < count; i++) {
        bool has = false;
        for (size_t k = 0; k < threads[i].n_held; k++)
            has |= threads[i].held[k] == threads[index].wanted;
        if (has && owner != SIZE_MAX) /* one of them is misread */
            return SIZE_MAX;
        if (has)
            owner = i;
    }
    return owner;
}

void tg_critical_wait_make(const struct tg_critical_thread *thread, pid_t owner, struct tg_wait *wait)
{
    wait->is =
        (struct tg_event_thread_wait){.what = TG_WAIT_MUTEX, .address = thread->wanted, .owner = owner};
    wait->inode = 0;
    wait->child = 0;
}
