#include "recorder/process/mapped_file.h"

#include "recorder/process/mappings.h"

#include <stdio.h>
#include <string.h>

bool tg_mapped_file_find(pid_t pid, bool (*matches)(const char *name), struct tg_mapped_file *file)
{
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    bool found = false;
    tg_mappings_open(&mappings, pid);
    while (!found && tg_mappings_next(&mappings, &mapping)) {
        const char *slash = strrchr(mapping.path, '/');
        if (mapping.offset != 0 || mapping.path[0] == '\0')
            continue;
        found = matches(slash == NULL ? mapping.path : slash + 1);
        file->start = mapping.start;
        snprintf(file->path, sizeof file->path, "%s", mapping.path);
    }
    tg_mappings_close(&mappings);
    return found;
}
