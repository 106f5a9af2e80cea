#include "recorder/record/attached_ranks.h"

#include "format/base/array.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RANKS_HERE = 65536 };

/* Whether PID is a launcher without a table of its ranks: of MPICH's kind, as Debian ships it, or of Open MPI from release 5
 * on. */
static bool starts_without_table(pid_t pid)
{
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    return strstr(name, "hydra") != NULL || strncmp(name, "prte", 4) == 0;
}

static bool has_pid(const struct tg_record_options *options, pid_t pid)
{
    for (size_t i = 0; i < options->n_pids; i++)
        if (options->pids[i] == pid)
            return true;
    return false;
}

struct tg_error *tg_attached_ranks_add(struct tg_record_options *options,
                                       const struct tg_command_services *services)
{
    struct tg_running_rank *ranks = NULL;
    struct tg_error *error = NULL;
    const size_t n_given = options->mpir == TG_MPIR_OFF ? 0 : options->n_pids;
    for (size_t i = 0; error == NULL && i < n_given; i++) {
        if (!starts_without_table(options->pids[i]))
            continue;
        if (ranks == NULL)
            ranks = calloc(MAX_RANKS_HERE, sizeof *ranks);
        if (ranks == NULL)
            return tg_error_no_memory();
        size_t count = services->find_ranks(options->pids[i], ranks, MAX_RANKS_HERE);
        for (size_t k = 0; error == NULL && k < count; k++)
            if (tg_wanted_ranks_has(&options->ranks, ranks[k].rank) && !has_pid(options, ranks[k].pid))
                error = TG_ARRAY_APPEND_EXACT(options->pids, options->n_pids, (pid_t)ranks[k].pid);
    }
    free(ranks);
    return error;
}
