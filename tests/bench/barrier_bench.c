/* Time of the barrier model itself, in microseconds (medians): a thread barrier over all workers, arrival
 * by arrival; the last arrival, with all that it releases; the same with a second barrier that threads wait
 * at, so that it is looked for barriers that can no longer be satisfied.
 *
 *   barrier_bench [THREADS]...     256 and 4096 without arguments */
#include "analyzer/job/run_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 51 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void must(struct tg_error *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "barrier_bench: %s\n", tg_error_message(error));
    exit(2);
}

/* Four processes of N / 4 threads each, all running. */
static struct tg_run_model *make_job(uint32_t n)
{
    struct tg_run_model *model = NULL;
    must(tg_run_model_create(&model));
    for (uint32_t dpid = 1; dpid <= 4; dpid++) {
        const struct tg_process_groups process = {dpid, 1, 3, 2};
        must(tg_run_model_add_process(model, &process));
        for (uint32_t dtid = 1; dtid <= n / 4; dtid++)
            must(tg_run_model_add_thread(model, (struct tg_thread_id){dpid, dtid}, false));
    }
    return model;
}

static void measure(uint32_t n, bool with_another)
{
    static double arrivals[ROUNDS], lasts[ROUNDS];
    struct tg_run_model *model = make_job(n);
    const struct tg_barrier_definition first = {.id = 1, .of_threads = true, .share_group = 3, .group = 2},
                                       second = {.id = 2, .of_threads = true, .share_group = 3, .process = 4};
    must(tg_barriers_add(model, &first));
    if (with_another) {
        must(tg_barriers_add(model, &second));
        must(tg_barriers_arrive(model, 2, (struct tg_thread_id){4, n / 4}));
        must(tg_run_model_unhold(model, (struct tg_thread_id){4, n / 4}));
        must(tg_run_model_go(model, (struct tg_thread_id){4, n / 4}));
    }
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_us(), last = begin;
        for (uint32_t i = 0; i < n; i++) {
            if (i + 1 == n)
                last = now_us();
            must(tg_barriers_arrive(model, 1, (struct tg_thread_id){i % 4 + 1, i / 4 + 1}));
        }
        lasts[round] = now_us() - last;
        arrivals[round] = (last - begin) / (n - 1);
        struct tg_barrier_status status;
        if (!tg_barriers_status(model, 1, &status) || status.round != (uint64_t)round + 1) {
            fputs("barrier_bench: the barrier was not satisfied\n", stderr);
            exit(2);
        }
        for (uint32_t dpid = 1; dpid <= 4; dpid++)
            must(tg_run_model_go(model, (struct tg_thread_id){dpid, 0}));
    }
    qsort(arrivals, ROUNDS, sizeof *arrivals, compare);
    qsort(lasts, ROUNDS, sizeof *lasts, compare);
    printf("%7u threads%s: arrival %7.2f us, last arrival to satisfied %7.1f us\n", n,
           with_another ? ", another barrier waits" : "                       ", arrivals[ROUNDS / 2],
           lasts[ROUNDS / 2]);
    tg_run_model_destroy(model);
}

int main(int argc, char **argv)
{
    static const char *const common[] = {"256", "4096"};
    for (int i = 0; i < (argc > 1 ? argc - 1 : 2); i++) {
        uint32_t n = (uint32_t)strtoul(argc > 1 ? argv[i + 1] : common[i], NULL, 10);
        if (n < 8 || n > 1 << 20 || n % 4 != 0) {
            fputs("usage: barrier_bench [THREADS]... (multiples of 4 from 8)\n", stderr);
            return 2;
        }
        measure(n, false);
        measure(n, true);
    }
    return 0;
}
