#include "recorder/agent/calls/backends.h"

#include "recorder/agent/gomp/backend.h"
#include "recorder/agent/ompt/ompt.h"

static const struct tg_openmp_backend *const backends[] = {&tg_ompt_backend, &tg_gomp_backend};
enum { N_BACKENDS = sizeof backends / sizeof *backends };

void tg_backends_before_load(int flags)
{
    for (unsigned i = 0; i < N_BACKENDS; i++)
        if (backends[i]->before_load != NULL)
            backends[i]->before_load(flags);
}

void tg_backends_after_load(void)
{
    for (unsigned i = 0; i < N_BACKENDS; i++)
        if (backends[i]->after_load != NULL)
            backends[i]->after_load();
}

void tg_backends_before_sealing(void)
{
    for (unsigned i = 0; i < N_BACKENDS; i++)
        if (backends[i]->before_sealing != NULL)
            backends[i]->before_sealing();
}
