/* Metadata of a trace: host, kernel, tool, command, clocks, settings. */
#ifndef TG_FORMAT_TRACE_META_H
#define TG_FORMAT_TRACE_META_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text keys with text values, in insertion order, stored in the trace's first section. Keys that the recorder
 * writes: tool.version  host.name  host.kernel  host.arch  host.page_size  host.cpus command.N (arguments
 * from 0)  command.cwd  start.realtime_ns  start.monotonic_ns  (the clock relation) time.resolution_ns
 * stop.resolution_ns capture.dlopen capture.mode  capture.match  capture.target ("launch" or "attach")
 * cost.stop_ns cost.tracer_ns cost.samples, and quartiles cost.[sparse_]stop_{low,high}_ns,
 * cost.[sparse_]hidden_{low,,high}_ns, cost.read_{low,,high}_ns, cost.together_ns and cost.sparse_stop_ns  (struct tg_stop_cost
 * measured when recording began; 0 where the loader stops nothing)
 * and, where an agent was used, agent.directory (where its rings are while the recording lasts) clock.source
 * ("tsc" or "monotonic": what agents read) clock.ticks_per_second (as measured when recording began)
 * capture.openmp capture.mpi capture.lossy ("on" or "off"); capture.ptrace "off" where it was not used; redacted ("on" where
 * names were replaced) */
struct tg_trace_meta;

/* Limits, the same for writing and reading; a LIMIT error of the setters names them. Keys are not empty. */
enum {
    TG_TRACE_META_MAX_COUNT = 1 << 16,
    TG_TRACE_META_MAX_KEY = 255,
    TG_TRACE_META_MAX_VALUE = 1 << 20,
    TG_TRACE_META_MAX_TOTAL = 8 << 20, /* keys and values with their end NULs */
};

struct tg_error *tg_trace_meta_create(struct tg_trace_meta **meta);
void tg_trace_meta_destroy(struct tg_trace_meta *meta);

/* Adds KEY or replaces its value; copies both. */
struct tg_error *tg_trace_meta_set(struct tg_trace_meta *meta, const char *key, const char *value);
struct tg_error *tg_trace_meta_set_number(struct tg_trace_meta *meta, const char *key, uint64_t value);

/* NULL where KEY is not there; valid until META changes. */
const char *tg_trace_meta_get(const struct tg_trace_meta *meta, const char *key);
/* FALLBACK where KEY is not there or is no decimal number. */
uint64_t tg_trace_meta_get_number(const struct tg_trace_meta *meta, const char *key, uint64_t fallback);
/* Whether the trace was recorded without ptrace. */
bool tg_trace_meta_is_untraced(const struct tg_trace_meta *meta);

size_t tg_trace_meta_count(const struct tg_trace_meta *meta);
/* For I in [0, count). */
const char *tg_trace_meta_key_at(const struct tg_trace_meta *meta, size_t i);
const char *tg_trace_meta_value_at(const struct tg_trace_meta *meta, size_t i);

/* Units of times and of the lengths of stops in the trace: binary logarithms of nanoseconds. */
struct tg_trace_units {
    unsigned time_shift;
    unsigned stop_shift; /* not less */
};

/* As time.resolution_ns (0 where it is not there: one nanosecond) and stop.resolution_ns (as that of times)
 * say. USAGE error where one is not a power of two in [1, 1 << TG_TRACE_META_MAX_TIME_SHIFT], or that of
 * stops the smaller one. */
struct tg_error *tg_trace_meta_units(const struct tg_trace_meta *meta, struct tg_trace_units *units);
enum { TG_TRACE_META_MAX_TIME_SHIFT = 20 };

#endif
