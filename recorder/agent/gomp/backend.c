#include "recorder/agent/gomp/backend.h"

#include "recorder/agent/gomp/gomp.h"

#include <dlfcn.h>

static void before_load(int flags)
{
    if ((flags & RTLD_DEEPBIND) != 0)
        tg_gomp_mutex_pass_by();
}

const struct tg_openmp_backend tg_gomp_backend = {.before_load = before_load,
                                                  .before_sealing = tg_gomp_prepare};
