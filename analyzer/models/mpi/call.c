#include "analyzer/models/mpi/call.h"

#include <string.h>

struct role_name {
    const char *name; /* without MPI_, and without what says how it blocks */
    enum tg_mpi_role role;
};

static const struct role_name roles[] = {
    {"Send", TG_MPI_SEND},
    {"Bsend", TG_MPI_SEND},
    {"Ssend", TG_MPI_SEND},
    {"Rsend", TG_MPI_SEND},
    {"Recv", TG_MPI_RECEIVE},
    {"Mrecv", TG_MPI_RECEIVE},
    {"Sendrecv", TG_MPI_SEND_RECEIVE},
    {"Sendrecv_replace", TG_MPI_SEND_RECEIVE},
    {"Probe", TG_MPI_PROBE},
    {"Mprobe", TG_MPI_PROBE},
    {"Wait", TG_MPI_COMPLETION},
    {"Waitany", TG_MPI_COMPLETION},
    {"Waitall", TG_MPI_COMPLETION},
    {"Waitsome", TG_MPI_COMPLETION},
    {"Test", TG_MPI_COMPLETION},
    {"Testany", TG_MPI_COMPLETION},
    {"Testall", TG_MPI_COMPLETION},
    {"Testsome", TG_MPI_COMPLETION},
    {"Parrived", TG_MPI_COMPLETION},
    {"Barrier", TG_MPI_COLLECTIVE},
    {"Bcast", TG_MPI_COLLECTIVE},
    {"Gather", TG_MPI_COLLECTIVE},
    {"Gatherv", TG_MPI_COLLECTIVE},
    {"Scatter", TG_MPI_COLLECTIVE},
    {"Scatterv", TG_MPI_COLLECTIVE},
    {"Allgather", TG_MPI_COLLECTIVE},
    {"Allgatherv", TG_MPI_COLLECTIVE},
    {"Alltoall", TG_MPI_COLLECTIVE},
    {"Alltoallv", TG_MPI_COLLECTIVE},
    {"Alltoallw", TG_MPI_COLLECTIVE},
    {"Reduce", TG_MPI_COLLECTIVE},
    {"Allreduce", TG_MPI_COLLECTIVE},
    {"Reduce_scatter", TG_MPI_COLLECTIVE},
    {"Reduce_scatter_block", TG_MPI_COLLECTIVE},
    {"Scan", TG_MPI_COLLECTIVE},
    {"Exscan", TG_MPI_COLLECTIVE},
    {"Neighbor_allgather", TG_MPI_COLLECTIVE},
    {"Neighbor_allgatherv", TG_MPI_COLLECTIVE},
    {"Neighbor_alltoall", TG_MPI_COLLECTIVE},
    {"Neighbor_alltoallv", TG_MPI_COLLECTIVE},
    {"Neighbor_alltoallw", TG_MPI_COLLECTIVE},
};

static bool cut_suffix(char *name, const char *suffix)
{
    size_t length = strlen(name), cut = strlen(suffix);
    bool has = length > cut && strcmp(name + length - cut, suffix) == 0;
    if (has)
        name[length - cut] = '\0';
    return has;
}

static const struct role_name *find_role(const char *name)
{
    static const struct role_name none;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(roles[i].name, name) == 0)
            return &roles[i];
    return &none;
}

/* "Isend": "Send" that starts a request; "Send_init": a persistent one; "_c": large counts. */
static const struct role_name *parse(const char *name, bool *is_started, bool *is_persistent)
{
    char plain[64];
    *is_started = false;
    if (strncmp(name, "MPI_", 4) != 0 || strlen(name + 4) >= sizeof plain)
        plain[0] = '\0';
    else
        strcpy(plain, name + 4);
    cut_suffix(plain, "_c");
    *is_persistent = cut_suffix(plain, "_init");
    const struct role_name *found = find_role(plain);
    if (found->role == TG_MPI_OTHER && plain[0] == 'I' && plain[1] >= 'a' && plain[1] <= 'z') {
        plain[1] = (char)(plain[1] - 'a' + 'A');
        found = find_role(plain + 1);
        *is_started =
            found->role != TG_MPI_OTHER && found->role != TG_MPI_PROBE && found->role != TG_MPI_COMPLETION;
    }
    return found;
}

enum tg_mpi_role tg_mpi_call_role(const char *name, bool *nonblocking, bool *persistent)
{
    bool is_started, is_persistent;
    enum tg_mpi_role role = parse(name, &is_started, &is_persistent)->role;
    if (nonblocking != NULL)
        *nonblocking = is_started;
    if (persistent != NULL)
        *persistent = is_persistent && role != TG_MPI_OTHER;
    return role;
}

bool tg_mpi_call_waits(const char *name)
{
    bool nonblocking, persistent;
    enum tg_mpi_role role = tg_mpi_call_role(name, &nonblocking, &persistent);
    return role != TG_MPI_OTHER && !nonblocking && !persistent && !tg_mpi_call_polls(name);
}

bool tg_mpi_call_polls(const char *name)
{
    return strncmp(name, "MPI_Test", 8) == 0 || strcmp(name, "MPI_Iprobe") == 0 ||
           strcmp(name, "MPI_Improbe") == 0 || strcmp(name, "MPI_Win_test") == 0 ||
           strcmp(name, "MPI_Request_get_status") == 0 || strcmp(name, "MPI_Parrived") == 0;
}

static bool makes_request(const char *name)
{
    static const char *const beginnings[] = {"MPI_Rput",       "MPI_Rget",        "MPI_Raccumulate",
                                             "MPI_File_iread", "MPI_File_iwrite", "MPI_Comm_idup"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

enum tg_mpi_role tg_mpi_call_partitions(const char *name)
{
    if (strcmp(name, "MPI_Psend_init") == 0)
        return TG_MPI_SEND;
    return strcmp(name, "MPI_Precv_init") == 0 ? TG_MPI_RECEIVE : TG_MPI_OTHER;
}

struct tg_mpi_call_traits tg_mpi_call_traits_of(const char *name)
{
    struct tg_mpi_call_traits traits = {.waits = tg_mpi_call_waits(name),
                                        .polls = tg_mpi_call_polls(name),
                                        .makes_request = makes_request(name)};
    traits.role = tg_mpi_call_role(name, &traits.is_started, &traits.is_persistent);
    traits.is_special = traits.role == TG_MPI_OTHER;
    return traits;
}

const char *tg_mpi_call_plain(const char *name)
{
    bool is_started, is_persistent;
    const struct role_name *found = parse(name, &is_started, &is_persistent);
    return found->name == NULL ? "" : found->name;
}

enum tg_mpi_sharing tg_mpi_call_sharing(const char *name)
{
    static const char *const equal[] = {"Bcast",  "Gather",    "Allgather",      "Alltoall",
                                        "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block",
                                        "Scan",   "Exscan"};
    bool is_started, is_persistent;
    const struct role_name *found = parse(name, &is_started, &is_persistent);
    if (found->role == TG_MPI_COLLECTIVE && strcmp(found->name, "Scatter") == 0)
        return TG_MPI_BYTES_SHARE;
    for (size_t i = 0; found->role == TG_MPI_COLLECTIVE && i < sizeof equal / sizeof equal[0]; i++)
        if (strcmp(found->name, equal[i]) == 0)
            return TG_MPI_BYTES_EQUAL;
    return TG_MPI_BYTES_OWN;
}

bool tg_mpi_call_has_one_type(const char *name)
{
    bool is_started, is_persistent;
    const struct role_name *found = parse(name, &is_started, &is_persistent);
    return found->role == TG_MPI_COLLECTIVE && strcmp(found->name, "Alltoallw") != 0 &&
           strncmp(found->name, "Neighbor_", 9) != 0;
}

bool tg_mpi_call_is_same(const char *x, const char *y)
{
    size_t length = strlen(x), other = strlen(y);
    if (length > 2 && strcmp(x + length - 2, "_c") == 0)
        length -= 2;
    if (other > 2 && strcmp(y + other - 2, "_c") == 0)
        other -= 2;
    return length == other && memcmp(x, y, length) == 0;
}
