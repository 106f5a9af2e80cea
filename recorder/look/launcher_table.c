#include "recorder/look/launcher_table.h"

#include "recorder/look/jobs.h"
#include "recorder/process/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_ENTRIES = 1 << 20 };

/* As the interface defines it, on x86-64. */
struct entry {
    uint64_t host, executable; /* addresses */
    int32_t pid, unused;
};

/* The first object that defines it counts, as for the dynamic loader. */
static uint64_t find_variable(struct tg_modules *modules, const char *name)
{
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        uint64_t bias;
        struct tg_debug_info *info = tg_modules_debug_info(modules, tg_modules_at(modules, i), &bias);
        uint64_t address = info == NULL ? 0 : tg_debug_info_variable(info, name);
        if (address != 0)
            return address + bias;
    }
    return 0;
}

/* Without what is behind the first dot. */
static bool is_this_host(pid_t launcher, uint64_t address)
{
    char named[256] = "", own[256] = "";
    if (gethostname(own, sizeof own - 1) != 0 ||
        tg_memory_read_some(launcher, address, named, sizeof named - 1) == 0)
        return false;
    size_t length = strcspn(own, ".");
    return strcmp(named, "localhost") == 0 ||
           (length > 0 && strcspn(named, ".") == length && strncasecmp(named, own, length) == 0);
}

/* Where the table is, and how many entries it has; 0 none. */
static size_t find_table(struct tg_modules *modules, pid_t launcher, uint64_t *table)
{
    uint64_t place = find_variable(modules, "MPIR_proctable"), of_size = 0;
    int32_t size = 0;
    if (place != 0)
        of_size = find_variable(modules, "MPIR_proctable_size");
    bool is_there = of_size != 0 && tg_memory_read(launcher, place, table, sizeof *table) &&
                    tg_memory_read(launcher, of_size, &size, sizeof size);
    return is_there && size > 0 && size <= MAX_ENTRIES ? (size_t)size : 0;
}

size_t tg_launcher_table_ranks(const struct tg_process_tree *tree, pid_t launcher,
                               struct tg_image_cache *images, struct tg_debug_cache *debug, pid_t *ranks,
                               size_t max)
{
    struct tg_stack_process process = tg_stack_process_open(launcher, 64, images, debug);
    uint64_t table = 0;
    size_t count = process.modules != NULL ? find_table(process.modules, launcher, &table) : 0, found = 0;
    for (size_t i = 0; i < count && found < max; i++) {
        struct entry entry;
        if (!tg_memory_read(launcher, table + i * sizeof entry, &entry, sizeof entry))
            break;
        if (entry.pid > 0 && tg_process_tree_find(tree, entry.pid) != NULL &&
            is_this_host(launcher, entry.host) && tg_jobs_is_rank(tree, entry.pid))
            ranks[found++] = entry.pid;
    }
    tg_stack_process_close(&process);
    return found;
}
