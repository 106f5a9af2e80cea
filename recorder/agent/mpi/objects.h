/* Objects that collective calls are made on: communicators, and windows and files, which are given ids as
 * communicators are; and the members of their groups. */
#ifndef TG_RECORDER_AGENT_MPI_OBJECTS_H
#define TG_RECORDER_AGENT_MPI_OBJECTS_H

#include "recorder/agent/mpi/abi.h"
#include "recorder/agent/mpi/table.h"

enum tg_mpi_object_kind {
    TG_MPI_OBJECT_COMM,
    TG_MPI_OBJECT_WINDOW,
    TG_MPI_OBJECT_FILE,
};

/* enum tg_mpi_comm_origin of format/event/event.h. */
enum tg_mpi_origin {
    TG_MPI_ORIGIN_WORLD,
    TG_MPI_ORIGIN_SELF,
    TG_MPI_ORIGIN_DUP,
    TG_MPI_ORIGIN_SPLIT,
    TG_MPI_ORIGIN_CREATE,
    TG_MPI_ORIGIN_SPAWN,
    TG_MPI_ORIGIN_INTERCOMM,
    TG_MPI_ORIGIN_MERGE,
    TG_MPI_ORIGIN_FREED,
    TG_MPI_ORIGIN_WINDOW,
    TG_MPI_ORIGIN_FILE,
};

/* A communicator, window or file. */
struct tg_mpi_object {
    uint64_t id; /* 0: not known, and then all else is 0 */
    int rank;
    int size;          /* size of this process's group */
    int remote_size;   /* size of an intercommunicator's other group, else 0 */
    uint64_t link;     /* of an intercommunicator with another job, when it comes to be: as in mpi_comm */
    uint64_t instance; /* tg_mpi_object_of_collective: ordinal number of this collective call on it, from 1 */
};

/* The id of MPI_COMM_WORLD in every process; all others are made by tg_mpi_mix. */
enum { TG_MPI_WORLD_ID = 1 };

/* Words of an object's entry in the table. */
enum tg_mpi_object_word {
    TG_MPI_OBJECT_ID,
    TG_MPI_OBJECT_CHILDREN,
    TG_MPI_OBJECT_INSTANCES,
    TG_MPI_OBJECT_RANK_SIZE,
    TG_MPI_OBJECT_REMOTE_SIZE,
};

/* HANDLE in full: implementations with handles of 32 bits leave the upper half of a word undefined. */
tg_mpi_handle tg_mpi_objects_handle(enum tg_mpi_object_kind kind, tg_mpi_handle handle);

/* The entry of HANDLE, NULL: it is not known. */
struct tg_mpi_entry *tg_mpi_objects_find(enum tg_mpi_object_kind kind, tg_mpi_handle handle);
struct tg_mpi_object tg_mpi_objects_read(const struct tg_mpi_entry *entry);

/* Forgets HANDLE; its words go to WORDS. False: it was not known. */
bool tg_mpi_objects_take(enum tg_mpi_object_kind kind, tg_mpi_handle handle,
                         uint64_t words[TG_MPI_TABLE_WORDS]);
void tg_mpi_objects_put_back(enum tg_mpi_object_kind kind, tg_mpi_handle handle,
                             const uint64_t words[TG_MPI_TABLE_WORDS]);

/* Remembers OBJECT as HANDLE, and records that it has come to be of the object with id PARENT; its first
 * member records who all of MEMBERS are. */
struct tg_mpi_members;
void tg_mpi_objects_add(enum tg_mpi_object_kind kind, tg_mpi_handle handle,
                        const struct tg_mpi_object *object, uint64_t parent, enum tg_mpi_origin origin,
                        const struct tg_mpi_members *members);
void tg_mpi_objects_record_freed(tg_mpi_handle handle, const struct tg_mpi_object *object);

/* A group's members, as ranks in MPI_COMM_WORLD, or in what sessions know as "mpi://WORLD". */
struct tg_mpi_members {
    tg_mpi_handle group, world_group;
    int size;
    int rank; /* rank of this process */
};
/* Members of the group of COMM, or of the remote one of an intercommunicator. */
void tg_mpi_members_open(struct tg_mpi_members *members, tg_mpi_handle comm, bool remote);
/* The group of all of this world, which is for the caller to free. */
tg_mpi_handle tg_mpi_world_group(void);
void tg_mpi_members_close(struct tg_mpi_members *members);

/* Records which ranks of the group AMONG those of GROUP are. */
void tg_mpi_objects_record_group(tg_mpi_handle group, tg_mpi_handle among);

/* The world rank of member 0. MPI_UNDEFINED: the group has no members, or member 0 is not in this world. */
int tg_mpi_members_first(const struct tg_mpi_members *members);

/* A mixture of all members' world ranks. */
uint64_t tg_mpi_members_mix(const struct tg_mpi_members *members);

#endif
