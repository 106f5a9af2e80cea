/* Uses every construct once and tells what really happened, a line each: what, team (the outer thread's
 * number), thread number, a value. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fibonacci(int n)
{
    if (n < 2)
        return n;
    int a, b;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

/* One line in one write: OpenMP's own locks must not be used for what they are compared with. */
static pthread_mutex_t tell_lock = PTHREAD_MUTEX_INITIALIZER;
static void tell(const char *what, int value)
{
    int outer = omp_get_level() > 1 ? omp_get_ancestor_thread_num(1) : 0;
    pthread_mutex_lock(&tell_lock);
    printf("%s %d %d %d %d\n", what, omp_get_level(), outer, omp_get_thread_num(), value);
    pthread_mutex_unlock(&tell_lock);
}

static void nested(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        tell("nested", 0);
    }
}

static void worksharing(void)
{
    int values[64] = {0}, sum = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic, 4)
        for (int i = 0; i < 64; i++)
            values[i] = i;
#pragma omp for schedule(guided) nowait
        for (int i = 0; i < 64; i++)
            values[i] += i;
#pragma omp sections
        {
#pragma omp section
            tell("section", 1);
#pragma omp section
            tell("section", 2);
#pragma omp section
            tell("section", 3);
#pragma omp section
            tell("section", 4);
        }
#pragma omp single
        tell("single", 0);
#pragma omp critical
        tell("critical", 0);
#pragma omp critical(with_a_name)
        tell("critical_named", 0);
#pragma omp barrier
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 6; i++) {
#pragma omp ordered
            tell("ordered", i);
        }
    }
#pragma omp parallel for num_threads(2) schedule(dynamic, 8) reduction(+ : sum)
    for (int i = 0; i < 64; i++)
        sum += values[i];
    printf("sum %d\n", sum);
}

static void tasks(void)
{
    int order = 0, result = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task depend(out : order)
            tell("task", ++order);
#pragma omp task depend(inout : order)
            tell("task", ++order);
        }
#pragma omp taskloop num_tasks(3)
        for (int i = 0; i < 9; i++)
            if (i % 3 == 0)
                tell("taskloop", i);
        result = fibonacci(6);
    }
    printf("fibonacci %d\n", result);
}

int main(void)
{
    omp_set_max_active_levels(2);
    omp_set_dynamic(0);
    nested();
    worksharing();
    tasks();
    return 0;
}
