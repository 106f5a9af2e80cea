#include "analyzer/models/singleton.h"

#include <inttypes.h>
#include <stdio.h>

bool tg_singleton_is(const struct tg_event_mpi_comm *world, int64_t rank, int64_t size)
{
    return world->origin == TG_MPI_COMM_WORLD && world->size == 1 && world->rank == 0 &&
           (rank != 0 || size > 1);
}

void tg_singleton_name(int32_t pid, char job[TG_SINGLETON_JOB_BYTES])
{
    snprintf(job, TG_SINGLETON_JOB_BYTES, "singleton %" PRId32, pid);
}
