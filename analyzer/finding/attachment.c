#include "analyzer/finding/attachment.h"

enum { COMM_WORLD = 1 }; /* id of MPI_COMM_WORLD in events */

bool tg_attachment_is_late(const struct tg_verdict_input *input, size_t process)
{
    if (process >= tg_process_model_count(input->processes))
        return false;
    const struct tg_process_entry *entry = tg_process_model_at(input->processes, process);
    if (entry->origin != TG_ORIGIN_ATTACHED)
        return false;
    if (input->mpi != NULL && tg_mpi_model_comm_size(input->mpi, entry->job, COMM_WORLD) > 0)
        return false;
    for (size_t i = 0; input->openmp != NULL && i < tg_openmp_model_worker_count(input->openmp); i++)
        if (tg_openmp_model_worker_at(input->openmp, i)->process == process)
            return false;
    return true;
}
