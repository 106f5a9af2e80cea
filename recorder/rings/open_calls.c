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
    if (calls->count < MAX_CALLS)
        tg_error_destroy(TG_ARRAY_APPEND(calls->items, calls->count, calls->capacity, call));
}

void tg_open_calls_note(struct tg_open_calls *calls, int32_t tid)
{
    struct tg_open_call *call = innermost(calls, tid);
    if (call != NULL)
        call->noted = true;
}

/* glibc's words where it has refused a call before it began. */
static bool is_refusal(const char *error)
{
    static const char *const refusals[] = {"invalid mode for dlopen()",
                                           "invalid target namespace in dlmopen()",
                                           "no more namespaces available for dlmopen()"};
    static const char plain[] = "invalid mode";
    bool is_one = strncmp(error, plain, sizeof plain - 1) == 0;
    for (size_t i = 0; !is_one && i < sizeof refusals / sizeof *refusals; i++)
        is_one = strstr(error, refusals[i]) != NULL;
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
