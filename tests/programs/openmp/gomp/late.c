/* Libraries that bring an OpenMP runtime with them, opened while the program runs, each in turn and all at
 * once, closed and opened again. A library's regions must run on the runtime that it links with: there its
 * threads have their numbers. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static long call(void *library, int n_threads)
{
    long (*work)(int) = (long (*)(int))dlsym(library, "work");
    return work(n_threads);
}

int main(int argc, char **argv)
{
    int rounds = atoi(argv[1]);
    void *libraries[8];
    for (int round = 0; round < rounds; round++)
        for (int i = 2; i < argc; i++) {
            void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            if (library == NULL) {
                printf("%s\n", dlerror());
                return 1;
            }
            /* without threads: they would still be in the code that goes */
            printf("alone %ld\n", call(library, 1));
            dlclose(library);
        }
    for (int i = 2; i < argc; i++)
        libraries[i] = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    for (int round = 0; round < 3; round++)
        for (int i = 2; i < argc; i++)
            printf("together %ld\n", call(libraries[i], 3));
    return 0;
}
