#include "live/commands/inspect/frame_choice.h"

#include "format/base/array.h"

#include <stdlib.h>

struct choice {
    pid_t tid;
    uint64_t stop; /* number of the thread's stop in which it was made */
    unsigned level;
};

struct tg_frame_choices {
    struct choice *all;
    size_t count;
};

static struct tg_error *create(struct tg_console *console, void **state)
{
    (void)console;
    *state = calloc(1, sizeof(struct tg_frame_choices));
    return *state == NULL ? tg_error_no_memory() : NULL;
}

static void destroy(void *state)
{
    struct tg_frame_choices *choices = state;
    if (choices != NULL)
        free(choices->all);
    free(choices);
}

const struct tg_console_state_kind tg_frame_choices_kind = {
    .is_live = true, .create = create, .destroy = destroy};

static struct choice *find(const struct tg_frame_choices *choices, const struct tg_thread *thread)
{
    for (size_t i = 0; i < choices->count; i++)
        if (choices->all[i].tid == thread->tid)
            return &choices->all[i];
    return NULL;
}

unsigned tg_frame_choices_level(const struct tg_frame_choices *choices, struct tg_thread *thread)
{
    const struct choice *choice = find(choices, thread);
    return choice != NULL && choice->stop == tg_thread_stop_number(thread) ? choice->level : 0;
}

struct tg_error *tg_frame_choices_set(struct tg_frame_choices *choices, struct tg_thread *thread,
                                      unsigned level)
{
    struct choice *choice = find(choices, thread);
    const struct choice made = {.tid = thread->tid, .stop = tg_thread_stop_number(thread), .level = level};
    if (choice == NULL)
        return TG_ARRAY_APPEND_EXACT(choices->all, choices->count, made);
    *choice = made;
    return NULL;
}
