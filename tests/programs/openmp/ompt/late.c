/* usage: late LIBRARY...: opens each for itself alone, and calls its work(). Without OpenMP of its own,
 * unless built with it: then it has a region before, between and after, and calls work() in another. */
#include <dlfcn.h>
#include <stdio.h>

static int sum;

static void own_region(void)
{
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        sum++;
    }
#endif
}

int main(int argc, char **argv)
{
    own_region();
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*work)(void) = library == NULL ? NULL : (int (*)(void))dlsym(library, "work");
        if (work == NULL) {
            printf("%s\n", dlerror());
            return 1;
        }
        sum += work();
        own_region();
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
#pragma omp master
        sum += work();
#endif
    }
    printf("%d\n", sum);
    return 0;
}
