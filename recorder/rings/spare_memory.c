#include "recorder/rings/spare_memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static uint64_t available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    uint64_t kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

/* A number in the file NAME of FOLDER; UINT64_MAX: none, or no limit. */
static uint64_t read_number(const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    uint64_t number = UINT64_MAX;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file != NULL && fscanf(file, "%" SCNu64, &number) != 1)
        number = UINT64_MAX;
    if (file != NULL)
        fclose(file);
    return number;
}

static uint64_t left_in_group(const char *folder)
{
    uint64_t most = read_number(folder, "memory.max"), used = read_number(folder, "memory.current");
    if (most == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    return most > used ? most - used : 0;
}

/* The folder of this process's group; false: none. */
static bool find_group(char *folder, size_t size)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX];
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, "0::/", 4) == 0 &&
                (size_t)snprintf(folder, size, "/sys/fs/cgroup%s", line + 3) < size;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

uint64_t tg_spare_memory(void)
{
    uint64_t spare = available_bytes();
    char folder[PATH_MAX];
    if (!find_group(folder, sizeof folder))
        return spare;
    while (strlen(folder) > strlen("/sys/fs/cgroup")) {
        uint64_t left = left_in_group(folder);
        spare = left < spare ? left : spare;
        *strrchr(folder, '/') = '\0';
    }
    return spare;
}
