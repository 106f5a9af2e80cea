#include "recorder/engine/watch.h"

#include "format/base/array.h"
#include "recorder/engine/attach_guard.h"
#include "recorder/engine/engine_internal.h"
#include "recorder/engine/stop.h"
#include "recorder/process/own_tracee.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Debug registers of x86 (Intel SDM 3B, 18.2): 0 to 3 have addresses, 6 says what happened, 7 what is
 * watched: an enable bit for each at 2 * i, what at 16 + 4 * i, how many bytes at 18 + 4 * i. */
enum { STATUS = 6, CONTROL = 7, ON_WRITE = 1 };
static const uint64_t was_step = UINT64_C(1) << 14;

static bool poke(pid_t tid, unsigned number, uint64_t value)
{
    size_t at = offsetof(struct user, u_debugreg) + number * sizeof value;
    return ptrace(PTRACE_POKEUSER, tid, at, value) == 0;
}

static uint64_t peek(pid_t tid, unsigned number)
{
    errno = 0;
    long value =
        ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, u_debugreg) + number * sizeof(uint64_t), 0);
    return errno == 0 ? (uint64_t)value : 0;
}

static uint64_t control_bits(unsigned number, unsigned size_bytes)
{
    uint64_t length = size_bytes == 8 ? 2 : size_bytes - 1U;
    return UINT64_C(1) << 2 * number | ((uint64_t)ON_WRITE | length << 2) << (16 + 4 * number);
}

/* Off first: the kernel checks each address with the length that is in force. */
static bool write_registers(pid_t tid, const struct tg_watch watches[TG_WATCH_REGISTERS])
{
    uint64_t control = 0;
    bool is_written = poke(tid, CONTROL, 0);
    for (unsigned i = 0; is_written && i < TG_WATCH_REGISTERS; i++) {
        if (watches[i].size_bytes == 0)
            continue;
        is_written = poke(tid, i, watches[i].address);
        control |= control_bits(i, watches[i].size_bytes);
    }
    return is_written && (control == 0 || poke(tid, CONTROL, control));
}

/* ---- threads */

void tg_watch_arm(struct tg_tracee *tracee)
{
    const struct tg_address_space *space = tracee->thread.process->space;
    const struct tg_traced_process *traced = tg_traced_of(tracee);
    if (tracee->watch_version == space->watch_version || traced->detaching)
        return;
    if (traced->process.engine->guard != NULL)
        tg_attach_guard_watched(traced->process.engine->guard, traced->guarded);
    bool is_written = write_registers(tracee->thread.tid, space->watches);
    int why = errno; /* read where IS_WRITTEN is false */
    tracee->watch_version = space->watch_version;
    for (unsigned i = 0; i < TG_WATCH_REGISTERS; i++)
        tracee->watching[i] = is_written && space->watches[i].size_bytes > 0 ? space->watches[i].number : 0;
    if (is_written || why == ESRCH)
        return;
    (void)poke(tracee->thread.tid, CONTROL, 0);
    tg_stop_note(tracee, "watchpoints are not set in this thread: %s", strerror(why));
}

static bool is_armed(const struct tg_tracee *tracee)
{
    bool is_any = false;
    for (unsigned i = 0; i < TG_WATCH_REGISTERS; i++)
        is_any |= tracee->watching[i] != 0;
    return is_any;
}

void tg_watch_disarm(struct tg_tracee *tracee)
{
    if (is_armed(tracee))
        (void)poke(tracee->thread.tid, CONTROL, 0);
    memset(tracee->watching, 0, sizeof tracee->watching);
    tracee->watch_version = 0;
}

/* ---- traps */

bool tg_watch_take_trap(struct tg_tracee *tracee, struct tg_watch_trap *trap)
{
    if (!is_armed(tracee))
        return false;
    uint64_t status = peek(tracee->thread.tid, STATUS);
    *trap = (struct tg_watch_trap){.stepped = status & was_step};
    for (unsigned i = 0; i < TG_WATCH_REGISTERS; i++)
        if (status >> i & 1 && tracee->watching[i] != 0)
            trap->numbers[trap->count++] = tracee->watching[i];
    if (trap->count == 0)
        return false;
    (void)poke(tracee->thread.tid, STATUS, 0); /* the kernel leaves it as it is at other traps */
    return true;
}

/* Several registers may be of one watchpoint: its handler is called once. */
static bool is_first(const struct tg_watch *watch, const struct tg_watch *told[], unsigned n_told)
{
    for (unsigned i = 0; i < n_told; i++)
        if (told[i]->handler == watch->handler && told[i]->context == watch->context)
            return false;
    return true;
}

bool tg_watch_run_handlers(struct tg_tracee *tracee, const struct tg_watch_trap *trap)
{
    struct tg_watch copies[TG_WATCH_REGISTERS]; /* handlers may remove watchpoints */
    const struct tg_watch *told[TG_WATCH_REGISTERS];
    unsigned n_told = 0;
    bool is_wanted = false;
    memcpy(copies, tracee->thread.process->space->watches, sizeof copies);
    for (unsigned i = 0; i < trap->count; i++)
        for (unsigned k = 0; k < TG_WATCH_REGISTERS; k++)
            if (copies[k].size_bytes > 0 && copies[k].number == trap->numbers[i] &&
                is_first(&copies[k], told, n_told)) {
                told[n_told++] = &copies[k];
                is_wanted |= copies[k].handler(copies[k].context, &tracee->thread);
            }
    return is_wanted;
}

/* ---- threads that wrote at the same time */

enum {
    PAUSE_NS = 20 * 1000 * 1000
}; /* longer is waited for nobody: who is in the kernel has not just written */

static bool shares_memory(const struct tg_thread *thread, const struct tg_thread *other)
{
    return other != thread && other->process->space == thread->process->space;
}

/* Whether the trap of TRACEE's write to a watch of HANDLER and CONTEXT is still to be taken. */
static bool has_written(const struct tg_tracee *tracee, tg_watch_handler *handler, const void *context)
{
    const struct tg_watch *watches = tracee->thread.process->space->watches;
    if (!tracee->paused || !is_armed(tracee))
        return false;
    uint64_t status = peek(tracee->thread.tid, STATUS);
    for (unsigned i = 0; i < TG_WATCH_REGISTERS; i++)
        if (status >> i & 1 && watches[i].size_bytes > 0 && tracee->watching[i] == watches[i].number &&
            watches[i].handler == handler && watches[i].context == context)
            return true;
    return false;
}

/* The threads that share THREAD's memory, for the caller to free; NULL: there are none, or no memory. */
static struct tg_thread **list_others(const struct tg_thread *thread, size_t *count)
{
    struct tg_thread **threads = NULL;
    struct tg_process *process;
    *count = 0;
    for (process = thread->process->engine->processes; process != NULL; process = process->hh.next)
        for (struct tg_thread *other = process->threads; other != NULL; other = other->hh.next)
            if (shares_memory(thread, other))
                tg_error_destroy(TG_ARRAY_APPEND_EXACT(threads, *count, other));
    return threads;
}

unsigned tg_watch_pause_writers(struct tg_thread *thread, tg_watch_handler *handler, const void *context,
                                pid_t *tids, unsigned max_count)
{
    size_t n_threads;
    unsigned count = 0;
    struct tg_thread **threads = list_others(thread, &n_threads);
    if (n_threads > 0)
        tg_threads_pause(thread->process->engine, threads, n_threads, tg_engine_now_ns() + PAUSE_NS);
    for (size_t i = 0; i < n_threads && count < max_count; i++)
        if (has_written(tg_tracee_of(threads[i]), handler, context))
            tids[count++] = threads[i]->tid;
    free(threads);
    return count;
}

/* ---- planting */

/* The largest piece that begins at ADDRESS and that one register can watch: aligned to its size. */
static unsigned piece_at(uint64_t address, uint64_t left)
{
    unsigned size = TG_WATCH_BYTES;
    while (address % size != 0 || size > left)
        size /= 2;
    return size;
}

unsigned tg_watch_registers_needed(uint64_t address, uint64_t size_bytes)
{
    unsigned count = 0;
    while (size_bytes > 0 && count <= TG_WATCH_REGISTERS) {
        unsigned piece = piece_at(address, size_bytes);
        address += piece;
        size_bytes -= piece;
        count++;
    }
    return count;
}

unsigned tg_watch_registers_free(const struct tg_process *process)
{
    unsigned count = 0;
    for (unsigned i = 0; i < TG_WATCH_REGISTERS; i++)
        count += process->space->watches[i].size_bytes == 0;
    return count;
}

/* In a child: reports its next write to WATCHED, if the machine does. */
static _Noreturn void write_watched(volatile uint64_t *watched, pid_t parent)
{
    if (!tg_own_tracee_begin(parent))
        _exit(1);
    kill(getpid(), SIGSTOP);
    *watched = 1;
    _exit(0);
}

/* Waits for CHILD to stop or end; false: it has ended. */
static bool await(pid_t child, int *status)
{
    pid_t tid;
    do
        tid = waitpid(child, status, __WALL);
    while (tid < 0 && errno == EINTR);
    return tid == child && WIFSTOPPED(*status);
}

/* Virtual machines may take what is written to debug registers, and never trap. */
static struct tg_error *try_registers(void)
{
    static uint64_t watched __attribute__((aligned(8)));
    const struct tg_watch watches[TG_WATCH_REGISTERS] = {
        {.address = (uint64_t)(uintptr_t)&watched, .size_bytes = sizeof watched}};
    int status = 0;
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        write_watched(&watched, parent);
    if (child < 0)
        return tg_error_create_errno(errno, "cannot try the debug registers: fork");
    bool is_set = await(child, &status) && write_registers(child, watches);
    int why = errno;
    bool traps = is_set && ptrace(PTRACE_CONT, child, NULL, NULL) == 0 && await(child, &status) &&
                 WSTOPSIG(status) == SIGTRAP && peek(child, STATUS) & 1;
    kill(child, SIGKILL);
    while (await(child, &status))
        ;
    if (!is_set)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "this machine has no debug registers for watchpoints: %s", strerror(why));
    return traps ? NULL
                 : tg_error_create(TG_ERROR_UNSUPPORTED,
                                   "this machine accepts watchpoints but does not report writes to them");
}

/* Threads that run get the registers at their next stop, which is soon. */
static void interrupt_threads(const struct tg_process *process)
{
    const struct tg_process *other;
    for (other = process->engine->processes; other != NULL; other = other->hh.next)
        for (struct tg_thread *thread = other->threads; thread != NULL && other->space == process->space;
             thread = thread->hh.next) {
            const struct tg_tracee *tracee = tg_tracee_of(thread);
            if (tracee->running && !tracee->first_stop_due && !tracee->exiting && !tracee->in_vfork)
                ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
        }
}

static struct tg_error *check(const struct tg_process *process, uint64_t address, uint64_t size_bytes)
{
    struct tg_engine *engine = process->engine;
    unsigned needed = tg_watch_registers_needed(address, size_bytes);
    unsigned n_free = tg_watch_registers_free(process);
    if (address + size_bytes < address || address + size_bytes > UINT64_C(1) << 47)
        return tg_error_create(TG_ERROR_USAGE, "0x%" PRIx64 " is not an address of a program", address);
    if (needed > n_free)
        return tg_error_create(TG_ERROR_LIMIT,
                               "%" PRIu64 " bytes at 0x%" PRIx64 " need %s%u of the processor's %d debug "
                               "registers, of which %u %s free",
                               size_bytes, address, needed > TG_WATCH_REGISTERS ? "more than " : "",
                               needed > TG_WATCH_REGISTERS ? TG_WATCH_REGISTERS : needed, TG_WATCH_REGISTERS,
                               n_free, n_free == 1 ? "is" : "are");
    if (!engine->can_watch) {
        struct tg_error *error = try_registers();
        if (error != NULL)
            return error;
        engine->can_watch = true;
    }
    return NULL;
}

struct tg_error *tg_watch_plant(struct tg_process *process, uint64_t address, uint64_t size_bytes,
                                tg_watch_handler *handler, void *context)
{
    struct tg_engine *engine = process->engine;
    struct tg_address_space *space = process->space;
    struct tg_error *error = check(process, address, size_bytes);
    if (error != NULL)
        return error;
    uint32_t number = ++engine->n_watches;
    for (unsigned i = 0; size_bytes > 0 && i < TG_WATCH_REGISTERS; i++) {
        if (space->watches[i].size_bytes != 0)
            continue;
        unsigned piece = piece_at(address, size_bytes);
        space->watches[i] = (struct tg_watch){.address = address,
                                              .size_bytes = piece,
                                              .number = number,
                                              .handler = handler,
                                              .context = context};
        address += piece;
        size_bytes -= piece;
    }
    space->watch_version = ++engine->n_watches;
    interrupt_threads(process);
    return NULL;
}

bool tg_watch_is_planted(const struct tg_process *process, tg_watch_handler *handler, const void *context)
{
    bool is_planted = false;
    for (const struct tg_watch *watch = process->space->watches;
         watch < process->space->watches + TG_WATCH_REGISTERS; watch++)
        is_planted |= watch->size_bytes > 0 && watch->handler == handler && watch->context == context;
    return is_planted;
}

void tg_watch_remove(struct tg_process *process, tg_watch_handler *handler, const void *context)
{
    struct tg_address_space *space = process->space;
    bool is_any = false;
    for (unsigned i = 0; i < TG_WATCH_REGISTERS; i++)
        if (space->watches[i].size_bytes > 0 && space->watches[i].handler == handler &&
            space->watches[i].context == context) {
            space->watches[i] = (struct tg_watch){0};
            is_any = true;
        }
    if (is_any) /* a thread that runs with them finds out at its next write */
        space->watch_version = ++process->engine->n_watches;
}
