#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "recorder/process/identity.h"

/* TEXT is an environment with '\n' for NUL. */
static void parse(const char *text, struct tg_environment *environment)
{
    size_t size = strlen(text);
    char *copy = malloc(size + 1);
    for (size_t i = 0; i <= size; i++)
        copy[i] = text[i] == '\n' ? '\0' : text[i];
    *environment = (struct tg_environment){0};
    assert_true(tg_environment_parse(copy, size, environment));
    free(copy);
}

static void only_what_is_allowed_is_kept(void **state)
{
    (void)state;
    struct tg_environment environment;
    parse(
        "PATH=/bin\nOMP_NUM_THREADS=4\nAWS_SECRET_ACCESS_KEY=x\nOMPI_MCA_orte_hnp_uri=1.0;tcp://10.0.0.1:1\n"
        "PMIX_SERVER_URI41=x\nLD_LIBRARY_PATH=/a:/b\nOMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_RANK_SECRET=1\n"
        "XLD_A=1\nGOMP_CPU_AFFINITY=0-3\nKMP_BLOCKTIME=0\nOMP_=1\nno equals sign\n=LD_A=1\nLD_LAST=a=b",
        &environment);
    static const char *const kept[] = {"OMP_NUM_THREADS=4",      "LD_LIBRARY_PATH=/a:/b",
                                       "OMPI_COMM_WORLD_RANK=0", "GOMP_CPU_AFFINITY=0-3",
                                       "KMP_BLOCKTIME=0",        "LD_LAST=a=b"};
    assert_int_equal(environment.count, sizeof kept / sizeof kept[0]);
    for (size_t i = 0; i < environment.count; i++)
        assert_string_equal(environment.variables[i].text, kept[i]);
    assert_string_equal(tg_environment_get(&environment, "LD_LAST"), "a=b");
    assert_null(tg_environment_get(&environment, "LD_LAS"));
    assert_null(tg_environment_get(&environment, "PATH"));
    tg_environment_deinit(&environment);
}

static void values_beyond_the_limit_are_counted(void **state)
{
    (void)state;
    size_t size = 2 * TG_ENVIRONMENT_MAX_VALUE_BYTES;
    char *text = malloc(size);
    memset(text, 'x', size);
    memcpy(text, "LD_LIBRARY_PATH=", 16);
    struct tg_environment environment = {0};
    assert_true(tg_environment_parse(text, size, &environment));
    assert_int_equal(environment.count, 0);
    assert_int_equal(environment.left_out, 1);
    tg_environment_deinit(&environment);
    free(text);
}

struct expectation {
    const char *environment;
    int64_t rank;
    int64_t size;
    const char *source;
    const char *job;
};

static void every_runtime_is_known(void **state)
{
    (void)state;
    static const struct expectation expectations[] = {
        {"", -1, 0, "", ""},
        {"OMPI_COMM_WORLD_RANK=3\nOMPI_COMM_WORLD_SIZE=4\nPMIX_RANK=3\nPMIX_NAMESPACE=1143472129", 3, 4,
         "OMPI_COMM_WORLD_RANK", "1143472129"},
        {"PMIX_RANK=2\nPMIX_NAMESPACE=prterun-1", 2, 0, "PMIX_RANK", "prterun-1"},
        {"PMI_RANK=1\nPMI_SIZE=2", 1, 2, "PMI_RANK", ""},
        {"PMI_RANK=1\nPMI_SIZE=2\nSLURM_JOB_ID=77\nSLURM_STEP_ID=0", 1, 2, "PMI_RANK", "77.0"},
        {"SLURM_PROCID=5\nSLURM_STEP_NUM_TASKS=8\nSLURM_JOB_ID=77\nSLURM_STEP_ID=1", 5, 8, "SLURM_PROCID",
         "77.1"},
        {"SLURM_PROCID=0\nSLURM_JOB_ID=77\nSLURM_STEP_ID=4294967291", -1, 0, "", "77.4294967291"},
        {"SLURM_PROCID=0\nSLURM_JOB_ID=77", -1, 0, "", "77"},
        {"SLURM_PROCID=0\nSLURM_JOB_ID=77\nSLURM_STEP_ID=0\nOMPI_COMM_WORLD_RANK=9\nPMIX_NAMESPACE=n", 9, 0,
         "OMPI_COMM_WORLD_RANK", "n"},
        {"PMI_RANK=\nPMI_SIZE=2", -1, 0, "", ""},
        {"PMI_RANK=-1", -1, 0, "", ""},
        {"PMI_RANK= 1", -1, 0, "", ""},
        {"PMI_RANK=99999999999999999999", -1, 0, "", ""},
        {"PMI_RANK=2147483648", -1, 0, "", ""},
        {"PMI_RANK=1x\nFLUX_TASK_RANK=0\nFLUX_JOB_SIZE=1\nFLUX_JOB_ID=f1", 0, 1, "FLUX_TASK_RANK", "f1"},
        {"PBS_JOBID=12.server", -1, 0, "", "12.server"},
    };
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        struct tg_environment environment;
        struct tg_identity identity;
        parse(expectations[i].environment, &environment);
        tg_identity_find(&environment, &identity);
        assert_int_equal(identity.rank, expectations[i].rank);
        assert_int_equal(identity.size, expectations[i].size);
        assert_string_equal(identity.source, expectations[i].source);
        assert_string_equal(identity.job, expectations[i].job);
        tg_environment_deinit(&environment);
    }
}

static void a_job_name_of_any_length_fits(void **state)
{
    (void)state;
    char text[2000] = "PMIX_RANK=0\nPMIX_NAMESPACE=";
    memset(text + strlen(text), 'n', 1500);
    struct tg_environment environment;
    struct tg_identity identity;
    parse(text, &environment);
    tg_identity_find(&environment, &identity);
    assert_int_equal(strlen(identity.job), TG_IDENTITY_MAX_JOB - 1);
    tg_environment_deinit(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_allowed_is_kept),
        cmocka_unit_test(values_beyond_the_limit_are_counted),
        cmocka_unit_test(every_runtime_is_known),
        cmocka_unit_test(a_job_name_of_any_length_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
