/* The callbacks of an OpenMP runtime, made records of: OpenMP as its runtime tells it through OMPT. */
#ifndef TG_RECORDER_AGENT_OMPT_EVENTS_H
#define TG_RECORDER_AGENT_OMPT_EVENTS_H

#include "recorder/agent/ompt/words.h"

struct tg_ompt_event {
    enum tg_ompt_callback callback;
    tg_ompt_function function;
};

/* Callbacks that the agent registers; a NULL function ends the list. */
extern const struct tg_ompt_event tg_ompt_events[];

#endif
