#include "recorder/agent/deep/deep_bind.h"

#include "recorder/agent/deep/library_file.h"
#include "recorder/agent/deep/open_count.h"
#include "recorder/agent/deep/pinned.h"
#include "recorder/agent/deep/search.h"
#include "recorder/agent/deep/settings.h"
#include "recorder/agent/deep/wrapped.h"
#include "recorder/agent/deep/wrapper.h"
#include "recorder/agent/deep/wrapper_file.h"
#include "recorder/agent/deep_bind.h"
#include "recorder/agent/environment.h"
#include "recorder/agent/next.h"
#include "recorder/agent/record.h"
#include "recorder/agent/scope.h"
#include "recorder/agent/wrapper_name.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the auditor finds by its name. */
extern struct tg_deep_bind_link tg_deep_bind_link __asm__(TG_DEEP_BIND_LINK);
TG_AGENT_EXPORT struct tg_deep_bind_link tg_deep_bind_link;

void tg_deep_bind_forbid(unsigned what)
{
    __atomic_fetch_or(&tg_deep_bind_link.forbidden, what, __ATOMIC_RELEASE);
}

static __thread struct tg_deep_bind_request request __attribute__((tls_model("initial-exec")));

typedef void *open_function(const char *path, int flags);
typedef int close_function(void *handle);

static struct tg_deep_settings settings;
static char has_warned, has_told; /* __atomic */

static __attribute__((constructor(103))) void start(void)
{
    if (!tg_agent_is_set_up())
        return;
    tg_deep_settings_read(tg_agent_environment_get("TVHEAP_DEEPBIND"), tg_agent_environment_get("TMPDIR"),
                          &settings);
    tg_deep_bind_link.request_offset = (char *)&request - (char *)__builtin_thread_pointer();
}

/* ---- records */

struct report {
    enum tg_deep_bind_how how;
    uint64_t caller;
    bool is_kept;
    const char *library, *wrapper, *problem, *before, *after;
};

static void record(const struct report *report)
{
    const char *const texts[] = {report->library, report->wrapper, report->problem, report->before,
                                 report->after};
    enum { N_TEXTS = sizeof texts / sizeof texts[0], HEAD = 4 };
    size_t n_words[N_TEXTS], all = HEAD;
    for (size_t i = 0; i < N_TEXTS; i++)
        all += n_words[i] = tg_agent_string_words(texts[i]);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_DEEP_BIND, all);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)gettid();
    arguments[1] = report->how;
    arguments[2] = report->caller;
    arguments[3] = report->is_kept;
    arguments += HEAD;
    for (size_t i = 0; i < N_TEXTS; i++) {
        tg_agent_put_string(arguments, texts[i], n_words[i]);
        arguments += n_words[i];
    }
    tg_agent_commit();
}

static void record_plainly(enum tg_deep_bind_how how, const char *path, uint64_t caller, const char *problem)
{
    record(&(struct report){.how = how, .caller = caller, .library = path, .problem = problem});
}

/* ---- a wrapper */

/* A call of dlopen. */
struct call {
    const char *path;
    int flags;
    const uint64_t *frame; /* holds the return address */
    bool is_observed;      /* tg_deep_bind_returned comes */
};

/* Everything that it takes to make one. */
struct making {
    const char *path;
    const struct link_map *caller;
    const char *libraries[2]; /* the agent's: their paths; NULL: not there */
    bool has_other_heap;
    char target[PATH_MAX]; /* what is needed */
    char file[PATH_MAX];   /* of the target, "" not found */
    char origin[PATH_MAX];
    char folders[TG_DEEP_PATHS_BYTES];
    char runpath[TG_DEEP_PATHS_BYTES];
    bool has_runpath;
    size_t n_needed;
    const char *needed[TG_DEEP_WRAPPER_MAX_NEEDED];
    char names[TG_DEEP_PATHS_BYTES];
    size_t n_names; /* bytes */
    char problem[256 + PATH_MAX];
    struct tg_deep_file wrapper;
    char before[TG_SCOPE_TEXT_BYTES], after[TG_SCOPE_TEXT_BYTES];
    struct tg_agent_scope scope;
    unsigned char image[1 << 17];
};

/* Whether the heap's library passes calls on to libc's functions, as the target's calls would go. */
static bool is_of_libc(const struct dl_phdr_info *info)
{
    struct tg_agent_symbols symbols;
    const bool *is_libcs = NULL;
    if (tg_agent_object_symbols(info, &symbols))
        is_libcs = tg_agent_symbols_find(&symbols, TG_DEEP_BIND_IS_LIBCS);
    return is_libcs == NULL || *is_libcs;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const names[] = {"/" TG_AGENT_LIBRARY, "/" TG_AGENT_HEAP_LIBRARY};
    struct making *making = context;
    (void)size;
    size_t length = strlen(info->dlpi_name);
    for (size_t i = 0; i < 2; i++)
        if (making->libraries[i] == NULL && length > strlen(names[i]) &&
            strcmp(info->dlpi_name + length - strlen(names[i]), names[i]) == 0)
            making->libraries[i] = info->dlpi_name;
    if (making->libraries[1] == info->dlpi_name && !is_of_libc(info)) {
        making->has_other_heap = true;
        making->libraries[1] = NULL;
    }
    return 0;
}

/* The name that stands for the same library in a wrapper, and how it is looked for. */
static bool name_target(struct making *making)
{
    const char *path = making->path;
    bool has_origin = tg_deep_search_origin(making->caller, making->origin);
    if (strchr(path, '/') != NULL) {
        if (strchr(path, '$') != NULL && !has_origin)
            return false;
        if (!tg_deep_search_expand(path, making->origin, making->target, sizeof making->target))
            return false;
        snprintf(making->file, sizeof making->file, "%s", making->target);
        return true;
    }
    const char *runpath = tg_deep_search_string(making->caller, DT_RUNPATH);
    const char *rpath = tg_deep_search_string(making->caller, DT_RPATH);
    snprintf(making->target, sizeof making->target, "%s", path);
    if (runpath != NULL) {
        making->has_runpath = true;
        if (!has_origin ||
            !tg_deep_search_expand(runpath, making->origin, making->runpath, sizeof making->runpath))
            return false;
    } else if (rpath != NULL && making->caller->l_prev != NULL) {
        /* The program's rpath counts for all; the wrapper would hand a library's on to the target. */
        if (!has_origin ||
            !tg_deep_search_expand(rpath, making->origin, making->folders, sizeof making->folders))
            return false;
        if (tg_deep_search_list(making->folders, path, making->file))
            snprintf(making->target, sizeof making->target, "%s", making->file);
    }
    if (making->file[0] == '\0' &&
        !tg_deep_search_folders(making->caller, path, making->folders, sizeof making->folders, making->file))
        making->file[0] = '\0';
    return true;
}

static bool is_system(const char *name)
{
    static const char *const names[] = {"libm.so.",  "libgcc_s.so.", "libstdc++.so.", "libpthread.so.",
                                        "libdl.so.", "librt.so.",    "libgomp.so.",   "ld-linux"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The file of the target's dependency NAME. */
static bool find_dependency(struct making *making, const struct tg_deep_library *target, const char *name,
                            char found[PATH_MAX])
{
    const char *list = tg_deep_library_string(target, DT_RUNPATH, 0);
    if (list == NULL)
        list = tg_deep_library_string(target, DT_RPATH, 0);
    if (strchr(name, '/') != NULL)
        return snprintf(found, PATH_MAX, "%s", name) < PATH_MAX;
    if (list != NULL && tg_deep_search_file_origin(making->file, making->origin) &&
        tg_deep_search_expand(list, making->origin, making->folders, sizeof making->folders) &&
        tg_deep_search_list(making->folders, name, found))
        return true;
    return tg_deep_search_folders(_r_debug.r_map, name, making->folders, sizeof making->folders, found);
}

static bool has_heap(const struct link_map *list, const char *name, const char *path)
{
    static const char function[] = "malloc";
    struct tg_agent_symbols symbols;
    struct tg_deep_library library;
    const struct link_map *map = tg_agent_scope_named(list, name);
    if (map != NULL)
        return tg_agent_symbols_read(map->l_addr, map->l_ld, &symbols) &&
               tg_agent_symbols_index(&symbols, function, tg_agent_symbols_hash(function)) != 0;
    if (path == NULL || !tg_deep_library_open(path, &library))
        return false;
    bool has = tg_deep_library_defines(&library, function);
    tg_deep_library_close(&library);
    return has;
}

static bool need(struct making *making, const char *name)
{
    size_t length = strlen(name) + 1;
    if (making->n_needed == TG_DEEP_WRAPPER_MAX_NEEDED || length > sizeof making->names - making->n_names)
        return false;
    memcpy(making->names + making->n_names, name, length);
    making->needed[making->n_needed++] = making->names + making->n_names;
    making->n_names += length;
    return true;
}

/* Dependencies of the target up to the last one that has a heap of its own: they come before the agent's. */
static bool need_dependencies(struct making *making)
{
    struct tg_deep_library target;
    char found[PATH_MAX];
    size_t n_before = 0;
    bool good = true;
    if (making->libraries[1] == NULL || making->file[0] == '\0' ||
        !tg_deep_library_open(making->file, &target))
        return true;
    const char *name;
    for (size_t i = 0; (name = tg_deep_library_string(&target, DT_NEEDED, i)) != NULL; i++) {
        if (strcmp(name, "libc.so.6") == 0)
            break;
        bool is_found = find_dependency(making, &target, name, found);
        if (!is_system(name) && has_heap(_r_debug.r_map, name, is_found ? found : NULL))
            n_before = i + 1;
    }
    for (size_t i = 0; i < n_before && good; i++) {
        name = tg_deep_library_string(&target, DT_NEEDED, i);
        bool is_loaded = tg_agent_scope_named(_r_debug.r_map, name) != NULL;
        good = (is_loaded || find_dependency(making, &target, name, found)) &&
               need(making, is_loaded ? name : found);
    }
    tg_deep_library_close(&target);
    return good;
}

static bool fail(struct making *making, const char *why)
{
    snprintf(making->problem, sizeof making->problem, "%s", why);
    return false;
}

static bool make(struct making *making)
{
    dl_iterate_phdr(find_library, making);
    if (making->libraries[0] == NULL)
        return fail(making, "the agent does not find its own library");
    bool good = name_target(making) && need(making, making->target) && need_dependencies(making);
    for (size_t i = 0; i < 2 && good; i++)
        good = making->libraries[i] == NULL || need(making, making->libraries[i]);
    if (!good)
        return fail(making, "its path, or those of libraries that it needs, cannot be named in a wrapper");
    size_t size =
        tg_deep_wrapper_write(making->needed, making->n_needed, making->has_runpath ? making->runpath : NULL,
                              making->image, sizeof making->image);
    if (size == 0)
        return fail(making, "a wrapper would be too large");
    int problem = tg_deep_file_create(settings.directory, settings.keeps_wrapper, making->image, size,
                                      &making->wrapper);
    if (problem == 0)
        return true;
    snprintf(making->problem, sizeof making->problem, "no wrapper in %s: %s", settings.directory,
             strerrordesc_np(problem) != NULL ? strerrordesc_np(problem) : "unknown error");
    return false;
}

/* The name that others read: by its descriptor it would be another file some day. */
static void rename_map(struct link_map *map)
{
    static const char name[] = TG_WRAPPER_NAME "wrapper";
    if (strncmp(map->l_name, "/proc/", 6) == 0 && strlen(map->l_name) >= sizeof name)
        memcpy(map->l_name, name, sizeof name);
}

static int describe(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    struct making *making = context;
    const struct link_map *left_out[3] = {making->scope.maps[0]};
    tg_agent_scope_find(making->scope.maps[0], &making->scope);
    tg_agent_scope_write(&making->scope, NULL, 0, making->after);
    for (size_t i = 0; i < 2; i++)
        if (making->libraries[i] != NULL)
            left_out[1 + i] = tg_agent_scope_named(left_out[0], making->libraries[i]);
    tg_agent_scope_write(&making->scope, left_out, 3, making->before);
    return 1;
}

enum opened {
    OPENED,       /* the library is there, and binds by way of its wrapper */
    WAS_LOADED,   /* the library was there before: no wrapper makes a difference */
    NOT_WRAPPED,  /* the directory, or something else, is in the way */
    NOT_ACCEPTED, /* the loader opens no wrapper: mostly because it does not open the library */
};

static open_function *real_open(void)
{
    return (open_function *)(uintptr_t)tg_agent_next("dlopen");
}

static close_function *real_close(void)
{
    return (close_function *)(uintptr_t)tg_agent_next("dlclose");
}

/* WRAPPER has been opened for CALL. It is closed when the library is; for ever open where that cannot be known. */
static void keep_track(const struct link_map *wrapper, const struct call *call)
{
    struct link_map *target = wrapper->l_next;
    bool is_counted = tg_deep_open_count_learn(target, real_open(), real_close()) || call->is_observed;
    tg_deep_wrapped_add((void *)(uintptr_t)wrapper, target,
                        !is_counted || (call->flags & RTLD_NODELETE) != 0 || tg_deep_pinned_is(target));
}

static enum opened open_wrapper(struct making *making, const struct call *call)
{
    open_function *open = real_open();
    const int passed = RTLD_LAZY | RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND;
    struct link_map *map = open == NULL ? NULL : open(making->wrapper.path, call->flags & passed);
    if (map == NULL) {
        tg_deep_file_release(&making->wrapper);
        snprintf(making->problem, sizeof making->problem, "the dynamic loader takes no wrapper for it");
        return NOT_ACCEPTED;
    }
    making->scope.maps[0] = map;
    dl_iterate_phdr(describe, making);
    bool is_new = making->scope.count > 1 && making->scope.maps[1] == map->l_next;
    if (is_new) {
        keep_track(map, call);
        record(&(struct report){
            .how = making->has_other_heap ? TG_DEEP_BIND_NOT_DONE : TG_DEEP_BIND_BY_WRAPPER,
            .problem = making->has_other_heap ? TG_DEEP_BIND_NOT_LIBCS : "",
            .caller = *call->frame,
            .is_kept = making->wrapper.is_kept,
            .library = making->path,
            .wrapper = making->wrapper.path,
            .before = making->before,
            .after = making->after,
        });
        rename_map(map);
    } else {
        close_function *close = real_close();
        if (close != NULL)
            close(map);
    }
    tg_deep_file_release(&making->wrapper);
    return is_new ? OPENED : WAS_LOADED;
}

/* The library that PATH stands for, if it is there already: its handle, closed again. Any error is forgotten by the dlopen that
 * follows. The loader takes the agent for the caller. */
static const void *find_loaded(const char *path)
{
    open_function *open = real_open();
    close_function *close = real_close();
    void *handle = open == NULL || close == NULL ? NULL : open(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL)
        close(handle);
    return handle;
}

/* The same of what CALL names, as its caller finds it. */
static const void *find_loaded_of(const struct call *call)
{
    const void *found = NULL;
    bool is_path = strchr(call->path, '/') != NULL;
    if (!is_path || strchr(call->path, '$') == NULL)
        found = find_loaded(call->path);
    if (found != NULL || (is_path && strchr(call->path, '$') == NULL))
        return found;
    struct making *making =
        mmap(NULL, sizeof *making, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (making == MAP_FAILED)
        return NULL;
    making->path = call->path;
    making->caller = tg_deep_search_object(*call->frame);
    if (name_target(making) && making->file[0] != '\0')
        found = find_loaded(making->file);
    munmap(making, sizeof *making);
    return found;
}

/* *PROBLEM: why not. */
static enum opened wrap(const struct call *call, char *problem, size_t size)
{
    if (find_loaded_of(call) != NULL) /* nothing changes then */
        return WAS_LOADED;
    struct making *making =
        mmap(NULL, sizeof *making, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (making == MAP_FAILED) {
        snprintf(problem, size, "no memory for a wrapper");
        return NOT_WRAPPED;
    }
    making->path = call->path;
    making->caller = tg_deep_search_object(*call->frame);
    enum opened opened = make(making) ? open_wrapper(making, call) : NOT_WRAPPED;
    snprintf(problem, size, "%s", making->problem);
    munmap(making, sizeof *making);
    return opened;
}

/* ---- calls */

static void ask(const struct call *call, const char *problem)
{
    if (problem != NULL)
        tg_deep_bind_link.problem = problem;
    request = (struct tg_deep_bind_request){
        .caller = *call->frame, .path = call->path, .frame = call->frame, .has_problem = problem != NULL};
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    request.state = TG_DEEP_BIND_ASKED;
}

static void warn(void)
{
    if (settings.warning[0] != '\0' && !__atomic_test_and_set(&has_warned, __ATOMIC_RELAXED))
        tg_agent_say(TG_RECORD_NOTE, settings.warning);
}

/* One line for the first one; the trace has all of them. */
static void tell(const char *problem)
{
    char text[512 + PATH_MAX];
    if (__atomic_test_and_set(&has_told, __ATOMIC_RELAXED))
        return;
    snprintf(text, sizeof text, "dlopen with RTLD_DEEPBIND: %s", problem);
    tg_agent_say(TG_RECORD_NOTE, text);
}

/* Apart, for its room on the stack. True: the library does not bind past the agent. */
static __attribute__((noinline)) bool bring_in_by_wrapper(const struct call *call)
{
    static char kept_problem[256 + PATH_MAX]; /* others read it: the last one of the process */
    char problem[sizeof kept_problem] = "";
    enum opened opened = wrap(call, problem, sizeof problem);
    if (opened == WAS_LOADED)
        record_plainly(TG_DEEP_BIND_WAS_LOADED, call->path, *call->frame, NULL);
    if (opened == WAS_LOADED || opened == OPENED)
        return true;
    memcpy(kept_problem, problem, sizeof kept_problem);
    bool is_audited = tg_deep_bind_link.is_audited != 0;
    ask(call, kept_problem);
    if (opened == NOT_WRAPPED)
        tell(problem);
    if (!is_audited)
        request.state = TG_DEEP_BIND_LEFT;
    return is_audited;
}

static bool bring_in(const struct call *call)
{
    if (settings.prefers_wrapper || tg_deep_bind_link.is_audited == 0)
        return bring_in_by_wrapper(call);
    if (!call->is_observed && find_loaded_of(call) != NULL) /* else known when the call returns */
        record_plainly(TG_DEEP_BIND_WAS_LOADED, call->path, *call->frame, NULL);
    else
        ask(call, NULL);
    return true;
}

bool tg_deep_bind_is_concerned(int flags)
{
    return ((flags & RTLD_DEEPBIND) != 0 && tg_agent_is_set_up()) || tg_deep_wrapped_is_any();
}

bool tg_deep_bind_before(const char *path, int flags, const uint64_t *frame, bool is_observed)
{
    const struct call call = {.path = path, .flags = flags, .frame = frame, .is_observed = is_observed};
    request.state = TG_DEEP_BIND_NOTHING;
    bool has_name = path != NULL && path[0] != '\0';
    if (has_name && (!is_observed || (flags & RTLD_NODELETE) != 0))
        tg_deep_wrapped_unseen();
    if ((flags & RTLD_DEEPBIND) == 0)
        return false;
    if (!has_name || (flags & RTLD_NOLOAD) != 0 || !tg_agent_is_set_up())
        return true; /* loads nothing; or nobody asks */
    int saved = errno;
    warn();
    if (settings.passes_through) {
        record_plainly(TG_DEEP_BIND_PASSED, path, *frame, "TVHEAP_DEEPBIND has pass_through=true");
        errno = saved;
        return true;
    }
    bool is_in = bring_in(&call);
    errno = saved;
    return !is_in;
}

void tg_deep_bind_returned(void *handle)
{
    int saved = errno;
    if (request.state == TG_DEEP_BIND_ASKED && handle != NULL) /* no object came */
        record_plainly(TG_DEEP_BIND_WAS_LOADED, request.path, request.caller, NULL);
    if (request.state == TG_DEEP_BIND_LEFT && handle != NULL)
        record_plainly(TG_DEEP_BIND_NOT_DONE, request.path, request.caller, tg_deep_bind_link.problem);
    request.state = TG_DEEP_BIND_NOTHING;
    if (handle != NULL)
        tg_deep_wrapped_opened(handle);
    errno = saved;
}

void tg_deep_bind_closed(void *handle, int (*close)(void *handle))
{
    int saved = errno;
    tg_deep_wrapped_closed(handle, close);
    errno = saved;
}
