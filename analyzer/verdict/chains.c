#include "analyzer/verdict/chains.h"

#include "format/base/search.h"

#include <stdlib.h>

/* Whether PROCESS, whose waits begin at AT, may go on by what is not seen here: it does not wait, nobody knows for whom, or
 * another thread of it is at work. */
static bool may_go_on(const struct tg_verdict_draft *draft, size_t process, size_t at)
{
    bool is_known = at < draft->n_waits && draft->waits[at].from == process;
    return !is_known || draft->work[process] == TG_WORK_GOES_ON || tg_verdict_is_gone(draft, process) ||
           !tg_verdict_waits(draft, process);
}

bool tg_verdict_chain_leads(const struct tg_verdict_draft *draft, size_t process, size_t a, size_t b)
{
    bool *is_reached = calloc(draft->n_processes + 1, sizeof *is_reached), leads = false,
         goes_on = draft->n_waits == TG_VERDICT_WAITS; /* others were dropped */
    size_t *reached = calloc(draft->n_processes + 1, sizeof *reached), count = 0;
    if (is_reached == NULL || reached == NULL || process >= draft->n_processes)
        goes_on = true;
    else
        is_reached[reached[count++] = process] = true;
    for (size_t i = 0; i < count && !goes_on; i++) {
        if (reached[i] == a || reached[i] == b) {
            leads = true;
            continue;
        }
        size_t at = TG_LOWER_BOUND(draft->waits, draft->n_waits, from, reached[i]);
        goes_on = may_go_on(draft, reached[i], at);
        for (; at < draft->n_waits && draft->waits[at].from == reached[i]; at++)
            if (!is_reached[draft->waits[at].to])
                is_reached[reached[count++] = draft->waits[at].to] = true;
    }
    free(is_reached);
    free(reached);
    return leads && !goes_on;
}
