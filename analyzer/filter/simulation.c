#include "analyzer/filter/simulation.h"

#include "format/base/array.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

void tg_timeline_deinit(struct tg_timeline *timeline)
{
    free(timeline->requests);
    *timeline = (struct tg_timeline){0};
}

struct tg_error *tg_timeline_append(struct tg_timeline *timeline, const struct tg_timeline_request *request)
{
    return TG_ARRAY_APPEND(timeline->requests, timeline->count, timeline->capacity, *request);
}

/* A moment of a process or client. Heaps are ordered by time, then by index, so that runs are repeatable. */
struct moment {
    uint64_t time_ns;
    uint32_t index;
    uint32_t next_request; /* processes only */
};

struct simulation {
    const struct tg_timeline *timelines;
    size_t n_timelines;
    struct moment *arrivals; /* heap: next arrival of each process at a client */
    size_t n_arrivals;
    struct moment *clients; /* heap: when each client is free */
    size_t n_clients;
    uint64_t *starts; /* ring: when the requests that may still be waiting get served, ascending */
    size_t first_start, n_starts, starts_capacity;
};

static bool earlier(const struct moment *a, const struct moment *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->index < b->index;
}

static void sift_down(struct moment *heap, size_t count, size_t place)
{
    struct moment item = heap[place];
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= count)
            break;
        if (child + 1 < count && earlier(&heap[child + 1], &heap[child]))
            child++;
        if (!earlier(&heap[child], &item))
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = item;
}

static void make_heap(struct moment *heap, size_t count)
{
    for (size_t place = count / 2; place > 0; place--)
        sift_down(heap, count, place - 1);
}

static uint64_t saturated_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static const struct tg_timeline *timeline_of(const struct simulation *simulation, uint32_t process)
{
    return &simulation->timelines[process % simulation->n_timelines];
}

static uint64_t tail_end(const struct tg_timeline *timeline, uint64_t from_ns)
{
    return saturated_add(from_ns, saturated_add(timeline->tail_run_ns, timeline->tail_overhead_ns));
}

static uint64_t native_of(const struct tg_timeline *timeline)
{
    uint64_t ns = timeline->tail_run_ns;
    for (size_t i = 0; i < timeline->count; i++)
        ns = saturated_add(ns, timeline->requests[i].run_ns);
    return ns;
}

static struct tg_error *check_limits(const struct tg_timeline *timelines, size_t n,
                                     const struct tg_simulation_options *options)
{
    if (options->processes == 0 || options->processes > TG_SIMULATION_MAX_PROCESSES)
        return tg_error_create(TG_ERROR_LIMIT, "--processes must be from 1 to %d",
                               TG_SIMULATION_MAX_PROCESSES);
    if (options->clients == 0 || options->clients > TG_SIMULATION_MAX_CLIENTS)
        return tg_error_create(TG_ERROR_LIMIT, "--clients must be from 1 to %d", TG_SIMULATION_MAX_CLIENTS);
    double requests = 0;
    for (size_t i = 0; i < n && i < options->processes; i++)
        requests += (double)timelines[i].count * (double)((options->processes - 1 - i) / n + 1);
    if (requests > (double)TG_SIMULATION_MAX_REQUESTS)
        return tg_error_create(TG_ERROR_LIMIT,
                               "too many requests to simulate: %.3g (limit %.3g); use fewer --processes",
                               requests, (double)TG_SIMULATION_MAX_REQUESTS);
    return NULL;
}

/* Starts every process with its first request; a process without requests ends at once. */
static void start_processes(struct simulation *simulation, uint64_t processes,
                            struct tg_simulation_result *result)
{
    for (uint64_t i = 0; i < processes; i++) {
        const struct tg_timeline *timeline = timeline_of(simulation, (uint32_t)i);
        if (i < simulation->n_timelines) {
            uint64_t native_ns = native_of(timeline);
            if (native_ns > result->native_ns)
                result->native_ns = native_ns;
        }
        if (timeline->count == 0) {
            uint64_t end_ns = tail_end(timeline, 0);
            if (end_ns > result->completion_ns)
                result->completion_ns = end_ns;
            continue;
        }
        const struct tg_timeline_request *first = &timeline->requests[0];
        simulation->arrivals[simulation->n_arrivals++] =
            (struct moment){saturated_add(first->run_ns, first->overhead_ns), (uint32_t)i, 0};
    }
    make_heap(simulation->arrivals, simulation->n_arrivals);
}

/* Measures the queue at ARRIVAL_NS, when a request arrives that is served from START_NS on. Requests
 * arrive and are served in the order of time, so the ring stays sorted; a process waits at most once at a
 * time. */
static void note_waiting(struct simulation *simulation, uint64_t arrival_ns, uint64_t start_ns,
                         struct tg_simulation_result *result)
{
    while (simulation->n_starts > 0 && simulation->starts[simulation->first_start] <= arrival_ns) {
        simulation->first_start = (simulation->first_start + 1) % simulation->starts_capacity;
        simulation->n_starts--;
    }
    if (start_ns <= arrival_ns)
        return;
    size_t place = (simulation->first_start + simulation->n_starts++) % simulation->starts_capacity;
    simulation->starts[place] = start_ns;
    if (simulation->n_starts > result->max_queue)
        result->max_queue = simulation->n_starts;
}

static void run(struct simulation *simulation, uint64_t round_trip_ns, struct tg_simulation_result *result)
{
    double busy_ns = 0, wait_ns = 0;
    while (simulation->n_arrivals > 0) {
        struct moment *process = &simulation->arrivals[0];
        struct moment *client = &simulation->clients[0];
        const struct tg_timeline *timeline = timeline_of(simulation, process->index);
        const struct tg_timeline_request *request = &timeline->requests[process->next_request];
        uint64_t start_ns = client->time_ns > process->time_ns ? client->time_ns : process->time_ns;
        uint64_t wait = start_ns - process->time_ns;
        uint64_t service_ns = saturated_add(request->service_ns, round_trip_ns);
        uint64_t end_ns = saturated_add(start_ns, service_ns);
        note_waiting(simulation, process->time_ns, start_ns, result);
        result->requests++;
        wait_ns += (double)wait;
        busy_ns += (double)service_ns;
        if (wait > result->max_wait_ns)
            result->max_wait_ns = wait;
        client->time_ns = end_ns;
        sift_down(simulation->clients, simulation->n_clients, 0);
        if (++process->next_request < timeline->count) {
            request++;
            process->time_ns = saturated_add(end_ns, saturated_add(request->run_ns, request->overhead_ns));
        } else {
            end_ns = tail_end(timeline, end_ns);
            if (end_ns > result->completion_ns)
                result->completion_ns = end_ns;
            *process = simulation->arrivals[--simulation->n_arrivals];
        }
        if (simulation->n_arrivals > 0)
            sift_down(simulation->arrivals, simulation->n_arrivals, 0);
    }
    if (result->requests > 0)
        result->mean_wait_ns = wait_ns / (double)result->requests;
    if (result->completion_ns > 0)
        result->client_busy = busy_ns / (double)simulation->n_clients / (double)result->completion_ns;
}

struct tg_error *tg_simulate(const struct tg_timeline *timelines, size_t n,
                             const struct tg_simulation_options *options, struct tg_simulation_result *result)
{
    struct tg_error *error = check_limits(timelines, n, options);
    if (error != NULL)
        return error;
    struct simulation simulation = {
        .timelines = timelines,
        .n_timelines = n,
        .arrivals = calloc(options->processes, sizeof *simulation.arrivals),
        .clients = calloc(options->clients, sizeof *simulation.clients),
        .n_clients = options->clients,
        .starts = calloc(options->processes, sizeof *simulation.starts),
        .starts_capacity = options->processes,
    };
    struct tg_simulation_result found = {0};
    if (simulation.arrivals == NULL || simulation.clients == NULL || simulation.starts == NULL) {
        error = tg_error_no_memory();
    } else {
        for (size_t i = 0; i < simulation.n_clients; i++)
            simulation.clients[i].index = (uint32_t)i;
        start_processes(&simulation, options->processes, &found);
        run(&simulation, options->round_trip_ns, &found);
        *result = found;
    }
    free(simulation.arrivals);
    free(simulation.clients);
    free(simulation.starts);
    return error;
}
