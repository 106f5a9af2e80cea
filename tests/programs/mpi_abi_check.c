/* Compares the agent's description of this MPI's binary interface with what its mpi.h says. Built with the
 * implementation's compiler; exits with 0 where they agree. */
#include "recorder/agent/mpi/abi.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int problems;

static void compare(const char *what, uint64_t described, uint64_t real)
{
    if (described != real) {
        printf("%s: described as %#llx, really %#llx\n", what, (unsigned long long)described,
               (unsigned long long)real);
        problems++;
    }
}
#define NUMBER(field, real) compare(#real, (uint64_t)(int64_t)abi->field, (uint64_t)(int64_t)(real))
#define HANDLE(field, from_number, real)                                                                     \
    compare(#real,                                                                                           \
            abi->pointer_handles ? (uintptr_t)from_number((int)abi->predefined.field)                        \
                                 : (uintptr_t)abi->predefined.field,                                         \
            sizeof(real) == sizeof(int) ? (uint32_t)(uintptr_t)(real) : (uintptr_t)(real))

static void check_constants(const struct tg_mpi_abi *abi)
{
    NUMBER(any_source, MPI_ANY_SOURCE);
    NUMBER(any_tag, MPI_ANY_TAG);
    NUMBER(proc_null, MPI_PROC_NULL);
    NUMBER(root, MPI_ROOT);
    NUMBER(undefined, MPI_UNDEFINED);
    NUMBER(err_in_status, MPI_ERR_IN_STATUS);
    NUMBER(err_pending, MPI_ERR_PENDING);
    NUMBER(combiner_named, MPI_COMBINER_NAMED);
    NUMBER(topology_cart, MPI_CART);
    NUMBER(topology_graph, MPI_GRAPH);
    NUMBER(topology_dist_graph, MPI_DIST_GRAPH);
    NUMBER(in_place, (uintptr_t)MPI_IN_PLACE);
    NUMBER(status_ignore, (uintptr_t)MPI_STATUS_IGNORE);
    NUMBER(status_ignore, (uintptr_t)MPI_STATUSES_IGNORE);
    NUMBER(status_bytes, sizeof(MPI_Status));
    NUMBER(pointer_handles, sizeof(MPI_Comm) == sizeof(void *));
    compare("handles have one size", sizeof(MPI_Comm), sizeof(MPI_Request));
    compare("handles have one size", sizeof(MPI_Comm), sizeof(MPI_Datatype));
    compare("handles have one size", sizeof(MPI_Comm), sizeof(MPI_Win));
    compare("handles have one size", sizeof(MPI_Comm), sizeof(MPI_Message));
    compare("files are pointers", sizeof(MPI_File), sizeof(void *));
    compare("MPI_Count", sizeof(MPI_Count), sizeof(long long));
    compare("MPI_Offset", sizeof(MPI_Offset), sizeof(long long));
    compare("MPI_Aint", sizeof(MPI_Aint), sizeof(long));
    HANDLE(world, MPI_Comm_f2c, MPI_COMM_WORLD);
    HANDLE(self, MPI_Comm_f2c, MPI_COMM_SELF);
    HANDLE(comm_null, MPI_Comm_f2c, MPI_COMM_NULL);
    HANDLE(request_null, MPI_Request_f2c, MPI_REQUEST_NULL);
    HANDLE(datatype_null, MPI_Type_f2c, MPI_DATATYPE_NULL);
}

static void check_ops(const struct tg_mpi_abi *abi)
{
    const struct {
        MPI_Op op;
        enum tg_mpi_op described;
    } ops[] = {
        {MPI_MAX, TG_MPI_OP_MAX},         {MPI_MIN, TG_MPI_OP_MIN},       {MPI_SUM, TG_MPI_OP_SUM},
        {MPI_PROD, TG_MPI_OP_PROD},       {MPI_LAND, TG_MPI_OP_LAND},     {MPI_BAND, TG_MPI_OP_BAND},
        {MPI_LOR, TG_MPI_OP_LOR},         {MPI_BOR, TG_MPI_OP_BOR},       {MPI_LXOR, TG_MPI_OP_LXOR},
        {MPI_BXOR, TG_MPI_OP_BXOR},       {MPI_MINLOC, TG_MPI_OP_MINLOC}, {MPI_MAXLOC, TG_MPI_OP_MAXLOC},
        {MPI_REPLACE, TG_MPI_OP_REPLACE}, {MPI_NO_OP, TG_MPI_OP_NO_OP}};
    for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++)
        compare("MPI_Op", abi->ops[MPI_Op_c2f(ops[i].op) & 0xff], ops[i].described);
}

static void check_status(const struct tg_mpi_abi *abi)
{
    MPI_Status status;
    struct tg_mpi_status read;
    memset(&status, 0xff, sizeof status);
    status.MPI_SOURCE = 11;
    status.MPI_TAG = 22;
    status.MPI_ERROR = 33;
    MPI_Status_set_elements_x(&status, MPI_BYTE, 5000000123);
    MPI_Status_set_cancelled(&status, 0);
    abi->read_status(&status, &read);
    compare("source", (uint64_t)read.source, 11);
    compare("tag", (uint64_t)read.tag, 22);
    compare("error", (uint64_t)read.error, 33);
    compare("bytes", read.bytes, 5000000123);
    compare("not cancelled", read.cancelled, 0);
    MPI_Status_set_cancelled(&status, 1);
    abi->read_status(&status, &read);
    compare("bytes of a cancelled one", read.bytes, 5000000123);
    compare("cancelled", read.cancelled, 1);
}

int main(int argc, char **argv)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, class;
    compare("room for a version", MPI_MAX_LIBRARY_VERSION_STRING <= TG_MPI_VERSION_MAX_BYTES, 1);
    MPI_Get_library_version(version, &length); /* before MPI_Init, as the agent */
    const struct tg_mpi_abi *abi = tg_mpi_abi_of(version);
    if (abi == NULL) {
        printf("not known: %s\n", version);
        return 1;
    }
    MPI_Init(&argc, &argv);
    check_constants(abi);
    check_ops(abi);
    check_status(abi);
    /* an error code's class, as the library says and as the description has it */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int error = MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Error_class(error, &class);
    compare("error class", (uint64_t)(error & abi->error_class), (uint64_t) class);
    MPI_Finalize();
    printf("%s: %d problems\n", abi->name, problems);
    return problems != 0;
}
