#include "recorder/record/description.h"

#include "recorder/agent/contract.h"
#include "recorder/record/process_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifndef TG_VERSION
#define TG_VERSION "unknown"
#endif

/* A stop takes about a microsecond at least and its clock is read by the tracer, some 30 ns a reading: finer
 * digits are noise, which would take half of a trace of stops. Events of agents
 * have a finer clock. */
static const uint64_t time_resolution_ns = 64, stop_resolution_ns = 64, agent_resolution_ns = 16;

static const char *const mode_names[] = {
    [TG_FILTER_SLOW] = "slow", [TG_FILTER_MEDIUM] = "medium", [TG_FILTER_FAST] = "fast"};
static const char *const watch_names[] = {[TG_LOADER_AGENT] = "agent",
                                          [TG_LOADER_STOPS] = "stops",
                                          [TG_LOADER_IN_PROCESS] = "in-process",
                                          [TG_LOADER_CATCH_UP] = "catch_up",
                                          [TG_LOADER_NONE] = "none"};

/* By the setting at the beginning, where that decides. */
static const char *watch_name(const struct tg_record_options *options, enum tg_loader_watch watch)
{
    if (watch == TG_LOADER_BY_MODE)
        watch = options->filter.mode == TG_FILTER_MEDIUM ? TG_LOADER_IN_PROCESS : TG_LOADER_STOPS;
    return watch_names[watch];
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct pair {
    const char *key;
    const char *value;
};

struct number {
    const char *key;
    uint64_t value;
};

static struct tg_error *set_pairs(struct tg_trace_meta *meta, const struct pair *pairs, size_t count)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; i < count && error == NULL; i++)
        error = tg_trace_meta_set(meta, pairs[i].key, pairs[i].value);
    return error;
}

static struct tg_error *set_numbers(struct tg_trace_meta *meta, const struct number *numbers, size_t count)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; i < count && error == NULL; i++)
        error = tg_trace_meta_set_number(meta, numbers[i].key, numbers[i].value);
    return error;
}

static struct tg_error *describe_host(struct tg_trace_meta *meta)
{
    struct utsname name;
    uname(&name);
    const struct pair pairs[] = {
        {"tool.version", TG_VERSION},
        {"host.name", name.nodename},
        {"host.kernel", name.release},
        {"host.arch", name.machine},
    };
    const struct number numbers[] = {
        {"host.page_size", (uint64_t)sysconf(_SC_PAGESIZE)},
        {"host.cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)},
        {"start.realtime_ns", clock_ns(CLOCK_REALTIME)},
        {"start.monotonic_ns", clock_ns(CLOCK_MONOTONIC)},
    };
    struct tg_error *error = set_pairs(meta, pairs, sizeof pairs / sizeof pairs[0]);
    return error != NULL ? error : set_numbers(meta, numbers, sizeof numbers / sizeof numbers[0]);
}

/* Cuts off arguments that do not fit: a trace without the end of its command line is better than none. */
static struct tg_error *describe_command(const struct tg_record_options *options, struct tg_trace_meta *meta)
{
    enum { MAX_ARGUMENTS = TG_PROCESS_FACTS_MAX_ARGUMENTS, MAX_BYTES = TG_PROCESS_FACTS_MAX_COMMAND_BYTES };
    struct tg_error *error = NULL;
    size_t bytes = 0;
    for (size_t i = 0; options->command != NULL && options->command[i] != NULL && i < MAX_ARGUMENTS; i++) {
        char key[32];
        bytes += strlen(options->command[i]) + 1;
        if (error != NULL || bytes > MAX_BYTES)
            return error;
        snprintf(key, sizeof key, "command.%zu", i);
        error = tg_trace_meta_set(meta, key, options->command[i]);
    }
    char *directory = getcwd(NULL, 0);
    if (error == NULL && directory != NULL)
        error = tg_trace_meta_set(meta, "command.cwd", directory);
    free(directory);
    return error;
}

static struct tg_error *describe_agent(const struct tg_description *description, struct tg_trace_meta *meta)
{
    uint32_t flags = description->options->agent;
    if (description->agent == NULL)
        return NULL;
    const struct pair pairs[] = {
        {"capture.openmp", flags & TG_AGENT_OPENMP ? "on" : "off"},
        {"capture.mpi", flags & TG_AGENT_MPI ? "on" : "off"},
        {"capture.lossy", flags & TG_AGENT_LOSSY ? "on" : "off"},
    };
    struct tg_error *error = tg_agent_session_describe(description->agent, meta);
    return error != NULL ? error : set_pairs(meta, pairs, sizeof pairs / sizeof pairs[0]);
}

static struct tg_error *describe_capture(const struct tg_description *description, struct tg_trace_meta *meta)
{
    const struct tg_stop_cost *cost = description->cost;
    const struct tg_record_options *options = description->options;
    bool launch = options->command != NULL;
    const struct pair pairs[] = {
        {"capture.dlopen", watch_name(options, launch ? description->launched : options->attached)},
        {"capture.mode", mode_names[options->filter.mode]},
        {"capture.match", tg_glob_list_text(options->filter.list)},
        {"capture.target", launch ? "launch" : "attach"},
    };
    const struct number resolution[] = {
        {"time.resolution_ns", description->agent != NULL ? agent_resolution_ns : time_resolution_ns},
        {"stop.resolution_ns", stop_resolution_ns},
    };
    const struct number numbers[] = {
        {"cost.stop_ns", cost->stop_ns},
        {"cost.tracer_ns", cost->tracer_ns},
        {"cost.samples", cost->samples},
        {"cost.stop_low_ns", cost->stop.low},
        {"cost.stop_high_ns", cost->stop.high},
        {"cost.hidden_low_ns", cost->hidden.low},
        {"cost.hidden_ns", cost->hidden.median},
        {"cost.hidden_high_ns", cost->hidden.high},
        {"cost.sparse_stop_low_ns", cost->sparse_stop.low},
        {"cost.sparse_stop_ns", cost->sparse_stop.median},
        {"cost.sparse_stop_high_ns", cost->sparse_stop.high},
        {"cost.sparse_hidden_low_ns", cost->sparse_hidden.low},
        {"cost.sparse_hidden_ns", cost->sparse_hidden.median},
        {"cost.sparse_hidden_high_ns", cost->sparse_hidden.high},
        {"cost.read_low_ns", cost->read.low},
        {"cost.read_ns", cost->read.median},
        {"cost.read_high_ns", cost->read.high},
        {"cost.together_ns", cost->together_ns},
    };
    struct tg_error *error = set_numbers(meta, resolution, sizeof resolution / sizeof resolution[0]);
    if (error == NULL)
        error = set_pairs(meta, pairs, sizeof pairs / sizeof pairs[0]);
    if (error == NULL)
        error = describe_agent(description, meta);
    if (error == NULL && options->no_ptrace)
        error = tg_trace_meta_set(meta, "capture.ptrace", "off");
    if (error == NULL)
        error = tg_trace_meta_set(meta, "capture.mpir", description->has_mpir ? "on" : "off");
    if (error == NULL && cost->samples > 0)
        error = set_numbers(meta, numbers, sizeof numbers / sizeof numbers[0]);
    return error;
}

struct tg_error *tg_description_add(const struct tg_description *description, struct tg_trace_meta *meta)
{
    struct tg_error *error = describe_host(meta);
    if (error == NULL)
        error = describe_command(description->options, meta);
    return error != NULL ? error : describe_capture(description, meta);
}
