#include "format/settings/glob_match.h"

#include "format/base/tcl_match.h"

#include <stdint.h>

size_t tg_glob_split(char *text, struct tg_glob_pattern *patterns, size_t max)
{
    size_t count = 0;
    bool more = *text != '\0';
    while (more) {
        if (count == max)
            return SIZE_MAX;
        bool negated = *text == '!';
        patterns[count++] =
            (struct tg_glob_pattern){.written = text, .pattern = text + negated, .negated = negated};
        while (*text != '\0' && *text != ':')
            text++;
        more = *text == ':';
        *text++ = '\0';
    }
    return count;
}

struct tg_glob_match tg_glob_patterns_match(const struct tg_glob_pattern *patterns, size_t count,
                                            const char *library)
{
    for (size_t i = 0; i < count; i++) {
        const struct tg_glob_pattern *pattern = &patterns[i];
        if (pattern->pattern[0] != '\0' && tg_tcl_match(pattern->pattern, library))
            return (struct tg_glob_match){.matched = true, .negated = pattern->negated, .pattern = i};
    }
    return (struct tg_glob_match){.matched = false};
}

struct tg_glob_verdict tg_glob_patterns_default(const struct tg_glob_pattern *patterns, size_t count)
{
    for (size_t i = count; i > 0; i--) {
        const struct tg_glob_pattern *pattern = &patterns[i - 1];
        if (pattern->negated)
            return (struct tg_glob_verdict){.report = true, .rule = TG_RULE_DEFAULT_LAST_NEGATED};
        if (pattern->pattern[0] != '\0')
            return (struct tg_glob_verdict){.report = false, .rule = TG_RULE_DEFAULT_LAST_POSITIVE};
    }
    return (struct tg_glob_verdict){.report = false, .rule = TG_RULE_DEFAULT_ALL_EMPTY};
}

bool tg_glob_verdict_take(struct tg_glob_match match, size_t index, struct tg_glob_verdict *verdict)
{
    if (verdict->rule == TG_RULE_PATTERN && verdict->report)
        return false;
    bool decides = match.matched && (!match.negated || verdict->rule != TG_RULE_PATTERN);
    if (decides)
        *verdict = (struct tg_glob_verdict){
            .report = !match.negated, .rule = TG_RULE_PATTERN, .pattern = match.pattern, .library = index};
    return !(decides && verdict->report);
}
