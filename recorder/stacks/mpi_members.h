/* Members of one of MPI's communicators, as the library of a process has them. */
#ifndef TG_RECORDER_STACKS_MPI_MEMBERS_H
#define TG_RECORDER_STACKS_MPI_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_MPI_MAX_MEMBERS = 1 << 14 };

struct tg_mpi_members {
    int32_t size; /* 0: nothing is known */
    int32_t rank; /* of the process itself */
    uint32_t
        number; /* of its messages, the same for all members: other communicators of theirs have others; 0 unknown */
    int32_t
        *ranks; /* rank in the job of each member, SIZE of them; NULL: not known, or not all are of the job */
    /* Of an intercommunicator, the other group, whose members the process's own group calls by their ranks in it; its own one is
     * above. */
    int32_t remote_size;   /* 0: there is one group */
    int32_t *remote_ranks; /* REMOTE_SIZE of them; NULL: not known; then RANKS is NULL as well */
};

/* One of zeros is accepted. */
void tg_mpi_members_deinit(struct tg_mpi_members *members);

#endif
