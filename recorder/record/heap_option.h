/* The options --heap and --heap-depth. */
#ifndef TG_RECORDER_RECORD_HEAP_OPTION_H
#define TG_RECORDER_RECORD_HEAP_OPTION_H

#include "format/base/error.h"
#include "recorder/agent/contract.h"

enum { TG_HEAP_OPTION_DEPTH = 32 }; /* where --heap-depth is not given */

/* HOW: "" or events, sample:BYTES, check with red_zones[=behind|before] and red_zones_for=MIN-MAX behind commas; NULL: --heap was
 * not given, and the heap is not observed. DEPTH: a number up to TG_AGENT_HEAP_MAX_DEPTH; NULL: not given. USAGE errors name the
 * option. */
struct tg_error *tg_heap_option_parse(const char *how, const char *depth, struct tg_agent_heap *heap);

#endif
