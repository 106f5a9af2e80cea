/* Communicators of MPICH in a process's memory. */
#ifndef TG_RECORDER_STACKS_MPICH_COMMS_H
#define TG_RECORDER_STACKS_MPICH_COMMS_H

#include "recorder/dwarf/modules.h"
#include "recorder/dwarf/target.h"
#include "recorder/stacks/mpi_members.h"

enum { TG_MPICH_WORLD = 0x44000000, TG_MPICH_SELF };

/* Where a process has its communicators. */
struct tg_mpich_comms {
    uint64_t world; /* address, 0: not found */
    uint64_t bytes; /* of each */
    uint64_t
        first; /* address of those that the program makes, as far as they are beside each other, 0 unknown */
    uint64_t blocks;     /* address of the addresses of blocks, which have the further ones, 0 unknown */
    size_t name;         /* offset of the name */
    size_t map;          /* offset of the ranks, 0 unknown */
    uint64_t windows;    /* address of the first window that the program makes, 0 unknown */
    size_t window_bytes; /* of each; these are beside each other */
};

/* In a process that may be running. False where MPI is not initialized, and where they are of another form. */
bool tg_mpich_comms_find(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                         struct tg_mpich_comms *comms);

/* The same in BYTES, SIZE of them: what a library writes to, which is at ADDRESS, a multiple of 8. */
bool tg_mpich_comms_find_in(const uint8_t *bytes, size_t size, uint64_t address,
                            const struct tg_inspect_memory *memory, struct tg_mpich_comms *comms);

/* The communicator whose handle is HANDLE; false: not found. MEMBERS is to be deinited in any case. */
bool tg_mpich_comm_read(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                        uint32_t handle, struct tg_mpi_members *members);

/* The same of the one that the window with HANDLE has. */
bool tg_mpich_window_read(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                          uint32_t handle, struct tg_mpi_members *members);

/* The handle of the communicator at ADDRESS; 0: there is none. */
uint32_t tg_mpich_comm_at(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                          uint64_t address);

/* The same of the one whose messages have NUMBER. */
bool tg_mpich_comm_of_messages(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                               uint32_t number, struct tg_mpi_members *members);

#endif
