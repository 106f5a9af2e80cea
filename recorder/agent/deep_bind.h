/* dlopen with RTLD_DEEPBIND: what the agent, which sees the call, and the auditor, which sees the library before it
 * is bound, say to each other. Such a library is searched before everything else for what it and its dependencies
 * refer to, so it would get past what is preloaded: the agent's libraries have to come into its own scope. */
#ifndef TG_RECORDER_AGENT_DEEP_BIND_H
#define TG_RECORDER_AGENT_DEEP_BIND_H

#include <stdint.h>

enum tg_deep_bind_state {
    TG_DEEP_BIND_NOTHING, /* the load that comes is none */
    TG_DEEP_BIND_ASKED,   /* dlopen was called; no object has come yet */
    TG_DEEP_BIND_OPENED,  /* the library is there: the auditor has seen to its scope */
    TG_DEEP_BIND_LEFT,    /* nobody sees to it */
};

/* enum tg_deep_bind_way of the trace's format. */
enum tg_deep_bind_how {
    TG_DEEP_BIND_BY_AUDIT,
    TG_DEEP_BIND_BY_WRAPPER,
    TG_DEEP_BIND_PASSED,
    TG_DEEP_BIND_WAS_LOADED,
    TG_DEEP_BIND_NOT_DONE,
};

/* What a thread asks for; in its thread-local storage, zero to begin with. */
struct tg_deep_bind_request {
    uint32_t state;       /* enum tg_deep_bind_state */
    uint32_t has_problem; /* a wrapper was wanted and could not be made: the link says why */
    uint64_t caller;
    const char *path; /* the program's; until dlopen has mapped all objects */
    const uint64_t *
        frame; /* of dlopen: its return address, CALLER, and below that what dlopen calls; it may have gone since */
};

#define TG_DEEP_BIND_LINK "tollgate_deep_bind"

/* What the program has forbidden itself (recorder/agent/calls/sealed.c). */
enum tg_deep_bind_forbidden {
    TG_DEEP_BIND_NO_CALLS = 1, /* system calls: nothing in the process makes any for the recorder */
    TG_DEEP_BIND_NO_CLOCK = 2, /* to read the time stamp counter, in some of its threads */
};

/* The heap library's word on whose functions it passes calls on to (recorder/agent/heap/setup.h), and what is said
 * where they are not libc's. */
#define TG_DEEP_BIND_IS_LIBCS "tollgate_heap_is_libcs"
#define TG_DEEP_BIND_NOT_LIBCS                                                                               \
    "the program has an allocator of its own and this library uses libc's: its calls of the heap are not "   \
    "observed"

/* The agent exports one under the name above. */
struct tg_deep_bind_link {
    int64_t request_offset; /* from the thread pointer to struct tg_deep_bind_request; 0: not yet */
    uint64_t is_audited;    /* set by the auditor when it has seen the agent */
    const char *problem;    /* the last one of the process */
    uint64_t forbidden;     /* enum tg_deep_bind_forbidden; __atomic */
};

#endif
