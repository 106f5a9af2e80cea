/* The symbols of MPIR (MPIR Process Acquisition Interface 1.1, chapter 4) in the objects of a process: which
 * there are, and where. */
#ifndef TG_RECORDER_MPIR_SYMBOLS_H
#define TG_RECORDER_MPIR_SYMBOLS_H

#include "format/base/error.h"
#include "recorder/mpir/layout.h"
#include "recorder/process/image_cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the specification, and Slurm's two. To add one: a line here. */
#define TG_MPIR_NAMES(X)                                                                                     \
    X(BREAKPOINT, "MPIR_Breakpoint")                                                                         \
    X(PROCTABLE, "MPIR_proctable")                                                                           \
    X(PROCTABLE_SIZE, "MPIR_proctable_size")                                                                 \
    X(DEBUG_STATE, "MPIR_debug_state")                                                                       \
    X(DEBUG_ABORT_STRING, "MPIR_debug_abort_string")                                                         \
    X(BEING_DEBUGGED, "MPIR_being_debugged")                                                                 \
    X(DEBUG_GATE, "MPIR_debug_gate")                                                                         \
    X(I_AM_STARTER, "MPIR_i_am_starter")                                                                     \
    X(ACQUIRED_PRE_MAIN, "MPIR_acquired_pre_main")                                                           \
    X(FORCE_TO_MAIN, "MPIR_force_to_main")                                                                   \
    X(PARTIAL_ATTACH_OK, "MPIR_partial_attach_ok")                                                           \
    X(IGNORE_QUEUES, "MPIR_ignore_queues")                                                                   \
    X(EXECUTABLE_PATH, "MPIR_executable_path")                                                               \
    X(SERVER_ARGUMENTS, "MPIR_server_arguments")                                                             \
    X(ATTACH_FIFO, "MPIR_attach_fifo")                                                                       \
    X(DLL_NAME, "MPIR_dll_name")                                                                             \
    X(SLURM_JOB, "totalview_jobid")                                                                          \
    X(SLURM_STEP, "totalview_stepid")

enum tg_mpir_name {
#define X(symbol, name) TG_MPIR_##symbol,
    TG_MPIR_NAMES(X)
#undef X
        TG_MPIR_N_NAMES
};

const char *tg_mpir_name_text(enum tg_mpir_name name);

/* Symbols that one object defines. */
struct tg_mpir_symbols {
    bool found[TG_MPIR_N_NAMES];
    uint64_t addresses[TG_MPIR_N_NAMES]; /* without load bias */
    uint64_t sizes[TG_MPIR_N_NAMES];     /* 0 unknown */
    size_t count;                        /* 0: it has none */
    uint64_t entry;                      /* the object's entry point, likewise */
    struct tg_mpir_layout layout;        /* layout of its MPIR_proctable, from DWARF; all zero: none */
};

/* Looks into each file once, whatever process maps it. The tracer thread's. */
struct tg_mpir_finder;

/* IMAGES must outlive it. */
struct tg_error *tg_mpir_finder_create(struct tg_image_cache *images, struct tg_mpir_finder **finder);
void tg_mpir_finder_destroy(struct tg_mpir_finder *finder); /* NULL is accepted */

/* Symbols of the object at SOURCE, NULL where it has none or cannot be read. IS_PROGRAM: an executable,
 * whose separate debug file counts, too. An object with a build-id that was looked at before costs nothing;
 * another one that has no such name, a look at its string tables. Valid as long as FINDER. */
const struct tg_mpir_symbols *tg_mpir_finder_look(struct tg_mpir_finder *finder,
                                                  const struct tg_image_source *source, bool is_program);

#endif
