/* Verdicts of glob-lists that are split into their patterns. Neither memory of its own nor anything of libc but string
 * functions: the agent decides with the same source inside of traced programs (recorder/agent/audit/filter.h). */
#ifndef TG_FORMAT_SETTINGS_GLOB_MATCH_H
#define TG_FORMAT_SETTINGS_GLOB_MATCH_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>

struct tg_glob_pattern {
    const char *written; /* with its '!' */
    const char *pattern; /* without; "" never matches */
    bool negated;
};

/* Splits TEXT at its colons, which become NULs: PATTERNS, of which there is room for MAX, point into it. Returns how many
 * they are; SIZE_MAX where they are more. An empty TEXT has none. */
size_t tg_glob_split(char *text, struct tg_glob_pattern *patterns, size_t max);

/* How one library name fares: index of the first pattern that matches, and whether that is a negated one. */
struct tg_glob_match {
    bool matched;
    bool negated;
    size_t pattern; /* index; meaningful where matched */
};
struct tg_glob_match tg_glob_patterns_match(const struct tg_glob_pattern *patterns, size_t count,
                                            const char *library);

/* The verdict on one event's whole library list. */
struct tg_glob_verdict {
    bool report;
    enum tg_filter_rule rule; /* PATTERN or one of the defaults */
    size_t pattern;           /* index of the deciding pattern where rule is PATTERN */
    size_t library;           /* index of the deciding library where rule is PATTERN */
};

/* The decision for a library list without any match. */
struct tg_glob_verdict tg_glob_patterns_default(const struct tg_glob_pattern *patterns, size_t count);

/* Takes the match of the library INDEX into VERDICT, which began as the default. Returns false where nothing that
 * follows can change it any more (a positive match was found). */
bool tg_glob_verdict_take(struct tg_glob_match match, size_t index, struct tg_glob_verdict *verdict);

#endif
