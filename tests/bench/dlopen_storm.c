/* dlopens DIRECTORY/libbench_00000.so ... N of them, once each, and says how long that took.
 * Usage: dlopen_storm DIRECTORY N [RESULT-FILE]; the result is milliseconds of wall time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "Usage: dlopen_storm DIRECTORY N [RESULT-FILE]\n");
        return 2;
    }
    long count = strtol(argv[2], NULL, 10);
    double start_ms = now_ms();
    for (long i = 0; i < count; i++) {
        char path[4096];
        if (snprintf(path, sizeof path, "%s/libbench_%05ld.so", argv[1], i) >= (int)sizeof path)
            return 2;
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL) {
            fprintf(stderr, "dlopen_storm: %s\n", dlerror());
            return 1;
        }
    }
    double took_ms = now_ms() - start_ms;
    FILE *out = argc > 3 ? fopen(argv[3], "w") : stdout;
    if (out == NULL || fprintf(out, "%.3f\n", took_ms) < 0 || fflush(out) != 0) {
        perror("dlopen_storm");
        return 1;
    }
    return 0;
}
