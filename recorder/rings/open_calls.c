#include "recorder/rings/open_calls.h"

#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 1 << 12 };

struct tg_open_call {
    int32_t tid;
    bool noted;
};

void tg_open_calls_deinit(struct tg_open_calls *calls)
{
    free(calls->items);
    *calls = (struct tg_open_calls){0};
}

static struct tg_open_call *innermost(const struct tg_open_calls *calls, int32_t tid)
{
    for (size_t i = calls->count; i > 0; i--)
        if (calls->items[i - 1].tid == tid)
            return &calls->items[i - 1];
    return NULL;
}

void tg_open_calls_begin(struct tg_open_calls *calls, int32_t tid)
{
    const struct tg_open_call call = {.tid = tid};
    if (calls->count ==
        MAX_CALLS) /* the oldest one will not return any more: it was left by longjmp, or by its thread's end */
        memmove(calls->items, calls->items + 1, --calls->count * sizeof *calls->items);
    tg_error_destroy(TG_ARRAY_APPEND(calls->items, calls->count, calls->capacity, call));
}

void tg_open_calls_note(struct tg_open_calls *calls, int32_t tid)
{
    struct tg_open_call *call = innermost(calls, tid);
    if (call != NULL)
        call->noted = true;
}

/* Whether ERROR is REASON, alone or behind the object's name. */
static bool says(const char *error, const char *reason)
{
    const char *found = strstr(error, reason);
    while (found != NULL && found != error && (found < error + 2 || memcmp(found - 2, ": ", 2) != 0))
        found = strstr(found + 1, reason);
    return found != NULL;
}

/* glibc's words where it has refused a call before it began. */
static bool is_refusal(const char *error)
{
    static const char *const refusals[] = {"invalid mode for dlopen()", "invalid mode parameter",
                                           "invalid target namespace in dlmopen()",
                                           "no more namespaces available for dlmopen()"};
    bool is_one = false;
    for (size_t i = 0; !is_one && i < sizeof refusals / sizeof *refusals; i++)
        is_one = says(error, refusals[i]);
    return is_one;
}

bool tg_open_calls_end(struct tg_open_calls *calls, int32_t tid, const char *error)
{
    struct tg_open_call *call = innermost(calls, tid);
    if (call == NULL)
        return false;
    bool noted = call->noted;
    size_t behind = (size_t)(calls->items + calls->count - (call + 1));
    memmove(call, call + 1, behind * sizeof *call);
    calls->count--;
    return !noted && !is_refusal(error);
}
