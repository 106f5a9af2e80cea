#include "recorder/record/processor_use.h"

#include <stdio.h>

bool tg_processor_use_read(struct tg_event_tracer_wait *use)
{
    unsigned long long ran_ns, waited_ns;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    bool known = file != NULL && fscanf(file, "%llu %llu", &ran_ns, &waited_ns) == 2;
    if (file != NULL)
        fclose(file);
    if (known)
        *use = (struct tg_event_tracer_wait){.waited_ns = waited_ns, .ran_ns = ran_ns};
    return known;
}

void tg_processor_use_tell(struct tg_engine *engine, const struct tg_event_tracer_wait *before)
{
    struct tg_event event = {.kind = TG_EVENT_TRACER_WAIT};
    if (!tg_processor_use_read(&event.tracer_wait))
        return;
    event.tracer_wait.waited_ns -= before->waited_ns;
    event.tracer_wait.ran_ns -= before->ran_ns;
    tg_engine_emit(engine, NULL, &event);
}
