#include "recorder/leaks/leak_roots.h"

#include "format/base/array.h"
#include "recorder/agent/contract.h"
#include "recorder/process/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 4400,
    ARENA_BYTES = 64 << 20, /* glibc's arenas beside the first begin at multiples of that */
    RED_ZONE_BYTES = 128,   /* that functions use below the stack pointer */
};

struct mapping {
    uint64_t start, end;
    char path[LINE_BYTES];
};

/* False for mappings that cannot be written. */
static bool read_mapping(const char *line, struct mapping *mapping)
{
    char flags[5];
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s%n", &mapping->start, &mapping->end, flags,
               &path) != 3 ||
        path == 0)
        return false;
    line += path;
    line += strspn(line, " ");
    snprintf(mapping->path, sizeof mapping->path, "%.*s", (int)strcspn(line, "\n"), line);
    return flags[0] == 'r' && flags[1] == 'w';
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* An arena of glibc's: struct heap_info at its beginning says how much of it may be written. */
static bool is_arena(pid_t tid, const struct mapping *mapping)
{
    uint64_t info[4]; /* the arena, the one before, size, writable size */
    return mapping->start % ARENA_BYTES == 0 && mapping->path[0] == '\0' &&
           tg_memory_read(tid, mapping->start, info, sizeof info) && info[2] <= info[3] &&
           info[3] == mapping->end - mapping->start && info[0] > mapping->start;
}

/* Cuts off a table of the agent's own. */
static void skip_table(pid_t tid, struct mapping *mapping)
{
    struct tg_agent_heap_table table;
    if (mapping->path[0] != '\0' || !tg_memory_read(tid, mapping->start, &table, sizeof table) ||
        table.magic[0] != TG_AGENT_HEAP_TABLE_MAGIC || table.magic[1] != ~TG_AGENT_HEAP_TABLE_MAGIC)
        return;
    uint64_t all = mapping->end - mapping->start;
    mapping->start += table.size_bytes < all ? table.size_bytes : all;
}

static bool is_left_out(const struct tg_leak_roots_options *options, const struct mapping *mapping)
{
    const char *path = mapping->path, *directory = options->agent_directory;
    if (directory != NULL && begins_with(path, directory) && path[strlen(directory)] == '/')
        return true;
    if (begins_with(path, "/dev/") && !begins_with(path, "/dev/shm/") && !begins_with(path, "/dev/zero"))
        return true;
    return strcmp(path, "[heap]") == 0 || is_arena(options->tid, mapping);
}

/* Where a stack of a thread that stands still is in use: from its pointer on. */
static uint64_t used_from(const struct tg_leak_roots_options *options, const struct mapping *mapping)
{
    uint64_t from = UINT64_MAX;
    for (size_t i = 0; i < options->n_stack_pointers; i++) {
        uint64_t pointer = options->stack_pointers[i];
        if (pointer >= mapping->start && pointer < mapping->end && pointer < from)
            from = pointer;
    }
    if (from == UINT64_MAX || from - mapping->start < RED_ZONE_BYTES)
        return mapping->start;
    return from - RED_ZONE_BYTES;
}

static struct tg_error *add_root(const struct tg_leak_roots_options *options, const char *line,
                                 struct tg_leak_root **roots, size_t *count, size_t *capacity)
{
    struct mapping mapping;
    if (!read_mapping(line, &mapping) || is_left_out(options, &mapping))
        return NULL;
    skip_table(options->tid, &mapping);
    mapping.start = used_from(options, &mapping);
    if (mapping.start >= mapping.end)
        return NULL;
    return TG_ARRAY_APPEND(*roots, *count, *capacity,
                           (struct tg_leak_root){mapping.start, mapping.end - mapping.start});
}

struct tg_error *tg_leak_roots_find(const struct tg_leak_roots_options *options, struct tg_leak_root **roots,
                                    size_t *count)
{
    char name[64], line[LINE_BYTES];
    size_t capacity = 0;
    struct tg_error *error = NULL;
    *roots = NULL;
    *count = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)options->tid);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return tg_error_create_errno(errno, "%s", name);
    while (error == NULL && fgets(line, sizeof line, file) != NULL)
        error = add_root(options, line, roots, count, &capacity);
    fclose(file);
    if (error != NULL) {
        free(*roots);
        *roots = NULL;
    }
    return error;
}
