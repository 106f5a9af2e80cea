/* Arguments of the function of MPI that a thread is in. */
#ifndef TG_RECORDER_STACKS_MPI_VALUES_H
#define TG_RECORDER_STACKS_MPI_VALUES_H

#include "recorder/stacks/call_stack.h"
#include "recorder/stacks/kept_arguments.h"
#include "recorder/stacks/mpich_comms.h"

enum { TG_MPI_MAX_VALUES = 8 };

/* Arguments of a function, by their positions from 0; -1: it has none. */
struct tg_mpi_shape {
    const char *name, *peer_name; /* "sendrecv"; "dest", "source", "root", "" none */
    int8_t count, peer, tag, comm;
    int8_t source, receive_tag; /* of what is received where something is sent as well */
};

/* Of the function NAME as C's programs call it; NULL: not known. */
const struct tg_mpi_shape *tg_mpi_shape_of(const char *name);

/* Whether FUNCTION of a library of MPI is one that Fortran's programs call, whichever of its names that is: "mpi_barrier_",
 * "MPI_BARRIER", "MPI_Barrier_f08". */
bool tg_mpi_is_of_fortran(const char *function);

/* Where a process has its communicators, 0 unknown. */
struct tg_mpi_variables {
    uint64_t world, self;        /* of Open MPI */
    uint64_t process;            /* and the pointer to what it knows of itself */
    uint64_t table;              /* and of the communicators that Fortran's programs have numbers of */
    struct tg_mpich_comms mpich; /* recorder/stacks/mpi_communicators.h */
};

/* Of a process that may be running; also has the names of MPI's functions read, so that these need not be read while it is
 * stopped. */
struct tg_mpi_variables tg_mpi_variables_find(const struct tg_stack_process *process);

struct tg_mpi_values {
    char function[64]; /* as the library calls it; "" the stack is not in MPI */
    struct tg_call_value values[TG_MPI_MAX_VALUES];
    char texts[TG_MPI_MAX_VALUES][32]; /* theirs */
    size_t count;
};

/* Adds one to VALUES, where there is room. NAME must outlive it. */
void tg_mpi_values_add(struct tg_mpi_values *values, const char *name, int64_t number, const char *text);

/* The event that says VALUES, with TOLD, TG_MPI_MAX_VALUES of them, as its list. */
struct tg_event tg_mpi_values_event(const struct tg_mpi_values *values, struct tg_call_value *told);

/* Whether the thread of VALUES is in a function that polls: MPI_Test, MPI_Iprobe and the like. */
bool tg_mpi_values_polls(const struct tg_mpi_values *values);

/* The frame of STACK by which the program entered the library; SIZE_MAX: it is not in MPI. Its caller is the next one. */
size_t tg_mpi_entry_find(const struct tg_call_stack *stack);

/* An address in the code of that function, which STACK's unwound frames know. */
uint64_t tg_mpi_entry_place(const struct tg_call_stack *stack, size_t entry);

/* The function of C for SHAPE that the one of Fortran at ENTRY of STACK has called; SIZE_MAX unknown. */
size_t tg_mpi_inner_find(struct tg_modules *modules, const struct tg_call_stack *stack, size_t entry,
                         const struct tg_mpi_shape *shape);

/* Of whom values are asked. */
struct tg_mpi_asking {
    const struct tg_stack_process *process;
    const struct tg_mpi_variables *variables;
    struct tg_kept_arguments *kept; /* NULL: the library's frames are not asked */
};

/* Whether the code of CALLER has called the function with SHAPE that returns to it, as far as is known: what it passed to another function of the
 * program, which ended with a jump to that one, says nothing of its arguments. */
bool tg_mpi_is_called_by(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                         const struct tg_frame *caller, const struct tg_mpi_shape *shape);

/* VALUES of STACK; "small", where the message is known to be one, which is on its way for a moment only; "state" last: a
 * number for what the callers hold in registers and on the stack. STACK's thread is stopped, and its UNWOUND frames are
 * there. False where nothing is known. */
bool tg_mpi_values_find(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                        const struct tg_call_stack *stack, struct tg_mpi_values *values);

#endif
