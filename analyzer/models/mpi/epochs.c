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

/* The window is freed, whatever was left open. */
static void end_all(struct tg_mpi_epochs *epochs, const char *job, uint64_t window, size_t process)
{
    for (size_t i = epochs->count; i-- > 0;)
        if (epochs->items[i].process == process && epochs->items[i].window == window &&
            epochs->items[i].job == job)
            end(epochs, &epochs->items[i]);
}

/* PROCESS came back from a flush of its access to TARGET, or to all. */
static void grant(struct tg_mpi_epochs *epochs, const char *job, uint64_t window, size_t process,
                  int64_t target)
{
    for (size_t i = 0; i < epochs->count; i++) {
        struct tg_mpi_epoch *epoch = &epochs->items[i];
        bool is_locked = epoch->target == TG_MPI_EPOCH_ALL || epoch->target >= 0;
        if (epoch->process == process && epoch->window == window && epoch->job == job && is_locked &&
            (target == TG_MPI_EPOCH_ALL || epoch->target == target))
            epoch->is_granted = true;
    }
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
    if (strcmp(name, "lock_all") == 0)
        return begin(epochs, job, process, call, TG_MPI_EPOCH_ALL, time_ns);
    if (strcmp(name, "post") == 0)
        return begin(epochs, job, process, call, TG_MPI_EPOCH_EXPOSED, time_ns);
    if (strcmp(name, "unlock") == 0)
        end(epochs, find(epochs, job, call->comm, process, call->peer));
    else if (strcmp(name, "complete") == 0)
        end(epochs, find(epochs, job, call->comm, process, TG_MPI_EPOCH_ACCESS));
    else if (strcmp(name, "unlock_all") == 0)
        end(epochs, find(epochs, job, call->comm, process, TG_MPI_EPOCH_ALL));
    else if (strcmp(name, "wait") == 0)
        end(epochs, find(epochs, job, call->comm, process, TG_MPI_EPOCH_EXPOSED));
    else if (strcmp(name, "free") == 0)
        end_all(epochs, job, call->comm, process);
    else if (strcmp(name, "flush") == 0)
        grant(epochs, job, call->comm, process, call->peer);
    else if (strcmp(name, "flush_all") == 0)
        grant(epochs, job, call->comm, process, TG_MPI_EPOCH_ALL);
    return NULL;
}
