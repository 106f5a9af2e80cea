/* A process that a core file holds, as stacks need it: its objects, by the files that are here, and its memory. */
#ifndef TG_RECORDER_LOOK_CORE_PROCESS_H
#define TG_RECORDER_LOOK_CORE_PROCESS_H

#include "format/image/elf_object.h"
#include "recorder/process/core_file.h"
#include "recorder/stacks/call_stack.h"
#include "recorder/stacks/mpi_communicators.h"
#include "recorder/stacks/mpi_values.h"

/* Why an object has no names. */
enum tg_core_lack {
    TG_CORE_HAS_FILE,
    TG_CORE_NO_FILE,
    TG_CORE_OTHER_FILE, /* another build of it is here */
};

struct tg_core_process {
    struct tg_core_file *core;
    struct tg_stack_process stacks;
    enum tg_core_lack *lacks; /* of each module, in their order */
    struct tg_inspect_memory memory;
    struct tg_elf_memory bytes; /* the same */
    struct tg_mpi_variables variables;
    struct tg_mpi_members world; /* MPI_COMM_WORLD */
    uint64_t program;            /* address of its header, 0 unknown */
};

/* CORE was read from the file PATH. A file is an object's if it has the same build-id, or, where the object has none, if
 * it is older than the core file: at its own place, beside the core file, or in the working directory. The caches must
 * outlive the result, CORE too. Only error: NO_MEMORY. The result must not be moved. */
struct tg_error *tg_core_process_open(struct tg_core_file *core, const char *path,
                                      struct tg_image_cache *images, struct tg_debug_cache *debug,
                                      struct tg_core_process *process);
void tg_core_process_close(struct tg_core_process *process);

#endif
