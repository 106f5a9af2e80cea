#include "analyzer/models/mpi/epochs.h"

#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

void tg_mpi_epochs_deinit(struct tg_mpi_epochs *epochs)
{
    free(epochs->items);
    *epochs = (struct tg_mpi_epochs){0};
}

struct tg_error *tg_mpi_epochs_copy(const struct tg_mpi_epochs *from, struct tg_mpi_epochs *to)
{
    return TG_ARRAY_COPY(to->items, to->count, to->capacity, from->items, from->count);
}

static struct tg_mpi_epoch *find(const struct tg_mpi_epochs *epochs, const char *job, uint64_t window,
                                 size_t process, int64_t target)
{
    for (size_t i = 0; i < epochs->count; i++) {
        struct tg_mpi_epoch *epoch = &epochs->items[i];
        if (epoch->process == process && epoch->target == target && epoch->window == window &&
            epoch->job == job)
            return epoch;
    }
    return NULL;
}

static struct tg_error *begin(struct tg_mpi_epochs *epochs, const char *job, size_t process,
                              const struct tg_mpi_call *call, int64_t target, uint64_t time_ns)
{
    const struct tg_mpi_epoch epoch = {.job = job,
                                       .window = call->comm,
                                       .process = process,
                                       .target = target,
                                       .since_ns = time_ns,
                                       .code = call->code};
    if (epochs->count >= TG_MPI_MAX_EPOCHS || find(epochs, job, call->comm, process, target) != NULL)
        return NULL;
    return TG_ARRAY_APPEND(epochs->items, epochs->count, epochs->capacity, epoch);
}

static void end(struct tg_mpi_epochs *epochs, struct tg_mpi_epoch *epoch)
{
    if (epoch == NULL)
        return;
    size_t at = (size_t)(epoch - epochs->items);
    memmove(epoch, epoch + 1, (epochs->count - at - 1) * sizeof *epoch);
    epochs->count--;
}

struct tg_error *tg_mpi_epochs_leave(struct tg_mpi_epochs *epochs, const char *job, size_t process,
                                     const struct tg_mpi_call *call, uint64_t time_ns)
{
    if (strncmp(call->name, "MPI_Win_", strlen("MPI_Win_")) != 0)
        return NULL;
    const char *name = call->name + strlen("MPI_Win_");
    if (strcmp(name, "lock") == 0 && call->peer >= 0)
        return begin(epochs, job, process, call, call->peer, time_ns);
    if (strcmp(name, "start") == 0)
        return begin(epochs, job, process, call, TG_MPI_EPOCH_ACCESS, time_ns);
    if (strcmp(name, "unlock") == 0)
        end(epochs, find(epochs, job, call->comm, process, call->peer));
    else if (strcmp(name, "complete") == 0)
        end(epochs, find(epochs, job, call->comm, process, TG_MPI_EPOCH_ACCESS));
    else if (strcmp(name, "flush") == 0) {
        struct tg_mpi_epoch *epoch = find(epochs, job, call->comm, process, call->peer);
        if (epoch != NULL)
            epoch->is_granted = true;
    }
    return NULL;
}
