#include "recorder/record/heap_option.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLE_BYTES (UINT64_C(1) << 40)

static bool read_number(const char *text, const char **end, uint64_t *number)
{
    char *behind;
    errno = 0;
    *number = strtoull(text, &behind, 10);
    *end = behind;
    return errno == 0 && text[0] >= '0' && text[0] <= '9';
}

static struct tg_error *read_sample(const char *text, struct tg_agent_heap *heap)
{
    const char *end;
    uint64_t number;
    bool good = read_number(text, &end, &number);
    unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : 0;
    end += shift > 0;
    if (strcmp(end, "iB") == 0 && shift > 0)
        end += 2;
    if (!good || *end != '\0' || number == 0 || number > MAX_SAMPLE_BYTES >> shift)
        return tg_error_create(TG_ERROR_USAGE,
                               "--heap: invalid number of bytes '%s' (for example sample:512K)", text);
    heap->mode = TG_AGENT_HEAP_SAMPLE;
    heap->sample_bytes = number << shift;
    return NULL;
}

/* One word of `check,...`. */
static bool read_check_word(const char *word, struct tg_agent_heap *heap)
{
    static const char sizes[] = "red_zones_for=";
    const char *end;
    if (strcmp(word, "red_zones") == 0 || strcmp(word, "red_zones=behind") == 0)
        heap->red_zones = TG_AGENT_RED_ZONES_BEHIND;
    else if (strcmp(word, "red_zones=before") == 0)
        heap->red_zones = TG_AGENT_RED_ZONES_BEFORE;
    else if (strncmp(word, sizes, sizeof sizes - 1) != 0)
        return false;
    else
        return read_number(word + sizeof sizes - 1, &end, &heap->red_zone_min) && *end == '-' &&
               read_number(end + 1, &end, &heap->red_zone_max) && *end == '\0' &&
               heap->red_zone_min <= heap->red_zone_max;
    return true;
}

/* What follows `check`: words, each behind a comma. */
static struct tg_error *read_check(const char *words, struct tg_agent_heap *heap)
{
    heap->mode = TG_AGENT_HEAP_CHECK;
    heap->red_zone_max = UINT64_MAX;
    while (*words != '\0') {
        char word[64];
        size_t length = strcspn(++words, ",");
        bool fits = length < sizeof word;
        memcpy(word, words, fits ? length : 0);
        word[fits ? length : 0] = '\0';
        if (!fits || !read_check_word(word, heap))
            return tg_error_create(TG_ERROR_USAGE,
                                   "--heap: invalid word '%.*s' (check,red_zones, check,red_zones=before; "
                                   "with red_zones_for=MIN-MAX only for blocks of that many bytes)",
                                   (int)length, words);
        words += length;
    }
    if (heap->red_zone_max != UINT64_MAX && heap->red_zones == TG_AGENT_RED_ZONES_OFF)
        heap->red_zones = TG_AGENT_RED_ZONES_BEHIND;
    return NULL;
}

static struct tg_error *read_how(const char *how, struct tg_agent_heap *heap)
{
    static const char sample[] = "sample:", check[] = "check";
    if (how[0] == '\0' || strcmp(how, "events") == 0)
        heap->mode = TG_AGENT_HEAP_EVENTS;
    else if (strncmp(how, check, sizeof check - 1) == 0 && (how[5] == '\0' || how[5] == ','))
        return read_check(how + sizeof check - 1, heap);
    else if (strncmp(how, sample, sizeof sample - 1) == 0)
        return read_sample(how + sizeof sample - 1, heap);
    else
        return tg_error_create(TG_ERROR_USAGE, "--heap: invalid value '%s' (events, sample:BYTES or check)",
                               how);
    return NULL;
}

struct tg_error *tg_heap_option_parse(const char *how, const char *depth, struct tg_agent_heap *heap)
{
    *heap = (struct tg_agent_heap){.mode = TG_AGENT_HEAP_OFF};
    if (how == NULL)
        return depth == NULL ? NULL : tg_error_create(TG_ERROR_USAGE, "--heap-depth needs --heap");
    struct tg_error *error = read_how(how, heap);
    const char *end = "";
    uint64_t number = TG_HEAP_OPTION_DEPTH;
    if (error != NULL)
        return error;
    if (depth != NULL &&
        (!read_number(depth, &end, &number) || *end != '\0' || number > TG_AGENT_HEAP_MAX_DEPTH))
        return tg_error_create(TG_ERROR_USAGE, "--heap-depth: invalid number '%s' (0 to %d)", depth,
                               TG_AGENT_HEAP_MAX_DEPTH);
    heap->depth = (uint32_t)number;
    return NULL;
}
