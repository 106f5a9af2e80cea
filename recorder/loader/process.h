/* The loader watcher's knowledge of one process. Internal to the watcher. */
#ifndef TG_RECORDER_LOADER_PROCESS_H
#define TG_RECORDER_LOADER_PROCESS_H

#include "recorder/breakpoints/user_breakpoints.h"
#include "recorder/engine/engine.h"
#include "recorder/loader/link_map.h"
#include "recorder/process/image_cache.h"

/* A library that waits to be handled. */
struct tg_waiting_library {
    struct tg_loaded_object *object; /* a reference */
    uint64_t since_ns;               /* from when on the program could use it */
};

/* Shared by processes that share memory (vfork), copied at fork, replaced at exec. */
struct tg_loader_process {
    unsigned references;
    struct tg_link_maps *maps; /* NULL: r_debug is not found yet */
    bool started_up;           /* the start-up libraries were told */
    bool wants_stops;          /* r_brk is to be planted */
    bool never_stops;          /* nor will it be, whatever the filter says */
    bool planted;              /* a breakpoint is at BRK */
    bool startup_only;         /* only until the start-up libraries were told */
    bool by_agent;   /* the agent reports libraries: here they are only handled, as late as in fast mode */
    bool in_process; /* by_agent, and its auditor decides: what is to be reported is handled in time */
    struct tg_loader_auditor {
        uint64_t report;                  /* address of TG_AGENT_REPORT_SYMBOL, 0: not looked for yet */
        uint64_t loads;                   /* of TG_AGENT_LOADS_SYMBOL */
        bool planted;                     /* a breakpoint is at REPORT */
        uint64_t opened, closed, waiting; /* of struct tg_agent_loads as last read */
        uint64_t early; /* link map of an object that was in its list before the auditor knew of it, 0 none */
    } auditor;
    bool loader_is_program;   /* `ld.so PROGRAM` */
    uint64_t loader_base;     /* load bias of the dynamic loader */
    uint64_t brk;             /* r_brk, 0 unknown */
    const char *problem_told; /* the last problem that became a loss event */
    struct tg_waiting_library *waiting;
    size_t n_waiting;
    size_t waiting_capacity;
    uint64_t waiting_events; /* load events that they came with */
    uint64_t
        n_unread; /* libraries that the auditor deferred, of a process that ends before anybody looks at them */
};

struct tg_loader_process *tg_loader_process_create(void); /* one reference; NULL without memory */
struct tg_loader_process *tg_loader_process_ref(struct tg_loader_process *watched);
/* A copy for a forked child; NULL without memory. */
struct tg_loader_process *tg_loader_process_copy(const struct tg_loader_process *watched);
void tg_loader_process_unref(struct tg_loader_process *watched); /* NULL is accepted */

/* Lets the objects of one load event wait; false without memory. */
bool tg_loader_process_wait(struct tg_loader_process *watched, struct tg_loaded_object *const *objects,
                            size_t count, uint64_t since_ns);
/* OBJECT was unloaded: it waits no longer. */
void tg_loader_process_forget(struct tg_loader_process *watched, const struct tg_loaded_object *object);
void tg_loader_process_drop_waiting(struct tg_loader_process *watched);
bool tg_loader_process_waits(const struct tg_loader_process *watched, const struct tg_loaded_object *object);

struct tg_waiting_libraries {
    struct tg_waiting_library *items;
    size_t count;
};
/* Nothing waits afterwards; the caller owns what did. */
struct tg_waiting_libraries tg_loader_process_take_waiting(struct tg_loader_process *watched);
void tg_waiting_libraries_free(struct tg_waiting_libraries *libraries);

/* Whether the loader itself is in the base namespace's list: it is when start-up is done, but not while
 * auditors are loaded into their namespaces before. */
bool tg_loader_process_lists_loader(const struct tg_loader_process *watched);

/* How many of CHANGE's added libraries, read after code of the program ran, are start-up ones. */
size_t tg_loader_process_startup_libraries(const struct tg_loader_process *watched,
                                           const struct tg_thread *thread,
                                           const struct tg_link_change *change);

/* Of `ld.so PROGRAM`: the program, as a library with the path of its file; the loader's list has it without a
 * name, and nothing else tells of it. The caller owns one reference; NULL where it is not found. */
struct tg_loaded_object *tg_loader_process_program(const struct tg_loader_process *watched, pid_t tid);

/* OBJECT as those who plant breakpoints want it; borrows its strings. */
struct tg_break_object tg_loader_process_target(const struct tg_loaded_object *object);

/* Address of the function NAME in the dynamic loader of THREAD's process, 0 where it is not found. */
uint64_t tg_loader_process_symbol(const struct tg_thread *thread, struct tg_image_cache *images,
                                  const char *name);

/* Whether the program is a dynamic loader itself, started as `ld.so PROGRAM`; *LOADER_BASE is then its load
 * bias, *BRK its r_brk. */
bool tg_loader_process_is_loader(const struct tg_thread *thread, struct tg_image_cache *images,
                                 uint64_t *loader_base, uint64_t *brk);

#endif
