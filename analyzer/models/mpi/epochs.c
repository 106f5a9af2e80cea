#include "analyzer/models/mpi/epochs.h"

#include "format/base/array.h"
#include "format/event/event.h"

#include <stdlib.h>
#include <string.h>

void tg_mpi_epochs_deinit(struct tg_mpi_epochs *epochs)
{
    for (size_t i = 0; i < epochs->count; i++)
        free((int64_t *)(uintptr_t)epochs->items[i].group);
    free(epochs->items);
    *epochs = (struct tg_mpi_epochs){0};
}

static struct tg_error *copy_group(const int64_t *group, size_t count, const int64_t **copy)
{
    int64_t *made = malloc((count + 1) * sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    memcpy(made, group, count * sizeof *made);
    *copy = made;
    return NULL;
}

struct tg_error *tg_mpi_epochs_copy(const struct tg_mpi_epochs *from, struct tg_mpi_epochs *to)
{
    struct tg_error *error = TG_ARRAY_COPY(to->items, to->count, to->capacity, from->items, from->count);
    for (size_t i = 0; i < to->count; i++)
        to->items[i].group = NULL;
    for (size_t i = 0; error == NULL && i < from->count; i++)
        if (from->items[i].has_group)
            error = copy_group(from->items[i].group, from->items[i].n_group, &to->items[i].group);
    return error;
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
    struct tg_mpi_epoch *known = find(epochs, job, call->comm, process, target);
    if (known != NULL && known->has_group && known->since_ns == call->since_ns)
        known->since_ns = time_ns;
    if (epochs->count >= TG_MPI_MAX_EPOCHS || known != NULL)
        return NULL;
    return TG_ARRAY_APPEND(epochs->items, epochs->count, epochs->capacity, epoch);
}

static void end(struct tg_mpi_epochs *epochs, struct tg_mpi_epoch *epoch)
{
    if (epoch == NULL)
        return;
    size_t at = (size_t)(epoch - epochs->items);
    free((int64_t *)(uintptr_t)epoch->group);
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

struct tg_error *tg_mpi_epochs_group(struct tg_mpi_epochs *epochs, const char *job, size_t process,
                                     int64_t rank, const struct tg_mpi_call *call, const void *ranks,
                                     size_t count)
{
    int64_t kind = strcmp(call->name, "MPI_Win_post") == 0 ? TG_MPI_EPOCH_EXPOSED : TG_MPI_EPOCH_ACCESS;
    struct tg_error *error = begin(epochs, job, process, call, kind, call->since_ns);
    struct tg_mpi_epoch *epoch = find(epochs, job, call->comm, process, kind);
    if (error != NULL || epoch == NULL || epoch->has_group)
        return error;
    error = copy_group(ranks, count, &epoch->group); /* an item is nothing but its rank */
    epoch->has_group = error == NULL;
    epoch->rank = rank;
    epoch->n_group = count;
    return error;
}

/* ACCESS has ended: those who had opened their memory for it wait for that one no more. */
static void end_access(struct tg_mpi_epochs *epochs, const struct tg_mpi_epoch *access)
{
    for (size_t i = 0; access != NULL && i < epochs->count; i++) {
        const struct tg_mpi_epoch *exposed = &epochs->items[i];
        int64_t *group = (int64_t *)(uintptr_t)exposed->group;
        if (exposed->target != TG_MPI_EPOCH_EXPOSED || exposed->window != access->window ||
            exposed->job != access->job || !tg_mpi_epoch_has(access, exposed->rank))
            continue;
        for (size_t k = 0; k < exposed->n_group; k++)
            if (group[k] == access->rank)
                group[k] = -1;
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
    else if (strcmp(name, "complete") == 0) {
        end_access(epochs, find(epochs, job, call->comm, process, TG_MPI_EPOCH_ACCESS));
        end(epochs, find(epochs, job, call->comm, process, TG_MPI_EPOCH_ACCESS));
    } else if (strcmp(name, "unlock_all") == 0)
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
