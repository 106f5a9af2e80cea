#include "recorder/agent/audit/filter.h"

#include "recorder/agent/audit/ring.h"

enum {
    PAUSE_NS = 100000,
    PAUSES_BETWEEN_LOOKS = 200, /* at whether the recorder still lives */
};

/* A copy of the list: the recorder may change the other one at any time, and the program can write to it. */
static struct {
    uint32_t generation; /* of the copy; odd: there is none */
    size_t count;
    struct tg_glob_pattern patterns[TG_AGENT_FILTER_PATTERNS];
    char text[TG_AGENT_FILTER_LIST_BYTES];
} copy = {.generation = 1};

static uint32_t generation_of(const struct tg_agent_filter *shared)
{
    return __atomic_load_n(&shared->generation, __ATOMIC_SEQ_CST);
}

/* False where it is changed meanwhile. A list that is none (the program wrote there) has no pattern. */
static bool take_copy(const struct tg_agent_filter *shared, uint32_t generation)
{
    size_t length = 0;
    copy.generation = 1;
    while (length < sizeof copy.text - 1 && shared->list[length] != '\0') {
        copy.text[length] = shared->list[length];
        length++;
    }
    copy.text[length] = '\0';
    if (generation_of(shared) != generation)
        return false;
    copy.count = tg_glob_split(copy.text, copy.patterns, TG_AGENT_FILTER_PATTERNS);
    if (copy.count > TG_AGENT_FILTER_PATTERNS)
        copy.count = 0;
    copy.generation = generation;
    return true;
}

struct tg_audit_filter tg_audit_filter_now(void)
{
    const struct tg_agent_filter *shared = tg_audit_ring_filter();
    for (unsigned i = 1; shared != NULL; i++) {
        struct tg_audit_filter now = {.generation = generation_of(shared)};
        now.how = __atomic_load_n(&shared->how, __ATOMIC_SEQ_CST);
        bool is_whole = now.generation % 2 == 0 && generation_of(shared) == now.generation;
        if (is_whole && (now.how != TG_AGENT_FILTER_MATCH || copy.generation == now.generation ||
                         take_copy(shared, now.generation)))
            return now;
        if (i % PAUSES_BETWEEN_LOOKS == 0 && !tg_audit_ring_has_recorder())
            break;
        tg_audit_ring_pause(PAUSE_NS);
    }
    return (struct tg_audit_filter){.how = TG_AGENT_FILTER_OFF};
}

bool tg_audit_filter_is_over(struct tg_audit_filter filter)
{
    const struct tg_agent_filter *shared = tg_audit_ring_filter();
    return shared != NULL && generation_of(shared) != filter.generation;
}

struct tg_glob_verdict tg_audit_filter_default(void)
{
    return tg_glob_patterns_default(copy.patterns, copy.count);
}

bool tg_audit_filter_consider(const char *library, size_t index, struct tg_glob_verdict *verdict)
{
    return tg_glob_verdict_take(tg_glob_patterns_match(copy.patterns, copy.count, library), index, verdict);
}

const char *tg_audit_filter_pattern(size_t i)
{
    return i < copy.count ? copy.patterns[i].written : "";
}
