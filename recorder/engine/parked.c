#include "recorder/engine/parked.h"
#include "format/base/hash.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/stop.h"

#include <stdlib.h>

bool tg_parked_add(struct tg_engine *engine, pid_t tid, int status)
{
    struct tg_parked_stop *parked;
    HASH_FIND(hh, engine->parked, &tid, sizeof tid, parked);
    if (parked == NULL && TG_HASH_CREATE(hh, engine->parked, tid, &tid, parked) != NULL)
        return false;
    parked->status = status;
    parked->since_ns = tg_engine_now_ns();
    return true;
}

bool tg_parked_take(struct tg_engine *engine, pid_t tid, int *status)
{
    struct tg_parked_stop *parked;
    HASH_FIND(hh, engine->parked, &tid, sizeof tid, parked);
    if (parked == NULL)
        return false;
    *status = parked->status;
    HASH_DEL(engine->parked, parked);
    free(parked);
    return true;
}

bool tg_parked_has(struct tg_engine *engine, pid_t tid)
{
    struct tg_parked_stop *parked;
    HASH_FIND(hh, engine->parked, &tid, sizeof tid, parked);
    return parked != NULL;
}

pid_t tg_parked_known(struct tg_engine *engine)
{
    for (struct tg_parked_stop *parked = engine->parked; parked != NULL; parked = parked->hh.next)
        if (tg_tracee_find(engine, parked->tid) != NULL)
            return parked->tid;
    return 0;
}
