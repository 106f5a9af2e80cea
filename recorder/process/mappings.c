#include "recorder/process/mappings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Opens file NAME if there is anything in it. */
static bool open_maps(struct tg_mappings *mappings, const char *name)
{
    mappings->file = fopen(name, "re");
    if (mappings->file == NULL)
        return false;
    setvbuf(mappings->file, mappings->buffer, _IOFBF, sizeof mappings->buffer);
    int first = getc(mappings->file);
    if (first != EOF && ungetc(first, mappings->file) != EOF)
        return true;
    fclose(mappings->file);
    mappings->file = NULL;
    errno = ESRCH;
    return false;
}

/* The first thread of PID may have ended before the others: it has nothing mapped any more, while they run on. */
static bool open_maps_of_thread(struct tg_mappings *mappings, pid_t pid)
{
    char name[64];
    struct dirent *entry;
    bool is_open = false;
    snprintf(name, sizeof name, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(name);
    while (!is_open && threads != NULL && (entry = readdir(threads)) != NULL) {
        long tid = strtol(entry->d_name, NULL, 10);
        snprintf(name, sizeof name, "/proc/%d/task/%ld/maps", (int)pid, tid);
        is_open = tid > 0 && tid != pid && open_maps(mappings, name);
    }
    if (threads != NULL)
        closedir(threads);
    if (!is_open)
        errno = ESRCH;
    return is_open;
}

bool tg_mappings_open(struct tg_mappings *mappings, pid_t pid)
{
    char name[32];
    mappings->line = NULL;
    mappings->capacity = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    return open_maps(mappings, name) || (errno == ESRCH && open_maps_of_thread(mappings, pid));
}

/* The number at *AT, behind which SEPARATOR must stand; *AT is moved behind that. */
static bool take(const char **at, int base, char separator, uint64_t *number)
{
    char *end;
    *number = strtoull(*at, &end, base);
    if (end == *at || *end != separator)
        return false;
    *at = end + 1;
    return true;
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE      PATH\n"; what stands for a path that is not there differs. */
static bool parse(char *line, struct tg_mapping *mapping)
{
    enum { HEX = 16, DECIMAL = 10, RIGHTS = 4 };
    const char *at = line;
    uint64_t major, minor;
    line[strcspn(line, "\n")] = '\0';
    if (!take(&at, HEX, '-', &mapping->start) || !take(&at, HEX, ' ', &mapping->end) ||
        strnlen(at, RIGHTS + 1) <= RIGHTS)
        return false;
    mapping->readable = at[0] == 'r';
    mapping->writable = at[1] == 'w';
    mapping->executable = at[2] == 'x';
    mapping->shared = at[3] == 's';
    at += RIGHTS + 1;
    if (!take(&at, HEX, ' ', &mapping->offset) || !take(&at, HEX, ':', &major) ||
        !take(&at, HEX, ' ', &minor))
        return false;
    char *end;
    mapping->inode = strtoull(at, &end, DECIMAL);
    mapping->major = (unsigned)major;
    mapping->minor = (unsigned)minor;
    mapping->path = end + strspn(end, " ");
    return end != at;
}

bool tg_mappings_next(struct tg_mappings *mappings, struct tg_mapping *mapping)
{
    while (mappings->file != NULL && getline(&mappings->line, &mappings->capacity, mappings->file) > 0)
        if (parse(mappings->line, mapping))
            return true;
    return false;
}

void tg_mappings_close(struct tg_mappings *mappings)
{
    free(mappings->line);
    if (mappings->file != NULL)
        fclose(mappings->file);
}

bool tg_mapping_find(pid_t pid, uint64_t address, struct tg_mapping *mapping)
{
    struct tg_mappings mappings;
    bool found = false;
    tg_mappings_open(&mappings, pid);
    while (!found && tg_mappings_next(&mappings, mapping))
        found = mapping->start <= address && address < mapping->end;
    tg_mappings_close(&mappings);
    mapping->path = NULL;
    return found;
}

int tg_mapping_open(pid_t pid, const struct tg_mapping *mapping)
{
    char name[96];
    if (mapping->inode == 0)
        return -1;
    snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, mapping->start,
             mapping->end);
    return open(name, O_PATH | O_CLOEXEC);
}
