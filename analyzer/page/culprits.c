#include "analyzer/page/culprits.h"

#include "format/base/array.h"

#include <stdlib.h>

static bool blames(const struct tg_finding *finding)
{
    return !finding->is_consequence && finding->kind != TG_FINDING_INTERRUPTED &&
           finding->kind != TG_FINDING_ASKED;
}

static bool is_same(const struct tg_page_culprit *culprit, size_t process, int32_t tid)
{
    return culprit->process == process && (tid == 0 || culprit->tid == tid);
}

struct tg_error *tg_page_culprits(const struct tg_verdict *verdict, struct tg_page_culprit **culprits,
                                  size_t *count)
{
    size_t capacity = 0;
    struct tg_error *error = NULL;
    *culprits = NULL;
    *count = 0;
    for (size_t i = 0; i < verdict->count; i++)
        for (size_t k = 0;
             error == NULL && blames(&verdict->findings[i]) && k < verdict->findings[i].n_culprits; k++) {
            const struct tg_culprit *culprit = &verdict->findings[i].culprits[k];
            error = TG_ARRAY_APPEND(*culprits, *count, capacity,
                                    (struct tg_page_culprit){culprit->process, culprit->tid});
        }
    return error;
}

bool tg_page_is_culprit(const struct tg_page *page, size_t process, int32_t tid)
{
    for (size_t i = 0; page->verdict == NULL && i < page->n_culprits; i++)
        if (is_same(&page->culprits[i], process, tid))
            return true;
    for (size_t i = 0; page->verdict != NULL && i < page->verdict->count; i++) {
        const struct tg_finding *finding = &page->verdict->findings[i];
        for (size_t k = 0; blames(finding) && k < finding->n_culprits; k++)
            if (is_same(&(struct tg_page_culprit){finding->culprits[k].process, finding->culprits[k].tid},
                        process, tid))
                return true;
    }
    return false;
}
