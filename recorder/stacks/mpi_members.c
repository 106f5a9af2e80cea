#include "recorder/stacks/mpi_members.h"

#include <stdlib.h>

void tg_mpi_members_deinit(struct tg_mpi_members *members)
{
    free(members->ranks);
    free(members->remote_ranks);
    *members = (struct tg_mpi_members){.size = 0};
}
