/* Two runtimes that come by dlopen, one inside of the other: a program, the library with the outer region
 * (OUTER), and the one with the inner region (INNER), each built by another compiler. */
#if defined OUTER || defined INNER
#include <omp.h>
#include <stddef.h>
#else
#include <dlfcn.h>
#include <stdio.h>
#endif

#ifdef OUTER
int outer(int (*inner)(void))
{
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += 100 * omp_get_thread_num() + (inner != NULL ? inner() : 0);
    return sum;
}
#endif

#ifdef INNER
int inner(void)
{
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 10000 * (omp_get_thread_num() + 1) + omp_get_num_threads();
    return sum + 1000000 * omp_get_thread_num();
}
#endif

#if !defined OUTER && !defined INNER
static void *open_library(const char *path, const char *name, void **library)
{
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return *library == NULL ? NULL : dlsym(*library, name);
}

int main(void)
{
    void *first, *second;
    int (*outer)(int (*)(void)) = (int (*)(int (*)(void)))open_library("./OUTER.so", "outer", &first);
    int (*inner)(void) = (int (*)(void))open_library("./INNER.so", "inner", &second);
    if (outer == NULL || inner == NULL)
        return 1;
    dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); /* libgomp's threads are in it for good */
    printf("%d %d %d\n", outer(NULL), inner(), outer(inner));
    dlclose(first);
    outer = (int (*)(int (*)(void)))open_library("./OUTER.so", "outer", &first);
    printf("%d %d\n", outer(inner), inner());
    return 0;
}
#endif
