/* page_bench TRACE: how long the web page's time line takes to be made of TRACE, how much memory it takes, and how long its
 * strip takes to be answered as one zooms from all of the trace to some nanoseconds. */
#include "analyzer/page/answer.h"
#include "analyzer/page/timeline_pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static long memory_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

static int fail(struct tg_error *error)
{
    fprintf(stderr, "page_bench: %s\n", tg_error_message(error));
    tg_error_destroy(error);
    return 2;
}

/* Asks for the strip from FROM to TO. */
static struct tg_error *ask(const struct tg_page *page, uint64_t from, uint64_t to)
{
    char query[120], *text = NULL;
    size_t size;
    snprintf(query, sizeof query, "columns=1400&from=%" PRIu64 "&to=%" PRIu64, from, to);
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    double start = now_ms();
    struct tg_error *error = tg_page_write(page, "strip", query, stream);
    double took = now_ms() - start;
    fclose(stream);
    printf("%15" PRIu64 " ns in sight: %7.1f ms, %7zu bytes%s\n", to - from, took, size,
           error == NULL && strstr(text, "\"exact\": true") != NULL ? ", event by event" : "");
    free(text);
    return error;
}

int main(int argc, char **argv)
{
    struct tg_timeline_pass *pass = NULL;
    if (argc != 2) {
        fputs("usage: page_bench TRACE\n", stderr);
        return 2;
    }
    double start = now_ms(), first = 0;
    struct tg_error *error = tg_timeline_pass_create(argv[1], &pass);
    for (bool more = true; error == NULL && more;) {
        error = tg_timeline_pass_work(pass, 500000, &more);
        if (first == 0)
            first = now_ms() - start;
    }
    if (error != NULL)
        return fail(error);
    printf("time line: %.1f s, %ld MiB; the first half million events: %.0f ms\n", (now_ms() - start) / 1e3,
           memory_mib(), first);
    struct tg_page page = {.name = argv[1]};
    tg_timeline_pass_fill(pass, &page);
    uint64_t length = page.end_ns - page.words.start_ns, middle = length / 2;
    for (uint64_t sight = length; error == NULL && sight > 20; sight /= 8)
        error = ask(&page, middle - sight / 2, middle + sight / 2);
    tg_timeline_pass_destroy(pass);
    printf("memory at most: %ld MiB\n", memory_mib());
    return error == NULL ? 0 : fail(error);
}
