/* Children that end by exit: says how many of them there were, and whether they met few page faults. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 3, FEW = 5000 };

int main(void)
{
    static void *volatile kept;
    int ended = 0;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            kept = malloc(100);
            exit(kept == NULL);
        }
        int status = 0;
        ended += child > 0 && waitpid(child, &status, 0) == child && status == 0;
    }
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("%d, %s\n", ended, usage.ru_minflt < CHILDREN * FEW ? "few" : "many");
    return 0;
}
