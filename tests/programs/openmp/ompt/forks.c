/* Regions before a fork, in its child, and in the parent again. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int region(void)
{
    int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
    n += 1;
    return n;
}

int main(void)
{
    int status, before = region();
    pid_t child = fork();
    if (child == 0)
        exit(region() + region()); /* so that the runtime takes its file in /dev/shm away */
    waitpid(child, &status, 0);
    printf("%d %d %d\n", before, WEXITSTATUS(status), region());
    return 0;
}
