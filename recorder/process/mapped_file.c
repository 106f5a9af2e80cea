#include "recorder/process/mapped_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tg_mapped_file_find(pid_t pid, bool (*matches)(const char *name), struct tg_mapped_file *file)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return false;
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (!found && getline(&line, &size, maps) > 0) {
        uint64_t offset;
        if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %4095[^\n]", &file->start, &offset,
                   file->path) != 3 ||
            offset != 0)
            continue;
        const char *slash = strrchr(file->path, '/');
        found = matches(slash == NULL ? file->path : slash + 1);
    }
    free(line);
    fclose(maps);
    return found;
}
