#include "recorder/look/core_look.h"

#include "format/base/array.h"
#include "recorder/engine/engine.h"
#include "recorder/look/core_process.h"
#include "recorder/look/shared.h"
#include "recorder/look/telling.h"
#include "recorder/process/environment.h"
#include "recorder/process/identity.h"
#include "recorder/stacks/critical_sections.h"

#include <elf.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REMARKS = 64 };
static const uint64_t PROCESS_NS = 10000000000, NAMES_NS = 60000000000;

/* One core file. */
struct subject {
    struct tg_look_shared *look;
    unsigned *n_remarks; /* of all core files */
    const char *path;
    struct tg_core_file *core;
    struct tg_core_process process;
    pid_t offset; /* added to its ids: processes of several machines may have the same ones */
};

__attribute__((format(printf, 2, 3))) static void remark(struct subject *subject, const char *format, ...)
{
    char text[900];
    va_list arguments;
    if (subject->look->sink->remark == NULL || (*subject->n_remarks)++ >= MAX_REMARKS)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    subject->look->sink->remark(subject->look->sink->context, text);
}

static void tell(const struct subject *subject, pid_t tid, struct tg_event event)
{
    tg_look_tell(subject->look->sink, subject->core->pid + subject->offset, tid + subject->offset, event);
}

/* ---- the process */

static bool is_taken(const struct tg_look_shared *look, pid_t id)
{
    for (size_t i = 0; i < look->n_pids; i++)
        if (look->pids[i] == id)
            return true;
    return false;
}

/* The kernel's ids are below 4,194,304. */
static struct tg_error *choose_offset(struct subject *subject)
{
    enum { IDS = 1 << 22, MAX_OFFSETS = 500 };
    struct tg_look_shared *look = subject->look;
    while (subject->offset / IDS < MAX_OFFSETS && is_taken(look, subject->core->pid + subject->offset))
        subject->offset += IDS;
    return TG_ARRAY_APPEND(look->pids, look->n_pids, look->pids_capacity,
                           subject->core->pid + subject->offset);
}

static void tell_command(const struct subject *subject)
{
    enum { MAX_WORDS = 41 };
    char text[sizeof subject->core->command], *rest = text;
    struct tg_string_item words[MAX_WORDS];
    size_t n = 0;
    snprintf(text, sizeof text, "%s", subject->core->command);
    for (char *word; n < MAX_WORDS && (word = strtok_r(NULL, " ", &rest)) != NULL;)
        words[n++].text = word;
    if (n > 0)
        tell(subject, subject->core->pid,
             (struct tg_event){.kind = TG_EVENT_COMMAND_LINE,
                               .command_line = {.arguments = {.items = words, .count = n}}});
}

static void tell_identity(const struct subject *subject)
{
    size_t size;
    struct tg_environment environment = {0};
    struct tg_identity identity;
    char *text = tg_core_file_environment(subject->core, &size);
    if (text == NULL || !tg_environment_parse(text, size, &environment)) {
        free(text);
        return;
    }
    tg_identity_find(&environment, &identity);
    tell(subject, subject->core->pid,
         (struct tg_event){.kind = TG_EVENT_IDENTITY,
                           .identity = {.host = "",
                                        .job = identity.job,
                                        .source = identity.source,
                                        .rank = identity.rank,
                                        .size = identity.size}});
    tg_environment_deinit(&environment);
    free(text);
}

static void tell_process(const struct subject *subject)
{
    const struct tg_module *program =
        subject->process.program != 0
            ? tg_modules_find(subject->process.stacks.modules, subject->process.program)
            : NULL;
    tell(subject, subject->core->pid,
         (struct tg_event){.kind = TG_EVENT_PROCESS_START, .process_start = {.origin = TG_ORIGIN_ATTACHED}});
    tell(subject, subject->core->pid,
         (struct tg_event){.kind = TG_EVENT_PROGRAM,
                           .program = {.path = program != NULL ? program->path : subject->core->program,
                                       .build_id = program != NULL ? program->build_id : "",
                                       .interpreter = "",
                                       .entry = tg_core_file_auxiliary(subject->core, AT_ENTRY),
                                       .bits = 64,
                                       .secure = tg_core_file_auxiliary(subject->core, AT_SECURE) != 0}});
    tell_command(subject);
    tell_identity(subject);
    tg_look_tell_world(subject->look->sink, subject->core->pid + subject->offset, &subject->process.world);
}

/* ---- what is not there */

static size_t index_of(struct tg_modules *modules, const char *path)
{
    for (size_t i = 0; i < tg_modules_count(modules); i++)
        if (strcmp(tg_modules_at(modules, i)->path, path) == 0)
            return i;
    return SIZE_MAX;
}

/* Objects without their file, as far as STACK has calls of them; each is told once. */
static void tell_lacks(struct subject *subject, const struct tg_call_stack *stack)
{
    struct tg_modules *modules = subject->process.stacks.modules;
    for (size_t i = 0; i < stack->count; i++) {
        size_t at = *stack->frames[i].module != '\0' ? index_of(modules, stack->frames[i].module) : SIZE_MAX;
        if (at == SIZE_MAX || subject->process.lacks[at] == TG_CORE_HAS_FILE)
            continue;
        bool is_other = subject->process.lacks[at] == TG_CORE_OTHER_FILE;
        subject->process.lacks[at] = TG_CORE_HAS_FILE;
        const struct tg_module *module = tg_modules_at(modules, at);
        remark(subject, "%s: %s %s%s%s", subject->path, module->path,
               is_other ? "is not the file that ran: its calls have no names"
                        : "was not found: its calls have no names",
               *module->build_id != '\0' ? "; expected build-id " : "", module->build_id);
    }
}

static void tell_cut(struct subject *subject)
{
    if (subject->core->missing > 0)
        remark(subject,
               "%s is truncated: %" PRIu64 " bytes are there, and %" PRIu64
               " more are missing (ulimit -c, a full disk)",
               subject->path, subject->core->size, subject->core->missing);
    if (subject->core->n_mappings == 0)
        remark(subject, "%s does not say which files were mapped: nothing has a name", subject->path);
}

static void tell_python(struct subject *subject)
{
    char why[300];
    if (tg_python_remark(&subject->process.stacks.python, why, sizeof why))
        remark(subject, "%s: %s", subject->path, why);
}

/* ---- threads of a core file */

/* To be freed; NULL without memory. */
static struct tg_halted_thread *halted_threads_of(const struct tg_core_file *core)
{
    struct tg_halted_thread *threads = calloc(core->n_threads + 1, sizeof *threads);
    for (size_t i = 0; threads != NULL && i < core->n_threads; i++)
        threads[i] = (struct tg_halted_thread){
            .tid = core->threads[i].tid, .is_stopped = true, .registers = core->threads[i].registers};
    return threads;
}

/* Whether thread INDEX waits for a critical section, and for whom. */
static bool find_critical_wait(const struct subject *subject, const struct tg_critical_thread *criticals,
                               size_t index, struct tg_wait *wait)
{
    const struct tg_core_file *core = subject->core;
    size_t owner = tg_critical_owner(criticals, core->n_threads, index);
    if (owner == SIZE_MAX)
        return false;
    *wait = (struct tg_wait){.pid = core->pid, .tid = core->threads[index].tid};
    tg_critical_wait_make(&criticals[index], core->threads[owner].tid, wait);
    return true;
}

/* LOCKS and CRITICALS: of each thread what it waits for. */
static struct tg_error *note_waits(struct subject *subject, const struct tg_halted_threads *threads,
                                   const struct tg_kmp_wait *locks,
                                   const struct tg_critical_thread *criticals)
{
    struct tg_look_shared *look = subject->look;
    struct tg_error *error = NULL;
    struct tg_wait wait;
    for (size_t i = 0; error == NULL && i < threads->count; i++) {
        pid_t pid = subject->core->pid;
        if (!(locks[i].owner >= 0 && tg_wait_find_kmp(pid, threads, i, &locks[i], &wait)) &&
            !find_critical_wait(subject, criticals, i, &wait) &&
            !tg_wait_find(pid, &subject->process.bytes, false, threads, i, &wait))
            continue;
        wait.pid += subject->offset;
        wait.tid += subject->offset;
        wait.child += wait.child != 0 ? subject->offset : 0;
        wait.is.owner += wait.is.owner != 0 ? subject->offset : 0;
        error = TG_ARRAY_APPEND(look->waits, look->n_waits, look->waits_capacity, wait);
    }
    return error;
}

/* The signal that ended the process; 0: none did, a debugger wrote the file of a living one (gcore), which it had stopped. */
static int ending_signal(const struct tg_core_file *core)
{
    bool is_stop = core->signal == SIGSTOP || core->signal == SIGTSTP || core->signal == SIGTTIN ||
                   core->signal == SIGTTOU;
    return is_stop ? 0 : core->signal;
}

/* What threads are read with: room for one stack, which the next one overwrites. */
struct telling {
    struct tg_call_stack *stack;
    struct tg_frame *frames;
    struct tg_criticals criticals;
    uint64_t until_ns;
};

/* What thread INDEX does; LOCK: what it waits for; CRITICAL: which critical sections. */
static bool tell_thread(struct subject *subject, size_t index, struct telling *telling,
                        struct tg_kmp_wait *lock, struct tg_critical_thread *critical)
{
    struct tg_call_stack *stack = telling->stack;
    const struct tg_core_thread *thread = &subject->core->threads[index];
    struct tg_mpi_values values = {.count = 0};
    struct tg_mpi_requests requests = {.count = 0};
    struct tg_mpi_members members = {.size = 0};
    const struct tg_mpi_asking asking = {&subject->process.stacks, &subject->process.variables,
                                         subject->look->kept};
    *stack = (struct tg_call_stack){.unwound = telling->frames};
    tg_call_stack_read(&subject->process.stacks, &thread->registers, &subject->process.memory,
                       subject->look->table, telling->until_ns, stack);
    tg_critical_thread_init(&telling->criticals, stack, critical);
    if (subject->look->with_values)
        tg_mpi_values_find(&asking, &subject->process.memory, stack, &values);
    if (subject->look->with_values)
        tg_mpi_partners_find(&asking, &subject->process.memory, stack, &values);
    if (subject->look->with_values)
        tg_mpi_communicator_read(&asking, &subject->process.memory, &values, &members);
    if (subject->look->with_values &&
        !tg_mpi_requests_find(&asking, &subject->process.memory, stack, &requests))
        requests.count = 0;
    if (requests.count > 0)
        tg_mpi_collective_read(&asking, &subject->process.memory, &requests, &members);
    if (!tg_kmp_wait_find(&subject->process.stacks, subject->look->kept, &subject->process.memory, stack,
                          lock))
        lock->owner = -1;
    int signal = index == 0 ? ending_signal(subject->core) : 0;
    if (thread->tid != subject->core->pid)
        tell(subject, thread->tid, (struct tg_event){.kind = TG_EVENT_THREAD_START});
    if (stack->count > 0)
        tell(subject, thread->tid,
             (struct tg_event){.kind = TG_EVENT_STACK,
                               .stack = {.snapshot = subject->look->n_processes,
                                         .reason = signal != 0 ? TG_STACK_FATAL_SIGNAL : TG_STACK_LOOK,
                                         .signal = signal,
                                         .end = stack->end,
                                         .frames = {.items = stack->frames, .count = stack->count}}});
    tg_look_tell_values(subject->look->sink, subject->core->pid + subject->offset,
                        thread->tid + subject->offset, &values);
    tg_look_tell_requests(subject->look->sink, subject->core->pid + subject->offset,
                          thread->tid + subject->offset, &requests);
    tg_look_tell_members(subject->look->sink, subject->core->pid + subject->offset,
                         thread->tid + subject->offset, &members);
    tg_mpi_members_deinit(&members);
    tell_lacks(subject, stack);
    bool is_there = stack->count > 0;
    tg_call_stack_deinit(stack);
    return is_there;
}

static struct tg_error *tell_all(struct subject *subject, struct telling *telling,
                                 const struct tg_halted_threads *halted)
{
    size_t count = subject->core->n_threads;
    struct tg_kmp_wait *locks = calloc(count + 1, sizeof *locks);
    struct tg_critical_thread *criticals = calloc(count + 1, sizeof *criticals);
    struct tg_error *error = locks != NULL && criticals != NULL ? NULL : tg_error_no_memory();
    struct tg_event_stack_snapshot snapshot = {
        .snapshot = subject->look->n_processes, .reason = TG_STACK_FATAL_SIGNAL, .threads = count};
    telling->until_ns = tg_engine_now_ns() + PROCESS_NS;
    tg_criticals_begin(&subject->process.stacks, &subject->process.memory, &telling->criticals);
    for (size_t i = 0; error == NULL && i < count; i++)
        snapshot.taken += tell_thread(subject, i, telling, &locks[i], &criticals[i]);
    if (error == NULL)
        error = note_waits(subject, halted, locks, criticals);
    if (error == NULL)
        tell(subject, subject->core->pid,
             (struct tg_event){.kind = TG_EVENT_STACK_SNAPSHOT, .stack_snapshot = snapshot});
    tg_criticals_end(&telling->criticals);
    for (size_t i = 0; criticals != NULL && i < count; i++)
        tg_critical_thread_deinit(&criticals[i]);
    free(criticals);
    free(locks);
    return error;
}

static struct tg_error *tell_threads(struct subject *subject)
{
    struct telling telling = {.stack = malloc(sizeof *telling.stack),
                              .frames = calloc(TG_CALL_STACK_MAX_FRAMES, sizeof *telling.frames)};
    struct tg_halted_thread *threads = halted_threads_of(subject->core);
    struct tg_halted_threads halted = {0};
    bool has_memory = telling.stack != NULL && telling.frames != NULL && threads != NULL;
    struct tg_error *error = has_memory ? NULL : tg_error_no_memory();
    if (error == NULL)
        error = tg_halted_threads_init(threads, subject->core->n_threads, &halted);
    tg_halted_threads_find_settings(&halted, &subject->process.stacks.nest_locks, &subject->process.bytes);
    tg_halted_threads_find_numbers(&halted, &subject->process.stacks.kmp_numbers, &subject->process.bytes);
    halted.streams = subject->process.stacks.streams;
    if (error == NULL)
        error = tell_all(subject, &telling, &halted);
    tg_halted_threads_deinit(&halted);
    free(threads);
    free(telling.frames);
    free(telling.stack);
    return error;
}

/* ---- all of them */

static struct tg_error *look_at(struct tg_look_shared *look, const char *path, unsigned *n_remarks)
{
    struct subject subject = {.look = look, .n_remarks = n_remarks, .path = path};
    struct tg_error *error = tg_core_file_open(path, &subject.core);
    if (error != NULL) {
        remark(&subject, "%s %s", path, tg_error_message(error));
        tg_error_destroy(error);
        return NULL;
    }
    error = tg_core_process_open(subject.core, path, look->images, look->debug, &subject.process);
    if (error == NULL) {
        look->n_processes++;
        error = choose_offset(&subject);
        tell_process(&subject);
        tell_cut(&subject);
        tell_python(&subject);
        if (error == NULL)
            error = tell_threads(&subject);
        tg_core_process_close(&subject.process);
    }
    tg_core_file_close(subject.core);
    return error;
}

struct tg_error *tg_core_look(const struct tg_core_request *request, const struct tg_look_sink *sink)
{
    struct tg_look_shared look;
    unsigned n_remarks = 0;
    struct tg_error *error = tg_look_shared_init(sink, request->with_values, &look);
    for (size_t i = 0; error == NULL && i < request->count; i++)
        error = look_at(&look, request->paths[i], &n_remarks);
    if (error == NULL)
        tg_look_shared_tell(&look, NAMES_NS);
    tg_look_shared_deinit(&look);
    return error;
}
