/* The program's calls of dlopen, dlmopen and dlclose. The audit library sees what is loaded, but not who
 * asked for it, how, and what came of it; what this file sees is only told, never changed: see dl_thunk.S.
 *
 * dlerror is the program's: reading it would take the text away. libc keeps the error in a variable of the
 * thread, whose contents are looked at instead, after a trial has shown that they mean what is expected. */
#include "recorder/agent/calls/backends.h"
#include "recorder/agent/calls/return_site.h"
#include "recorder/agent/deep/deep_bind.h"
#include "recorder/agent/next.h"
#include "recorder/agent/record.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SKIPPED_SHIFT = 48,
    PLAIN_SHIFT = 62,
    FRAMED_SHIFT = 63,
    MAX_TEXT = 1024,
    SITES = 64, /* a power of two */
    IMPOSSIBLE_MODE = 1 << 29,
};

/* enum tg_library_call of the trace's format */
enum library_call {
    CALL_DLOPEN,
    CALL_DLMOPEN,
    CALL_DLCLOSE,
};

typedef void *real_dlopen(const char *path, int flags);
typedef void *real_dlmopen(Lmid_t namespace_id, const char *path, int flags);
typedef int real_dlclose(void *handle);

/* Next thing for the thunk to do. Returned in rax and rdx. */
struct plan {
    void *function;
    uint64_t site; /* bits 0-47 address of a `ret`, 48-57 what its row skips, 62 plain, 63 framed; 0: leave it
                      to the function to return */
};

/* FRAME: where the return address is. */
struct plan tg_dl_enter_dlopen(const char *path, int flags, const uint64_t *frame);
struct plan tg_dl_enter_dlmopen(Lmid_t namespace_id, const char *path, int flags, const uint64_t *frame);
void *tg_dl_returned_dlopen(void *handle);
void *tg_dl_returned_dlmopen(void *handle);
TG_AGENT_EXPORT int dlclose(void *handle);

/* glibc's struct dl_action_result, from 2.34 on. */
struct error_result {
    int code;
    char source;
    bool returned; /* dlerror has handed it out */
    const char *object;
    char *text;
};

enum error_state {
    ERRORS_NOT_TRIED,
    ERRORS_TRYING,
    ERRORS_UNKNOWN,
    ERRORS_KNOWN,
};

static struct {
    real_dlopen *dlopen;
    real_dlmopen *dlmopen;
    real_dlclose *dlclose;
    int error_state;       /* enum error_state, __atomic */
    intptr_t error_offset; /* from the thread pointer to libc's variable */
    char lock;             /* for the sites, __atomic; a thread that does not get it does without */
    struct {
        uint64_t caller; /* 0: none */
        uint64_t unloads;
        uint64_t site;
    } sites[SITES];
    char told; /* __atomic: why returns are not seen */
} calls;

static void *find_real(void **where, const char *name)
{
    void *known = __atomic_load_n(where, __ATOMIC_RELAXED);
    if (known == NULL) {
        known = tg_agent_next(name);
        __atomic_store_n(where, known, __ATOMIC_RELAXED);
    }
    return known;
}

/* ---- libc's error */

static struct error_result *current_error(void)
{
    return *(struct error_result **)((char *)__builtin_thread_pointer() + calls.error_offset);
}

/* An error made on purpose must look as expected. What it overwrites is an error that the call which is about
 * to be made would forget in any case. */
static bool try_errors(void)
{
    char *variable = dlvsym(RTLD_DEFAULT, "__libc_dlerror_result", "GLIBC_PRIVATE");
    if (variable == NULL || calls.dlopen == NULL)
        return false;
    calls.error_offset = variable - (char *)__builtin_thread_pointer();
    if (calls.dlopen(NULL, IMPOSSIBLE_MODE) != NULL)
        return false;
    const struct error_result *result = current_error();
    if (result == NULL || (uintptr_t)result % sizeof(void *) != 0 || result->returned)
        return false;
    const char *text = dlerror();
    bool same = text != NULL && current_error() == result && result->returned && result->text == text;
    return dlerror() == NULL && current_error() == NULL && same;
}

/* try_errors with the agent's own allocations left out of the records: the memory that libc takes for an error, and gives back,
 * is none of the program's. */
static bool try_unrecorded(void)
{
    sigset_t all, before;
    sigfillset(&all);
    if (tg_agent.no_calls || pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return try_errors();
    tg_agent_set_unrecorded(true);
    bool known = try_errors();
    tg_agent_set_unrecorded(false);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return known;
}

static void learn_errors(void)
{
    int expected = ERRORS_NOT_TRIED;
    if (TG_AGENT_LIKELY(__atomic_load_n(&calls.error_state, __ATOMIC_ACQUIRE) >= ERRORS_UNKNOWN) ||
        !__atomic_compare_exchange_n(&calls.error_state, &expected, ERRORS_TRYING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    (void)find_real((void **)&calls.dlopen, "dlopen");
    int saved = errno;
    bool known = try_unrecorded();
    errno = saved;
    __atomic_store_n(&calls.error_state, known ? ERRORS_KNOWN : ERRORS_UNKNOWN, __ATOMIC_RELEASE);
}

/* Writes what dlerror would say, untranslated; "" where it would say nothing. */
static void describe_error(char *text, size_t size)
{
    if (__atomic_load_n(&calls.error_state, __ATOMIC_ACQUIRE) != ERRORS_KNOWN) {
        snprintf(text, size, "failed; this libc does not show the reason");
        return;
    }
    const struct error_result *result = current_error();
    if (result == (const struct error_result *)-1) {
        snprintf(text, size, "out of memory");
        return;
    }
    text[0] = '\0';
    if (result == NULL || result->text == NULL || result->returned)
        return;
    const char *object = result->object != NULL ? result->object : "";
    const char *reason = result->code != 0 ? strerrordesc_np(result->code) : NULL;
    snprintf(text, size, "%s%s%s%s%s", object, object[0] != '\0' ? ": " : "", result->text,
             reason != NULL ? ": " : "", reason != NULL ? reason : "");
}

/* ---- records */

/* From glibc 2.41 on the loader calls r_brk at the end of every dlopen. */
static bool loader_tells_each_call(void)
{
    enum { MAJOR = 2, MINOR = 41 };
    char *end;
    unsigned long major = strtoul(gnu_get_libc_version(), &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > MAJOR || (major == MAJOR && minor >= MINOR);
}

/* IS_SEEN: its return will be recorded. */
static void record_call(enum library_call call, bool is_seen, uint64_t flags, int64_t namespace_id,
                        uint64_t handle, uint64_t caller, const char *path)
{
    size_t n_words = tg_agent_string_words(path);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_LIBRARY_CALL, 5 + n_words);
    if (arguments == NULL)
        return;
    arguments[0] =
        call | (is_seen && call != CALL_DLCLOSE && loader_tells_each_call() ? TG_AGENT_CALL_IS_TOLD : 0);
    arguments[1] = flags;
    arguments[2] = (uint64_t)namespace_id;
    arguments[3] = handle;
    arguments[4] = caller;
    tg_agent_put_string(arguments + 5, path, n_words);
    tg_agent_commit();
}

/* ERROR: the call says that it failed. */
static void record_return(enum library_call call, uint64_t handle, bool failed)
{
    char text[MAX_TEXT] = "";
    if (failed)
        describe_error(text, sizeof text);
    size_t n_words = tg_agent_string_words(text);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_LIBRARY_RETURN, 2 + n_words);
    if (arguments == NULL)
        return;
    arguments[0] = call;
    arguments[1] = handle;
    tg_agent_put_string(arguments + 2, text, n_words);
    tg_agent_commit();
}

/* ---- where to return to */

static void tell_once(const char *text)
{
    if (!__atomic_test_and_set(&calls.told, __ATOMIC_RELAXED))
        tg_agent_say(TG_RECORD_NOTE, text);
}

static uint64_t find_site(uint64_t caller)
{
    if (tg_return_site_is_guarded()) {
        tell_once("the program has a shadow stack: results of dlopen are not recorded");
        return 0;
    }
    struct tg_return_site site = tg_return_site_find(caller);
    if (site.frame == TG_RETURN_NOWHERE) {
        tell_once("results of some dlopen calls are not recorded: their callers' code has no usable return "
                  "instruction");
        return 0;
    }
    return site.address | (uint64_t)site.skipped << SKIPPED_SHIFT |
           UINT64_C(1) << (site.frame == TG_RETURN_PLAIN ? PLAIN_SHIFT : FRAMED_SHIFT);
}

static uint64_t site_of(uint64_t caller)
{
    size_t slot = (caller ^ caller >> 12) % SITES;
    uint64_t unloads = tg_agent_unloads();
    if (__atomic_test_and_set(&calls.lock, __ATOMIC_ACQUIRE))
        return find_site(caller);
    uint64_t site = calls.sites[slot].site;
    if (calls.sites[slot].caller != caller || calls.sites[slot].unloads != unloads) {
        site = find_site(caller);
        calls.sites[slot].caller = caller;
        calls.sites[slot].unloads = unloads;
        calls.sites[slot].site = site;
    }
    __atomic_clear(&calls.lock, __ATOMIC_RELEASE);
    return site;
}

/* ---- the calls */

static void *nothing_there(void)
{
    return NULL;
}

/* The site for a call with FLAGS, 0 none. */
static uint64_t site_for(const void *function, int flags, bool observed, const uint64_t *frame)
{
    return function != NULL && (observed || tg_deep_bind_is_concerned(flags)) ? site_of(*frame) : 0;
}

/* PATH: NULL where it is not opened beside what the program has. */
static struct plan enter(void *function, const char *path, int flags, uint64_t site, const uint64_t *frame)
{
    if (function == NULL) {
        tg_backends_before_load(flags);
        return (struct plan){.function = (void *)(uintptr_t)nothing_there};
    }
    bool passes_by = tg_deep_bind_before(path, flags, frame, site != 0);
    tg_backends_before_load(passes_by ? flags : flags & ~RTLD_DEEPBIND);
    return (struct plan){.function = function, .site = site};
}

struct plan tg_dl_enter_dlopen(const char *path, int flags, const uint64_t *frame)
{
    bool observed = tg_agent_observes(TG_AGENT_DLOPEN);
    void *function = find_real((void **)&calls.dlopen, "dlopen");
    uint64_t site = site_for(function, flags, observed, frame);
    if (observed) {
        learn_errors();
        record_call(CALL_DLOPEN, site != 0, (uint32_t)flags, 0, 0, *frame, path);
    }
    return enter(function, path, flags, site, frame);
}

struct plan tg_dl_enter_dlmopen(Lmid_t namespace_id, const char *path, int flags, const uint64_t *frame)
{
    bool observed = tg_agent_observes(TG_AGENT_DLOPEN);
    void *function = find_real((void **)&calls.dlmopen, "dlmopen");
    uint64_t site = site_for(function, flags, observed, frame);
    if (observed) {
        learn_errors();
        record_call(CALL_DLMOPEN, site != 0, (uint32_t)flags, namespace_id, 0, *frame, path);
    }
    return enter(function, namespace_id == LM_ID_BASE ? path : NULL, flags, site, frame);
}

static void *returned(enum library_call call, void *handle)
{
    tg_deep_bind_returned(handle);
    if (tg_agent_observes(TG_AGENT_DLOPEN))
        record_return(call, (uint64_t)(uintptr_t)handle, handle == NULL);
    if (handle != NULL)
        tg_backends_after_load();
    return handle;
}

void *tg_dl_returned_dlopen(void *handle)
{
    return returned(CALL_DLOPEN, handle);
}

void *tg_dl_returned_dlmopen(void *handle)
{
    return returned(CALL_DLMOPEN, handle);
}

/* libc's dlclose does not ask who called it. */
int dlclose(void *handle)
{
    uint64_t value = (uint64_t)(uintptr_t)handle;
    bool observed = tg_agent_observes(TG_AGENT_DLOPEN);
    if (observed) {
        learn_errors();
        record_call(CALL_DLCLOSE, true, 0, 0, value, (uint64_t)(uintptr_t)__builtin_return_address(0), NULL);
    }
    real_dlclose *function = (real_dlclose *)find_real((void **)&calls.dlclose, "dlclose");
    if (function == NULL)
        return -1;
    int result = function(handle);
    if (result == 0)
        tg_deep_bind_closed(handle, function);
    tg_agent_count_unload();
    if (observed)
        record_return(CALL_DLCLOSE, result == 0 ? value : 0, result != 0);
    return result;
}
