/* Cost of looking for breakpoints in images, in microseconds (medians).
 *
 *   image_bench FILE...         open, a function that is not there, one that is, the same again, a line
 *   image_bench --processes N LIBRARY   N processes that map LIBRARY ask the cache for it */
#include "format/image/image.h"
#include "recorder/process/image_cache.h"
#include "recorder/process/image_peek.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 25, MAX = 64 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static void must(struct tg_error *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "image_bench: %s\n", tg_error_message(error));
    exit(2);
}

enum step { OPEN, MISS, MISS_AGAIN, HIT, LINE, LINE_AGAIN, N_STEPS };

static void measure_file(const char *path)
{
    static double values[N_STEPS][ROUNDS];
    uint64_t found[MAX];
    size_t functions = 0, lines = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct tg_image *image = NULL;
        double at[N_STEPS + 1];
        const char *name = NULL;
        char copy[4096] = "";
        uint64_t offset;
        at[OPEN] = now_us();
        must(tg_image_open(path, &image));
        at[MISS] = now_us();
        (void)tg_image_find_function(image, "no_such_function", found, MAX);
        at[MISS_AGAIN] = now_us();
        (void)tg_image_find_function(image, "no_such_function_either", found, MAX);
        at[HIT] = now_us();
        /* some function: the one in the middle */
        const struct tg_image_info *info = tg_image_info(image);
        for (uint64_t address = info->start + (info->end - info->start) / 2; address > info->start;
             address -= 64)
            if (tg_image_symbol_at(image, address, &name, &offset))
                break;
        snprintf(copy, sizeof copy, "%s", name != NULL ? name : "main");
        double start = now_us();
        functions = tg_image_find_function(image, copy, found, MAX);
        values[HIT][round] = now_us() - start;
        at[LINE] = now_us();
        lines = tg_image_find_line(image, "malloc.c", 3000, found, MAX);
        at[LINE_AGAIN] = now_us();
        (void)tg_image_find_line(image, "malloc.c", 3000, found, MAX);
        at[N_STEPS] = now_us();
        for (int step = 0; step < N_STEPS; step++)
            if (step != HIT)
                values[step][round] = at[step + 1] - at[step];
        tg_image_unref(image);
    }
    printf("%-52s %8.1f %10.1f %10.1f %8.1f %10.1f %10.1f   %zu function, %zu line\n", path,
           median(values[OPEN], ROUNDS), median(values[MISS], ROUNDS), median(values[MISS_AGAIN], ROUNDS),
           median(values[HIT], ROUNDS), median(values[LINE], ROUNDS), median(values[LINE_AGAIN], ROUNDS),
           functions, lines);
}

static int measure_processes(size_t count, const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    struct link_map *map;
    if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
        fprintf(stderr, "image_bench: %s\n", dlerror());
        return 2;
    }
    pid_t *pids = calloc(count, sizeof *pids);
    double *values = calloc(count, sizeof *values);
    struct tg_image_cache *cache = NULL;
    must(tg_image_cache_create(0, &cache));
    for (size_t i = 0; i < count; i++)
        if ((pids[i] = fork()) == 0)
            for (;;)
                pause();
    for (size_t i = 0; i < count; i++) {
        double start = now_us();
        char build_id[129];
        uint64_t size_bytes, found[MAX];
        struct tg_image *image = NULL;
        if (!tg_image_peek(pids[i], map->l_addr, build_id, &size_bytes))
            return 2;
        const struct tg_image_source source = {.pid = pids[i],
                                               .path = map->l_name,
                                               .load_bias = map->l_addr,
                                               .header = map->l_addr,
                                               .build_id = build_id};
        must(tg_image_cache_get(cache, &source, &image));
        (void)tg_image_find_function(image, "no_such_function", found, MAX);
        tg_image_unref(image);
        values[i] = now_us() - start;
    }
    struct tg_image_cache_stats stats = tg_image_cache_stats(cache);
    printf("%zu processes, %s: opened %llu, hits %llu, first %.1f us, median of the others %.1f us\n", count,
           library, (unsigned long long)stats.opened, (unsigned long long)stats.hits, values[0],
           median(values + 1, count - 1));
    tg_image_cache_destroy(cache);
    for (size_t i = 0; i < count; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    free(pids);
    free(values);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--processes") == 0 && atoi(argv[2]) >= 2)
        return measure_processes((size_t)atoi(argv[2]), argv[3]);
    printf("%-52s %8s %10s %10s %8s %10s %10s\n", "file (microseconds)", "open", "miss", "miss again", "hit",
           "line", "line again");
    for (int i = 1; i < argc; i++)
        measure_file(argv[i]);
    return 0;
}
