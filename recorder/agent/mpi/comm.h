/* Communicators, and windows and files, which are given ids as communicators are.
 *
 * An id is made without communication, from what all members know alike: the parent's id, how many were made
 * from the parent before, and the world rank of the first member; so every process counts what is made from
 * each, and the collective calls on each. Where only some members of the parent take part
 * (MPI_Comm_create_group), or two groups with different parents (MPI_Intercomm_create), the count is that of
 * what these members made before, and the members take the parent's place.
 *
 * MPI allows two threads to work on different communicators at once, never to make two things from the same
 * one; all of this may be called so. */
#ifndef TG_RECORDER_AGENT_MPI_COMM_H
#define TG_RECORDER_AGENT_MPI_COMM_H

#include "recorder/agent/mpi/objects.h"

struct tg_mpi_object tg_mpi_object(enum tg_mpi_object_kind kind, tg_mpi_handle handle);
/* The id of such a one alone. */
uint64_t tg_mpi_object_id(enum tg_mpi_object_kind kind, tg_mpi_handle handle);

/* As above for a collective call, which is counted. */
struct tg_mpi_object tg_mpi_object_of_collective(enum tg_mpi_object_kind kind, tg_mpi_handle handle);

/* A call that makes something from PARENT begins: what identifies the new one, but for its members. */
struct tg_mpi_birth {
    uint64_t parent; /* id, 0: not known, then the new one's is not either */
    uint64_t nth;
    enum tg_mpi_origin origin;
    uint64_t
        link; /* of one whose two groups share no history: what the other side knows as well; 0: of others */
};
enum { TG_MPI_LINK_UNKNOWN = 1 };
struct tg_mpi_birth tg_mpi_birth_begin(tg_mpi_handle parent, enum tg_mpi_origin origin);

/* A communicator has come to be as HANDLE: gives it an id and records it. Does nothing for MPI_COMM_NULL. */
void tg_mpi_comm_born(tg_mpi_handle handle, const struct tg_mpi_birth *birth);

/* As above, where the members alone share a history: MPI_Comm_create_group, MPI_Intercomm_create. */
void tg_mpi_comm_born_of_members(tg_mpi_handle handle, uint64_t parent, int tag, enum tg_mpi_origin origin);

/* A window or file has come to be, made from a communicator that may be gone already. */
void tg_mpi_object_born(enum tg_mpi_object_kind kind, tg_mpi_handle handle, tg_mpi_handle comm,
                        const struct tg_mpi_birth *birth);

/* A number for the text up to STOP, or its end; not 0. NULL: 0. */
uint64_t tg_mpi_link_of(const char *text, char stop);

/* The parent's intercommunicator, which a spawned process asks for; the agent asks for it at the beginning, since that is
 * when the parent is in MPI_Comm_spawn. */
void tg_mpi_comm_found_parent(tg_mpi_handle handle);
void tg_mpi_comm_find_parent(void);

/* HANDLE is about to be freed. It is forgotten before the library could give its handle to another thread,
 * and remembered again if the call fails. */
struct tg_mpi_death {
    bool known;
    enum tg_mpi_object_kind kind;
    tg_mpi_handle handle;
    uint64_t words[TG_MPI_TABLE_WORDS];
};
struct tg_mpi_death tg_mpi_death_begin(enum tg_mpi_object_kind kind, tg_mpi_handle handle);
void tg_mpi_death_end(const struct tg_mpi_death *death, bool freed);

/* Records which ranks of WINDOW the processes of GROUP are. */
void tg_mpi_group_tell(tg_mpi_handle group, tg_mpi_handle window);

/* Neighbours that a collective on HANDLE, whose topology is asked for, sends to. */
int tg_mpi_comm_neighbours(tg_mpi_handle handle);

#endif
