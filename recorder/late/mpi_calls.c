#include "recorder/late/mpi_calls.h"

#include "format/base/hash.h"
#include "recorder/stacks/mpi_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEBUG_INFOS = 64, MAX_VERSIONS = 4, NONE = -3, ANY = -1, PROC_NULL = -2, COMM_WORLD = 1 };

/* Functions that wait for others, or that others wait for. */
static const char *const names[] = {
    "MPI_Send",          "MPI_Ssend",      "MPI_Bsend",    "MPI_Rsend",      "MPI_Recv",
    "MPI_Mprobe",        "MPI_Probe",      "MPI_Sendrecv", "MPI_Isend",      "MPI_Issend",
    "MPI_Irecv",         "MPI_Wait",       "MPI_Waitall",  "MPI_Waitany",    "MPI_Waitsome",
    "MPI_Barrier",       "MPI_Bcast",      "MPI_Reduce",   "MPI_Allreduce",  "MPI_Scan",
    "MPI_Exscan",        "MPI_Gather",     "MPI_Gatherv",  "MPI_Scatter",    "MPI_Scatterv",
    "MPI_Allgather",     "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv",  "MPI_Reduce_scatter",
    "MPI_Ibarrier",      "MPI_Iallreduce", "MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_create",
    "MPI_Comm_free",     "MPI_Win_fence",  "MPI_Win_lock", "MPI_Win_unlock", "MPI_File_write_all",
    "MPI_File_read_all", "MPI_Comm_spawn", "MPI_Finalize", "MPI_Abort",
};
enum { N_NAMES = sizeof names / sizeof *names };

/* A call that has not come back, of a thread. */
struct call {
    pid_t tid;
    size_t name;
    uint64_t stack; /* what the stack pointer is when it has */
    UT_hash_handle hh;
};

/* Of an attached process with an MPI library. */
struct watched {
    uint64_t entries[N_NAMES][MAX_VERSIONS]; /* 0: none */
    struct call *calls;                      /* by thread */
    uint64_t world;                          /* Open MPI's, 0: MPICH's is a number */
};

struct tg_late_mpi {
    struct tg_engine *engine;
    struct tg_image_cache *images;
    struct tg_debug_cache *debug;
    struct tg_observer observer;
    size_t slot;
};

/* ---- life of a process */

static void forget(struct tg_late_mpi *late, struct tg_process *process)
{
    struct watched *watched = process->data[late->slot];
    struct call *call, *next;
    if (watched == NULL)
        return;
    HASH_ITER (hh, watched->calls, call, next) {
        HASH_DEL(watched->calls, call);
        free(call);
    }
    free(watched);
    process->data[late->slot] = NULL;
}

static struct call *find_call(const struct watched *watched, pid_t tid)
{
    struct call *call = NULL;
    HASH_FIND_INT(watched->calls, &tid, call);
    return call;
}

/* ---- stops */

/* Argument INDEX of the function that is entered; those on the stack are not asked for. */
static bool argument(const struct user_regs_struct *registers, int index, uint64_t *value)
{
    const uint64_t all[] = {registers->rdi, registers->rsi, registers->rdx,
                            registers->rcx, registers->r8,  registers->r9};
    if (index < 0 || index >= (int)(sizeof all / sizeof *all))
        return false;
    *value = all[index];
    return true;
}

/* The two families number the wildcards the other way round. */
static int64_t partner(const struct watched *watched, int32_t number)
{
    if (number != -1 && number != -2)
        return number;
    bool is_any = (number == -1) == (watched->world != 0);
    return is_any ? ANY : PROC_NULL;
}

static struct tg_event_mpi_enter describe(const struct watched *watched, size_t name, uint64_t code,
                                          const struct user_regs_struct *registers)
{
    const struct tg_mpi_shape *shape = tg_mpi_shape_of(names[name]);
    struct tg_event_mpi_enter enter = {.call = names[name],
                                       .peer = NONE,
                                       .tag = NONE,
                                       .root = NONE,
                                       .from = NONE,
                                       .from_tag = NONE,
                                       .code = code,
                                       .type = "",
                                       .from_type = "",
                                       .op = ""};
    uint64_t value;
    if (shape == NULL)
        return enter;
    if (argument(registers, shape->peer, &value)) {
        int64_t number = partner(watched, (int32_t)value);
        *(strcmp(shape->peer_name, "root") == 0 ? &enter.root : &enter.peer) = number;
    }
    if (argument(registers, shape->tag, &value))
        enter.tag = (int32_t)value == -1 ? ANY : (int32_t)value;
    enum { MPICH_WORLD = 0x44000000 };
    if (argument(registers, shape->comm, &value) &&
        (watched->world != 0 ? value == watched->world : (uint32_t)value == MPICH_WORLD))
        enter.comm = COMM_WORLD;
    return enter;
}

static void on_return(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_late_mpi *late = context;
    const struct watched *watched = thread->process->data[late->slot];
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    struct call *call = watched != NULL ? find_call(watched, thread->tid) : NULL;
    (void)breakpoint;
    if (call == NULL || registers == NULL || call->stack == 0 || registers->rsp != call->stack)
        return;
    call->stack = 0;
    tg_engine_emit(late->engine, thread,
                   &(struct tg_event){.kind = TG_EVENT_MPI_LEAVE,
                                      .mpi_leave = {.call = names[call->name],
                                                    .peer = NONE,
                                                    .tag = NONE,
                                                    .result = (int32_t)registers->rax}});
}

static size_t name_at(const struct watched *watched, uint64_t address)
{
    for (size_t i = 0; i < N_NAMES; i++)
        for (size_t k = 0; k < MAX_VERSIONS && watched->entries[i][k] != 0; k++)
            if (watched->entries[i][k] == address)
                return i;
    return N_NAMES;
}

/* The library calls functions of its own: what is called from inside of a call is none of the program's. */
static void on_entry(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_late_mpi *late = context;
    struct watched *watched = thread->process->data[late->slot];
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    uint64_t code;
    if (watched == NULL || registers == NULL ||
        !tg_thread_read_memory(thread, registers->rsp, &code, sizeof code))
        return;
    size_t name = name_at(watched, tg_breakpoint_address(breakpoint));
    struct call *call = find_call(watched, thread->tid);
    if (name == N_NAMES || (call != NULL && call->stack > registers->rsp))
        return;
    pid_t tid = thread->tid;
    if (call == NULL && TG_HASH_CREATE(hh, watched->calls, tid, &tid, call) != NULL)
        return;
    call->name = name;
    call->stack = registers->rsp + sizeof code;
    const struct tg_event event = {.kind = TG_EVENT_MPI_ENTER,
                                   .mpi_enter = describe(watched, name, code, registers)};
    tg_engine_emit(late->engine, thread, &event);
    struct tg_breakpoint *planted = tg_breakpoint_find(thread->process, code, on_return, late);
    if (planted == NULL)
        tg_error_destroy(tg_breakpoint_plant(thread->process, code, TG_BREAKPOINT_INTERNAL, on_return, late,
                                             &planted)); /* else its end is not seen */
}

/* ---- planting */

static size_t plant(struct tg_late_mpi *late, struct tg_process *process, struct watched *watched,
                    struct tg_image *image, uint64_t bias)
{
    size_t planted = 0;
    for (size_t i = 0; i < N_NAMES; i++) {
        uint64_t addresses[MAX_VERSIONS];
        size_t found = tg_image_find_function(image, names[i], addresses, MAX_VERSIONS);
        for (size_t k = 0; k < found && k < MAX_VERSIONS; k++) {
            struct tg_breakpoint *breakpoint = NULL;
            struct tg_error *error = tg_breakpoint_plant(process, addresses[k] + bias, TG_BREAKPOINT_INTERNAL,
                                                         on_entry, late, &breakpoint);
            if (error == NULL) {
                watched->entries[i][k] = addresses[k] + bias;
                planted++;
            }
            tg_error_destroy(error);
        }
    }
    return planted;
}

static bool is_mpi_library(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && (strncmp(slash, "/libmpi.so", strlen("/libmpi.so")) == 0 ||
                             strncmp(slash, "/libmpich.so", strlen("/libmpich.so")) == 0);
}

static void watch(struct tg_late_mpi *late, struct tg_thread *thread, const struct tg_stack_process *opened)
{
    struct watched *watched = calloc(1, sizeof *watched);
    size_t planted = 0;
    if (watched == NULL)
        return;
    for (size_t i = 0; i < tg_modules_count(opened->modules); i++) {
        const struct tg_module *module = tg_modules_at(opened->modules, i);
        uint64_t bias;
        struct tg_debug_info *info =
            is_mpi_library(module->path) ? tg_modules_debug_info(opened->modules, module, &bias) : NULL;
        if (info != NULL)
            planted += plant(late, thread->process, watched, tg_debug_info_image(info), bias);
    }
    watched->world = tg_mpi_variables_find(opened).world;
    thread->process->data[late->slot] = watched;
    if (planted == 0) {
        forget(late, thread->process);
        return;
    }
    char text[120];
    snprintf(text, sizeof text, "MPI calls are observed from now on, by breakpoints on %zu functions",
             planted);
    tg_engine_emit(late->engine, thread, &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_late_mpi *late = context;
    forget(late, thread->process);
    if (!attached || !thread->process->attached || thread->process->bits == 32)
        return;
    struct tg_stack_process opened =
        tg_stack_process_open(thread->tid, thread->process->bits, late->images, late->debug);
    if (opened.modules != NULL)
        watch(late, thread, &opened);
    tg_stack_process_close(&opened);
}

static void process_ended(void *context, struct tg_process *process)
{
    forget(context, process);
}

struct tg_error *tg_late_mpi_create(struct tg_engine *engine, struct tg_image_cache *images,
                                    struct tg_late_mpi **late)
{
    struct tg_late_mpi *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->images = images;
    made->observer = (struct tg_observer){.name = "late MPI calls",
                                          .context = made,
                                          .program_loaded = program_loaded,
                                          .process_ended = process_ended};
    struct tg_error *error = tg_debug_cache_create(MAX_DEBUG_INFOS, &made->debug);
    if (error == NULL)
        error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        tg_late_mpi_destroy(made);
        return error;
    }
    *late = made;
    return NULL;
}

void tg_late_mpi_destroy(struct tg_late_mpi *late)
{
    if (late == NULL)
        return;
    tg_debug_cache_destroy(late->debug);
    free(late);
}
