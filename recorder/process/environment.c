#include "recorder/process/environment.h"

#include "format/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing here may hold addresses of services, tokens or keys: OMPI_MCA_*, PMIX_SERVER_* and their like
 * do. */
static const char *const allowed_names[] = {
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_NODE_RANK",
    "OMPI_UNIVERSE_SIZE",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_JOBID",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_SIZE",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "PALS_RANKID",
    "PALS_LOCAL_RANKID",
    "PALS_APID",
    "ALPS_APP_PE",
    "ALPS_APP_ID",
    "FLUX_TASK_RANK",
    "FLUX_TASK_LOCAL_ID",
    "FLUX_JOB_ID",
    "FLUX_JOB_SIZE",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_NTASKS",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_CPUS_PER_TASK",
    "SLURMD_NODENAME",
    "PBS_JOBID",
    "LSB_JOBID",
    "JSM_NAMESPACE_RANK",
    "JSM_NAMESPACE_SIZE",
};

static const char *const allowed_prefixes[] = {"OMP_", "GOMP_", "KMP_", "LD_"};

static bool is_allowed(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof allowed_prefixes / sizeof allowed_prefixes[0]; i++) {
        size_t prefix = strlen(allowed_prefixes[i]);
        if (length > prefix && memcmp(name, allowed_prefixes[i], prefix) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof allowed_names / sizeof allowed_names[0]; i++) {
        if (strlen(allowed_names[i]) == length && memcmp(name, allowed_names[i], length) == 0)
            return true;
    }
    return false;
}

/* Counts what is kept of TEXT into MADE, and the bytes that takes; copies it where MADE has its storage
 * already. */
static size_t take(const char *text, size_t size, struct tg_environment *made)
{
    size_t used = 0;
    made->count = 0;
    made->left_out = 0;
    for (size_t at = 0, length; at < size; at += length + 1) {
        const char *variable = text + at;
        length = strnlen(variable, size - at);
        const char *equals = memchr(variable, '=', length);
        if (equals == NULL || !is_allowed(variable, (size_t)(equals - variable)))
            continue;
        if (length > TG_ENVIRONMENT_MAX_VALUE_BYTES) {
            made->left_out++;
            continue;
        }
        if (made->bytes != NULL) {
            memcpy(made->bytes + used, variable, length);
            made->bytes[used + length] = '\0';
            made->variables[made->count].text = made->bytes + used;
        }
        made->count++;
        used += length + 1;
    }
    return used;
}

bool tg_environment_parse(const char *text, size_t size, struct tg_environment *environment)
{
    struct tg_environment made = {0};
    size_t bytes = take(text, size, &made);
    made.variables = calloc(made.count + 1, sizeof made.variables[0]);
    made.bytes = malloc(bytes + 1);
    if (made.variables == NULL || made.bytes == NULL) {
        tg_environment_deinit(&made);
        return false;
    }
    take(text, size, &made);
    *environment = made;
    return true;
}

static ssize_t read_some(int fd, char *buffer, size_t size)
{
    ssize_t n;
    do
        n = read(fd, buffer, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* The whole of FD, at most TG_ENVIRONMENT_MAX_BYTES; the caller frees *TEXT, also after a failure. */
static bool read_whole(int fd, char **text, size_t *size)
{
    size_t capacity = 0;
    while (*size < TG_ENVIRONMENT_MAX_BYTES) {
        if (TG_ARRAY_RESERVE(*text, capacity, *size + (1 << 14)) != NULL)
            return false;
        ssize_t n = read_some(fd, *text + *size, capacity - *size);
        if (n <= 0)
            return n == 0;
        *size += (size_t)n;
    }
    return true;
}

bool tg_environment_read(pid_t pid, struct tg_environment *environment)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char *text = NULL;
    size_t size = 0;
    bool is_read = read_whole(fd, &text, &size) && tg_environment_parse(text, size, environment);
    close(fd);
    free(text);
    return is_read;
}

void tg_environment_deinit(struct tg_environment *environment)
{
    free(environment->variables);
    free(environment->bytes);
    *environment = (struct tg_environment){0};
}

const char *tg_environment_get(const struct tg_environment *environment, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        const char *text = environment->variables[i].text;
        if (strncmp(text, name, length) == 0 && text[length] == '=')
            return text + length + 1;
    }
    return NULL;
}
