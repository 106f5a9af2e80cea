/* The first thread waits for a critical section that another one does not leave: LLVM's runtime does so by running. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    int number = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
#pragma omp critical(kept)
            {
                puts("ready");
                fflush(stdout);
                for (;;)
                    pause();
            }
        } else {
            usleep(300000);
#pragma omp critical(kept)
            number++; /* waits */
        }
    }
    return number;
}
