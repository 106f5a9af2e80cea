/* Objects of Open MPI in a process's memory: each has its class, which says what it is. */
#ifndef TG_RECORDER_STACKS_OPEN_MPI_OBJECTS_H
#define TG_RECORDER_STACKS_OPEN_MPI_OBJECTS_H

#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"

enum { TG_OPEN_MPI_MAX_CLASSES = 32, TG_OPEN_MPI_NAME_BYTES = 40 };

/* What a class says of itself (opal_class_t): its name, the class that it is made of, and how large it is. */
struct tg_open_mpi_class {
    uint64_t address, parent, size;
    char name[TG_OPEN_MPI_NAME_BYTES];
};

/* Of one process. Everything behind PROCESS is the reader's own: zeros in the beginning. */
struct tg_open_mpi_objects {
    struct tg_modules *modules;
    const struct tg_inspect_memory *memory;
    uint64_t process;     /* address of the pointer to what the library has of its own process, 0 unknown */
    uint64_t world, self; /* addresses of MPI_COMM_WORLD and MPI_COMM_SELF, 0 unknown */
    struct tg_open_mpi_class classes[TG_OPEN_MPI_MAX_CLASSES];
    size_t n_classes;
};

bool tg_open_mpi_read(const struct tg_open_mpi_objects *objects, uint64_t address, void *buffer, size_t size);

/* How large class NAME is, which the object at ADDRESS is of, or is made of; 0: it is not. */
uint64_t tg_open_mpi_object_size(struct tg_open_mpi_objects *objects, uint64_t address, const char *name);

/* A process (ompi_proc_t) by its job's number and its rank there. */
struct tg_open_mpi_name {
    uint32_t job, rank;
};

/* The one at ADDRESS; false: there is none. */
bool tg_open_mpi_name_read(struct tg_open_mpi_objects *objects, uint64_t address,
                           struct tg_open_mpi_name *name);
/* The library's own, whose address goes to ADDRESS. */
bool tg_open_mpi_name_own(struct tg_open_mpi_objects *objects, uint64_t *address,
                          struct tg_open_mpi_name *name);

#endif
