/* GCC's libgomp, and what has its entry points, as a back end: by standing between it and the program. */
#ifndef TG_RECORDER_AGENT_GOMP_BACKEND_H
#define TG_RECORDER_AGENT_GOMP_BACKEND_H

#include "recorder/agent/openmp.h"

extern const struct tg_openmp_backend tg_gomp_backend;

#endif
