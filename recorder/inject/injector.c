#include "recorder/inject/injector.h"

#include "format/image/dynamic_loader.h"
#include "format/image/image.h"
#include "recorder/agent/contract.h"
#include "recorder/inject/startup_libraries.h"
#include "recorder/process/image_peek.h"
#include "recorder/process/initial_stack.h"
#include "recorder/process/memory.h"
#include "recorder/process/proc_status.h"
#include "recorder/process/process_file.h"
#include "recorder/process/sanitizer.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BUILD_ID_CHARS = 129 };

/* The agent in one program; forks of it share this. */
struct injection {
    unsigned references;
    uint64_t instance; /* the agent's id for the program, not 0 */
    uint64_t entry;    /* address of the first instruction: the loader's */
    uint64_t stack;    /* the stack pointer there ... */
    uint64_t original; /* ... and what it was before the variables were added */
    size_t n_words;    /* there were so many words, these of them in front of the variables ... */
    size_t n_before;
    size_t n_added;    /* ... which are so many */
    bool audit;        /* the audit library is among what they load */
    bool without_heap; /* the heap's library is not, though it is asked for */
};

struct tg_agent_injector {
    struct tg_engine *engine;
    struct tg_agent_injector_options options;
    struct tg_observer observer;
    size_t slot;
    struct tg_startup_libraries *libraries;
    char loader_build_id[BUILD_ID_CHARS]; /* build-id of our own dynamic loader; "" unknown */
    int seccomp_filters;                  /* filters of this process */
};

static struct injection *injection_of(const struct tg_agent_injector *injector,
                                      const struct tg_process *process)
{
    return process->data[injector->slot];
}

static void forget(const struct tg_agent_injector *injector, struct tg_process *process)
{
    struct injection *injection = injection_of(injector, process);
    process->data[injector->slot] = NULL;
    if (injection != NULL && --injection->references == 0)
        free(injection);
}

/* ---- reasons against the agent
 *
 * Each returns NULL, or what to tell. */

static struct tg_error *aside(const char *reason)
{
    return tg_error_create(TG_ERROR_UNSUPPORTED, "%s", reason);
}

static bool is_dynamic_loader(const struct tg_agent_injector *injector, pid_t tid)
{
    const struct tg_image_source source = {.pid = tid};
    struct tg_image *image = tg_image_cache_find(injector->options.images, &source);
    uint64_t brk;
    if (image == NULL)
        return false;
    bool is_loader = tg_image_is_dynamic_loader(image, &brk);
    tg_image_unref(image);
    return is_loader;
}

static struct tg_error *check_program(const struct tg_agent_injector *injector, struct tg_thread *thread)
{
    const struct tg_process *process = thread->process;
    if (process->bits != 64)
        return aside(process->bits == 32 ? "a 32-bit program" : "its registers cannot be read");
    if (process->secure)
        return aside("the program is set-uid, set-gid or has capabilities: nothing can be preloaded into it");
    if (process->loader_base == 0)
        return aside(is_dynamic_loader(injector, thread->tid) ? "started through the dynamic loader"
                                                              : "a static program");
    char build_id[BUILD_ID_CHARS];
    uint64_t size_bytes;
    if (injector->loader_build_id[0] == '\0' ||
        !tg_image_peek(thread->tid, process->loader_base, build_id, &size_bytes) ||
        strcmp(build_id, injector->loader_build_id) != 0)
        return aside("its C library is not the one the agent was built for");
    return NULL;
}

static struct tg_error *check_process(const struct tg_agent_injector *injector, pid_t pid)
{
    struct tg_proc_status status;
    if (!tg_proc_status_read(pid, &status))
        return aside("its /proc entry cannot be read");
    if (status.file_uid != geteuid())
        return aside("the process runs as another user");
    if (status.seccomp_filters != injector->seccomp_filters)
        return aside(
            "the process has a seccomp filter of its own, which may forbid system calls of the agent");
    if (status.own_pid != 0 && status.own_pid != pid)
        return aside(
            "the process is in a pid namespace of its own (container), where it and its threads have "
            "other ids");
    return NULL;
}

/* The file at PATH as the process sees it is the one that is meant. */
static bool is_same_file(pid_t pid, const char *path)
{
    char seen[PATH_MAX + 32];
    struct stat here;
    struct stat there;
    snprintf(seen, sizeof seen, "/proc/%d/root%s", (int)pid, path);
    return stat(path, &here) == 0 && stat(seen, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* The same, SHARES_ROOT: the process has this one's files. */
static bool is_seen(pid_t pid, const char *path, bool shares_root)
{
    return shares_root ? access(path, F_OK) == 0 : is_same_file(pid, path);
}

static bool is_executable(pid_t pid, const char *path, bool shares_root)
{
    char seen[PATH_MAX + 32];
    struct statvfs system;
    snprintf(seen, sizeof seen, "/proc/%d/root%s", (int)pid, path);
    return (shares_root || is_same_file(pid, path)) && statvfs(shares_root ? path : seen, &system) == 0 &&
           (system.f_flag & ST_NOEXEC) == 0;
}

static struct tg_error *check_files(const struct tg_agent_injector *injector, pid_t pid)
{
    const struct tg_agent_injector_options *options = &injector->options;
    bool shares_root = tg_process_file_shares_root(pid);
    if (!is_executable(pid, options->files->agent, shares_root) ||
        !is_executable(pid, options->files->audit, shares_root) ||
        (options->heap && !is_executable(pid, options->files->heap, shares_root)))
        return aside("the process cannot see or execute the agent's libraries (container, chroot, "
                     "noexec)");
    if (!is_seen(pid, options->directory, shares_root))
        return aside("the process cannot see the directory of the agent's rings (container, chroot)");
    return NULL;
}

static struct tg_error *check_environment(const struct tg_initial_stack *stack)
{
    return tg_initial_stack_variable(stack, "LD_TRACE_LOADED_OBJECTS") != NULL
               ? aside("the dynamic loader only lists the program's libraries (ldd)")
               : NULL;
}

/* ---- what is preloaded */

static const char preload_separators[] = " :";

/* Where an auditor is there, the loader may free memory while it finds a thread-local variable; the library of LeakSanitizer,
 * which is the program's allocator, asks for such a variable to free it, and so on until the stack is full. LIBRARIES are names
 * with SEPARATORS between them. */
static bool has_leak_sanitizer(const char *libraries, const char *separators)
{
    size_t length;
    for (const char *name = libraries; *name != '\0'; name += length) {
        name += strspn(name, separators);
        length = strcspn(name, separators);
        if (tg_sanitizer_is_for_leaks_alone(name, length))
            return true;
    }
    return false;
}

static struct tg_error *check_auditor(const struct tg_agent_injector *injector, pid_t tid,
                                      const char *preload)
{
    const struct tg_image_source source = {.pid = tid};
    if (!injector->options.audit)
        return NULL;
    struct tg_image *image = tg_image_cache_find(injector->options.images, &source);
    bool refuses = preload != NULL && has_leak_sanitizer(preload, preload_separators);
    for (size_t i = 0; image != NULL && i < tg_image_needed_count(image) && !refuses; i++)
        refuses = has_leak_sanitizer(tg_image_needed_at(image, i), "");
    tg_image_unref(image);
    return refuses ? aside("LeakSanitizer's library crashes beside an auditor of the dynamic loader "
                           "(--dlopen=stops does without)")
                   : NULL;
}

/* PRELOAD of a program's own that was OWN (NULL: nothing): FIRST becomes the library that is first there, or would be without the
 * agent, where that one must be; otherwise the agent is, and if it must not, the program ends as it would without it. */
static struct tg_error *choose_preload(const struct tg_agent_injector *injector, pid_t tid, const char *own,
                                       char first[PATH_MAX], struct tg_agent_preload *preload)
{
    const char *name = own != NULL ? own + strspn(own, preload_separators) : "";
    size_t length = strcspn(name, preload_separators);
    const struct tg_image_source source = {.pid = tid};
    struct tg_image *image = NULL;
    *preload = (struct tg_agent_preload){.own = own, .heap = injector->options.heap};
    if (length == 0) {
        TG_AUTO_ERROR struct tg_error *error = tg_image_cache_get(injector->options.images, &source, &image);
        if (error != NULL)
            return aside(tg_error_message(error));
        name = tg_image_needed_count(image) > 0 ? tg_image_needed_at(image, 0) : "";
        length = strlen(name);
    }
    if (length < PATH_MAX && tg_sanitizer_must_be_first(name, length)) {
        snprintf(first, PATH_MAX, "%.*s", (int)length, name);
        preload->first = first;
        preload->heap = false; /* the sanitizer is the allocator, and finds the same mistakes */
    }
    tg_image_unref(image);
    return NULL;
}

/* ---- writing */

static bool has_audit(const struct tg_initial_stack *stack, const char *path)
{
    const char *own = tg_initial_stack_variable(stack, "LD_AUDIT");
    return own != NULL && strstr(own, path) != NULL;
}

/* The static thread-local storage to ask for, in a program with auditors: without them the loader would have
 * added up just this. */
static struct tg_error *count_tls(const struct tg_agent_injector *injector, pid_t pid,
                                  const struct tg_initial_stack *stack,
                                  const struct tg_agent_preload *preload, uint64_t *bytes)
{
    const struct tg_agent_injector_options *options = &injector->options;
    *bytes = 0;
    if (!options->audit && tg_initial_stack_variable(stack, "LD_AUDIT") == NULL)
        return NULL;
    char *value = tg_agent_files_preload(options->files, preload);
    if (value == NULL)
        return tg_error_no_memory();
    const struct tg_startup_program program = {
        .pid = pid,
        .library_path = tg_initial_stack_variable(stack, "LD_LIBRARY_PATH"),
        .preload = value,
    };
    struct tg_error *error = tg_startup_libraries_tls(injector->libraries, &program, bytes);
    free(value);
    return tg_error_prefix(error, "cannot predict its thread-local storage");
}

/* Fills INJECTION, except its instance and entry. */
static struct tg_error *edit(struct tg_agent_injector *injector, struct tg_thread *thread,
                             const struct tg_initial_stack *stack, struct injection *injection)
{
    const struct tg_agent_injector_options *options = &injector->options;
    struct tg_agent_variables variables;
    struct tg_agent_preload preload;
    char first[PATH_MAX];
    uint64_t tls_bytes;
    struct tg_error *error = choose_preload(injector, thread->tid,
                                            tg_initial_stack_variable(stack, "LD_PRELOAD"), first, &preload);
    if (error == NULL)
        error = count_tls(injector, thread->process->pid, stack, &preload, &tls_bytes);
    if (error == NULL)
        error = tg_agent_variables_init(&variables, options->files, options->directory, &preload,
                                        tg_initial_stack_variable(stack, "GLIBC_TUNABLES"), tls_bytes);
    if (error != NULL)
        return error;
    /* Always as many; an auditor that is there already would be loaded twice. */
    bool audited = !options->audit || has_audit(stack, options->files->audit);
    const char *further = options->further != NULL ? options->further(options->context, thread, stack) : NULL;
    const char *added[] = {further, variables.preload, audited ? variables.agent : variables.audit,
                           variables.tunables, variables.agent};
    struct tg_stack_image image = {0};
    _Static_assert(sizeof added / sizeof added[0] == 1 + TG_AGENT_VARIABLES, "the agent's are the last ones");
    error = further != NULL ? tg_initial_stack_add(stack, added, 1 + TG_AGENT_VARIABLES, &image)
                            : tg_initial_stack_add(stack, added + 1, TG_AGENT_VARIABLES, &image);
    if (error == NULL)
        error = tg_initial_stack_write(thread->tid, stack, &image);
    if (error == NULL && !tg_thread_set_stack(thread, image.address)) {
        tg_initial_stack_write_back(thread->tid, stack);
        error = aside("its registers cannot be written");
    }
    injection->stack = image.address;
    injection->original = stack->address;
    injection->n_words = stack->n_words;
    injection->n_before = stack->variables + stack->n_variables;
    injection->n_added = TG_AGENT_VARIABLES + (further != NULL);
    injection->audit = options->audit;
    injection->without_heap = options->heap && !preload.heap;
    free(image.bytes);
    tg_agent_variables_deinit(&variables);
    return error;
}

/* The agent's id for this program, not 0; a program whose id is unknown will be taken for one that did
 * not come up. The process sees itself under the same id as it is seen here (check_process). */
static uint64_t instance_of(const struct tg_thread *thread, const struct tg_initial_stack *stack)
{
    unsigned char random[16] = {0};
    tg_memory_read(thread->tid, tg_initial_stack_auxiliary(stack, AT_RANDOM), random, sizeof random);
    uint64_t instance = tg_agent_instance(random, thread->process->pid);
    return instance != 0 ? instance : 1;
}

static struct tg_error *inject(struct tg_agent_injector *injector, struct tg_thread *thread)
{
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    struct tg_initial_stack stack;
    if (registers == NULL)
        return aside("its registers cannot be read");
    struct tg_error *error = tg_initial_stack_read(thread->tid, registers->rsp, &stack);
    if (error != NULL)
        return error;
    struct injection made = {.references = 1, .entry = registers->rip};
    error = check_environment(&stack);
    if (error == NULL)
        error = check_auditor(injector, thread->tid, tg_initial_stack_variable(&stack, "LD_PRELOAD"));
    if (error == NULL)
        error = edit(injector, thread, &stack, &made);
    if (error == NULL) {
        made.instance = instance_of(thread, &stack);
        struct injection *kept = malloc(sizeof *kept);
        if (kept != NULL)
            *kept = made;
        else /* the agent is there, and is taken for one that is not: what it records is recorded */
            error = tg_error_no_memory();
        thread->process->data[injector->slot] = kept;
    }
    tg_initial_stack_deinit(&stack);
    return error;
}

/* The stack as it was before it was edited. */
static struct tg_error *undo(const struct injection *injection, struct tg_thread *thread)
{
    size_t n_words = injection->n_words, behind = n_words - injection->n_before;
    size_t edited_bytes = (n_words + injection->n_added) * sizeof(uint64_t);
    struct tg_initial_stack stack = {
        .address = injection->original, .n_words = n_words, .words = malloc(edited_bytes)};
    struct tg_error *error = NULL;
    if (stack.words == NULL)
        return tg_error_no_memory();
    uint64_t *added = stack.words + injection->n_before;
    if (!tg_memory_read(thread->tid, injection->stack, stack.words, edited_bytes)) {
        error = aside("its initial stack cannot be read");
    } else {
        memmove(added, added + injection->n_added, behind * sizeof(uint64_t));
        tg_initial_stack_write_back(thread->tid, &stack);
        if (!tg_thread_set_stack(thread, injection->original))
            error = aside("its registers cannot be written");
    }
    tg_initial_stack_deinit(&stack);
    return error;
}

/* ---- observer */

static void tell_heap_unseen(struct tg_agent_injector *injector, struct tg_thread *thread, const char *reason)
{
    struct tg_event event = {.kind = TG_EVENT_HEAP_UNSEEN, .heap_unseen = {.module = "", .reason = reason}};
    tg_engine_emit(injector->engine, thread, &event);
}

static void tell_agent(struct tg_agent_injector *injector, struct tg_thread *thread, const char *reason)
{
    struct tg_event event = {.kind = TG_EVENT_AGENT, .agent = {.state = TG_AGENT_ASIDE, .reason = reason}};
    tg_engine_emit(injector->engine, thread, &event);
}

static void tell_aside(struct tg_agent_injector *injector, struct tg_thread *thread, const char *reason)
{
    tell_agent(injector, thread, reason);
    if (injector->options.heap)
        tell_heap_unseen(injector, thread, reason);
}

void tg_agent_injector_set_audit(struct tg_agent_injector *injector, bool audit)
{
    injector->options.audit = audit;
}

bool tg_agent_injector_renew(struct tg_agent_injector *injector, struct tg_thread *thread)
{
    const struct injection *injection = injection_of(injector, thread->process);
    bool is_stopped = injection != NULL && tg_thread_is_stopped(thread);
    const struct user_regs_struct *registers = is_stopped ? tg_thread_registers(thread) : NULL;
    if (registers == NULL || registers->rip != injection->entry || registers->rsp != injection->stack)
        return false;
    if (injection->audit == injector->options.audit)
        return true;
    struct tg_error *error = undo(injection, thread);
    if (error == NULL) {
        forget(injector, thread->process);
        error = inject(injector, thread);
    }
    if (error == NULL)
        return true;
    tell_aside(injector, thread, tg_error_message(error));
    tg_error_destroy(error);
    return false;
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_agent_injector *injector = context;
    struct tg_process *process = thread->process;
    forget(injector, process);
    if (attached) {
        tell_aside(injector, thread,
                   "the program was already running when attached: it is observed by stops alone");
        return;
    }
    const struct tg_agent_injector_options *options = &injector->options;
    const char *left_out = options->leaves_out != NULL ? options->leaves_out(options->context, thread) : NULL;
    if (left_out != NULL) {
        tell_agent(injector, thread, left_out);
        return;
    }
    struct tg_error *error = check_program(injector, thread);
    if (error == NULL)
        error = check_process(injector, process->pid);
    if (error == NULL)
        error = check_files(injector, process->pid);
    if (error == NULL)
        error = inject(injector, thread);
    const struct injection *injection = injection_of(injector, process);
    if (injection != NULL && injection->without_heap)
        tell_heap_unseen(injector, thread,
                         "the address sanitizer has an allocator of its own; it looks for mistakes itself");
    if (error == NULL)
        return;
    tell_aside(injector, thread, tg_error_message(error));
    tg_error_destroy(error);
}

static bool is_ring_of(int directory, const char *name, uint64_t instance,
                       struct tg_agent_ring_header *header)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool read_whole = pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header;
    close(fd);
    return read_whole && header->magic == TG_AGENT_RING_MAGIC && header->instance == instance;
}

static DIR *list_directory(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    if (listing == NULL && fd >= 0)
        close(fd);
    return listing;
}

/* Whether the program INSTANCE in process PID made a ring: mostly its first one is called 0, but that name
 * may have been taken by a process with the same id before, or by the program before exec. */
static bool has_ring(int directory, pid_t pid, uint64_t instance)
{
    char name[40];
    struct tg_agent_ring_header header;
    snprintf(name, sizeof name, "ring.%d.0", (int)pid);
    if (is_ring_of(directory, name, instance, &header))
        return true;
    size_t prefix = strlen(name) - 1;
    DIR *listing = list_directory(directory);
    if (listing == NULL)
        return true; /* not known */
    bool found = false;
    const struct dirent *entry;
    while (!found && (entry = readdir(listing)) != NULL)
        found = strncmp(entry->d_name, name, prefix) == 0 &&
                is_ring_of(directory, entry->d_name, instance, &header);
    closedir(listing);
    return found;
}

static bool is_in_mpi(int directory, const char *name, uint64_t instance)
{
    struct tg_agent_ring_header header;
    return is_ring_of(directory, name, instance, &header) && header.in_mpi != 0;
}

/* Looks at the rings in a directory that is short, as to open what is not there takes as long as what is: false where it is long. */
static bool look_at_listed(int directory, const char *prefix, uint64_t instance, bool *in_mpi)
{
    enum { MAX_LISTED = 64 };
    DIR *listing = list_directory(directory);
    if (listing == NULL)
        return false;
    const struct dirent *entry = NULL;
    for (int i = 0; i < MAX_LISTED && !*in_mpi && (entry = readdir(listing)) != NULL; i++)
        *in_mpi = strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
                  is_in_mpi(directory, entry->d_name, instance);
    closedir(listing);
    return *in_mpi || entry == NULL;
}

bool tg_agent_injector_is_in_mpi(const struct tg_agent_injector *injector, const struct tg_process *process)
{
    enum {
        MAX_RINGS = 16
    }; /* MPI_Init is called by one of the first threads; after a fork names may be left out */
    const struct injection *injection = injection_of(injector, process);
    const int directory = injector->options.directory_fd;
    char name[40];
    bool in_mpi = false;
    if (injection == NULL || directory < 0)
        return false;
    pid_t pid = tg_proc_status_own_pid(process->pid);
    snprintf(name, sizeof name, "ring.%d.", (int)pid);
    if (look_at_listed(directory, name, injection->instance, &in_mpi))
        return in_mpi;
    for (int i = 0; i < MAX_RINGS && !in_mpi; i++) {
        snprintf(name, sizeof name, "ring.%d.%d", (int)pid, i);
        in_mpi = is_in_mpi(directory, name, injection->instance);
    }
    return in_mpi;
}

bool tg_agent_injector_came_up(struct tg_agent_injector *injector, struct tg_thread *thread)
{
    struct tg_process *process = thread->process;
    const struct injection *injection = injection_of(injector, process);
    if (injection == NULL || !injection->audit || injector->options.directory_fd < 0 ||
        has_ring(injector->options.directory_fd, process->pid, injection->instance))
        return injection != NULL;
    forget(injector, process);
    tell_aside(injector, thread, "the agent was loaded but records nothing");
    return false;
}

/* At the entry point the audit library has had something to record: the libraries that the program starts
 * with. */
static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    if (stop->trigger == TG_TRIGGER_ENTRY)
        (void)tg_agent_injector_came_up(context, thread);
}

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    const struct tg_agent_injector *injector = context;
    (void)origin;
    struct injection *injection = parent != NULL ? injection_of(injector, parent) : NULL;
    if (injection != NULL)
        injection->references++;
    thread->process->data[injector->slot] = injection;
}

/* Facts about the files that the agent's libraries need are the same for every program, and the list of libraries is read. */
static void launching(void *context, pid_t pid)
{
    const struct tg_agent_injector *injector = context;
    const struct tg_agent_injector_options *options = &injector->options;
    uint64_t bytes;
    (void)
        pid; /* has the same files, and whoever asks for them by its /proc entry waits for the end of its exec */
    char *preload = options->audit ? tg_agent_files_preload(options->files,
                                                            &(struct tg_agent_preload){.heap = options->heap})
                                   : NULL;
    const struct tg_startup_program program = {
        .pid = getpid(), .path = options->files->agent, .preload = preload};
    if (preload != NULL)
        tg_error_destroy(tg_startup_libraries_tls(injector->libraries, &program, &bytes));
    free(preload);
}

static void process_ended(void *context, struct tg_process *process)
{
    forget(context, process);
}

bool tg_agent_injector_owns(const struct tg_agent_injector *injector, const char *path)
{
    const struct tg_agent_files *files = injector->options.files;
    return strcmp(path, files->agent) == 0 || strcmp(path, files->audit) == 0 ||
           (files->heap != NULL && strcmp(path, files->heap) == 0);
}

bool tg_agent_injector_is_in(const struct tg_agent_injector *injector, const struct tg_process *process)
{
    return injection_of(injector, process) != NULL;
}

struct tg_error *tg_agent_injector_create(struct tg_engine *engine,
                                          const struct tg_agent_injector_options *options,
                                          struct tg_agent_injector **injector)
{
    struct tg_agent_injector *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_startup_libraries_create(&made->libraries);
    if (error != NULL) {
        free(made);
        return error;
    }
    made->engine = engine;
    made->options = *options;
    uint64_t loader = getauxval(AT_BASE);
    uint64_t size_bytes;
    if (loader == 0 || !tg_image_peek(getpid(), loader, made->loader_build_id, &size_bytes))
        made->loader_build_id[0] = '\0';
    made->seccomp_filters = tg_proc_status_seccomp_filters(getpid());
    made->observer = (struct tg_observer){
        .name = "agent injector",
        .context = made,
        .process_started = process_started,
        .launching = launching,
        .program_loaded = program_loaded,
        .stopped = stopped,
        .process_ended = process_ended,
    };
    error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        tg_agent_injector_destroy(made);
        return error;
    }
    *injector = made;
    return NULL;
}

void tg_agent_injector_destroy(struct tg_agent_injector *injector)
{
    if (injector != NULL)
        tg_startup_libraries_destroy(injector->libraries);
    free(injector);
}
