#include "recorder/process/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One runtime's variables. To add one: a line here, its names in environment.c's allow-list and in
 * docs/trace-format.md. */
struct source {
    const char *rank;
    const char *size; /* NULL: the runtime does not say */
    const char *job;  /* NULL: the batch system's */
};

static const struct source sources[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"}, /* Open MPI */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL},               /* MVAPICH2 */
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", NULL},                 /* Spectrum MPI under jsrun */
    {"PMIX_RANK", NULL, "PMIX_NAMESPACE"},                              /* anything under PMIx */
    {"PMI_RANK", "PMI_SIZE", "PMI_JOBID"},                              /* MPICH's hydra, Intel MPI */
    {"PALS_RANKID", NULL, "PALS_APID"},                                 /* Cray */
    {"ALPS_APP_PE", NULL, "ALPS_APP_ID"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_JOB_ID"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL}, /* srun's own */
};

/* The steps that Slurm uses for batch scripts, interactive shells and their like: no ranks. */
static const unsigned long slurm_first_special_step = 0xfffffff0ul;

/* A decimal number in [0, INT32_MAX], -1 for anything else. */
static int64_t number(const struct tg_environment *environment, const char *name)
{
    const char *text = name != NULL ? tg_environment_get(environment, name) : NULL;
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return -1;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && value <= INT32_MAX ? value : -1;
}

static bool set_job(const struct tg_environment *environment, const char *name, struct tg_identity *identity)
{
    const char *text = name != NULL ? tg_environment_get(environment, name) : NULL;
    if (text == NULL || text[0] == '\0')
        return false;
    snprintf(identity->job, sizeof identity->job, "%s", text);
    return true;
}

/* SLURM_JOB_ID with its step, else whatever batch system there is. */
static void set_batch_job(const struct tg_environment *environment, struct tg_identity *identity)
{
    const char *job = tg_environment_get(environment, "SLURM_JOB_ID");
    const char *step = tg_environment_get(environment, "SLURM_STEP_ID");
    if (job != NULL && step != NULL)
        snprintf(identity->job, sizeof identity->job, "%s.%s", job, step);
    else if (!set_job(environment, "SLURM_JOB_ID", identity) &&
             !set_job(environment, "PBS_JOBID", identity) && !set_job(environment, "LSB_JOBID", identity))
        set_job(environment, "FLUX_JOB_ID", identity);
}

/* SLURM_PROCID is set in batch scripts too, as 0. */
static bool is_no_task(const struct source *source, const struct tg_environment *environment)
{
    if (strcmp(source->rank, "SLURM_PROCID") != 0)
        return false;
    const char *step = tg_environment_get(environment, "SLURM_STEP_ID");
    return step == NULL || strtoul(step, NULL, 10) >= slurm_first_special_step;
}

void tg_identity_find(const struct tg_environment *environment, struct tg_identity *identity)
{
    *identity = (struct tg_identity){.source = "", .rank = -1};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        const struct source *source = &sources[i];
        int64_t rank = number(environment, source->rank);
        if (rank < 0 || is_no_task(source, environment))
            continue;
        int64_t size = number(environment, source->size);
        identity->rank = rank;
        identity->size = size > 0 ? size : 0;
        identity->source = source->rank;
        if (!set_job(environment, source->job, identity))
            set_batch_job(environment, identity);
        return;
    }
    set_batch_job(environment, identity);
}
