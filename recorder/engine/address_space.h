/* Breakpoint sites in an address space: copied at fork, shared by vfork and CLONE_VM, dropped at exec. */
#ifndef TG_RECORDER_ENGINE_ADDRESS_SPACE_H
#define TG_RECORDER_ENGINE_ADDRESS_SPACE_H

#include "recorder/engine/engine.h"
#include "recorder/engine/tracee.h"
#include "recorder/process/insn.h"

struct tg_breakpoint {
    struct tg_breakpoint *next;
    struct tg_site *site;
    tg_breakpoint_handler *handler;
    void *context;
    enum tg_breakpoint_use use;
    bool removed; /* while handlers of its site run; freed after */
    bool fresh;   /* planted while handlers of its site run: not for the hit in progress */
};

/* An address at which an int3 is, or was: a site without breakpoints stays as a tombstone, because threads
 * may still bring the trap of an int3 that they ran just before it was taken away. */
struct tg_site {
    uint64_t address;
    struct tg_breakpoint *breakpoints;
    struct tg_insn insn; /* the original instruction; bytes[0] is under the int3 */
    bool planted;
    uint32_t planting; /* number of the planting among the space's, where PLANTED */
    bool lonely_ret;   /* a `ret` with padding behind it: a thread that stopped behind it has run the int3 */
    bool doubled;      /* a second `ret` is behind the int3: threads go on there by themselves */
    uint8_t under_double; /* the byte under that one */
    bool forgotten;       /* unmapped while its handlers run: freed after */
    unsigned dispatching; /* handlers of this site are running */
    UT_hash_handle hh;
};

/* What a debug register of all threads watches. */
struct tg_watch {
    uint64_t address;
    unsigned size_bytes; /* 0: the register is free */
    uint32_t number;     /* another one for each that was ever made */
    tg_watch_handler *handler;
    void *context;
};

enum { TG_SCRATCH_MAX_SLOTS = 16, TG_NO_SLOT = TG_SCRATCH_MAX_SLOTS };

struct tg_address_space {
    unsigned references;
    /* The memory that this describes, as a file: a process may execute another program at any moment, and
     * bytes written by thread id would then be in the wrong one. -1: not kept. */
    int memory;
    unsigned *n_memories;  /* counts the files that are kept */
    struct tg_site *sites; /* uthash by address */
    bool has_doubled;      /* one of them may be */
    uint32_t n_plantings;  /* so far */
    /* Room for displaced instructions: slots of TG_INSN_SCRATCH_BYTES from SCRATCH on. */
    uint64_t scratch;
    unsigned n_slots;
    bool scratch_searched;
    uint32_t slots_used;   /* bit i: a thread is in slot i */
    uint32_t slots_dirty;  /* bit i: original bytes are in slot_bytes */
    uint32_t slots_filled; /* bit i: slot_code[i] is in it. Not after fork: another thread may have filled it
                              after the memory was copied and before the fork was told */
    uint8_t slot_bytes[TG_SCRATCH_MAX_SLOTS][TG_INSN_SCRATCH_BYTES];
    uint8_t slot_code[TG_SCRATCH_MAX_SLOTS][TG_INSN_SCRATCH_BYTES];
    struct tg_watch watches[TG_WATCH_REGISTERS];
    uint64_t watch_version; /* another one whenever these change; 0: there never were any */
};

struct tg_address_space *tg_address_space_create(void); /* NULL without memory; one reference */
struct tg_address_space *tg_address_space_ref(struct tg_address_space *space);
void tg_address_space_unref(struct tg_address_space *space); /* NULL is accepted */
/* A copy as fork makes it: same sites, breakpoints and scratch bytes. NULL without memory. */
struct tg_address_space *tg_address_space_copy(const struct tg_address_space *space);
struct tg_site *tg_address_space_site(struct tg_address_space *space, uint64_t address); /* tombstones too */
/* TID, of a process of one thread, or whose threads are all stopped, has this memory: keeps it open, unless
 * COUNT of those that are kept says that they are many. COUNT outlives SPACE. */
void tg_address_space_keep_memory(struct tg_address_space *space, pid_t tid, unsigned *count);
/* Writes the original bytes of sites and scratch through TID, wherever ours are still there. */
void tg_address_space_restore(const struct tg_address_space *space, pid_t tid);
/* Makes the memory of TID, a stopped copy of that of SPACE's process, what SPACE says: breakpoints may have
 * been planted or removed between the copy and the report of the fork, because other threads of the process
 * ran. */
void tg_address_space_align(const struct tg_address_space *space, pid_t tid);
/* tg_address_space_restore for good: nothing counts as planted any more. */
void tg_address_space_lift(struct tg_address_space *space, pid_t tid);
/* A new image replaced what was there: forgets everything without writing. */
void tg_address_space_clear(struct tg_address_space *space);

/* Runs the handlers of SITE; true if one of them was a TG_BREAKPOINT_USER. SITE is gone afterwards where a
 * handler forgot it: look it up again. */
bool tg_site_run_handlers(struct tg_tracee *tracee, struct tg_site *site);

#endif
