/* Calls that make and free communicators. They are recorded as collective calls on the one that they make the
 * new one from, which gets its record behind theirs. */
#include "recorder/agent/mpi/comm.h"
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/mpi/request.h"
#include "recorder/agent/mpi/world.h"

static void enter(const struct tg_mpi_frame *frame, tg_mpi_handle parent, int64_t root)
{
    struct tg_mpi_object object = tg_mpi_object_of_collective(TG_MPI_OBJECT_COMM, parent);
    tg_mpi_enter_collective(frame, object.id, object.instance, root, 0);
}

static int born(const struct tg_mpi_frame *frame, const struct tg_mpi_birth *birth, const void *made,
                int result)
{
    tg_mpi_record_return(frame, result);
    if (result == 0)
        tg_mpi_comm_born(tg_mpi_handle_in(made, 0), birth);
    return result;
}

#define MAKES(name, parameters, arguments, parent, made, origin_, root)                                      \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        enter(frame, parent, root);                                                                          \
        struct tg_mpi_birth birth = tg_mpi_birth_begin(parent, TG_MPI_ORIGIN_##origin_);                     \
        return born(frame, &birth, made, next arguments);                                                    \
    }

#define H tg_mpi_handle
MAKES(Comm_dup, (H comm, void *made), (comm, made), comm, made, DUP, TG_MPI_NOTHING)
MAKES(Comm_dup_with_info, (H comm, H info, void *made), (comm, info, made), comm, made, DUP, TG_MPI_NOTHING)
MAKES(Comm_split, (H comm, int colour, int key, void *made), (comm, colour, key, made), comm, made, SPLIT,
      TG_MPI_NOTHING)
MAKES(Comm_split_type, (H comm, int type, int key, H info, void *made), (comm, type, key, info, made), comm,
      made, SPLIT, TG_MPI_NOTHING)
MAKES(Comm_create, (H comm, H group, void *made), (comm, group, made), comm, made, CREATE, TG_MPI_NOTHING)
MAKES(Cart_create,
      (H comm, int n_dimensions, const int *dimensions, const int *periods, int reorder, void *made),
      (comm, n_dimensions, dimensions, periods, reorder, made), comm, made, CREATE, TG_MPI_NOTHING)
MAKES(Cart_sub, (H comm, const int *remain, void *made), (comm, remain, made), comm, made, CREATE,
      TG_MPI_NOTHING)
MAKES(Graph_create, (H comm, int n_nodes, const int *index, const int *edges, int reorder, void *made),
      (comm, n_nodes, index, edges, reorder, made), comm, made, CREATE, TG_MPI_NOTHING)
MAKES(Dist_graph_create,
      (H comm, int n, const int *sources, const int *degrees, const int *destinations, const int *weights,
       H info, int reorder, void *made),
      (comm, n, sources, degrees, destinations, weights, info, reorder, made), comm, made, CREATE,
      TG_MPI_NOTHING)
MAKES(Dist_graph_create_adjacent,
      (H comm, int n_in, const int *sources, const int *in_weights, int n_out, const int *destinations,
       const int *out_weights, H info, int reorder, void *made),
      (comm, n_in, sources, in_weights, n_out, destinations, out_weights, info, reorder, made), comm, made,
      CREATE, TG_MPI_NOTHING)
MAKES(Intercomm_merge, (H comm, int high, void *made), (comm, high, made), comm, made, MERGE, TG_MPI_NOTHING)
MAKES(Comm_spawn,
      (const char *command, char **argv, int n, H info, int root, H comm, void *made, int *errors),
      (command, argv, n, info, root, comm, made, errors), comm, made, SPAWN, tg_mpi_root(root))
MAKES(Comm_spawn_multiple,
      (int n_commands, char **commands, char ***argvs, const int *ns, const void *infos, int root, H comm,
       void *made, int *errors),
      (n_commands, commands, argvs, ns, infos, root, comm, made, errors), comm, made, SPAWN,
      tg_mpi_root(root))
/* The name of the port is the root's alone. */
#define JOINS(name)                                                                                          \
    TG_MPI_WRAP(name, (const char *port, H info, int root, H comm, void *made),                              \
                (port, info, root, comm, made))                                                              \
    {                                                                                                        \
        enter(frame, comm, tg_mpi_root(root));                                                               \
        struct tg_mpi_birth birth = tg_mpi_birth_begin(comm, TG_MPI_ORIGIN_INTERCOMM);                       \
        bool is_root = tg_mpi_object(TG_MPI_OBJECT_COMM, comm).rank == root;                                 \
        birth.link = is_root ? tg_mpi_link_of(port, '\0') : TG_MPI_LINK_UNKNOWN;                             \
        return born(frame, &birth, made, next(port, info, root, comm, made));                                \
    }
JOINS(Comm_connect)
JOINS(Comm_accept)
TG_MPI_WRAP(Comm_join, (int fd, void *made), (fd, made))
{
    enter(frame, tg_mpi.self, TG_MPI_NOTHING);
    struct tg_mpi_birth birth = tg_mpi_birth_begin(tg_mpi.self, TG_MPI_ORIGIN_INTERCOMM);
    birth.link = TG_MPI_LINK_UNKNOWN;
    return born(frame, &birth, made, next(fd, made));
}

/* The communicator is there when the request is complete. */
#define STARTS_MAKING(name, parameters, arguments)                                                           \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        enter(frame, comm, TG_MPI_NOTHING);                                                                  \
        struct tg_mpi_birth birth = tg_mpi_birth_begin(comm, TG_MPI_ORIGIN_DUP);                             \
        return tg_mpi_request_of_birth_started(frame, &birth, made, request, next arguments);                \
    }
STARTS_MAKING(Comm_idup, (H comm, void *made, void *request), (comm, made, request))
STARTS_MAKING(Comm_idup_with_info, (H comm, H info, void *made, void *request), (comm, info, made, request))

/* Not all of COMM's processes call this: it counts as nothing on it. */
TG_MPI_WRAP(Comm_create_group, (H comm, H group, int tag, void *made), (comm, group, tag, made))
{
    uint64_t parent = tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm);
    tg_mpi_enter_point(frame, parent, TG_MPI_NOTHING, tag, 0);
    int result = next(comm, group, tag, made);
    tg_mpi_record_return(frame, result);
    if (result == 0)
        tg_mpi_comm_born_of_members(tg_mpi_handle_in(made, 0), parent, tag, TG_MPI_ORIGIN_CREATE);
    return result;
}

TG_MPI_WRAP(Intercomm_create, (H comm, int leader, H peer_comm, int remote_leader, int tag, void *made),
            (comm, leader, peer_comm, remote_leader, tag, made))
{
    enter(frame, comm, leader);
    uint64_t parent = tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm);
    int result = next(comm, leader, peer_comm, remote_leader, tag, made);
    tg_mpi_record_return(frame, result);
    if (result == 0)
        tg_mpi_comm_born_of_members(tg_mpi_handle_in(made, 0), parent, tag, TG_MPI_ORIGIN_INTERCOMM);
    return result;
}

/* A number for the tag of a call that has a text for one. */
static int tag_of(const char *text)
{
    uint32_t hash = 5381;
    for (; text != NULL && *text != '\0'; text++)
        hash = hash * 33 ^ (unsigned char)*text;
    return (int)(hash & INT32_MAX);
}

/* Of sessions: there is no communicator that the new one is made from. */
TG_MPI_WRAP(Comm_create_from_group, (H group, const char *tag, H info, H handler, void *made),
            (group, tag, info, handler, made))
{
    tg_mpi_enter(frame);
    int result = next(group, tag, info, handler, made);
    tg_mpi_record_return(frame, result);
    if (result == 0)
        tg_mpi_comm_born_of_members(tg_mpi_handle_in(made, 0), 0, tag_of(tag), TG_MPI_ORIGIN_CREATE);
    return result;
}

TG_MPI_WRAP(Intercomm_create_from_groups,
            (H group, int leader, H remote, int remote_leader, const char *tag, H info, H handler,
             void *made),
            (group, leader, remote, remote_leader, tag, info, handler, made))
{
    tg_mpi_enter(frame);
    int result = next(group, leader, remote, remote_leader, tag, info, handler, made);
    tg_mpi_record_return(frame, result);
    if (result == 0)
        tg_mpi_comm_born_of_members(tg_mpi_handle_in(made, 0), 0, tag_of(tag), TG_MPI_ORIGIN_INTERCOMM);
    return result;
}

TG_MPI_WRAP(Comm_get_parent, (void *parent), (parent))
{
    tg_mpi_enter(frame);
    int result = next(parent);
    tg_mpi_record_return(frame, result);
    if (result == 0 && tg_mpi_world_is_running())
        tg_mpi_comm_found_parent(tg_mpi_handle_in(parent, 0));
    return result;
}

TG_MPI_WRAP(Comm_set_name, (H comm, const char *name), (comm, name))
{
    (void)frame;
    int result = next(comm, name);
    uint64_t id = result == 0 ? tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm) : 0;
    size_t n_words = tg_agent_string_words(name);
    uint64_t *arguments = id == 0 ? NULL : tg_agent_begin(TG_RECORD_MPI_COMM_NAME, 1 + n_words);
    if (arguments != NULL) {
        arguments[0] = id;
        tg_agent_put_string(arguments + 1, name, n_words);
        tg_agent_commit();
    }
    return result;
}

#define FREES(name)                                                                                          \
    TG_MPI_WRAP(name, (void *comm), (comm))                                                                  \
    {                                                                                                        \
        H handle = tg_mpi_handle_in(comm, 0);                                                                \
        enter(frame, handle, TG_MPI_NOTHING);                                                                \
        struct tg_mpi_death death = tg_mpi_death_begin(TG_MPI_OBJECT_COMM, handle);                          \
        int result = next(comm);                                                                             \
        tg_mpi_record_return(frame, result);                                                                 \
        tg_mpi_death_end(&death, result == 0);                                                               \
        return result;                                                                                       \
    }
FREES(Comm_free)
FREES(Comm_disconnect)
