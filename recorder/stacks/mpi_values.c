#include "recorder/stacks/mpi_values.h"

#include "recorder/stacks/call_arguments.h"
#include "recorder/stacks/call_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NONE = -1 };

/* Arguments of a function, from 0: which is what; in Fortran likewise. */
static const struct tg_mpi_shape shapes[] = {
    {"send", "dest", 1, 3, 4, 5, NONE, NONE},
    {"ssend", "dest", 1, 3, 4, 5, NONE, NONE},
    {"bsend", "dest", 1, 3, 4, 5, NONE, NONE},
    {"rsend", "dest", 1, 3, 4, 5, NONE, NONE},
    {"recv", "source", 1, 3, 4, 5, NONE, NONE},
    {"mprobe", "source", NONE, 0, 1, 2, NONE, NONE},
    {"probe", "source", NONE, 0, 1, 2, NONE, NONE},
    {"sendrecv", "dest", 1, 3, 4, 10, 8, 9},
    {"sendrecv_replace", "dest", 1, 3, 4, 7, 5, 6},
    {"bcast", "root", 1, 3, NONE, 4, NONE, NONE},
    {"reduce", "root", 2, 5, NONE, 6, NONE, NONE},
    {"allreduce", "", 2, NONE, NONE, 5, NONE, NONE},
    {"scan", "", 2, NONE, NONE, 5, NONE, NONE},
    {"exscan", "", 2, NONE, NONE, 5, NONE, NONE},
    {"barrier", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"gather", "root", 1, 6, NONE, 7, NONE, NONE},
    {"gatherv", "root", 1, 7, NONE, 8, NONE, NONE},
    {"scatter", "root", 1, 6, NONE, 7, NONE, NONE},
    {"scatterv", "root", NONE, 7, NONE, 8, NONE, NONE},
    {"allgather", "", 1, NONE, NONE, 6, NONE, NONE},
    {"allgatherv", "", 1, NONE, NONE, 7, NONE, NONE},
    {"alltoall", "", 1, NONE, NONE, 6, NONE, NONE},
    {"alltoallv", "", NONE, NONE, NONE, 8, NONE, NONE},
    {"comm_dup", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"comm_split", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"comm_create", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"reduce_scatter", "", NONE, NONE, NONE, 5, NONE, NONE},
    {"reduce_scatter_block", "", 2, NONE, NONE, 5, NONE, NONE},
    {"alltoallw", "", NONE, NONE, NONE, 8, NONE, NONE},
    {"comm_split_type", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"comm_dup_with_info", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"cart_create", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"cart_sub", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"graph_create", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"win_create", "", NONE, NONE, NONE, 4, NONE, NONE},
    {"win_allocate", "", NONE, NONE, NONE, 3, NONE, NONE},
    {"win_allocate_shared", "", NONE, NONE, NONE, 3, NONE, NONE},
    {"win_fence", "", NONE, NONE, NONE, 1, NONE, NONE}, /* of a window */
    {"file_open", "", NONE, NONE, NONE, 0, NONE, NONE},
    {"wait", "", NONE, NONE, NONE, NONE, NONE, NONE},
    {"waitall", "", 0, NONE, NONE, NONE, NONE, NONE},
    {"waitany", "", 0, NONE, NONE, NONE, NONE, NONE},
    {"waitsome", "", 0, NONE, NONE, NONE, NONE, NONE},
};

/* ---- the call */

static bool is_mpi(const char *module)
{
    static const char *const names[] = {"libmpi.so",    "libmpi_",    "libmpich.so",
                                        "libmpichfort", "libmpifort", "libpmpi"};
    const char *slash = strrchr(module, '/');
    for (size_t i = 0; slash != NULL && i < sizeof names / sizeof *names; i++)
        if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

size_t tg_mpi_entry_find(const struct tg_call_stack *stack)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i + 1 < stack->count; i++) {
        const struct tg_stack_frame *frame = &stack->frames[i], *caller = &stack->frames[i + 1];
        if (frame->kind == TG_FRAME_CODE && is_mpi(frame->module) && caller->kind == TG_FRAME_CODE &&
            !frame->guessed && !is_mpi(caller->module))
            found = i;
    }
    return found;
}

/* Where the library jumped from that function, nobody returns to it. */
uint64_t tg_mpi_entry_place(const struct tg_call_stack *stack, size_t entry)
{
    return stack->frames[entry].pc - (entry > 0 && !stack->unwound[entry].is_activation);
}

/* ---- names */

static const char *const FORTRAN_ENDS[] = {"_f08ts", "_f08", "_f"};
enum { FORTRAN_END_COUNT = sizeof FORTRAN_ENDS / sizeof *FORTRAN_ENDS };

static const char *without_profiling(const char *function)
{
    return *function == 'P' || *function == 'p' ? function + 1 : function;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t n = strlen(end);
    return length > n && strncmp(text + length - n, end, n) == 0;
}

bool tg_mpi_is_of_fortran(const char *function)
{
    const char *name = without_profiling(function);
    bool is_upper = strncmp(name, "MPI_", 4) == 0 && strlen(name) > 5, is_ended = false;
    for (const char *at = name; *at != '\0'; at++)
        is_upper &= *at < 'a' || *at > 'z';
    for (size_t i = 0; i < FORTRAN_END_COUNT; i++)
        is_ended |= ends_with(name, strlen(name), FORTRAN_ENDS[i]);
    return *name == 'm' || is_upper || is_ended;
}

/* Fortran's arguments are addresses. */
static const struct tg_mpi_shape *shape_of(const char *function, bool *is_fortran)
{
    const char *name = without_profiling(function);
    if (strncasecmp(name, "mpi_", 4) != 0)
        return NULL;
    *is_fortran = tg_mpi_is_of_fortran(function);
    name += 4;
    size_t length = strlen(name);
    while (*is_fortran && length > 0 && name[length - 1] == '_')
        length--;
    for (size_t i = 0; *is_fortran && i < FORTRAN_END_COUNT; i++)
        if (ends_with(name, length, FORTRAN_ENDS[i]))
            length -= strlen(FORTRAN_ENDS[i]);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strlen(shapes[i].name) == length && strncasecmp(name, shapes[i].name, length) == 0)
            return &shapes[i];
    return NULL;
}

size_t tg_mpi_inner_find(struct tg_modules *modules, const struct tg_call_stack *stack, size_t entry,
                         const struct tg_mpi_shape *shape)
{
    const char *name;
    uint64_t offset;
    for (size_t i = entry; i-- > 0 && is_mpi(stack->frames[i].module);) {
        bool is_fortran = true;
        if (tg_modules_symbol_at(modules, stack->frames[i].pc - (i > 0), &name, &offset) &&
            shape_of(name, &is_fortran) == shape && !is_fortran)
            return i;
    }
    return SIZE_MAX;
}

static uint16_t wanted(const struct tg_mpi_shape *shape)
{
    const int8_t all[] = {shape->count, shape->peer,   shape->tag,
                          shape->comm,  shape->source, shape->receive_tag};
    uint16_t bits = 0;
    if (shape->count != NONE && shape->tag != NONE) /* the type of a message */
        bits |= (uint16_t)(1u << (shape->count + 1));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != NONE)
            bits |= (uint16_t)(1u << all[i]);
    return bits;
}

/* ---- values */

struct finding {
    const struct tg_inspect_memory *memory;
    struct tg_call_arguments arguments;
    bool is_fortran, is_mpich;
    uint64_t world, self; /* addresses of Open MPI's communicators, 0 unknown */
    struct tg_mpi_values *values;
    const struct finding *inner; /* of C's function that Fortran's one calls, NULL none */
};

/* Value of argument INDEX, of Fortran what it points to. */
static bool get_own(const struct finding *finding, int index, uint64_t *value)
{
    int32_t number;
    if (index == NONE || (finding->arguments.known >> index & 1) == 0)
        return false;
    *value = finding->arguments.value[index];
    if (!finding->is_fortran)
        return true;
    if (!finding->memory->read(finding->memory->context, *value, &number, sizeof number))
        return false;
    *value = (uint64_t)(int64_t)number;
    return true;
}

static bool get(const struct finding *finding, int index, uint64_t *value)
{
    return get_own(finding, index, value) ||
           (finding->inner != NULL && get_own(finding->inner, index, value));
}

void tg_mpi_values_add(struct tg_mpi_values *values, const char *name, int64_t number, const char *text)
{
    char *copy = values->texts[values->count];
    snprintf(copy, sizeof values->texts[0], "%s", text);
    values->values[values->count++] = (struct tg_call_value){.name = name, .value = number, .text = copy};
}

static void add(struct finding *finding, const char *name, int64_t number, const char *text)
{
    tg_mpi_values_add(finding->values, name, number, text);
}

static void add_number(struct finding *finding, const char *name, int index, const char *of_minus_1,
                       const char *of_minus_2)
{
    uint64_t value;
    char text[24];
    if (!get(finding, index, &value))
        return;
    int32_t number = (int32_t)value;
    snprintf(text, sizeof text, "%" PRId32, number);
    add(finding, name, number,
        number == -1 && of_minus_1 != NULL   ? of_minus_1
        : number == -2 && of_minus_2 != NULL ? of_minus_2
                                             : text);
}

/* Only those that every job has: others have no name that could be read, and get "". NULL: it may be one of these. */
static const char *comm_name(const struct finding *finding, uint64_t value)
{
    enum { MPICH_WORLD = 0x44000000, MPICH_SELF };
    bool has_numbers = finding->is_mpich || finding->is_fortran;
    uint64_t world = finding->is_mpich ? MPICH_WORLD : finding->is_fortran ? 0 : finding->world;
    uint64_t self = finding->is_mpich ? MPICH_SELF : finding->is_fortran ? 1 : finding->self;
    if (has_numbers)
        value = (uint32_t)value;
    if ((has_numbers || world != 0) && value == world)
        return "MPI_COMM_WORLD";
    if ((has_numbers || self != 0) && value == self)
        return "MPI_COMM_SELF";
    return has_numbers || (world != 0 && self != 0) ? "" : NULL;
}

/* Types that the library brings along: others may be of any size. */
static bool is_basic_type(const struct finding *finding, struct tg_modules *modules, int index)
{
    enum { MPICH_BASIC = 0x4c, OPEN_MPI_BASIC = 64 /* of Fortran */ };
    uint64_t value;
    if (finding->is_mpich)
        return get(finding, index, &value) && (uint32_t)value >> 24 == MPICH_BASIC;
    if (finding->is_fortran && get_own(finding, index, &value))
        return (uint32_t)value < OPEN_MPI_BASIC;
    return get(finding, index, &value) && tg_modules_find(modules, value) != NULL;
}

/* A message whose length is known to be small, or of which only the beginning is waited for. */
static void add_small(struct finding *finding, struct tg_modules *modules, const struct tg_mpi_shape *shape)
{
    enum { SMALL = 4096 };
    static const char *const names[] = {"send", "ssend", "recv"};
    uint64_t count;
    bool is_small = strcmp(shape->name, "probe") == 0 || strcmp(shape->name, "mprobe") == 0;
    for (size_t i = 0; !is_small && i < sizeof names / sizeof *names; i++)
        is_small = strcmp(shape->name, names[i]) == 0 && get(finding, shape->count, &count) &&
                   (uint32_t)count <= SMALL && is_basic_type(finding, modules, shape->count + 1);
    if (is_small)
        add(finding, "small", 1, "");
}

static void add_comm(struct finding *finding, int index)
{
    uint64_t value;
    const struct finding *from = get_own(finding, index, &value) ? finding : finding->inner;
    const char *name = from != NULL && get_own(from, index, &value) ? comm_name(from, value) : NULL;
    if (name != NULL)
        add(finding, "comm", (int64_t)value, name);
}

/* The variable where the process has it: a program that is not position-independent has a copy of its own. */
static uint64_t find_variable(struct tg_modules *modules, const char *name)
{
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        uint64_t bias;
        struct tg_debug_info *info =
            i == 0 || is_mpi(module->path) ? tg_modules_debug_info(modules, module, &bias) : NULL;
        uint64_t address = info == NULL ? 0 : tg_debug_info_variable(info, name);
        if (address != 0)
            return address + bias;
    }
    return 0;
}

/* What the callers hold in registers and on the stack: where that is as it was, no loop has gone round. */
static uint64_t hash_state(const struct tg_inspect_memory *memory, const struct tg_frame *caller)
{
    enum { STACK_BYTES = 8192, PAGE = 4096 };
    static const enum tg_register kept[] = {TG_RBX, TG_RBP, TG_RSP, TG_R12, TG_R13, TG_R14, TG_R15, TG_RIP};
    uint8_t stack[STACK_BYTES];
    uint64_t hash = 1469598103934665603u, at = caller->registers.value[TG_RSP]; /* FNV-1a */
    size_t size = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (tg_registers_has(&caller->registers, kept[i]))
            hash = (hash ^ caller->registers.value[kept[i]]) * 1099511628211u;
    while (size < sizeof stack) { /* by pages: the stack may end */
        size_t part = PAGE - (at + size) % PAGE;
        part = part < sizeof stack - size ? part : sizeof stack - size;
        if (!memory->read(memory->context, at + size, stack + size, part))
            break;
        size += part;
    }
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ stack[i]) * 1099511628211u;
    return hash;
}

struct tg_mpi_variables tg_mpi_variables_find(const struct tg_stack_process *process)
{
    struct tg_mpi_variables variables = {.world = 0};
    size_t count = process->modules != NULL ? tg_modules_count(process->modules) : 0;
    const char *name;
    uint64_t offset;
    bool has_mpi = false;
    for (size_t i = 0; i < count; i++) {
        const struct tg_module *module = tg_modules_at(process->modules, i);
        if (!is_mpi(module->path))
            continue;
        has_mpi = true;
        tg_modules_symbol_at(process->modules, module->start, &name, &offset);
    }
    if (has_mpi)
        variables =
            (struct tg_mpi_variables){.world = find_variable(process->modules, "ompi_mpi_comm_world"),
                                      .self = find_variable(process->modules, "ompi_mpi_comm_self"),
                                      .process = find_variable(process->modules, "ompi_proc_local_proc"),
                                      .table = find_variable(process->modules, "ompi_mpi_communicators")};
    return variables;
}

/* A call that STACK is in, which the program or Fortran's part of the library made to the function at INDEX. */
static void find_kept(const struct tg_mpi_asking *asking, const struct tg_call_stack *stack, size_t index,
                      const struct tg_mpi_shape *shape, struct finding *finding)
{
    uint16_t all = wanted(shape), of_comm = shape->comm == NONE ? 0 : (uint16_t)(1u << shape->comm);
    if (!finding->is_mpich && !finding->is_fortran) {
        finding->world = asking->variables->world;
        finding->self = asking->variables->self;
    }
    tg_kept_arguments_find(asking->kept, asking->process->modules, finding->memory, stack, index, all,
                           finding->is_fortran ? all
                           : finding->is_mpich ? 0
                                               : of_comm,
                           &finding->arguments);
}

bool tg_mpi_is_called_by(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                         const struct tg_frame *caller, const struct tg_mpi_shape *shape)
{
    struct tg_modules *modules = asking->process->modules;
    const char *name;
    uint64_t offset, target = caller->is_activation
                                  ? 0
                                  : tg_call_target_find(modules, memory, caller->registers.value[TG_RIP]);
    const struct tg_module *module = target != 0 ? tg_modules_find(modules, target) : NULL;
    return module == NULL || is_mpi(module->path) || tg_module_is_agent(module) ||
           (tg_modules_symbol_at(modules, target, &name, &offset) && tg_mpi_shape_of(name) == shape);
}

bool tg_mpi_values_find(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                        const struct tg_call_stack *stack, struct tg_mpi_values *values)
{
    struct tg_modules *modules = asking->process->modules;
    struct finding finding = {.memory = memory, .values = values};
    size_t entry = modules != NULL ? tg_mpi_entry_find(stack) : SIZE_MAX;
    const char *name;
    uint64_t offset;
    values->count = 0;
    values->function[0] = '\0';
    if (entry == SIZE_MAX || !tg_modules_symbol_at(modules, tg_mpi_entry_place(stack, entry), &name, &offset))
        return false;
    snprintf(values->function, sizeof values->function, "%s", name);
    const struct tg_mpi_shape *shape = shape_of(name, &finding.is_fortran);
    if (shape == NULL)
        return false;
    finding.is_mpich = strstr(stack->frames[entry].module, "mpich") != NULL;
    uint16_t of_comm = shape->comm == NONE ? 0 : (uint16_t)(1u << shape->comm);
    if (tg_mpi_is_called_by(asking, memory, &stack->unwound[entry + 1], shape))
        tg_call_arguments_find(modules, memory, &stack->unwound[entry + 1], wanted(shape), of_comm,
                               &finding.arguments);
    find_kept(asking, stack, entry, shape, &finding);
    size_t at = finding.is_fortran ? tg_mpi_inner_find(modules, stack, entry, shape) : SIZE_MAX;
    struct finding inner = {.memory = memory, .is_mpich = finding.is_mpich};
    if (at != SIZE_MAX) { /* has by value what Fortran's arguments point to */
        find_kept(asking, stack, at, shape, &inner);
        finding.inner = &inner;
    }
    add_number(&finding, shape->peer_name, shape->peer, finding.is_mpich ? "MPI_PROC_NULL" : "MPI_ANY_SOURCE",
               finding.is_mpich ? "MPI_ANY_SOURCE" : "MPI_PROC_NULL");
    add_number(&finding, "tag", shape->tag, "MPI_ANY_TAG", NULL);
    add_number(&finding, "source", shape->source, finding.is_mpich ? "MPI_PROC_NULL" : "MPI_ANY_SOURCE",
               finding.is_mpich ? "MPI_ANY_SOURCE" : "MPI_PROC_NULL");
    add_number(&finding, "recvtag", shape->receive_tag, "MPI_ANY_TAG", NULL);
    add_number(&finding, "count", shape->count, NULL, NULL);
    add_comm(&finding, shape->comm);
    if (values->count > 0)
        add_small(&finding, modules, shape);
    if (values->count > 0 || strncmp(shape->name, "wait", strlen("wait")) == 0)
        add(&finding, "state", (int64_t)hash_state(memory, &stack->unwound[entry + 1]), "");
    return values->count > 0;
}

bool tg_mpi_values_polls(const struct tg_mpi_values *values)
{
    static const char *const beginnings[] = {"mpi_test", "mpi_iprobe", "mpi_improbe",
                                             "mpi_request_get_status"};
    const char *name = values->function;
    name += *name == 'P' || *name == 'p';
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncasecmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

struct tg_event tg_mpi_values_event(const struct tg_mpi_values *values, struct tg_call_value *told)
{
    for (size_t i = 0; i < values->count; i++) {
        told[i] = values->values[i];
        told[i].text = values->texts[i];
    }
    return (struct tg_event){
        .kind = TG_EVENT_CALL_VALUES,
        .call_values = {.function = values->function, .values = {.items = told, .count = values->count}}};
}

const struct tg_mpi_shape *tg_mpi_shape_of(const char *name)
{
    bool is_fortran;
    return shape_of(name, &is_fortran);
}
