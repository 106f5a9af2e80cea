/* The engine of a recording, with the observers that the options ask for. */
#ifndef TG_RECORDER_RECORD_RECORDING_TRACER_H
#define TG_RECORDER_RECORD_RECORDING_TRACER_H

#include "format/base/error.h"

struct tg_recording;

/* The observers are added in the order in which they are told of a stop. The agent is there, if there is to be one. What was made
 * belongs to the recording, also after an error. Errors: those of each part. */
struct tg_error *tg_recording_create_tracer(struct tg_recording *recording);

#endif
