/* The verdict on a job of MPI ranks, and what tests expect of it. */
#ifndef TG_TESTS_UNIT_ANALYZER_VERDICT_JUDGED_H
#define TG_TESTS_UNIT_ANALYZER_VERDICT_JUDGED_H

#include "tests/unit/analyzer/verdict/job.h"

static struct tg_verdict verdict;

static int tear_down(void **state)
{
    (void)state;
    tg_verdict_deinit(&verdict);
    end_job();
    return 0;
}

/* The job is interrupted WAIT_MS later. */
static inline void interrupt_after(uint64_t wait_ms)
{
    const struct tg_verdict_input input = input_of_job();
    job.now_ns += wait_ms * MS;
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
    assert_null(tg_verdict_make(&input, &verdict));
}

/* Finding NTH is of KIND, blames these RANKS ("0 2") and says WORDS. */
static void check_finding(size_t nth, enum tg_finding_kind kind, const char *ranks, const char *words)
{
    char blamed[64] = "";
    assert_true(verdict.count > nth);
    const struct tg_finding *finding = &verdict.findings[nth];
    for (size_t i = 0; i < finding->n_culprits; i++)
        snprintf(blamed + strlen(blamed), sizeof blamed - strlen(blamed), "%s%d", i == 0 ? "" : " ",
                 (int)finding->culprits[i].rank);
    if (finding->kind != kind || strstr(finding->text, words) == NULL || strcmp(blamed, ranks) != 0)
        fail_msg("%s, blames %s: %s", tg_finding_kind_name(finding->kind), blamed, finding->text);
}

static inline void check_first(enum tg_finding_kind kind, const char *ranks, const char *words)
{
    check_finding(0, kind, ranks, words);
}

static inline void check_nobody_blamed(void)
{
    for (size_t i = 0; i < verdict.count; i++)
        if (verdict.findings[i].kind != TG_FINDING_ASKED)
            fail_msg("%s", verdict.findings[i].text);
}

#endif
