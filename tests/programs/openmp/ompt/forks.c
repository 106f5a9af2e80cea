/* Regions before a fork, in its child, and in the parent again. */
#include <omp.h>
#include <stdio.h>
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
        _exit(region() + region());
    waitpid(child, &status, 0);
    printf("%d %d %d\n", before, WEXITSTATUS(status), region());
    return 0;
}
