/* The description of a recording: the beginning of its trace. */
#ifndef TG_RECORDER_RECORD_DESCRIPTION_H
#define TG_RECORDER_RECORD_DESCRIPTION_H

#include "format/settings/command.h"
#include "format/trace/meta.h"
#include "recorder/record/options.h"
#include "recorder/rings/agent_connection.h"

#include <stdbool.h>

struct tg_description {
    const struct tg_record_options *options;
    enum tg_loader_watch
        launched; /* how loads of a launched program are seen: as OPTIONS say, or instead of that */
    const struct tg_agent_session *agent; /* NULL none */
    bool has_mpir;
    const struct tg_stop_cost *cost; /* without samples: not measured */
};

/* Adds host, command and what is captured to META (docs/trace-format.md). */
struct tg_error *tg_description_add(const struct tg_description *description, struct tg_trace_meta *meta);

#endif
