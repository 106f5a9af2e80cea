#include "analyzer/models/mpi/lockstep.h"

#include "analyzer/models/mpi/sites.h"

/* Index of the place, which is added where it is new; UINT32_MAX: there are too many. */
static uint32_t place_of(struct tg_mpi_lockstep *lockstep, const char *name, uint64_t code)
{
    uint64_t low = tg_mpi_site_low(code);
    for (uint32_t i = 0; i < lockstep->count; i++)
        if (lockstep->places[i].name == name && lockstep->places[i].low == low)
            return i;
    if (lockstep->count == TG_MPI_LOCKSTEP_PLACES) {
        lockstep->is_lost = true;
        return UINT32_MAX;
    }
    lockstep->places[lockstep->count] =
        (struct tg_mpi_lockstep_place){.name = name, .low = low, .class = lockstep->count};
    return lockstep->count++;
}

static void merge(struct tg_mpi_lockstep *lockstep, uint32_t into, uint32_t from)
{
    if (into == from)
        return;
    for (uint32_t i = 0; i < lockstep->count; i++)
        if (lockstep->places[i].class == from)
            lockstep->places[i].class = into;
    lockstep->places[into].whole += lockstep->places[from].whole;
}

bool tg_mpi_lockstep_meet(struct tg_mpi_lockstep *lockstep, uint64_t instance, const char *name,
                          uint64_t code, const char *first_name, uint64_t first_code)
{
    uint32_t place = place_of(lockstep, name, code), first = place_of(lockstep, first_name, first_code);
    if (lockstep->is_lost)
        return false;
    uint32_t class = lockstep->places[place].class, other = lockstep->places[first].class;
    if (class == other)
        return false;
    if (lockstep->places[class].whole == 0 || lockstep->places[other].whole == 0) {
        merge(lockstep, class, other);
        return false;
    }
    if (lockstep->broken != 0)
        return false;
    lockstep->broken = instance;
    lockstep->with[0] = class;
    lockstep->with[1] = other;
    return true;
}

void tg_mpi_lockstep_whole(struct tg_mpi_lockstep *lockstep, uint64_t instance, const char *name,
                           uint64_t code, bool is_one)
{
    uint32_t place = place_of(lockstep, name, code);
    if (lockstep->is_lost || !is_one)
        return;
    uint32_t class = lockstep->places[place].class;
    if (lockstep->places[class].whole < UINT32_MAX / 2)
        lockstep->places[class].whole++;
    bool is_mended = lockstep->broken != 0 && instance > lockstep->broken &&
                     (class == lockstep->with[0] || class == lockstep->with[1]);
    if (is_mended) { /* the program means the classes to meet */
        merge(lockstep, lockstep->with[0], lockstep->with[1]);
        lockstep->broken = 0;
    }
}
