#include "recorder/look/shared.h"

#include "recorder/engine/engine.h"
#include "recorder/look/telling.h"

#include <stdlib.h>

enum { MAX_DEBUG_INFOS = 256 };

struct tg_error *tg_look_shared_init(const struct tg_look_sink *sink, bool with_values,
                                     struct tg_look_shared *look)
{
    *look = (struct tg_look_shared){.sink = sink, .with_values = with_values};
    struct tg_error *error = tg_image_cache_create(0, &look->images);
    if (error == NULL)
        error = tg_debug_cache_create(MAX_DEBUG_INFOS, &look->debug);
    if (error == NULL)
        error = tg_code_table_create(&look->table);
    look->kept = tg_kept_arguments_create();
    return error;
}

void tg_look_shared_deinit(struct tg_look_shared *look)
{
    free(look->waits);
    free(look->pids);
    free(look->rehearsed);
    tg_kept_arguments_destroy(look->kept);
    tg_code_table_destroy(look->table);
    tg_debug_cache_destroy(look->debug);
    tg_image_cache_destroy(look->images);
}

static void take_name(void *context, const struct tg_event *event)
{
    const struct tg_look_sink *sink = context;
    sink->add(sink->context, event);
}

void tg_look_shared_tell(const struct tg_look_shared *look, uint64_t names_ns)
{
    tg_look_tell_waits(look->sink, look->waits, look->n_waits, look->pids, look->n_pids);
    tg_code_table_tell(look->table, tg_engine_now_ns() + names_ns, false, take_name, (void *)look->sink);
}
