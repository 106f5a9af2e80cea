/* How long a starter's table takes to be read out of another process, against the floor (one copy of all that
 * memory) and against asking for one field after the other.
 *
 *   mpir_table_bench [ENTRIES]      default: 100000 */
#include "recorder/mpir/table.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15 };

struct entry {
    char *host;
    char *executable;
    int pid;
};

static size_t system_calls;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static size_t read_ranges(void *context, const struct tg_memory_range *ranges, size_t count)
{
    system_calls++;
    return tg_memory_read_ranges(*(const pid_t *)context, ranges, count);
}

static void count_block(void *context, uint64_t first, const struct tg_mpir_entry *entries, size_t count)
{
    size_t *n = context;
    (void)first;
    for (size_t i = 0; i < count; i++)
        *n += entries[i].host[0] != '\0' && entries[i].executable[0] != '\0';
}

static struct entry *make_table(size_t count)
{
    struct entry *table = malloc(count * sizeof *table);
    if (table == NULL)
        abort();
    for (size_t i = 0; i < count; i++) {
        char host[48], executable[64];
        snprintf(host, sizeof host, "node%05zu.cluster.local", i / 64);
        snprintf(executable, sizeof executable, "/home/somebody/project/bin/simulation");
        table[i] = (struct entry){strdup(host), strdup(executable), (int)(1000 + i)};
    }
    return table;
}

static double read_once(pid_t pid, const struct entry *table, size_t count)
{
    const struct tg_mpir_memory memory = {.context = &pid, .read = read_ranges};
    const struct tg_mpir_table_place place = {
        .address = (uint64_t)(uintptr_t)table, .size = (int64_t)count, .layout = tg_mpir_layout_of_class(64)};
    char reason[TG_MPIR_TABLE_REASON_BYTES];
    size_t n = 0;
    const struct tg_mpir_table_sink sink = {.context = &n, .block = count_block};
    system_calls = 0;
    double start = now_ms();
    struct tg_error *error = tg_mpir_table_read(&memory, &place, &sink, reason);
    double end = now_ms();
    if (error != NULL || n != count || reason[0] != '\0') {
        fprintf(stderr, "%zu of %zu entries: %s\n", n, count, reason);
        exit(1);
    }
    return end - start;
}

/* The heap from the table on, in one go. */
static double copy_once(pid_t pid, const struct entry *table, size_t count)
{
    const char *start_at = table[0].host < (const char *)table ? table[0].host : (const char *)table;
    const char *last = table[count - 1].executable;
    const char *end_at = last > (const char *)(table + count) ? last : (const char *)(table + count);
    size_t size = (size_t)(end_at - start_at);
    if (table[0].host > last || size > UINT64_C(1) << 30) /* not laid out one behind the other */
        size = count * sizeof *table;
    void *buffer = malloc(size);
    struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)start_at, size};
    double start = now_ms();
    ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    double end = now_ms();
    free(buffer);
    return n > 0 ? end - start : 0;
}

static double by_field(pid_t pid, const struct entry *table, size_t count)
{
    double start = now_ms();
    for (size_t i = 0; i < count; i++) {
        struct entry entry;
        char text[256];
        if (!tg_memory_read(pid, (uint64_t)(uintptr_t)&table[i], &entry, sizeof entry) ||
            !tg_memory_read_string(pid, (uint64_t)(uintptr_t)entry.host, text, sizeof text) ||
            !tg_memory_read_string(pid, (uint64_t)(uintptr_t)entry.executable, text, sizeof text))
            exit(1);
    }
    return now_ms() - start;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    if (count == 0 || count > TG_MPIR_TABLE_MAX_ENTRIES)
        return 2;
    struct entry *table = make_table(count);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    double times[ROUNDS], floors[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        times[i] = read_once(child, table, count);
        floors[i] = copy_once(child, table, count);
    }
    double field = by_field(child, table, count);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    qsort(times, ROUNDS, sizeof times[0], compare);
    qsort(floors, ROUNDS, sizeof floors[0], compare);
    double median = times[ROUNDS / 2], floor = floors[ROUNDS / 2];
    printf("%zu entries: %.2f ms (worst %.2f), %zu calls; %.1f times a plain copy (%.2f ms); field by field "
           "%.0f times "
           "as long (%.0f ms)\n",
           count, median, times[ROUNDS - 1], system_calls, median / floor, floor, field / median, field);
    return 0;
}
