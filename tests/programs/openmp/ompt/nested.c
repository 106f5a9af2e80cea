/* Regions within regions, with a barrier in the inner ones: their ends are no other barrier. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int count = 0;
    omp_set_max_active_levels(2);
    for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
#pragma omp atomic
            count++;
        }
    }
    printf("%d\n", count);
    return 0;
}
