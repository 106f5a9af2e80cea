#include "recorder/rings/shared_filter.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

enum { APART_NS = 50000 }; /* more than times from ticks are off (recorder/rings/tick_clock.h) */

static uint32_t read_generation(const struct tg_agent_directory *directory)
{
    uint32_t generation = 0;
    (void)tg_agent_directory_read(directory,
                                  TG_AGENT_FILTER_OFFSET + offsetof(struct tg_agent_filter, generation),
                                  &generation, sizeof generation);
    return generation;
}

static void write_generation(const struct tg_agent_directory *directory, uint32_t generation)
{
    (void)tg_agent_directory_write(directory,
                                   TG_AGENT_FILTER_OFFSET + offsetof(struct tg_agent_filter, generation),
                                   &generation, sizeof generation);
}

static void wait_apart(void)
{
    nanosleep(&(struct timespec){.tv_nsec = APART_NS}, NULL);
}

/* Whether an auditor has room for LIST, and for any of its patterns in a record. */
static bool has_room(const struct tg_glob_list *list)
{
    if (strlen(tg_glob_list_text(list)) >= TG_AGENT_FILTER_LIST_BYTES ||
        tg_glob_list_count(list) > TG_AGENT_FILTER_PATTERNS)
        return false;
    for (size_t i = 0; i < tg_glob_list_count(list); i++)
        if (strlen(tg_glob_list_pattern(list, i)) >= TG_AGENT_FILTER_PATTERN_BYTES)
            return false;
    return true;
}

static enum tg_agent_filter_how how_of(const struct tg_dlopen_filter *filter)
{
    switch (filter->mode) {
    case TG_FILTER_MEDIUM:
        return has_room(filter->list) ? TG_AGENT_FILTER_MATCH : TG_AGENT_FILTER_ALL;
    case TG_FILTER_FAST:
        return TG_AGENT_FILTER_NONE;
    case TG_FILTER_SLOW:
        break;
    }
    return TG_AGENT_FILTER_ALL;
}

void tg_shared_filter_end_old(const struct tg_agent_directory *directory)
{
    write_generation(directory, read_generation(directory) | 1);
    wait_apart();
}

void tg_shared_filter_begin_new(const struct tg_agent_directory *directory,
                                const struct tg_dlopen_filter *filter)
{
    uint32_t how = how_of(filter);
    const char *list = how == TG_AGENT_FILTER_MATCH ? tg_glob_list_text(filter->list) : "";
    (void)tg_agent_directory_write(directory, TG_AGENT_FILTER_OFFSET + offsetof(struct tg_agent_filter, how),
                                   &how, sizeof how);
    (void)tg_agent_directory_write(directory, TG_AGENT_FILTER_OFFSET + offsetof(struct tg_agent_filter, list),
                                   list, strlen(list) + 1);
    wait_apart();
    write_generation(directory, (read_generation(directory) | 1) + 1);
}
