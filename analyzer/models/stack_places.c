#include "analyzer/models/stack_places.h"

#include <signal.h>
#include <string.h>

/* Beginnings of the names of files. */
static const char *const runtime_files[] = {
    "libc.so",     "libc-",       "ld-linux",    "ld-2",      "libpthread", "libm.so",    "libm-",
    "libdl.",      "librt.",      "libgcc_s",    "libstdc++", "libc++",     "libmpi",     "libmpich",
    "libpmpi",     "libopen-",    "libpmix",     "libprrte",  "libevent",   "libhwloc",   "libucp.",
    "libucs.",     "libuct",      "libucm",      "libfabric", "libpsm",     "libibverbs", "libmlx",
    "librdmacm",   "mca_",        "libmca_",     "libgomp.",  "libomp.",    "libiomp",    "libgfortran",
    "libquadmath", "libflang",    "libifcore",   "libifport", "libnuma.",   "[vdso]",     "linux-vdso",
    "libpmi",      "libslurm",    "libmunge",    "libnl-",    "libasan",    "libtsan",    "libubsan",
    "libjemalloc", "libtcmalloc", "libmimalloc", "libxpmem",  "libgdrapi",
};
/* The same of those that lie between a library's function and the program that called it. */
static const char *const between_files[] = {"MPI.cpython-", "MPI.abi3",       "MPI.so",
                                            "libffi.",      "tollgate-agent", "tollgate-heap"};
/* Beginnings of functions that are linked into programs. */
static const char *const runtime_functions[] = {
    "MPI_",          "PMPI_",          "MPIR_",        "MPID_",           "MPIDI_",     "ompi_",
    "opal_",         "GOMP_",          "gomp_",        "__kmp",           "_gfortran_", "__libc_start_",
    "_start",        "__GI_",          "__asan",       "__lsan",          "__tsan",     "__ubsan",
    "__sanitizer::", "__interceptor_", "operator new", "operator delete",
};

static bool begins(const char *text, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (*text == *beginnings[i] && strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

#define BEGINS(text, beginnings) begins(text, beginnings, sizeof(beginnings) / sizeof *(beginnings))

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Interpreters, with the extension modules that come with them. */
static bool is_between_file(const char *module)
{
    return BEGINS(base_name(module), between_files) || tg_stack_is_interpreter(module) ||
           strstr(module, "/lib-dynload/") != NULL;
}

static bool is_between(const struct tg_stack_call *call)
{
    return !call->is_python && is_between_file(call->module);
}

bool tg_stack_is_interpreter(const char *module)
{
    static const char *const interpreters[] = {"python3", "libpython3"};
    return BEGINS(base_name(module), interpreters) || strcmp(base_name(module), "python") == 0;
}

static bool is_runtime_file(const char *module)
{
    return BEGINS(base_name(module), runtime_files) || is_between_file(module);
}

bool tg_stack_is_of_runtime(const char *module, const char *function)
{
    return is_runtime_file(module) || BEGINS(function, runtime_functions);
}

/* ---- the languages' own code, which is part of programs */

/* Headers of C++'s standard library, whose functions are compiled into programs, and Python's own modules, but not those
 * that were installed. */
static bool is_standard_file(const char *file, bool is_python)
{
    static const char *const frozen[] = {"<frozen runpy>", "<frozen importlib._bootstrap"};
    if (!is_python)
        return strstr(file, "/include/c++/") != NULL;
    bool is_own = strstr(file, "/lib/python3") != NULL || strstr(file, "/lib64/python3") != NULL;
    return BEGINS(file, frozen) || (is_own && strstr(file, "-packages/") == NULL);
}

bool tg_stack_is_standard(const struct tg_stack_call *call)
{
    return is_standard_file(call->file, call->is_python);
}

/* What a thread does that uses MPI or OpenMP, whatever called that for the program. */
static bool is_parallel(const char *function)
{
    static const char *const beginnings[] = {"MPI_", "PMPI_", "GOMP_", "omp_", "__kmpc_"};
    return BEGINS(function, beginnings);
}

bool tg_stack_is_mpi_entry(const struct tg_stack_call *call)
{
    static const char *const beginnings[] = {"MPI_", "PMPI_", "mpi_", "pmpi_", "ompi_mpi_finalize"};
    return BEGINS(base_name(call->module), runtime_files) && BEGINS(call->function, beginnings);
}

/* Whether CALL is one of MPI in which no code of the program runs: what MPI loads meanwhile is not the program's either, from
 * wherever (hwloc asks libudev). */
static bool is_mpi_start(const struct tg_stack_call *call)
{
    static const char *const names[] = {"MPI_Init",  "MPI_Init_thread",  "MPI_Session_init",
                                        "PMPI_Init", "PMPI_Init_thread", "PMPI_Session_init"};
    for (size_t i = 0; tg_stack_is_mpi_entry(call) && i < sizeof names / sizeof *names; i++)
        if (strcmp(call->function, names[i]) == 0)
            return true;
    return false;
}

/* ---- calls */

/* IN_RUNTIME: its file is one of a runtime library. */
static struct tg_stack_call unnamed(const struct tg_stack_frame *frame, bool in_runtime)
{
    bool is_python = frame->kind == TG_FRAME_PYTHON, has_module = *frame->module != '\0';
    return (struct tg_stack_call){.function = is_python ? frame->function : "",
                                  .file = is_python ? frame->file : "",
                                  .line = is_python ? frame->line : 0,
                                  .module = frame->module,
                                  .address = has_module ? frame->address : frame->pc,
                                  .pc = frame->pc,
                                  .is_python = is_python,
                                  .is_signal = frame->kind == TG_FRAME_SIGNAL,
                                  .is_runtime = !is_python && in_runtime};
}

static void each_call(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                      bool (*take)(void *context, const struct tg_stack_call *call), void *context)
{
    const char *module = NULL; /* of the frame before: several calls in turn are in one file */
    bool in_runtime = false;
    for (size_t i = 0; i < stack->count; i++) {
        const struct tg_stack_frame *frame = &stack->frames[i];
        if (frame->module != module)
            in_runtime = is_runtime_file(frame->module);
        module = frame->module;
        struct tg_stack_call call = unnamed(frame, in_runtime);
        struct tg_stack_names names = tg_stack_model_names(model, frame);
        if (names.count == 0 || call.is_python) {
            if (!take(context, &call))
                return;
            continue;
        }
        for (size_t k = 0; k < names.count; k++) {
            call.function = names.calls[k].function;
            call.offset = names.calls[k].offset;
            call.file = names.calls[k].file;
            call.line = names.calls[k].line;
            call.is_inlined = names.calls[k].inlined != 0;
            call.is_runtime = in_runtime || BEGINS(call.function, runtime_functions);
            if (!take(context, &call))
                return;
        }
    }
}

static bool find_own(void *context, const struct tg_stack_call *call)
{
    bool *has_own = context;
    *has_own |= !call->is_runtime && !call->is_signal && !tg_stack_is_standard(call);
    return !*has_own;
}

struct passing {
    bool (*take)(void *context, const struct tg_stack_call *call);
    void *context;
    size_t n_starting; /* calls that MPI makes while it starts; the last one is MPI's own */
};

struct start_search {
    size_t n_passed, n_starting;
};

static bool find_start(void *context, const struct tg_stack_call *call)
{
    struct start_search *search = context;
    search->n_passed++;
    if (is_mpi_start(call))
        search->n_starting = search->n_passed;
    return !call->is_signal;
}

static bool pass_start_as_runtime(void *context, const struct tg_stack_call *call)
{
    struct passing *passing = context;
    struct tg_stack_call passed = *call;
    passed.is_runtime |= passing->n_starting > 0;
    passing->n_starting -= passing->n_starting > 0;
    return passing->take(passing->context, &passed);
}

/* The same for all calls, but those by which MPI starts are a runtime's. */
static void each_call_started(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                              bool (*take)(void *context, const struct tg_stack_call *call), void *context)
{
    struct start_search search = {0};
    struct passing passing = {.take = take, .context = context};
    each_call(model, stack, find_start, &search);
    passing.n_starting = search.n_starting;
    if (passing.n_starting > 0)
        each_call(model, stack, pass_start_as_runtime, &passing);
    else
        each_call(model, stack, take, context);
}

static bool pass_standard_as_runtime(void *context, const struct tg_stack_call *call)
{
    const struct passing *passing = context;
    struct tg_stack_call passed = *call;
    passed.is_runtime |= tg_stack_is_standard(call);
    return passing->take(passing->context, &passed);
}

/* A program that has no other code than the language's own is that code. */
void tg_stack_each_call(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                        bool (*take)(void *context, const struct tg_stack_call *call), void *context)
{
    bool has_own = false;
    struct passing passing = {.take = take, .context = context};
    each_call_started(model, stack, find_own, &has_own);
    if (has_own)
        each_call_started(model, stack, pass_standard_as_runtime, &passing);
    else
        each_call_started(model, stack, take, context);
}

/* ---- places */

struct search {
    struct tg_stack_place place;
    const char *
        openmp; /* innermost function of OpenMP that programs call, before code of the program's own; NULL none */
    bool has_first;
    bool wants_caller;   /* AT has no line, or was inlined */
    bool wants_callback; /* there may be one */
    const char *mpi;     /* function of MPI that was passed behind AT, NULL none */
    const char *entry;   /* the outermost one before code of the program's own, NULL none */
    size_t signals_due;  /* trampolines to be passed before anything counts */
};

/* Where a region's code ends with a call, compilers jump instead, and no frame of it is left: what it called is, right
 * within the function that began the region. */
static void pass_inside(struct search *search, const struct tg_stack_call *call)
{
    static const char *const openmp[] = {"GOMP_", "omp_", "__kmpc_"};
    static const char *const regions[] = {"GOMP_parallel", "GOMP_teams", "__kmpc_fork_"};
    if (tg_stack_is_mpi_entry(call))
        search->entry = call->function;
    if (is_between(call) || (tg_stack_is_standard(call) && is_parallel(search->place.inside)))
        return;
    if (search->openmp == NULL && BEGINS(call->function, openmp))
        search->openmp = call->function;
    search->place.inside = search->openmp != NULL && BEGINS(call->function, regions) ? search->openmp
                           : *call->function != '\0'                                 ? call->function
                                                     : base_name(call->module);
}

/* Functions of Fortran call those of C, whose names people know. */
static void pass_runtime(struct search *search, const struct tg_stack_call *call)
{
    bool is_lower = *call->function == 'm' || *call->function == 'p';
    if (tg_stack_is_mpi_entry(call) && !(search->mpi != NULL && is_lower))
        search->mpi = call->function;
}

/* CALL is outward of the program's innermost one. Returns whether more of them are wanted. */
static bool take_outer(struct search *search, const struct tg_stack_call *call)
{
    struct tg_stack_place *place = &search->place;
    if (call->is_runtime) {
        pass_runtime(search, call);
        return true;
    }
    if (search->mpi != NULL && search->wants_callback) {
        place->callback_of = search->mpi;
        return false;
    }
    place->is_handler = false; /* what it has interrupted is the program's own */
    if (search->wants_callback)
        place->callback = *call;
    if (search->wants_caller && call->line != 0) {
        place->caller = *call;
        place->has_caller = true;
        search->wants_caller = false;
    }
    return search->wants_caller || search->wants_callback;
}

static bool take_call(void *context, const struct tg_stack_call *call)
{
    struct search *search = context;
    struct tg_stack_place *place = &search->place;
    if (call->is_signal && search->signals_due > 0)
        search->signals_due--;
    if (call->is_signal && place->is_known && search->mpi == NULL)
        place->is_handler = true;
    if (search->signals_due > 0 || call->is_signal)
        return true;
    if (!search->has_first) {
        search->has_first = true;
        place->at = *call;
    }
    if (place->is_known)
        return take_outer(search, call);
    if (!call->is_runtime) {
        place->is_known = true;
        place->at = place->callback = *call;
        search->wants_caller = call->line == 0 || call->is_inlined;
        return search->wants_caller || search->wants_callback;
    }
    pass_inside(search, call);
    return true;
}

/* Calls before the first trampoline. */
struct handler {
    bool is_first_seen, raises, has_program, unwinds;
};

static bool take_handler_call(void *context, const struct tg_stack_call *call)
{
    static const char *const raising[] = {"raise", "__pthread_kill", "pthread_kill",
                                          "kill",  "tgkill",         "__GI_raise"};
    struct handler *handler = context;
    if (!handler->is_first_seen)
        handler->raises = BEGINS(call->function, raising);
    handler->is_first_seen = true;
    handler->unwinds |= strcmp(call->function, "_Unwind_Backtrace") == 0;
    handler->has_program |= !call->is_signal && !call->is_runtime;
    return !call->is_signal;
}

/* The trampolines in a crashed thread's stack that have the code that went wrong behind them: a handler, of an
 * MPI library for example, has raised its signal once more, or found the stack that it wanted to print in ruins. One that
 * went wrong itself has not. */
static size_t count_signals(const struct tg_stack_model *model, const struct tg_last_stack *stack)
{
    struct handler handler = {0};
    size_t count = 0;
    if (stack->reason != TG_STACK_FATAL_SIGNAL && stack->reason != TG_STACK_CAUGHT_SIGNAL)
        return 0;
    for (size_t i = 0; i < stack->count; i++)
        count += stack->frames[i].kind == TG_FRAME_SIGNAL;
    if (count > 0)
        tg_stack_each_call(model, stack, take_handler_call, &handler);
    if (handler.unwinds && !handler.has_program)
        return count;
    return handler.raises && (!handler.has_program || stack->signal != SIGABRT) ? count : 0;
}

const char *tg_stack_public_name(const char *function)
{
    static const struct {
        const char *inner, *name;
    } aliases[] = {{"__pthread_mutex_lock_full", "pthread_mutex_lock"},
                   {"__pthread_clockjoin_ex", "pthread_join"},
                   {"__kmpc_set_lock", "omp_set_lock"}, /* to which LLVM's omp_set_lock jumps */
                   {"__kmpc_set_nest_lock", "omp_set_nest_lock"},
                   {"__kmpc_critical_with_hint", "kmpc_critical"},
                   {"ompi_mpi_finalize", "MPI_Finalize"}}; /* to which Open MPI's MPI_Finalize jumps */
    static const char *const variants[] = {"strlen",     "strnlen", "strcpy",  "strncpy",   "strcat",
                                           "strncat",    "strcmp",  "strncmp", "strchr",    "strrchr",
                                           "strchrnul",  "stpcpy",  "memcpy",  "memmove",   "memset",
                                           "memcmp",     "memchr",  "memrchr", "wcslen",    "wmemset",
                                           "strcasecmp", "strspn",  "strcspn", "rawmemchr", "strncasecmp"};
    static const char *const prefixes[] = {"P", "__GI_", "__libc_", "___", "__", "_IO_"};
    static const char *const begins_with[] = {"PMPI_", "__GI_", "__libc_", "___", "__", "_IO_"};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(function, aliases[i].inner) == 0)
            return aliases[i].name;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(function, begins_with[i], strlen(begins_with[i])) != 0)
            continue;
        function += strlen(prefixes[i]);
        break;
    }
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        size_t length = strlen(variants[i]); /* "memcpy_avx512_unaligned_erms" */
        if (strncmp(function, variants[i], length) == 0 &&
            (strncmp(function + length, "_avx", 4) == 0 || strncmp(function + length, "_evex", 5) == 0 ||
             strncmp(function + length, "_sse", 4) == 0 || strncmp(function + length, "_erms", 5) == 0))
            return variants[i];
    }
    return function;
}

/* Whether a library of MPI may have called code of the program: what can be known without names. */
static bool may_call_back(const struct tg_last_stack *stack)
{
    static const char *const libraries[] = {"libmpi", "libpmpi"};
    bool has_own = false;
    for (size_t i = 0; i < stack->count; i++) {
        const struct tg_stack_frame *frame = &stack->frames[i];
        if (has_own && BEGINS(base_name(frame->module), libraries))
            return true;
        has_own |= frame->kind == TG_FRAME_PYTHON ||
                   (frame->kind == TG_FRAME_CODE && !tg_stack_is_of_runtime(frame->module, ""));
    }
    return false;
}

/* What is behind the first trampoline of a stack. */
struct interruption {
    bool is_seen, has_own,
        has_runtime; /* the trampoline; own code before it; a library's behind it, before own code */
    struct tg_stack_call *at;
    bool is_known;
};

static bool take_interruption(void *context, const struct tg_stack_call *call)
{
    struct interruption *interruption = context;
    interruption->is_seen |= call->is_signal;
    if (call->is_signal)
        return true;
    if (!interruption->is_seen)
        interruption->has_own |= !call->is_runtime;
    else if (call->is_runtime)
        interruption->has_runtime = true;
    else
        *interruption->at = *call;
    interruption->is_known = interruption->is_seen && !call->is_runtime;
    return !interruption->is_known;
}

/* A handler of a library's own that interrupted another library's code is not told from what that has called. */
static void find_interrupted(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                             struct tg_stack_place *place)
{
    struct interruption found = {.at = &place->interrupted};
    bool has_trampoline = false;
    for (size_t i = 0; i < stack->count; i++)
        has_trampoline |= stack->frames[i].kind == TG_FRAME_SIGNAL;
    if (!has_trampoline || !place->is_known || *place->callback_of != '\0')
        return;
    tg_stack_each_call(model, stack, take_interruption, &found);
    place->is_interrupted = found.is_known && !found.has_own && !found.has_runtime;
    place->has_interrupted = found.is_known && (found.has_own || place->is_interrupted);
}

struct tg_stack_place tg_stack_place_find(const struct tg_stack_model *model,
                                          const struct tg_last_stack *stack)
{
    struct search search = {
        .place = {.inside = "", .callback_of = "", .at = {.function = "", .file = "", .module = ""}},
        .signals_due = count_signals(model, stack),
        .wants_callback = may_call_back(stack),
    };
    tg_stack_each_call(model, stack, take_call, &search);
    if (search.mpi != NULL && search.wants_callback) /* the stack ends there, or with the caller */
        search.place.callback_of = search.mpi;
    search.place.is_in_region = !search.place.is_known && search.openmp != NULL;
    if (!search.place.is_known && !search.place.is_in_region && search.entry != NULL)
        search.place.inside = search.entry; /* which an interpreter called at its end */
    search.place.inside =
        tg_stack_public_name(search.place.is_in_region ? search.openmp : search.place.inside);
    search.place.callback_of = tg_stack_public_name(search.place.callback_of);
    if (count_signals(model, stack) == 0)
        find_interrupted(model, stack, &search.place);
    return search.place;
}

struct line_search {
    uint64_t code;
    struct tg_stack_call *call;
    bool has_code, has_line;
};

static bool take_line(void *context, const struct tg_stack_call *call)
{
    struct line_search *search = context;
    bool has_line = call->line != 0 && *call->file != '\0';
    if (!search->has_code) {
        search->has_code = call->pc == search->code;
        return !(search->has_code && has_line);
    }
    if (!has_line || call->is_runtime || call->is_signal)
        return true;
    *search->call = *call;
    search->has_line = true;
    return false;
}

bool tg_stack_find_line_behind(const struct tg_stack_model *model, const struct tg_last_stack *stack,
                               uint64_t code, struct tg_stack_call *call)
{
    struct line_search search = {.code = code, .call = call};
    if (code != 0)
        tg_stack_each_call(model, stack, take_line, &search);
    return search.has_line;
}

bool tg_stack_find_line_of_call(const struct tg_stack_model *model, size_t process, uint64_t code,
                                uint64_t since_ns, struct tg_stack_call *call)
{
    struct tg_stack_call found, first;
    bool has_one = false;
    for (size_t i = 0; i < tg_stack_model_count(model); i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(model, i);
        if (stack->process != process || stack->time_ns < since_ns ||
            !tg_stack_find_line_behind(model, stack, code, &found))
            continue;
        if (has_one && (found.line != first.line || strcmp(found.file, first.file) != 0))
            return false;
        first = has_one ? first : found;
        has_one = true;
    }
    if (has_one)
        *call = first;
    return has_one;
}

static bool is_same_call(const struct tg_stack_call *a, const struct tg_stack_call *b)
{
    if (a->line != 0 && b->line != 0)
        return a->line == b->line && strcmp(a->file, b->file) == 0 && strcmp(a->function, b->function) == 0;
    return a->line == b->line && strcmp(a->module, b->module) == 0 &&
           (*a->function != '\0' ? strcmp(a->function, b->function) == 0 : a->address == b->address);
}

bool tg_stack_place_is_same(const struct tg_stack_place *a, const struct tg_stack_place *b)
{
    return a->is_known == b->is_known && strcmp(a->inside, b->inside) == 0 && is_same_call(&a->at, &b->at) &&
           strcmp(a->callback_of, b->callback_of) == 0 && a->has_caller == b->has_caller &&
           (!a->has_caller || is_same_call(&a->caller, &b->caller));
}
