/* The contract between the agent (a library preloaded into the traced program) and the recorder: what lies in
 * the shared directory, how a ring is laid out, and what its records mean. Both sides include this and
 * nothing else of each other. Whatever changes here changes TG_AGENT_PROTOCOL: an agent and a recorder of
 * different protocols leave each other alone.
 *
 * The recorder believes nothing that it reads here: the program can write to all of it.
 *
 * The directory (mode 0700, made by the recorder, on a memory file system) holds
 *     control              struct tg_agent_control, one page, made by the recorder before any agent starts; behind
 *                          it struct tg_agent_gate, struct tg_agent_slot and struct tg_agent_filter, see there
 *     clock, trace, processes.0 and .1
 *                          the recorder's own, for the one that salvages the rings
 *     ring.PID.N           one ring, made by the agent of process PID (as the process sees itself); N counts
 *                          from 0, and skips what exists
 * all of mode 0600 and owned by the same user; neither side opens anything else (O_NOFOLLOW, a regular file,
 * owner and mode are checked).
 *
 * The agent finds the directory by TG_AGENT_VARIABLE; where there are several, the last one counts. Who
 * starts the program puts TG_AGENT_VARIABLES strings behind all others of its environment:
 *     LD_PRELOAD=.../TG_AGENT_LIBRARY[:.../TG_AGENT_HEAP_LIBRARY][:what the program preloads itself]  (of
 *     several the last one counts)
 *     LD_AUDIT=.../TG_AGENT_AUDIT_LIBRARY  (they add up; the fourth again where the program has this one
 * already) TG_AGENT_TUNABLES bytes              (auditors make static thread-local storage scarce)
 *     TG_AGENT_VARIABLE=directory
 * The agent takes them away again and leaves the auxiliary vector's AT_IGNORE in their place (TG_AGENT_HIDE),
 * so that the program and its children see the environment that they would have seen. */
#ifndef TG_RECORDER_AGENT_CONTRACT_H
#define TG_RECORDER_AGENT_CONTRACT_H

#include <stdint.h>

#define TG_AGENT_PROTOCOL      19
#define TG_AGENT_VARIABLE      "TOLLGATE_AGENT"
#define TG_AGENT_TUNABLE       "glibc.rtld.optional_static_tls"
#define TG_AGENT_TUNABLES      "GLIBC_TUNABLES=" TG_AGENT_TUNABLE "="
#define TG_AGENT_CONTROL_MAGIC UINT64_C(0x314c525443544754) /* "TGTCTRL1" */
#define TG_AGENT_RING_MAGIC    UINT64_C(0x31474e4952544754) /* "TGTRING1" */

/* File names of the two libraries; they lie side by side where tollgate is installed. */
#define TG_AGENT_LIBRARY       "tollgate-agent.so" /* LD_PRELOAD */
#define TG_AGENT_HEAP_LIBRARY  "tollgate-heap.so" /* LD_PRELOAD behind the first, where the heap is observed */
#define TG_AGENT_AUDIT_LIBRARY "tollgate-audit.so" /* LD_AUDIT: sees every load, links nothing at all */

enum {
    TG_AGENT_VARIABLES = 4,       /* strings that load the agent */
    TG_AGENT_GATES_OFFSET = 4096, /* in the control file */
    TG_AGENT_GATES = 512,
    TG_AGENT_SLOTS_OFFSET = 4096 + 512 * 128,
    TG_AGENT_SLOTS = 4096,
    TG_AGENT_FILTER_OFFSET = 4096 + 512 * 128 + 4096 * 16,
    TG_AGENT_FILTER_BYTES = 1 << 14,
    TG_AGENT_CONTROL_BYTES = 4096 + 512 * 128 + 4096 * 16 + (1 << 14),
    TG_AGENT_RING_HEADER_BYTES = 4096,
    TG_AGENT_RING_PRIVATE_OFFSET = 1024, /* from here on in the header page only the agent looks */
    TG_AGENT_REPEATS = 128,              /* struct tg_agent_repeat, behind the header page */
    TG_AGENT_REPEAT_WORDS = 13,
    TG_AGENT_RING_DATA_OFFSET = 4096 + 128 * 128,
    TG_AGENT_RING_MARKS = 16,          /* more than chunks are under way to a trace's file at any time */
    TG_AGENT_RING_GROWTHS = 9,         /* the last one is for a ring that becomes as short as it is memory */
    TG_AGENT_RING_MIN_BYTES = 1 << 16, /* smallest data part, which is a power of two */
    TG_AGENT_RING_MAX_BYTES = 1 << 28,
};

enum tg_agent_flag {
    TG_AGENT_LOSSY = 1,  /* a full ring drops records and counts them; otherwise its thread waits */
    TG_AGENT_HIDE = 2,   /* take the variables out of the environment (they come anew at every exec) */
    TG_AGENT_OPENMP = 4, /* kinds of events to observe */
    TG_AGENT_MPI = 8,
    TG_AGENT_DLOPEN = 16, /* calls of dlopen, dlmopen, dlclose */
    TG_AGENT_HEAP = 32,   /* calls of malloc, free and the like, as the control's `heap` says */
    TG_AGENT_LOADS = 64,  /* what is loaded and unloaded, by the audit library */
    TG_AGENT_EVERY = 128, /* each poll of MPI is recorded, also one that its place repeats in vain */
};

enum tg_agent_clock {
    TG_AGENT_CLOCK_MONOTONIC, /* ticks are ns of CLOCK_MONOTONIC */
    TG_AGENT_CLOCK_TSC,       /* ticks are rdtsc; the recorder knows their relation to time */
};

enum tg_agent_heap_mode {
    TG_AGENT_HEAP_OFF,
    TG_AGENT_HEAP_EVENTS, /* every call */
    TG_AGENT_HEAP_SAMPLE, /* blocks that a sample of the allocated bytes hits */
    TG_AGENT_HEAP_CHECK,  /* every call, and mistakes */
};

enum tg_agent_red_zones {
    TG_AGENT_RED_ZONES_OFF,
    TG_AGENT_RED_ZONES_BEHIND, /* blocks end where their pages do, as far as their alignment lets them */
    TG_AGENT_RED_ZONES_BEFORE, /* blocks begin where their pages do */
};

enum {
    TG_AGENT_HEAP_MAX_DEPTH = 128,
    TG_AGENT_HEAP_GUARD_BYTES = 16, /* CHECK: before and behind each block, behind at least */
    TG_AGENT_HEAP_TAGS = 32,
    TG_AGENT_HEAP_HOARD_BYTES = 8 << 20, /* CHECK: of freed blocks that are kept */
};

/* What is to be recorded of the heap. */
struct tg_agent_heap {
    uint32_t mode;         /* enum tg_agent_heap_mode */
    uint32_t depth;        /* calls of a stack, at most TG_AGENT_HEAP_MAX_DEPTH; 0: no stacks */
    uint64_t sample_bytes; /* SAMPLE: mean distance of two samples */
    /* CHECK: blocks that have pages of their own, between pages that may not be touched */
    uint32_t red_zones; /* enum tg_agent_red_zones */
    /* EVENTS, SAMPLE: not 0: calls of a C++ library's operators need not get there (recorder/agent/heap/operators.c) */
    uint32_t may_stand_in;
    uint64_t red_zone_min, red_zone_max; /* of blocks of so many bytes, both included */
};

/* CHECK: parts that are off; for blocks that are allocated, or freed, from then on. */
enum tg_agent_heap_off {
    TG_AGENT_HEAP_NO_GUARDS = 1,
    TG_AGENT_HEAP_NO_PAINT_ALLOCATED = 2,
    TG_AGENT_HEAP_NO_PAINT_FREED = 4,
    TG_AGENT_HEAP_NO_HOARD = 8,
    TG_AGENT_HEAP_NO_RED_ZONES = 16,
};

enum tg_agent_heap_tag_end { TG_AGENT_HEAP_TAG_DEALLOC = 1, TG_AGENT_HEAP_TAG_REALLOC = 2 };

/* Blocks of process PID that start in [start, end): their ends of these kinds are events, and stops of a live job. */
struct tg_agent_heap_tag {
    uint64_t start, end;
    int32_t pid;
    uint32_t ends; /* enum tg_agent_heap_tag_end */
};

/* What the controller of a live job changes while programs run; for all processes. Each word is read for itself. */
struct tg_agent_heap_wishes {
    uint64_t hoard_bytes;   /* CHECK: of freed blocks that are kept; 0: TG_AGENT_HEAP_HOARD_BYTES */
    uint32_t off;           /* enum tg_agent_heap_off */
    uint32_t silent_errors; /* bits by tg_heap_error: recorded, but nothing stops there */
    struct tg_agent_heap_tag tags[TG_AGENT_HEAP_TAGS];
    uint32_t n_tags;
    uint32_t reserved; /* 0 */
};

/* At the start of an anonymous mapping of the heap library: of so many bytes, this one included. What it holds are not
 * the program's pointers. From the next page on are so many slots of checked blocks (heap_block.h), then a byte for each slot, 0
 * where it is free; no slots: another table. */
#define TG_AGENT_HEAP_TABLE_MAGIC UINT64_C(0x9d1f70676c6c6f74)
struct tg_agent_heap_table {
    uint64_t magic[2]; /* TG_AGENT_HEAP_TABLE_MAGIC and its complement */
    uint64_t size_bytes;
    uint64_t n_blocks;
    uint64_t generation; /* where the process has the number of its fork, which its blocks have too */
    uint64_t hoard;      /* where struct tg_heap_hoard_ring is; 0: in the head of another table */
};
enum { TG_AGENT_HEAP_TABLE_OFFSET = 4096 }; /* of what the table holds */

/* Made by the recorder. It holds an exclusive flock on the file as long as it lives: an agent that waits for
 * room and could take a shared one knows that nobody will come. */
struct tg_agent_control {
    uint64_t magic;
    uint32_t protocol;
    uint32_t flags;      /* enum tg_agent_flag */
    uint32_t clock;      /* enum tg_agent_clock */
    uint32_t over;       /* not 0: the recorder is done, nobody looks into the rings any more */
    uint64_t ring_bytes; /* data bytes of a ring */
    /* written by agents */
    uint32_t rings_made; /* counts up whenever a ring file is complete: a reason to look into the directory */
    /* records that had no ring to go to: it could not be made, the thread could not read the clock any more, or a handler
     * interrupted another record of a thread that had ended */
    uint32_t unkept;
    /* counts up, and is woken (FUTEX_WAKE, shared; the recorder sleeps on it), when a ring was made, when one
     * is more than half full at a look at its tail, and when a thread is about to wait for room */
    uint32_t attention;
    uint32_t reserved; /* 0 */
    /* made by the recorder */
    struct tg_agent_heap heap;
    struct tg_agent_heap_wishes heap_wishes;
    /* gates from 0 to this one are looked at, 0: there are none; apart from what is written all the time */
    uint32_t n_gates __attribute__((aligned(64)));
    uint32_t n_slots; /* written by agents: so many slots, from the first, were ever taken */
    /* written by agents: counts up, and is woken as attention is, when a thread waits at a gate */
    uint32_t gate_calls;
};
_Static_assert(sizeof(struct tg_agent_control) <= TG_AGENT_GATES_OFFSET, "gates begin there");

/* ---- gates: where OpenMP workers of a job under control wait, until its controller lets them go on.
 *
 * The recorder writes a gate, its number last; a thread that comes to an event that one of the gate's rules
 * names takes a slot, and waits (FUTEX_WAIT, shared, on the slot's gate) until that is 0. It goes on by
 * itself where the recorder is over or dead. The recorder closes a gate by taking its number away, then sets
 * the gate of its slots to 0 and wakes them. Slots of a program that has ended it gives back itself. A thread
 * without a slot does not wait, and is counted. */

/* Events, as bits: 1 << (record - TG_RECORD_OMP_PARALLEL_BEGIN). */
#define TG_AGENT_GATE_KIND(symbol) (1U << (TG_RECORD_##symbol - TG_RECORD_OMP_PARALLEL_BEGIN))

enum tg_agent_gate_match {
    TG_AGENT_GATE_ANY,      /* whatever its object is */
    TG_AGENT_GATE_EQUAL,    /* lock of mutex events, code of zones, instance of barriers, team of regions */
    TG_AGENT_GATE_AT_LEAST, /* the same */
};

enum { TG_AGENT_GATE_RULES = 4 };

struct tg_agent_gate {
    uint32_t number;      /* 0: none; others never come again */
    uint32_t unplaced;    /* written by agents: threads that found no slot, or must not wait */
    uint64_t instance;    /* of the program, as in its rings; 0: any */
    uint64_t team;        /* all bits; 0: any */
    int32_t tid;          /* as the process sees it; 0: any */
    uint32_t skip;        /* written by agents, too: so many events are let pass before */
    uint32_t in_tasks;    /* 0: not in explicit tasks */
    uint32_t reserved[3]; /* 0 */
    struct tg_agent_gate_rule {
        uint32_t kinds;        /* 0: no rule */
        uint16_t which, match; /* bits of the zone's, barrier's or mutex' kind, see place(x); enum above */
        uint64_t object;
    } rules[TG_AGENT_GATE_RULES];
    uint64_t room[2];
};
_Static_assert(sizeof(struct tg_agent_gate) == 128, "TG_AGENT_SLOTS_OFFSET counts on it");

struct tg_agent_slot {
    uint64_t instance; /* agent's; 0 while the slot is nobody's, or is being taken */
    int32_t tid;       /* agent's: whose it is, 0 nobody's */
    uint32_t gate;     /* number of the gate at which that thread waits, 0: it may go on */
};

/* ---- the dlopen filter: loads are decided about in the program, and only what is reported stops it.
 *
 * When a load is complete, before anything of it runs, the auditor looks at the filter here. An event that is to be
 * reported makes it call TG_AGENT_REPORT_SYMBOL, where the recorder has a breakpoint; whatever the auditor thinks, at that
 * stop the recorder decides, by the setting that is in force then. Others are decided by the auditor alone, which writes a
 * LOADER_DECISION behind the records of the load. The recorder makes `generation` odd before it changes the filter and even
 * behind it; a filter_settings event has a time in between. The auditor takes the time of its record while the generation
 * that it decided by still holds. */

enum tg_agent_filter_how {
    TG_AGENT_FILTER_OFF, /* nobody decides about loads */
    TG_AGENT_FILTER_ALL, /* every load is the recorder's to decide: slow mode, and lists that find no room */
    TG_AGENT_FILTER_MATCH, /* by the list */
    TG_AGENT_FILTER_NONE,  /* none is reported: fast mode */
};

enum {
    TG_AGENT_FILTER_LIST_BYTES = TG_AGENT_FILTER_BYTES - 16, /* with its NUL */
    TG_AGENT_FILTER_PATTERNS = 1024,
    TG_AGENT_FILTER_PATTERN_BYTES = 4000,
};

struct tg_agent_filter {
    uint32_t generation;                   /* odd: it is being changed */
    uint32_t how;                          /* enum tg_agent_filter_how */
    uint32_t reserved[2];                  /* 0 */
    char list[TG_AGENT_FILTER_LIST_BYTES]; /* MATCH: the glob-list */
};
_Static_assert(sizeof(struct tg_agent_filter) == TG_AGENT_FILTER_BYTES, "it ends with the control file");

/* Function of the audit library: (number of the namespace, as LOADER_ records name them by order of their first one; link
 * map of the first object; la_activity's action). It returns 0; at the recorder's breakpoint, which tells of the load, 1. */
#define TG_AGENT_REPORT_SYMBOL "tollgate_report_load"

enum { TG_AGENT_LOADS_LOG = 4096 };

/* Variable of the audit library, for the recorder: what was loaded since it looked last. Where something was unloaded
 * meanwhile, and so may have been loaded again where it was, the auditor reports before the log is overwritten. */
#define TG_AGENT_LOADS_SYMBOL "tollgate_loads"
struct tg_agent_loads {
    uint32_t undecided;               /* a load is under way that is not decided yet */
    uint32_t reserved;                /* 0 */
    uint64_t waiting;                 /* load events so far that were not reported */
    uint64_t closed;                  /* objects so far that were unloaded ... */
    uint64_t opened;                  /* ... and those that were loaded, start-up left out */
    uint64_t log[TG_AGENT_LOADS_LOG]; /* link maps of those: the I-th at I modulo TG_AGENT_LOADS_LOG */
};

enum tg_agent_ring_kind {
    TG_AGENT_RING_THREAD, /* one thread's at a time: TG_RECORD_THREAD says which */
    TG_AGENT_RING_LOADER, /* audit library's: one for a process; records name their threads */
};

enum tg_agent_ring_state {
    TG_AGENT_RING_OPEN,
    TG_AGENT_RING_IDLE,   /* thread has ended; another one of the process may take the ring over */
    TG_AGENT_RING_CLOSED, /* nothing comes any more */
};

/* How many records lie before a place in a ring: PAD not counted, and without THREAD and LOST. */
struct tg_agent_count {
    uint64_t records;
    uint64_t events;
};

/* At the start of a ring file, which is at least DATA_OFFSET + DATA_BYTES long; what of it has memory is the producer's care, who
 * goes on with fewer bytes, once everything is read, where there is none (struct tg_agent_growth). Positions count bytes written and
 * consumed since the ring was made; position modulo DATA_BYTES is the place in the data. The producer
 * publishes with a release store to head, the recorder gives room back with one to tail.
 *
 * Rings of threads grow: the recorder makes the file longer and says so in GRANTED_BYTES; the producer takes that over wherever
 * it is, and goes on behind what the data were (struct tg_agent_growth). Nothing is moved, what is not read yet keeps its
 * place by the size of its time, and positions tell which that is. */

/* Positions up to UNTIL are of the size before; from FROM on, which is later than any of those, DATA_BYTES is the size. FROM modulo
 * DATA_BYTES is the size before: only when everything before FROM is read may the producer come round to the beginning. */
struct tg_agent_growth {
    uint64_t until, from;
    uint64_t data_bytes;
};

struct tg_agent_ring_header {
    uint64_t magic; /* stored last, when the ring is ready */
    uint32_t protocol;
    uint32_t kind;       /* enum tg_agent_ring_kind */
    uint64_t data_bytes; /* when the ring was made */
    int32_t pid;
    uint32_t state;    /* enum tg_agent_ring_state */
    uint64_t instance; /* the same in all rings of one program in one process: changes with fork and exec */
    uint64_t granted_bytes; /* recorder: the data may become so many; 0: they stay as they are */

    uint64_t head __attribute__((aligned(64))); /* producer */
    uint64_t lost;                              /* records dropped so far */
    uint32_t waiting;                           /* 1: the producer sleeps on this (FUTEX_WAIT, shared) */
    uint32_t stays;                             /* 1: the producer cannot take over what is granted */

    uint64_t tail __attribute__((aligned(64))); /* recorder: after it moved tail on, or granted more, and
                                                   found waiting set, it clears waiting and wakes one sleeper */
    /* The recorder's notes for who salvages after it was killed. PASSED: three boundaries of records
     * that it has passed, the oldest one first, the last one where it has got to, and the thread that is
     * recorded there. MARKS: what of the ring is in the trace's file when as many events are: one for each of
     * the last chunks, noted before it is written; unused ones are 0, one that is being written has events
     * UINT64_MAX. */
    struct tg_agent_passed {
        uint64_t position;
        int64_t tid;
        struct tg_agent_count before;
    } passed[3];
    struct tg_agent_mark {
        uint64_t events;
        uint64_t lost; /* records that were dropped, as records of the kind LOST among these say */
        struct tg_agent_count before;
    } marks[TG_AGENT_RING_MARKS];

    /* Producer: how the ring has grown; N_GROWTHS counts one when it is filled in, before head goes on from its FROM. */
    uint32_t n_growths;
    uint32_t in_mpi; /* 1: its thread has called MPI_Init, and not MPI_Finalize yet */
    struct tg_agent_growth growths[TG_AGENT_RING_GROWTHS];
};
_Static_assert(sizeof(struct tg_agent_ring_header) <= TG_AGENT_RING_PRIVATE_OFFSET,
               "the agent's own begins there");

/* Records that a thread writes again and again, with other times, are AGAIN records: two words, which name one of the
 * ring's repeats, where the others are. One of the others may be another one by a number that they say, too, or the team may
 * (enum tg_agent_moves); where another one is never the same it is their third word, and the fourth is 0. The agent fills a
 * repeat before the first record that names it, and fills it anew (with another serial) when all that name it are overwritten. */
struct tg_agent_repeat {
    uint64_t name;                         /* word 1 of records that name it; 0: empty */
    uint64_t words[TG_AGENT_REPEAT_WORDS]; /* of the record, from its second one on */
    /* the agent's */
    uint64_t used; /* position behind the last record that names it */
    uint64_t seen; /* hash of the last record that could have been here, and is not */
};
_Static_assert(TG_AGENT_RING_HEADER_BYTES + TG_AGENT_REPEATS * sizeof(struct tg_agent_repeat) ==
                   TG_AGENT_RING_DATA_OFFSET,
               "data begin behind the repeats");

/* Number that all rings of one program in one process share; another one after fork and exec. RANDOM are
 * the 16 bytes that AT_RANDOM points to; they cannot be told from the result. */
static inline uint64_t tg_agent_instance(const unsigned char *random, int32_t pid)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ (uint32_t)pid;
    for (int i = 0; i < 16; i++) {
        hash = (hash ^ random[i]) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 29;
    }
    return hash;
}

/* A record: two words, then arguments; padded to an even number of words, never split at the ring's end
 * (TG_RECORD_PAD fills up to there).
 *     word 0    ticks
 *     word 1    bits 0-7 kind, 8-19 words (all, the two first included), 20-35 thread_num, 36-63 low bits of
 *               the team: where OpenMP says the thread is
 * In AGAIN records bits 20-26 of word 1 are the place of a repeat, 27-42 its serial, which counts fillings, and 43-63 the
 * number by which the record is another one than the repeat (tg_agent_move).
 * Strings are arguments too: the words that they fill, NUL-terminated, cut at TG_AGENT_MAX_STRING_BYTES. */
enum {
    TG_AGENT_WORDS_SHIFT = 8,
    TG_AGENT_REPEAT_SHIFT = 20,
    TG_AGENT_SERIAL_SHIFT = 27,
    TG_AGENT_NUMBER_SHIFT = 43,
    TG_AGENT_NUMBER_BITS = 64 - 43,
    TG_AGENT_AGAIN_WORDS = 2,
    TG_AGENT_AGAIN_OWN_WORDS = 4, /* with a word of its own */
    TG_AGENT_THREAD_NUM_SHIFT = 20,
    TG_AGENT_TEAM_SHIFT = 36,
    TG_AGENT_MAX_WORDS = 4094,
    TG_AGENT_MAX_STRING_BYTES = 4096, /* with its NUL */
    TG_AGENT_MAX_DEPENDENCES = 256,
    TG_AGENT_MAX_INDICES = 8,
    TG_AGENT_MAX_MEMBERS = 3072,
    TG_AGENT_MAX_REQUESTS = 2048,
    TG_AGENT_MAX_PARTITION_RANGES = 256,
};
#define TG_AGENT_TEAM_MASK ((UINT64_C(1) << 28) - 1)
#define TG_AGENT_NAME_MASK ((UINT64_C(1) << TG_AGENT_NUMBER_SHIFT) - 1)
#define TG_AGENT_CODE_MASK ((UINT64_C(1) << 48) - 1)
enum {
    TG_AGENT_SEEN_SHIFT = 48,
    TG_AGENT_ENUM_SHIFT = 56,
};

/* Kinds of record: symbol, smallest number of arguments, what they are. STRING and LIST come last: a list is
 * its count and then its items. "place(x)" is one word: bits 0-47 the code address behind the call (0
 * unknown), 48-55 enum tg_omp_seen, 56-63 the enum x. All enums tg_omp_*, tg_mpi_* and tg_library_* are those
 * of format/event/event.h, "call" of MPI is enum tg_mpi_call of recorder/agent/mpi/calls.h;
 * what else is in MPI_ENTER's first word is in recorder/agent/mpi/types.h. */
#define TG_AGENT_RECORDS(X)                                                                                   \
    X(PAD, 0)             /* up to the end of the data; its words field counts */                             \
    X(THREAD, 1)          /* tid: what follows in this ring is of this thread, outside of all teams */        \
    X(LOST, 1)            /* count: so many records were dropped here */                                      \
    X(NOTE, 1)            /* STRING */                                                                        \
    X(ASIDE, 1)           /* STRING: the agent stepped aside, or a part of it, and why */                     \
    X(LIBRARY_CALL, 6)    /* tg_library_call, flags, namespace, handle, caller, STRING path ("" for NULL) */  \
    X(LIBRARY_RETURN, 3)  /* tg_library_call, handle, STRING error */                                         \
    X(LOADER_ACTIVITY, 4) /* tid, namespace, la_activity's 0 consistent, 1 add, 2 delete, busy */             \
    X(LOADER_OPEN, 11) /* tid, namespace, tg_agent_open bits, link map, base, size in bytes, build-id's   \
                             length in bytes, the build-id in 3 words (cut at 24 bytes), STRING path */   \
    X(LOADER_CLOSE, 3) /* tid, namespace, link map */                                                         \
    X(LOADER_PREINIT, 1)     /* tid: the start-up libraries are there, none is initialised */                 \
    X(OMP_RUNTIME, 3)        /* tg_omp_seen, STRING name, STRING version */                                   \
    X(OMP_PARALLEL_BEGIN, 4) /* place(0), new team (all bits), requested threads, body */                     \
    X(OMP_PARALLEL_END, 2)   /* place(0), ended team (all bits) */                                            \
    X(OMP_IMPLICIT_BEGIN, 5) /* place(0), team (all bits), parent team (all bits), size, level */             \
    X(OMP_IMPLICIT_END, 1)   /* place(0) */                                                                   \
    X(OMP_ZONE_BEGIN, 2)     /* place(tg_omp_zone), schedule + count << 8 */                                  \
    X(OMP_ZONE_END, 1)       /* place(tg_omp_zone) */                                                         \
    X(OMP_SECTION, 2)        /* place(0), section */                                                          \
    X(OMP_SYNC_BEGIN, 2)     /* place(tg_omp_sync), instance */                                               \
    X(OMP_SYNC_END, 2)       /* place(tg_omp_sync), instance + cancelled << 63 */                             \
    X(OMP_MUTEX_WAIT, 2)     /* place(tg_omp_mutex), lock */                                                  \
    X(OMP_MUTEX_ENTER, 2)    /* place(tg_omp_mutex), lock */                                                  \
    X(OMP_MUTEX_LEAVE, 2)    /* place(tg_omp_mutex), lock */                                                  \
    X(OMP_TASK_CREATE, 6)    /* place(0), task, parent task, body, flags, LIST of address, kind */            \
    X(OMP_TASK_BEGIN, 2)     /* place(0), task + resumed << 63 */                                             \
    X(OMP_TASK_END, 2)       /* place(tg_omp_task_end), task */                                               \
    X(OMP_CANCEL, 2)         /* place(tg_omp_cancel_construct), activated */                                  \
    X(MPI_COMM, 9)  /* comm, parent, handle, origin, rank, size, remote size, link, LIST of world rank */     \
    X(MPI_ENTER, 8) /* call with types, comm, instance, peer, tag, root, bytes, code */                       \
    X(MPI_ENTER_REQUEST, 9) /* as MPI_ENTER, request */                                                       \
    X(MPI_ENTER_BOTH, 11)   /* as MPI_ENTER, 1, source, tag of the source */                                  \
    X(MPI_REQUESTS, 1)      /* LIST of request */                                                             \
    X(MPI_LEAVE, 6)         /* call with tg_mpi_poll, request, peer, tag, bytes, result */                    \
    X(MPI_COMPLETE, 5)      /* request, peer, tag, bytes, cancelled */                                        \
    X(MPI_ERROR, 5)         /* code, request, STRING call, STRING class, STRING text */                       \
    X(MPI_COMM_NAME, 2)     /* comm, STRING name */                                                           \
    X(OMP_CHUNK, 4)         /* place(0), first, last, stride */                                               \
    X(OMP_ITERATION, 2)     /* place(tg_omp_iteration), LIST of index */                                      \
    X(HEAP_START,                                                                                             \
      5) /* tg_heap_mode + depth << 32, sample bytes, start and bytes of the room of blocks with  \
                            red zones, STRING path of the allocator */           \
    X(HEAP_UNSEEN, 2) /* STRING path, STRING reason */                                                        \
    X(HEAP_OBJECT,                                                                                            \
      8) /* address of its first page, behind its last, load bias, build-id's length in bytes,  \
                            the build-id in 3 words, STRING path: code for the stacks that follow */             \
    X(HEAP_STACK,                                                                                             \
      3) /* id, tg_stack_end + id of the stack whose frames follow these << 32: one that was told \
            before, 0 none; LIST of code address: 0 separates a signal handler's frame from       \
                            what it interrupted */           \
    X(HEAP_ALLOC, 2)       /* address + tg_heap_call << 48, size + stack's id << 32 */                        \
    X(HEAP_ALLOC_LARGE, 4) /* address + tg_heap_call << 48, stack's id, size */                               \
    X(HEAP_FREE, 2)        /* address + tg_heap_release << 48, stack's id */                                  \
    X(HEAP_RESIZE, 3)      /* address + tg_heap_call << 48, stack's id, size */                               \
    X(HEAP_ERROR,                                                                                             \
      11) /* tg_heap_error, address, block, size, stack, stacks where it was allocated and freed, \
                            their threads, offset, wrong bytes + was prevented << 63, STRING call */           \
    /* tid, tg_deep_bind_way, caller, is_kept, STRING library, wrapper, problem, scope before, scope after */ \
    X(DEEP_BIND, 9)                                                                                           \
    X(OMP_MUTEX_TEST, 3) /* place(tg_omp_mutex), lock, tests */                                               \
    X(AGAIN, 0)          /* as the words of a repeat have it */                                               \
    X(MPI_POLL, 9)       /* call, comm, peer, tag, code, request, polls, permille, various */                 \
    X(MPI_GROUP, 1)      /* LIST of rank */                                                                   \
    X(MPI_PARTITIONS, 1) /* LIST of first, last */                                                            \
    /* tid, namespace, la_activity's action, tg_agent_decided, tg_filter_rule, link map, busy, STRING */      \
    X(LOADER_DECISION, 8)                                                                                     \
    /* call, code, polls; in ticks: within them, the longest, since the first began, since the last ended */  \
    X(MPI_POLL_SUM, 7)

/* BUSY: ticks that the auditor took of the process so far. */

/* Added to the tg_library_call of LIBRARY_CALL. */
enum tg_agent_call {
    TG_AGENT_CALL_IS_TOLD = 256, /* the loader stops for debuggers at its end; LIBRARY_RETURN comes then */
};

enum tg_agent_open {
    TG_AGENT_OPEN_NEEDED = 1,    /* at start-up: another library of the list needs it */
    TG_AGENT_OPEN_INHERITED = 2, /* the parent had it open: told so that its unload can be understood */
};

/* LOADER_DECISION: about what was opened in the namespace since its last activity; link map and the string, a pattern, are those
 * that decided, 0 and "" where none did. */
enum tg_agent_decided {
    TG_AGENT_DECIDED_DEFERRED,
    TG_AGENT_DECIDED_NOT_STOPPED, /* nothing can be reported: fast mode, or there is no breakpoint */
    TG_AGENT_DECIDED_AT_STOP,     /* by the recorder, which told of the load */
};

enum tg_agent_record {
    TG_RECORD_NONE, /* no record has this kind */
#define X(symbol, n_arguments) TG_RECORD_##symbol,
    TG_AGENT_RECORDS(X)
#undef X
        TG_RECORD_COUNT,
};

/* Kinds of records that may be repeats: the same arguments come again, and mean the same then. */
static inline int tg_agent_is_repeatable(unsigned kind)
{
#define TG_AGENT_KIND_BIT(symbol) (UINT64_C(1) << TG_RECORD_##symbol)
    const uint64_t repeatable = TG_AGENT_KIND_BIT(OMP_ZONE_BEGIN) | TG_AGENT_KIND_BIT(OMP_ZONE_END) |
                                TG_AGENT_KIND_BIT(OMP_SECTION) | TG_AGENT_KIND_BIT(OMP_CHUNK) |
                                TG_AGENT_KIND_BIT(OMP_MUTEX_WAIT) | TG_AGENT_KIND_BIT(OMP_MUTEX_ENTER) |
                                TG_AGENT_KIND_BIT(OMP_MUTEX_LEAVE) | TG_AGENT_KIND_BIT(OMP_SYNC_BEGIN) |
                                TG_AGENT_KIND_BIT(OMP_SYNC_END) | TG_AGENT_KIND_BIT(OMP_TASK_CREATE) |
                                TG_AGENT_KIND_BIT(OMP_TASK_BEGIN) | TG_AGENT_KIND_BIT(OMP_TASK_END) |
                                TG_AGENT_KIND_BIT(MPI_ENTER) | TG_AGENT_KIND_BIT(MPI_ENTER_REQUEST) |
                                TG_AGENT_KIND_BIT(MPI_ENTER_BOTH) | TG_AGENT_KIND_BIT(MPI_REQUESTS) |
                                TG_AGENT_KIND_BIT(MPI_LEAVE) | TG_AGENT_KIND_BIT(MPI_COMPLETE) |
                                TG_AGENT_KIND_BIT(OMP_PARALLEL_BEGIN) | TG_AGENT_KIND_BIT(OMP_PARALLEL_END) |
                                TG_AGENT_KIND_BIT(OMP_IMPLICIT_BEGIN) | TG_AGENT_KIND_BIT(OMP_IMPLICIT_END);
#undef TG_AGENT_KIND_BIT
    return kind < TG_RECORD_COUNT && (repeatable >> kind & 1) != 0;
}
_Static_assert(TG_RECORD_COUNT <= 64, "a bit each");

/* The word of a record of KIND that is another one each time, and not far from the one before: the number of a collective call,
 * a barrier, a task or a region; 0: none is. */
static inline uint64_t tg_agent_counted_word(unsigned kind)
{
    enum { INSTANCE_OF_CALL = 4, NUMBER_BEHIND_PLACE = 3 };
    switch (kind) {
    case TG_RECORD_MPI_ENTER:
        return INSTANCE_OF_CALL;
    case TG_RECORD_OMP_PARALLEL_BEGIN:
    case TG_RECORD_OMP_PARALLEL_END:
    case TG_RECORD_OMP_IMPLICIT_BEGIN:
    case TG_RECORD_OMP_SYNC_BEGIN:
    case TG_RECORD_OMP_SYNC_END:
    case TG_RECORD_OMP_TASK_CREATE:
    case TG_RECORD_OMP_TASK_BEGIN:
    case TG_RECORD_OMP_TASK_END:
        return NUMBER_BEHIND_PLACE;
    default:
        return 0;
    }
}

/* What of a record of a kind the number of its AGAIN record moves. */
enum tg_agent_moves {
    TG_AGENT_MOVES_NOTHING, /* always 0 */
    TG_AGENT_MOVES_COUNT,   /* the counted word, which is larger by it */
    /* the team of word 1, by a number with sign, and with it the counted word, where there is one: what a thread does in
     * each region again */
    TG_AGENT_MOVES_TEAM,
    /* where its highest bit is set the team alone, by the others, with sign; otherwise the counted word: what a thread does
     * once in each region, or often in one */
    TG_AGENT_MOVES_EITHER,
};

static inline enum tg_agent_moves tg_agent_moves(unsigned kind)
{
    switch (kind) {
    case TG_RECORD_OMP_IMPLICIT_BEGIN:
    case TG_RECORD_OMP_IMPLICIT_END:
    case TG_RECORD_OMP_ZONE_BEGIN:
    case TG_RECORD_OMP_ZONE_END:
    case TG_RECORD_OMP_SECTION:
    case TG_RECORD_OMP_CHUNK:
    case TG_RECORD_OMP_MUTEX_WAIT:
    case TG_RECORD_OMP_MUTEX_ENTER:
    case TG_RECORD_OMP_MUTEX_LEAVE:
        return TG_AGENT_MOVES_TEAM;
    case TG_RECORD_OMP_SYNC_BEGIN:
    case TG_RECORD_OMP_SYNC_END:
        return TG_AGENT_MOVES_EITHER;
    default:
        return tg_agent_counted_word(kind) != 0 ? TG_AGENT_MOVES_COUNT : TG_AGENT_MOVES_NOTHING;
    }
}

/* Whether NUMBER moves the team of a record of KIND. */
static inline int tg_agent_moves_team(unsigned kind, uint64_t number)
{
    enum tg_agent_moves moves = tg_agent_moves(kind);
    return number != 0 && (moves == TG_AGENT_MOVES_TEAM ||
                           (moves == TG_AGENT_MOVES_EITHER && number >> (TG_AGENT_NUMBER_BITS - 1) != 0));
}

/* By how much: what its sign's bits above are is not looked at. */
static inline uint64_t tg_agent_team_move(unsigned kind, uint64_t number)
{
    unsigned above = tg_agent_moves(kind) == TG_AGENT_MOVES_EITHER ? 64 - TG_AGENT_NUMBER_BITS + 1
                                                                   : 64 - TG_AGENT_NUMBER_BITS;
    return (uint64_t)((int64_t)(number << above) >> above);
}

/* RECORD, whose words but the first are a repeat's, becomes what an AGAIN record with NUMBER stands for. */
static inline void tg_agent_move(uint64_t *record, uint64_t number)
{
    unsigned kind = record[1] & 0xff;
    uint64_t counted = tg_agent_counted_word(kind);
    if (!tg_agent_moves_team(kind, number)) {
        record[counted] += counted != 0 ? number : 0;
        return;
    }
    uint64_t teams = tg_agent_team_move(kind, number);
    record[1] += teams << TG_AGENT_TEAM_SHIFT;
    if (tg_agent_moves(kind) == TG_AGENT_MOVES_TEAM)
        record[counted] += counted != 0 ? teams : 0;
}

/* The word of a record of KIND that is anything each time: the parent of a task; 0: none is. */
static inline uint64_t tg_agent_own_word(unsigned kind)
{
    enum { PARENT = 4 };
    return kind == TG_RECORD_OMP_TASK_CREATE ? PARENT : 0;
}

/* Counts N records of the kind AGAIN. */
static inline void tg_agent_count_repeats(struct tg_agent_count *count, uint64_t n)
{
    count->records += n;
    count->events += n;
}

/* Counts a record other than PAD whose second word is WORD. */
static inline void tg_agent_count_record(struct tg_agent_count *count, uint64_t word)
{
    count->records++;
    count->events += (word & 0xff) != TG_RECORD_THREAD && (word & 0xff) != TG_RECORD_LOST;
}

#endif
