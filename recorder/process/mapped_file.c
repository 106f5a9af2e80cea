#include "recorder/process/mapped_file.h"

#include <stdio.h>
#include <string.h>

/* The base name of the file whose first byte MAPPING has; NULL: none. */
static const char *name_of(const struct tg_mapping *mapping)
{
    const char *slash = strrchr(mapping->path, '/');
    if (mapping->offset != 0 || mapping->path[0] == '\0')
        return NULL;
    return slash == NULL ? mapping->path : slash + 1;
}

void tg_mapped_file_each(pid_t pid,
                         void (*take)(void *context, const char *name, const struct tg_mapping *mapping),
                         void *context)
{
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    tg_mappings_open(&mappings, pid);
    while (tg_mappings_next(&mappings, &mapping)) {
        const char *name = name_of(&mapping);
        if (name != NULL)
            take(context, name, &mapping);
    }
    tg_mappings_close(&mappings);
}

bool tg_mapped_file_find(pid_t pid, bool (*matches)(const char *name), struct tg_mapped_file *file)
{
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    bool found = false;
    tg_mappings_open(&mappings, pid);
    while (!found && tg_mappings_next(&mappings, &mapping)) {
        const char *name = name_of(&mapping);
        if (name == NULL)
            continue;
        found = matches(name);
        file->start = mapping.start;
        snprintf(file->path, sizeof file->path, "%s", mapping.path);
    }
    tg_mappings_close(&mappings);
    return found;
}
