/* Loops of every schedule that calls the runtime: in a region, joined with it, unsigned long long, without
 * wait, ordered, doacross. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

enum { N = 40 };

static long sum, order_is_wrong;
static int wavefront[N + 1][N + 1];
static int planes[4];
static int last = -1;

#define ZONE(kind, schedule, body)                                                                           \
    do {                                                                                                     \
        tell("zone " kind " " schedule);                                                                     \
        body tell("end zone " kind);                                                                         \
    } while (0)
#define IN_REGION(body)                                                                                      \
    do {                                                                                                     \
        long team = log_new();                                                                               \
        tell("parallel @%ld 3", team);                                                                       \
        _Pragma("omp parallel num_threads(3)")                                                               \
        {                                                                                                    \
            tell_begin(team, 0);                                                                             \
            int barriers = 0;                                                                                \
            body;                                                                                            \
            (void)barriers;                                                                                  \
            tell("end");                                                                                     \
        }                                                                                                    \
        tell("end parallel @%ld", team);                                                                     \
    } while (0)

static void add(long i)
{
#pragma omp atomic
    sum += i;
}

static void no_iterations(int *barriers)
{
#ifndef __clang__ /* clang does not call its runtime for that */
    tell("zone loop dynamic");
#endif
#pragma omp for schedule(dynamic)
    for (int i = 0; i < sum - sum; i++)
        add(i);
#ifndef __clang__
    tell("end zone loop");
#endif
    tell_barrier("barrier_implicit", ++*barriers);
}

static void schedules(void)
{
    IN_REGION({
        ZONE("loop", "dynamic", _Pragma("omp for schedule(dynamic)") for (int i = 0; i < N; i++) add(i););
        tell_barrier("barrier_implicit", ++barriers);
        ZONE("loop", "dynamic",
             _Pragma("omp for schedule(monotonic:dynamic,3)") for (int i = N; i > 0; i--) add(i););
        tell_barrier("barrier_implicit", ++barriers);
        ZONE("loop", "guided",
             _Pragma("omp for schedule(guided,2) nowait") for (int i = 0; i < N; i += 3) add(i););
        ZONE("loop", "guided",
             _Pragma("omp for schedule(monotonic:guided)") for (long i = 0; i < N; i++) add(i););
        tell_barrier("barrier_implicit", ++barriers);
        ZONE("loop", "runtime", _Pragma("omp for schedule(runtime)") for (int i = 0; i < N; i++) add(i););
        tell_barrier("barrier_implicit", ++barriers);
        ZONE("loop", "runtime",
             _Pragma("omp for schedule(monotonic:runtime)") for (int i = 0; i < N; i++) add(i););
        tell_barrier("barrier_implicit", ++barriers);
        ZONE("loop", "runtime",
             _Pragma("omp for schedule(nonmonotonic:runtime)") for (int i = 0; i < N; i++) add(i););
        tell_barrier("barrier_implicit", ++barriers);
        no_iterations(&barriers);
    });
}

static void unsigned_long_long(void)
{
    IN_REGION({
        ZONE("loop", "dynamic",
             _Pragma("omp for schedule(dynamic,2)") for (unsigned long long i = 0; i < N; i++) add((long)i););
        tell_barrier("barrier_implicit", ++barriers);
        ZONE("loop", "guided",
             _Pragma("omp for schedule(guided)") for (unsigned long long i = N; i > 0; i -= 2) add((long)i););
        tell_barrier("barrier_implicit", ++barriers);
        ZONE("loop", "runtime",
             _Pragma("omp for schedule(runtime) nowait") for (unsigned long long i = 0; i < N; i++)
                 add((long)i););
    });
}

static void ordered(void)
{
    IN_REGION({
        for (int round = 0; round < 2; round++) {
#define ORDERED(schedule_clause, word)                                                                       \
    ZONE(                                                                                                    \
        "ordered_loop", word, _Pragma(schedule_clause) for (int i = 0; i < N; i++) {                         \
            add(i);                                                                                          \
            tell_wait("ordered", 0);                                                                         \
            _Pragma("omp ordered")                                                                           \
            {                                                                                                \
                tell_enter("ordered", 0);                                                                    \
                order_is_wrong += last > i && i != 0;                                                        \
                last = i;                                                                                    \
                tell_leave("ordered", 0);                                                                    \
            }                                                                                                \
        });                                                                                                  \
    tell_barrier("barrier_implicit", ++barriers)
            ORDERED("omp for ordered schedule(static,2)", "static");
            ORDERED("omp for ordered schedule(dynamic)", "dynamic");
            ORDERED("omp for ordered schedule(guided)", "guided");
            ORDERED("omp for ordered schedule(runtime)", "runtime");
        }
    });
}

static void doacross(void)
{
    IN_REGION({
        /* dependences show in the result */
        tell("ignore arrive doacross");
        tell("ignore leave doacross");
        ZONE(
            "doacross_loop", "dynamic",
            _Pragma("omp for ordered(2) schedule(dynamic)") for (int i = 1; i <= N; i++) for (int j = 1;
                                                                                              j <= N; j++) {
                _Pragma("omp ordered depend(sink: i - 1, j) depend(sink: i, j - 1)") wavefront[i][j] =
                    wavefront[i - 1][j] + wavefront[i][j - 1] + 1;
                wavefront[i][j] %= 1000003;
                _Pragma("omp ordered depend(source)")
            });
        tell_barrier("barrier_implicit", ++barriers);
        ZONE(
            "doacross_loop", "static",
            _Pragma("omp for ordered(1) schedule(static,1)") for (unsigned long long i = 1; i <= N; i++) {
                _Pragma("omp ordered depend(sink: i - 1)") wavefront[i][0] = wavefront[i - 1][0] + 1;
                _Pragma("omp ordered depend(source)")
            });
        tell_barrier("barrier_implicit", ++barriers);
        /* downwards, in steps, and below 0 */
        ZONE(
            "doacross_loop", "static",
            _Pragma("omp for ordered(1) schedule(static,1)") for (int i = 9; i > -12; i -= 3) {
                _Pragma("omp ordered depend(sink: i + 3)") wavefront[i + 12][0] +=
                    i == 9 ? 0 : wavefront[i + 15][0];
                _Pragma("omp ordered depend(source)")
            });
        tell_barrier("barrier_implicit", ++barriers);
        /* as many loops as need arguments on the stack */
        ZONE(
            "doacross_loop", "guided",
            _Pragma("omp for ordered(8) schedule(guided)") for (int a = 1; a < 4; a++) for (
                int b = 0; b < 2; b++) for (int c = 0; c < 2;
                                            c++) for (int d = 0; d < 2;
                                                      d++) for (int e = 0; e < 2;
                                                                e++) for (int f = 0; f < 2;
                                                                          f++) for (int g = 0; g < 2;
                                                                                    g++) for (int h = 0;
                                                                                              h < 2; h++) {
                _Pragma("omp ordered depend(sink: a - 1, b, c, d, e, f, g, h)") planes[a] +=
                    a == 1 || planes[a - 1] > b + c + d + e + f + g + h - 7;
                _Pragma("omp ordered depend(source)")
            });
        tell_barrier("barrier_implicit", ++barriers);
    });
}

int main(void)
{
    omp_set_schedule(omp_sched_dynamic, 2);
    schedules();
    unsigned_long_long();
    ordered();
    doacross();
    printf("%ld %ld %d %d %d\n", sum, order_is_wrong, wavefront[N][N], wavefront[N][0], planes[3]);
    return 0;
}
