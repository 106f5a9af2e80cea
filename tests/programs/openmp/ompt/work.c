/* A library that uses OpenMP. */
int work(void);
int work(void)
{
    int sum = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
#pragma omp critical
        sum += 1;
    }
    return sum;
}
