/* Explicit tasks: recursion, dependences, data of every kind that goes into them, executed at once, detached,
 * in groups; in a region and outside of all. */
#include "log.h"

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long total, misplaced;

static int fibonacci(int n)
{
    if (n < 2)
        return n;
    int a, b;
    long parent = log_task(), first = log_new(), second = log_new();
    tell("create #%ld of #%ld", first, parent);
#pragma omp task shared(a) firstprivate(first)
    {
        tell_task(first);
        a = fibonacci(n - 1);
        tell_task_end(first, "completed");
    }
    tell("create #%ld of #%ld", second, parent);
#pragma omp task shared(b) firstprivate(second)
    {
        tell_task(second);
        b = fibonacci(n - 2);
        tell_task_end(second, "completed");
    }
    tell("arrive taskwait 0");
#pragma omp taskwait
    tell("leave taskwait 0");
    return a + b;
}

#ifdef __clang__
#define IN_FINAL " final" /* as the specification has it, and as LLVM's runtime tells */
#else
#define IN_FINAL ""
#endif
#define CREATE(what)                                                                                         \
    long task = log_new();                                                                                   \
    tell("create #%ld of #%ld" what, task, log_task())

/* x -> y, z -> both: the values say whether the order was kept. */
static void dependences(void)
{
    static int x, y, z;
    omp_depend_t object;
    for (int round = 0; round < 20; round++) {
        {
            CREATE(" inout");
#pragma omp task depend(out : x) firstprivate(task)
            {
                tell_task(task);
                x = round;
                tell_task_end(task, "completed");
            }
        }
        {
            CREATE(" inout in");
#pragma omp task depend(in : x) depend(out : y) firstprivate(task)
            {
                tell_task(task);
                y = x + 1;
                tell_task_end(task, "completed");
            }
        }
        {
            CREATE(" mutexinoutset in");
#pragma omp task depend(mutexinoutset : z) depend(in : x) firstprivate(task)
            {
                tell_task(task);
                z = x + 2;
                tell_task_end(task, "completed");
            }
        }
#pragma omp depobj(object) depend(inout : y)
        {
            CREATE(" in inout");
#pragma omp task depend(depobj : object) depend(in : z) firstprivate(task)
            {
                tell_task(task);
#pragma omp atomic
                total += y + z;
                tell_task_end(task, "completed");
            }
        }
#pragma omp depobj(object) destroy
    }
    tell("arrive taskwait 0");
#pragma omp taskwait
    tell("leave taskwait 0");
}

struct aligned {
    char bytes[192];
} __attribute__((aligned(64)));

static void data(int n)
{
    struct aligned aligned;
    int lengths[n];
    char *large = malloc(100000);
    memset(&aligned, n, sizeof aligned);
    memset(large, 7, 100000);
    for (int i = 0; i < n; i++)
        lengths[i] = i;
    {
        CREATE("");
#pragma omp task firstprivate(aligned, task)
        {
            tell_task(task);
            if ((uintptr_t)&aligned % 64 != 0 || aligned.bytes[191] != n)
                misplaced++;
            tell_task_end(task, "completed");
        }
    }
    {
        CREATE("");
#ifdef __clang__ /* clang does not copy arrays of variable length */
#pragma omp task shared(lengths) firstprivate(task)
#else
#pragma omp task firstprivate(lengths, task)
#endif
        {
            tell_task(task);
#pragma omp atomic
            total += lengths[n - 1];
            tell_task_end(task, "completed");
        }
    }
    {
        struct {
            char bytes[100000];
        } *block = (void *)large, copy = *block;
        CREATE("");
#pragma omp task firstprivate(copy, task)
        {
            tell_task(task);
#pragma omp atomic
            total += copy.bytes[0] + copy.bytes[99999];
            tell_task_end(task, "completed");
        }
        memset(&copy, 0, sizeof copy);
    }
    {
        CREATE(" undeferred");
#pragma omp task if (n < 0) firstprivate(task)
        {
            tell_task(task);
            total += 0;
            tell_task_end(task, "completed");
        }
    }
    {
#ifdef __clang__ /* LLVM's runtime moves untied tasks to other threads, which tell_task does not follow */
        CREATE(" final");
#pragma omp task final(n > 0) priority(3) firstprivate(task)
#else
        CREATE(" untied final");
#pragma omp task untied final(n > 0) priority(3) firstprivate(task)
#endif
        {
            tell_task(task);
            {
                CREATE(IN_FINAL);
#pragma omp task firstprivate(task)
                {
                    tell_task(task);
                    tell_task_end(task, "completed");
                }
            }
            tell_task_end(task, "completed");
        }
    }
    tell("arrive taskwait 0");
#pragma omp taskwait
    tell("leave taskwait 0");
    free(large);
}

static void groups(void)
{
    int sum = 0;
    tell("zone taskgroup");
#pragma omp taskgroup
    {
        for (int i = 0; i < 5; i++) {
            CREATE("");
#pragma omp task firstprivate(task, i) shared(sum)
            {
                tell_task(task);
#pragma omp atomic
                sum += i;
                tell_task_end(task, "completed");
            }
        }
        tell("arrive taskgroup 0");
    }
    tell("leave taskgroup 0");
    tell("end zone taskgroup");
#pragma omp atomic
    total += sum;
    tell("arrive taskyield 0");
#pragma omp taskyield
    tell("leave taskyield 0");
}

static void detached(void)
{
    for (int i = 0; i < 10; i++) {
        omp_event_handle_t event;
        CREATE(" detachable");
        int value = i;
#pragma omp task detach(event) firstprivate(task, value)
        {
            tell_task(task);
#pragma omp atomic
            total += value;
            tell_task_end(task, "detached");
        }
        tell("end task #%ld fulfilled", task);
        omp_fulfill_event(event);
        tell("arrive taskwait 0");
#pragma omp taskwait
        tell("leave taskwait 0");
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    /* tasks run in the barrier at the end of the sections: its end is told after them */
    tell("ignore end zone sections");
    tell("ignore arrive barrier_implicit");
    tell("ignore leave barrier_implicit");
    for (int threads = 1; threads <= 3; threads++) {
        long team = log_new();
        tell("parallel @%ld %d", team, threads);
#pragma omp parallel num_threads(threads)
        {
            tell_begin(team, 0);
            tell("arrive barrier 1");
#pragma omp barrier
            tell("leave barrier 1");
            tell("zone sections 1");
#pragma omp sections
            {
#pragma omp section
                {
                    tell("section 1");
                    total += fibonacci(9);
                    dependences();
                    data(5 + argc);
                    groups();
                    if (threads > 1)
                        detached();
                }
            }
            tell("end zone sections");
            tell("arrive barrier_implicit 2");
            tell("leave barrier_implicit 2");
            tell("end");
        }
        tell("end parallel @%ld", team);
    }
    total += fibonacci(5);
    data(4);
    printf("%ld %ld\n", total, misplaced);
    return 0;
}
