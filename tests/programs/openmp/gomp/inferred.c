/* Static loops and masked constructs, for which the runtime is not called: one in a region, so that each can
 * be seen at every level of optimisation, and what may be mistaken for one. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

enum { N = 40 };

static long sum;
static double values[N][N];
static volatile int bound = N, chunk = 3, zero, seen_number;

#define IN_REGION(body)                                                                                      \
    do {                                                                                                     \
        long team = log_new();                                                                               \
        tell("parallel @%ld 3", team);                                                                       \
        _Pragma("omp parallel num_threads(3)")                                                               \
        {                                                                                                    \
            tell_begin(team, 0);                                                                             \
            body;                                                                                            \
            tell("end");                                                                                     \
        }                                                                                                    \
        tell("end parallel @%ld", team);                                                                     \
    } while (0)
#define LOOP(body)                                                                                           \
    do {                                                                                                     \
        tell("zone loop static");                                                                            \
        body;                                                                                                \
        tell("end zone loop");                                                                               \
    } while (0)
#define WITH_BARRIER(body)                                                                                   \
    IN_REGION({                                                                                              \
        LOOP(body);                                                                                          \
        tell_barrier("barrier_implicit", 1);                                                                 \
    })

static void add(long i)
{
#pragma omp atomic
    sum += i;
}

static void loops(void)
{
    int n = bound, by = chunk;
    WITH_BARRIER(_Pragma("omp for") for (int i = 0; i < N; i++) add(i));
    WITH_BARRIER(_Pragma("omp for schedule(static)") for (int i = 0; i < n; i++) add(i));
    WITH_BARRIER(_Pragma("omp for schedule(auto)") for (long i = n; i > 0; i -= 3) add(i));
    WITH_BARRIER(_Pragma("omp for") for (unsigned i = 0; i < (unsigned)n; i += 2) add(i));
    WITH_BARRIER(_Pragma("omp for") for (unsigned long long i = 0; i < (unsigned long long)n; i++)
                     add((long)i));
    WITH_BARRIER(_Pragma("omp for collapse(2)") for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)
                     add(i - j));
    WITH_BARRIER(_Pragma("omp for reduction(+ : sum)") for (int i = 0; i < n; i++) sum += i);
    WITH_BARRIER(_Pragma("omp for simd") for (int i = 0; i < n; i++) values[0][i] = values[1][i] + i);
    WITH_BARRIER(_Pragma("omp for schedule(static, 1)") for (int i = 0; i < n; i++) add(i));
    WITH_BARRIER(_Pragma("omp for schedule(static, 4)") for (int i = 0; i < n; i++) add(i));
    WITH_BARRIER(_Pragma("omp for schedule(static, by)") for (long i = 0; i < n; i++) add(i));
    WITH_BARRIER(_Pragma("omp for schedule(static, 2)") for (int i = 0; i < N; i++) add(i));
    WITH_BARRIER(_Pragma("omp for schedule(static, 2)") for (int i = n; i > 0; i--) add(i));
    by = zero;
    WITH_BARRIER(_Pragma("omp for") for (int i = 0; i < by; i++) add(i));
}

/* Loops that call the runtime themselves, and loops that no barrier follows. */
static void around_loops(void)
{
    int n = bound;
    WITH_BARRIER(_Pragma("omp for") for (int i = 0; i < n; i++) {
        tell_wait("critical", 0);
        _Pragma("omp critical")
        {
            tell_enter("critical", 0);
            sum += i;
            tell_leave("critical", 0);
        }
    });
    IN_REGION(LOOP(_Pragma("omp for nowait") for (int i = 0; i < n; i++) add(i)));
    IN_REGION({
        LOOP(_Pragma("omp for nowait") for (int i = 0; i < n; i++) add(i));
        tell("zone loop dynamic");
        _Pragma("omp for schedule(dynamic)") for (int i = 0; i < n; i++) add(i);
        tell("end zone loop");
        tell_barrier("barrier_implicit", 1);
    });
}

/* Regions that are a loop: the body tells nothing. */
static void joined(void)
{
    int n = bound;
#define JOINED(pragma, body)                                                                                 \
    do {                                                                                                     \
        long team = log_new();                                                                               \
        tell("joined @%ld loop static", team);                                                               \
        tell("parallel @%ld 3", team);                                                                       \
        _Pragma(pragma) body;                                                                                \
        tell("end parallel @%ld", team);                                                                     \
    } while (0)
    tell("ignore joined");
    tell("ignore begin");
    tell("ignore zone");
    tell("ignore end zone");
    tell("ignore end  "); /* not end parallel */
    JOINED("omp parallel for num_threads(3)", for (int i = 0; i < N; i++) add(i));
    JOINED("omp parallel for num_threads(3)", for (int i = 0; i < n; i++) add(i));
    JOINED("omp parallel for num_threads(3) schedule(static, 2)", for (int i = 0; i < n; i++) add(i));
    JOINED("omp parallel for num_threads(3) reduction(+ : sum)", for (int i = 0; i < n; i++) sum += i);
    JOINED("omp parallel for num_threads(3) collapse(2)",
           for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) values[i][j] = i * j);
}

static __attribute__((noinline)) void work(long i)
{
    tell_wait("critical", 0);
#pragma omp critical
    {
        tell_enter("critical", 0);
        sum += i;
        tell_leave("critical", 0);
    }
}

static void masked(void)
{
    IN_REGION({
        _Pragma("omp master")
        {
            tell("zone masked");
            add(1);
            tell("end zone masked");
}
});
IN_REGION({
    _Pragma("omp masked")
    {
        tell("zone masked");
        work(1);
        work(2);
        tell("end zone masked");
    }
    work(3);
});
IN_REGION({
    _Pragma("omp masked filter(2)")
    {
        tell("zone masked");
        add(1);
        tell("end zone masked");
    }
    tell_barrier("barrier", 1);
    _Pragma("omp barrier")
});
IN_REGION({
    _Pragma("omp master")
    {
        tell("zone masked");
        for (int i = 0; i < 3; i++) {
            tell_wait("critical_named", 1);
            _Pragma("omp critical(inside)")
            {
                tell_enter("critical_named", 1);
                sum += i;
                tell_leave("critical_named", 1);
            }
        }
        tell("end zone masked");
    }
    tell_wait("critical_named", 2);
    _Pragma("omp critical(behind)")
    {
        tell_enter("critical_named", 2);
        sum++;
        tell_leave("critical_named", 2);
    }
});
}

/* Loops and masked constructs one after the other: what is asked for once is not asked for again where GCC
 * optimises. */
static void many(void)
{
    int n = bound;
    IN_REGION({
        for (int round = 0; round < 3; round++) {
            LOOP(_Pragma("omp for") for (int i = 0; i < n; i++) add(i));
            tell_barrier("barrier_implicit", 3 * round + 1);
            _Pragma("omp master")
            {
                tell("zone masked");
                add(1);
                tell("end zone masked");
            }
            tell_barrier("barrier", 3 * round + 2);
            _Pragma("omp barrier") LOOP(_Pragma("omp for nowait") for (int i = 0; i < 2 * n; i++) add(i));
            LOOP(_Pragma("omp for") for (int i = 0; i < n; i++) add(i));
            tell_barrier("barrier_implicit", 3 * round + 3);
        }
    });
}

/* None of these is a construct. */
static void none(void)
{
    IN_REGION({
        long mine = 0;
        for (int i = 0; i < 100000; i++)
            mine += omp_get_thread_num() * (long)zero;
        int number = omp_get_thread_num();
        int count = omp_get_num_threads();
        for (int i = N * number / count; i < N * (number + 1) / count; i++)
            mine += i;
        seen_number = count - number;
        add(mine);
    });
    printf("%d %d\n", omp_get_thread_num(), omp_get_num_threads());
}

int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == 'm') {
        many();
    } else if (argc > 1 && argv[1][0] == 'j') {
        joined();
    } else {
        loops();
        around_loops();
        masked();
        none();
    }
    printf("%ld %g\n", sum, values[3][4]);
    return 0;
}
