#include "analyzer/filter/cost.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t saturated_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_ns(struct tg_cost *cost, uint64_t ns, bool estimated)
{
    cost->ns = saturated_add(cost->ns, ns);
    if (estimated)
        cost->estimated_ns = saturated_add(cost->estimated_ns, ns);
}

uint64_t tg_cost_hidden_ns(const struct tg_cost_basis *basis)
{
    if (basis->floor_source == TG_COST_FLOOR_NONE || basis->floor.stop_ns <= basis->floor.tracer_ns)
        return 0;
    return basis->floor.stop_ns - basis->floor.tracer_ns;
}

void tg_cost_add_stop(const struct tg_cost_basis *basis, uint64_t stop_ns, struct tg_cost *cost)
{
    if (stop_ns > 0) {
        add_ns(cost, stop_ns, false);
        add_ns(cost, tg_cost_hidden_ns(basis), true);
    } else if (basis->floor_source != TG_COST_FLOOR_NONE) {
        add_ns(cost, basis->floor.stop_ns, true);
    } else {
        cost->unknown_stops++;
    }
}

void tg_cost_add_handling(const struct tg_cost_basis *basis, uint64_t handle_ns, uint64_t libraries,
                          struct tg_cost *cost)
{
    if (handle_ns > 0) {
        add_ns(cost, handle_ns, false);
    } else if (basis->handled_libraries > 0) {
        double mean = (double)basis->handle_ns / (double)basis->handled_libraries;
        double ns = mean * (double)libraries;
        add_ns(cost, ns < (double)UINT64_MAX / 2 ? (uint64_t)ns : UINT64_MAX / 2, true);
    } else {
        cost->unknown_handles = saturated_add(cost->unknown_handles, libraries);
    }
}

void tg_cost_subtract(uint64_t done_ns, struct tg_cost *cost)
{
    cost->ns -= done_ns < cost->ns ? done_ns : cost->ns;
    if (cost->estimated_ns > cost->ns)
        cost->estimated_ns = cost->ns;
}

void tg_cost_add(const struct tg_cost *other, struct tg_cost *cost)
{
    cost->ns = saturated_add(cost->ns, other->ns);
    cost->estimated_ns = saturated_add(cost->estimated_ns, other->estimated_ns);
    cost->unknown_stops = saturated_add(cost->unknown_stops, other->unknown_stops);
    cost->unknown_handles = saturated_add(cost->unknown_handles, other->unknown_handles);
}

bool tg_cost_is_known(const struct tg_cost *cost)
{
    return cost->unknown_stops == 0;
}

void tg_cost_describe(const struct tg_cost_basis *basis, char *buffer, size_t size)
{
    const char *where = basis->floor_source == TG_COST_FLOOR_RECORDED ? "measured when recording began"
                                                                      : "calibrated on this machine now";
    double floor_us = (double)basis->floor.stop_ns / 1e3;
    double hidden_us = (double)tg_cost_hidden_ns(basis) / 1e3;
    if (basis->floor_source == TG_COST_FLOOR_NONE) {
        if (basis->unmeasured_stops > 0)
            snprintf(buffer, size,
                     "%" PRIu64
                     " events were recorded without a stop, and the trace does not record the cost of a "
                     "stop; --calibrate measures it on this machine",
                     basis->unmeasured_stops);
        else
            snprintf(buffer, size,
                     "the trace's own %" PRIu64 " loader stops, without the part that a tracer cannot see "
                     "(--calibrate adds it)",
                     basis->measured_stops);
        return;
    }
    if (basis->unmeasured_stops == 0)
        snprintf(buffer, size,
                 "the trace's own %" PRIu64
                 " loader stops, plus %.1f us a stop that a tracer cannot see (%s)",
                 basis->measured_stops, hidden_us, where);
    else if (basis->measured_stops == 0)
        snprintf(buffer, size, "no stop was measured in the trace: %.1f us a stop (%s, %" PRIu64 " samples)",
                 floor_us, where, basis->floor.samples);
    else
        snprintf(buffer, size,
                 "the trace's own %" PRIu64 " loader stops plus %.1f us each that a tracer cannot see, and "
                 "%.1f us for each of %" PRIu64 " events without one (%s)",
                 basis->measured_stops, hidden_us, floor_us, basis->unmeasured_stops, where);
}
