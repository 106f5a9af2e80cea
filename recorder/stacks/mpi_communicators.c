#include "recorder/stacks/mpi_communicators.h"

#include "recorder/stacks/open_mpi_comms.h"

#include <string.h>

static struct tg_open_mpi_objects objects_of(const struct tg_stack_process *process,
                                             const struct tg_mpi_variables *variables,
                                             const struct tg_inspect_memory *memory)
{
    return (struct tg_open_mpi_objects){.modules = process->modules,
                                        .memory = memory,
                                        .process = variables->process,
                                        .world = variables->world,
                                        .self = variables->self};
}

void tg_mpi_communicators_find(const struct tg_stack_process *process, const struct tg_inspect_memory *memory,
                               struct tg_mpi_variables *variables)
{
    variables->mpich.world = 0;
    if (process->modules != NULL && variables->world == 0)
        tg_mpich_comms_find(process->modules, memory, &variables->mpich);
}

bool tg_mpi_world_read(const struct tg_stack_process *process, const struct tg_mpi_variables *variables,
                       const struct tg_inspect_memory *memory, struct tg_mpi_members *members)
{
    *members = (struct tg_mpi_members){.size = 0};
    if (variables->mpich.world != 0)
        return tg_mpich_comm_read(&variables->mpich, memory, TG_MPICH_WORLD, members);
    struct tg_open_mpi_objects objects = objects_of(process, variables, memory);
    return variables->world != 0 && process->modules != NULL &&
           tg_open_mpi_comm_read(&objects, variables->world, members);
}

bool tg_mpi_communicator_read(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                              const struct tg_mpi_values *values, struct tg_mpi_members *members)
{
    const struct tg_mpi_variables *variables = asking->variables;
    const struct tg_call_value *comm = NULL;
    *members = (struct tg_mpi_members){.size = 0};
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->values[i].name, "comm") == 0)
            comm = &values->values[i];
    if (comm == NULL)
        return false;
    if (variables->mpich.world != 0)
        return tg_mpich_comm_read(&variables->mpich, memory, (uint32_t)comm->value, members) ||
               tg_mpich_window_read(&variables->mpich, memory, (uint32_t)comm->value, members);
    struct tg_open_mpi_objects objects = objects_of(asking->process, variables, memory);
    uint64_t address = (uint64_t)comm->value;
    if (tg_mpi_is_of_fortran(values->function) && address <= INT32_MAX &&
        !tg_open_mpi_comm_find(&objects, variables->table, variables->world, (int32_t)address, &address))
        return false;
    return objects.modules != NULL && (tg_open_mpi_comm_read(&objects, address, members) ||
                                       tg_open_mpi_window_read(&objects, address, members));
}

bool tg_mpi_collective_read(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                            const struct tg_mpi_requests *requests, struct tg_mpi_members *members)
{
    const struct tg_mpi_variables *variables = asking->variables;
    if (members->size > 0 || requests->comm == 0 || requests->n_collective != requests->n_pending)
        return false;
    if (variables->mpich.world != 0)
        return tg_mpich_comm_read(&variables->mpich, memory, (uint32_t)requests->comm, members);
    struct tg_open_mpi_objects objects = objects_of(asking->process, variables, memory);
    return objects.modules != NULL && tg_open_mpi_comm_read(&objects, requests->comm, members);
}
