/* Threads of OpenMP regions with variables of all kinds of sharing, for whoever prints them. */
#include <omp.h>
#include <stdio.h>

struct pair {
    int left, right;
};

static int rounds = 3;
static struct pair pairs[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};

static int work(int number, int round)
{
    struct pair *mine = &pairs[number % 4];
    mine->left += round;
    return mine->left + number; /* line of the breakpoint: work */
}

int main(void)
{
    int shared = 0, given = 7;
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel num_threads(4) firstprivate(given)
        {
            int number = omp_get_thread_num();
            given += number;
            int result = work(number, round);
#pragma omp atomic
            shared += result + given;
        }
    }
    printf("%d\n", shared);
    return 0;
}
