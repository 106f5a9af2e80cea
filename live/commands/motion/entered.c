#include "live/commands/motion/entered.h"

#include <stdlib.h>

struct entered {
    bool is_set;
    size_t worker; /* index */
    uint64_t last_ns;
};

static struct tg_error *create(struct tg_console *console, void **state)
{
    (void)console;
    *state = calloc(1, sizeof(struct entered));
    return *state == NULL ? tg_error_no_memory() : NULL;
}

const struct tg_console_state_kind tg_entered_kind = {.create = create, .destroy = free};

void tg_entered_note(const struct tg_console *console, enum tg_zone_target target,
                     const struct tg_openmp_worker *worker)
{
    struct entered *entered = tg_console_state(console, &tg_entered_kind);
    const struct tg_openmp_place *place =
        worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
    bool is_inside = place != NULL && target != TG_TARGET_PARALLEL && target != TG_TARGET_TASK &&
                     ((place->kind == TG_OPENMP_IN_ZONE && place->what != TG_OMP_ZONE_SECTIONS) ||
                      place->kind == TG_OPENMP_IN_SYNC);
    *entered = (struct entered){is_inside, worker->index, worker->last_ns};
}

bool tg_entered_take(const struct tg_console *console, const struct tg_openmp_worker *worker)
{
    struct entered *entered = tg_console_state(console, &tg_entered_kind);
    bool is_it = entered->is_set && worker != NULL && worker->index == entered->worker &&
                 worker->last_ns == entered->last_ns;
    entered->is_set = false;
    return is_it;
}
