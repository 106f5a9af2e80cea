#include "analyzer/filter/cost.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t saturated_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add(struct tg_cost *cost, struct tg_quartiles ns)
{
    cost->ns = saturated_add(cost->ns, ns.median);
    cost->low_ns = saturated_add(cost->low_ns, ns.low);
    cost->high_ns = saturated_add(cost->high_ns, ns.high);
    cost->ceiling_ns = saturated_add(cost->ceiling_ns, ns.high);
}

static void estimate(struct tg_cost *cost, struct tg_quartiles ns)
{
    add(cost, ns);
    cost->estimated_ns = saturated_add(cost->estimated_ns, ns.median);
    cost->open_ns = saturated_add(cost->open_ns, ns.median);
}

/* What was measured once, of a thing that the kernel chooses processors for anew in each run: an eighth more and less. */
static struct tg_quartiles widened(struct tg_quartiles ns)
{
    uint64_t eighth = ns.median / 8;
    return (struct tg_quartiles){ns.low > eighth ? ns.low - eighth : 0, ns.median,
                                 saturated_add(ns.high, eighth)};
}

/* What never was in the recording, at its PRICE. */
static void add_priced(struct tg_cost *cost, struct tg_quartiles price)
{
    price = widened(price);
    estimate(cost, price);
    cost->priced_ns = saturated_add(cost->priced_ns, price.median);
}

void tg_cost_add_ns(uint64_t ns, struct tg_cost *cost)
{
    add(cost, (struct tg_quartiles){ns, ns, ns});
}

void tg_cost_add_agent(uint64_t ns, uint64_t libraries, struct tg_cost *cost)
{
    enum { CALL_NS = 20000, LIBRARY_NS = 10000 }; /* ten times what either takes */
    uint64_t most_ns =
        libraries < UINT64_MAX / LIBRARY_NS / 2 ? CALL_NS + LIBRARY_NS * libraries : UINT64_MAX;
    uint64_t worked_ns = ns < most_ns ? ns : most_ns;
    add(cost, (struct tg_quartiles){worked_ns, worked_ns, worked_ns});
    estimate(cost, (struct tg_quartiles){0, worked_ns / 2, ns});
}

/* On a busy machine the time may have been too short to measure stops that are far apart: they take up to twice as long as
 * CLOSE ones. SPARSE is what was measured of them. */
static struct tg_quartiles far_apart(const struct tg_stop_cost *floor, struct tg_quartiles sparse,
                                     struct tg_quartiles close)
{
    if (floor->sparse_stop.high > 0)
        return sparse;
    return (struct tg_quartiles){close.low, close.median, saturated_add(close.high, close.high)};
}

static struct tg_quartiles sparse_stop(const struct tg_stop_cost *floor)
{
    return far_apart(floor, floor->sparse_stop, floor->stop);
}

struct tg_quartiles tg_cost_hidden_ns(const struct tg_cost_basis *basis, bool sparse)
{
    const struct tg_stop_cost *floor = &basis->floor;
    if (basis->floor_source == TG_COST_FLOOR_NONE)
        return (struct tg_quartiles){0};
    if (floor->stop.high > 0) /* else a trace that has no quartiles */
        return sparse ? far_apart(floor, floor->sparse_hidden, floor->hidden) : floor->hidden;
    uint64_t ns = floor->stop_ns > floor->tracer_ns ? floor->stop_ns - floor->tracer_ns : 0;
    return (struct tg_quartiles){ns, ns, ns};
}

static uint64_t scale(uint64_t ns, uint64_t part, uint64_t whole)
{
    double scaled = (double)ns * (double)part / (double)whole;
    return scaled < (double)UINT64_MAX / 4 ? (uint64_t)scaled : UINT64_MAX / 4;
}

/* A sixth of what reading libraries takes is taken by telling of them besides. */
static uint64_t with_telling(uint64_t ns)
{
    return saturated_add(ns, ns / 6);
}

void tg_cost_add_reading(const struct tg_cost_basis *basis, uint64_t together_ns,
                         const struct tg_cost_singly *singly, struct tg_cost *cost)
{
    add(cost, (struct tg_quartiles){together_ns, with_telling(together_ns),
                                    saturated_add(together_ns, together_ns / 4)});
    if (basis->floor_source != TG_COST_FLOOR_NONE && basis->floor.together_ns > 0 && singly->ns > 0) {
        uint64_t ns = scale(with_telling(basis->floor.together_ns), singly->count, 1);
        add_priced(cost, (struct tg_quartiles){ns, ns, ns});
    } else {
        estimate(cost, (struct tg_quartiles){singly->ns, scale(singly->ns, 2, 1), scale(singly->ns, 3, 1)});
    }
}

bool tg_cost_has_price(const struct tg_cost_basis *basis)
{
    return basis->floor_source != TG_COST_FLOOR_NONE && basis->floor.read.high > 0;
}

/* Where nothing was measured, both paces are possible. */
static struct tg_quartiles whole_stop(const struct tg_stop_cost *floor)
{
    if (floor->stop.high == 0)
        return (struct tg_quartiles){floor->stop_ns, floor->stop_ns, floor->stop_ns};
    uint64_t high_ns = sparse_stop(floor).high;
    return (struct tg_quartiles){floor->stop.low, floor->stop_ns,
                                 high_ns > floor->stop.high ? high_ns : floor->stop.high};
}

/* The part of a stop that a tracer cannot see: the way to it, and from the one before. */
static void add_hidden(const struct tg_cost_basis *basis, const struct tg_pace *pace, struct tg_cost *cost)
{
    uint64_t ceiling_ns = saturated_add(cost->ceiling_ns, pace->gap_ns), open_ns = cost->open_ns;
    estimate(cost, tg_cost_hidden_ns(basis, pace->sparse));
    cost->ceiling_ns = ceiling_ns;
    cost->open_ns = open_ns;
}

void tg_cost_add_stop(const struct tg_cost_basis *basis, uint64_t stop_ns, const struct tg_pace *pace,
                      struct tg_cost *cost)
{
    const struct tg_stop_cost *floor = &basis->floor;
    bool sparse = pace->sparse;
    if (stop_ns > 0) {
        tg_cost_add_ns(stop_ns, cost);
        add_hidden(basis, pace, cost);
    } else if (tg_cost_has_price(basis)) {
        add_priced(cost, sparse ? sparse_stop(floor) : floor->stop);
    } else if (basis->floor_source != TG_COST_FLOOR_NONE) {
        estimate(cost, whole_stop(floor));
        cost->modelled_ns = saturated_add(cost->modelled_ns, floor->stop_ns);
    } else {
        cost->unknown_stops++;
    }
}

void tg_cost_add_unread(const struct tg_cost_basis *basis, uint64_t count, bool together,
                        struct tg_cost *cost)
{
    enum { TOGETHER = 6 }; /* at most so many times as long each */
    const struct tg_quartiles *read = &basis->floor.read;
    uint64_t found_ns = together ? with_telling(basis->floor.together_ns) : 0;
    if (!tg_cost_has_price(basis)) {
        cost->unknown_readings = saturated_add(cost->unknown_readings, count);
        return;
    }
    struct tg_quartiles each = {read->low, read->median,
                                together ? scale(read->high, TOGETHER, 1) : read->high};
    if (found_ns > 0)
        each = (struct tg_quartiles){found_ns, found_ns, found_ns};
    add_priced(cost, (struct tg_quartiles){scale(each.low, count, 1), scale(each.median, count, 1),
                                           scale(each.high, count, 1)});
}

/* Half and twice as much as the mean. */
static struct tg_quartiles by_mean(const struct tg_cost_handling *measured, uint64_t count)
{
    uint64_t ns = scale(measured->ns, count, measured->of.count);
    return (struct tg_quartiles){ns / 2, ns, ns * 2};
}

/* Smaller libraries than those measured take at most as long each, and larger ones at least. */
static struct tg_quartiles by_size(const struct tg_cost_handling *measured,
                                   const struct tg_cost_libraries *libraries)
{
    uint64_t each = scale(measured->ns, libraries->count, measured->of.count);
    uint64_t sized = scale(measured->ns, libraries->bytes, measured->of.bytes);
    return sized < each ? (struct tg_quartiles){sized / 2, sized, each}
                        : (struct tg_quartiles){each / 2, sized, sized * 2};
}

void tg_cost_add_handling(const struct tg_cost_basis *basis, const struct tg_cost_libraries *libraries,
                          struct tg_cost *cost)
{
    enum { MANY = 32 };
    const struct tg_cost_handling *measured =
        basis->dlopened.of.count > 0 ? &basis->dlopened : &basis->others;
    if (measured->of.count > 0 &&
        (basis->dlopened.of.count >= MANY || measured->of.bytes == 0 || libraries->bytes == 0))
        estimate(cost, by_mean(measured, libraries->count));
    else if (measured->of.count > 0)
        estimate(cost, by_size(measured, libraries));
    else if (!basis->no_search)
        cost->unknown_handles = saturated_add(cost->unknown_handles, libraries->count);
}

/* The part of PRICED_NS that the tracer works for in any case. */
static uint64_t own_work(const struct tg_cost_basis *basis, uint64_t priced_ns)
{
    const struct tg_stop_cost *floor = &basis->floor;
    return floor->stop_ns > 0 && floor->tracer_ns < floor->stop_ns
               ? scale(priced_ns, floor->tracer_ns, floor->stop_ns)
               : priced_ns;
}

static void lower_to(uint64_t ceiling_ns, uint64_t *ns)
{
    *ns = *ns < ceiling_ns ? *ns : ceiling_ns;
}

/* Where the tracer shares a processor with the job and looks for the next stop, it waits while the job runs: LOOKED_NS of its
 * waiting are nobody's loss. The share of the rest goes by time; the job's thread, which is resumed on the same machine, waits
 * about as long. Where that is much, the machine was as busy when the price of a stop was measured: what was not measured in
 * the trace itself is no lower bound. What lies between stops is the most that they can hide. */
void tg_cost_add_waiting(const struct tg_cost_basis *basis, uint64_t looked_ns, struct tg_cost *cost)
{
    uint64_t waited_ns = basis->waited_ns > looked_ns ? basis->waited_ns - looked_ns : 0;
    uint64_t measured_ns = cost->ns - cost->estimated_ns + own_work(basis, cost->priced_ns);
    double share = basis->stop_ns > 0 ? (double)cost->ns / (double)basis->stop_ns : 0;
    double ns = 2 * (double)waited_ns * (share < 1 ? share : 1);
    cost->high_ns = saturated_add(cost->high_ns, ns < (double)UINT64_MAX / 4 ? (uint64_t)ns : UINT64_MAX / 4);
    if (ns > (double)cost->ns / 10 && measured_ns < cost->low_ns)
        cost->low_ns = measured_ns;
    if (cost->open_ns > cost->ns / 10)
        return;
    lower_to(cost->ceiling_ns, &cost->high_ns);
    lower_to(cost->ceiling_ns, &cost->ns);
    lower_to(cost->ceiling_ns, &cost->low_ns);
    if (cost->estimated_ns > cost->ns)
        cost->estimated_ns = cost->ns;
}

void tg_cost_subtract(uint64_t done_ns, struct tg_cost *cost)
{
    cost->ns -= done_ns < cost->ns ? done_ns : cost->ns;
    cost->low_ns -= done_ns < cost->low_ns ? done_ns : cost->low_ns;
    cost->high_ns -= done_ns < cost->high_ns ? done_ns : cost->high_ns;
    cost->ceiling_ns -= done_ns < cost->ceiling_ns ? done_ns : cost->ceiling_ns;
    if (cost->estimated_ns > cost->ns)
        cost->estimated_ns = cost->ns;
    if (cost->modelled_ns > cost->estimated_ns)
        cost->modelled_ns = cost->estimated_ns;
    if (cost->priced_ns > cost->estimated_ns)
        cost->priced_ns = cost->estimated_ns;
}

void tg_cost_add(const struct tg_cost *other, struct tg_cost *cost)
{
    uint64_t ceiling_ns = saturated_add(cost->ceiling_ns, other->ceiling_ns);
    add(cost, (struct tg_quartiles){other->low_ns, other->ns, other->high_ns});
    cost->ceiling_ns = ceiling_ns;
    cost->open_ns = saturated_add(cost->open_ns, other->open_ns);
    cost->estimated_ns = saturated_add(cost->estimated_ns, other->estimated_ns);
    cost->modelled_ns = saturated_add(cost->modelled_ns, other->modelled_ns);
    cost->priced_ns = saturated_add(cost->priced_ns, other->priced_ns);
    cost->unknown_stops = saturated_add(cost->unknown_stops, other->unknown_stops);
    cost->unknown_handles = saturated_add(cost->unknown_handles, other->unknown_handles);
    cost->unknown_readings = saturated_add(cost->unknown_readings, other->unknown_readings);
}

bool tg_cost_is_known(const struct tg_cost *cost)
{
    return cost->unknown_stops == 0;
}

enum tg_cost_claim tg_cost_claim(const struct tg_cost *cost)
{
    if (cost->is_partial || cost->unknown_stops > 0 || cost->unknown_handles > 0 ||
        cost->unknown_readings > 0 || cost->modelled_ns > cost->ns / 10)
        return TG_COST_UNKNOWN;
    uint64_t tenth = cost->ns / 10;
    bool is_range =
        cost->priced_ns > tenth || cost->low_ns + tenth < cost->ns || cost->high_ns > cost->ns + tenth;
    return is_range ? TG_COST_RANGE : TG_COST_FIGURE;
}

/* ---- in words */

enum { SHORT_TEXT = 64 };

/* "3.1 us (2.9 to 3.6)" */
static const char *words(struct tg_quartiles ns, char text[SHORT_TEXT])
{
    int used = snprintf(text, SHORT_TEXT, "%.1f us", (double)ns.median / 1e3);
    if (ns.low != ns.high)
        snprintf(text + used, SHORT_TEXT - (size_t)used, " (%.1f to %.1f)", (double)ns.low / 1e3,
                 (double)ns.high / 1e3);
    return text;
}

static const char *origin(const struct tg_cost_basis *basis)
{
    if (basis->floor_source != TG_COST_FLOOR_RECORDED)
        return "calibrated on this machine now";
    return basis->floor_is_of_end ? "measured when recording ended" : "measured when recording began";
}

static void describe_priced(const struct tg_cost_basis *basis, char *buffer, size_t size)
{
    char close[SHORT_TEXT], sparse[SHORT_TEXT], read[SHORT_TEXT];
    const struct tg_stop_cost *floor = &basis->floor;
    snprintf(buffer, size,
             "no loader stop was measured in the trace; a stop is taken to cost %s%s%s, and %s more for each "
             "library to read (%s, %" PRIu64 " samples)",
             words(floor->stop, close), floor->sparse_stop.high > 0 ? ", where stops are far apart " : "",
             floor->sparse_stop.high > 0 ? words(floor->sparse_stop, sparse) : "", words(floor->read, read),
             origin(basis), floor->samples);
}

static void describe_unmeasured(const struct tg_cost_basis *basis, char *buffer, size_t size)
{
    char close[SHORT_TEXT], sparse[SHORT_TEXT];
    const struct tg_stop_cost *floor = &basis->floor;
    bool has_spread = floor->stop.high > 0;
    struct tg_quartiles one = {floor->stop_ns, floor->stop_ns, floor->stop_ns};
    if (tg_cost_has_price(basis)) {
        describe_priced(basis, buffer, size);
        return;
    }
    snprintf(
        buffer, size,
        "not claimed, for no loader stop was measured in the trace; a stop alone takes %s%s%s (%s, %" PRIu64
        " samples); --mode slow records their times",
        words(has_spread ? floor->stop : one, close), has_spread ? ", and where stops are far apart " : "",
        has_spread ? words(sparse_stop(floor), sparse) : "", origin(basis), floor->samples);
}

static void describe_measured(const struct tg_cost_basis *basis, char *buffer, size_t size)
{
    char close[SHORT_TEXT], sparse[SHORT_TEXT], others[100] = "", busy[100] = "";
    bool has_spread = basis->floor.stop.high > 0;
    if (basis->unmeasured_stops > 0)
        snprintf(others, sizeof others, "; %" PRIu64 " events without one at %.1f us each",
                 basis->unmeasured_stops, (double)basis->floor.stop_ns / 1e3);
    if (basis->waited_ns > basis->stop_ns / 20)
        snprintf(busy, sizeof busy, "; the machine was busy: the tracer waited %.1f ms for a processor",
                 (double)basis->waited_ns / 1e6);
    snprintf(buffer, size,
             "the trace's own %" PRIu64 " loader stops, plus %s a stop%s%s that a tracer cannot see (%s)%s%s",
             basis->measured_stops, words(tg_cost_hidden_ns(basis, false), close),
             has_spread ? ", or where stops are far apart " : "",
             has_spread ? words(tg_cost_hidden_ns(basis, true), sparse) : "", origin(basis), others, busy);
}

void tg_cost_describe(const struct tg_cost_basis *basis, char *buffer, size_t size)
{
    if (basis->floor_source != TG_COST_FLOOR_NONE && basis->measured_stops == 0 &&
        basis->unmeasured_stops > 0)
        describe_unmeasured(basis, buffer, size);
    else if (basis->floor_source != TG_COST_FLOOR_NONE)
        describe_measured(basis, buffer, size);
    else if (basis->unmeasured_stops > 0)
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
}
