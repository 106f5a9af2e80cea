#include "tests/bench/openmp_load.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    MAX_THREADS = 1024,
    REGIONS = 6,      /* parallel constructs in the program */
    LOOPS = 3,        /* in each of them */
    CRITICALS = 4,    /* entered by a thread in a loop that has any */
    EVENT_NS = 14,    /* cost of recording one, to the program */
    BARRIER_NS = 300, /* from the last arrival to the first thread that leaves */
    PID = 4000,
};

struct stream {
    struct tg_event *events;
    uint64_t n, capacity, taken;
    double now_ns;
};

struct load {
    uint64_t state;
    unsigned n_threads, region;
    int32_t pid;
    double work_ns;
    uint64_t base; /* load address of the program */
    uint64_t team, last_team;
    uint64_t barriers; /* met in the team so far */
    struct stream streams[MAX_THREADS];
    int failed;
};

struct openmp_load {
    unsigned n_processes, n_threads;
    bool with_mpi;
    uint64_t steps;
    struct load *loads;
    struct stream **next; /* of each process: the one with its next event, NULL none left */
    double *sent_ns;      /* when each process had sent its halo */
};

static uint64_t draw(struct load *load)
{
    uint64_t z = (load->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double uniform(struct load *load)
{
    return ((double)(draw(load) >> 11) + 0.5) / 9007199254740992.0;
}

static double exponential(struct load *load, double mean)
{
    return -mean * log(uniform(load));
}

/* About MEAN, some tens of percent around it, now and then (an interrupt, another process) much more. */
static double work(struct load *load, double mean)
{
    double normal = sqrt(-2 * log(uniform(load))) * cos(6.283185307 * uniform(load));
    double time_ns = mean * exp(0.25 * normal - 0.03);
    return draw(load) % 2000 == 0 ? time_ns + exponential(load, 60000) : time_ns;
}

/* The call site within the program's text. */
static uint64_t site(const struct load *load, unsigned region, unsigned place)
{
    return load->base + region * 0x5c3 + place * 0x47;
}

/* A new event of THREAD, at its time; every payload of these kinds begins with the place. */
static struct tg_event *tell(struct load *load, unsigned thread, enum tg_event_kind kind, uint64_t code)
{
    struct stream *stream = &load->streams[thread];
    static struct tg_event nowhere;
    if (stream->n == stream->capacity) {
        uint64_t capacity = stream->capacity == 0 ? 4096 : stream->capacity * 2;
        struct tg_event *events = realloc(stream->events, capacity * sizeof *events);
        if (events == NULL) {
            load->failed = 1;
            return &nowhere;
        }
        stream->events = events;
        stream->capacity = capacity;
    }
    struct tg_event *event = &stream->events[stream->n++];
    *event = (struct tg_event){.time_ns = UINT64_C(86400000000000) + (uint64_t)stream->now_ns,
                               .pid = load->pid,
                               .tid = load->pid + (int32_t)thread,
                               .kind = kind};
    event->omp_implicit_end.team = load->team;
    event->omp_implicit_end.thread_num = load->team == 0 ? 0 : thread;
    event->omp_implicit_end.level = load->team == 0 ? 0 : 1;
    event->omp_implicit_end.code = code;
    event->omp_implicit_end.seen = TG_OMP_WRAPPED;
    stream->now_ns += EVENT_NS + exponential(load, 4);
    return event;
}

/* All threads arrive, the last one lets them go. */
static void barrier(struct load *load, enum tg_omp_sync sync, uint64_t code)
{
    double last_ns = 0;
    load->barriers++;
    for (unsigned t = 0; t < load->n_threads; t++) {
        struct tg_event *event = tell(load, t, TG_EVENT_OMP_SYNC_BEGIN, code);
        event->omp_sync_begin.sync = sync;
        event->omp_sync_begin.instance = load->barriers;
        if (load->streams[t].now_ns > last_ns)
            last_ns = load->streams[t].now_ns;
    }
    for (unsigned t = 0; t < load->n_threads; t++) {
        if (sync == TG_OMP_SYNC_BARRIER_JOIN && t > 0)
            continue; /* workers do not come back from the join */
        load->streams[t].now_ns = last_ns + BARRIER_NS + exponential(load, 150);
        struct tg_event *event = tell(load, t, TG_EVENT_OMP_SYNC_END, code);
        event->omp_sync_end.sync = sync;
        event->omp_sync_end.instance = load->barriers;
    }
}

static void criticals(struct load *load, unsigned thread, uint64_t code)
{
    static const enum tg_event_kind kinds[] = {TG_EVENT_OMP_MUTEX_WAIT, TG_EVENT_OMP_MUTEX_ENTER,
                                               TG_EVENT_OMP_MUTEX_LEAVE};
    for (unsigned i = 0; i < CRITICALS; i++) {
        load->streams[thread].now_ns += work(load, load->work_ns / CRITICALS);
        for (unsigned k = 0; k < 3; k++) {
            struct tg_event *event = tell(load, thread, kinds[k], code + k);
            event->omp_mutex_wait.mutex = TG_OMP_MUTEX_CRITICAL_NAMED;
            event->omp_mutex_wait.lock = load->base + 0x20704;
        }
    }
}

static void loop(struct load *load, unsigned region, unsigned l)
{
    bool dynamic = (region + l) % 3 == 1;
    uint64_t code = site(load, region, 2 + 4 * l);
    for (unsigned t = 0; t < load->n_threads; t++) {
        struct tg_event *event = tell(load, t, TG_EVENT_OMP_ZONE_BEGIN, code);
        event->omp_zone_begin.schedule = dynamic ? TG_OMP_SCHEDULE_DYNAMIC : TG_OMP_SCHEDULE_STATIC;
        if ((region + l) % 4 == 2)
            criticals(load, t, code + 8);
        else
            load->streams[t].now_ns += work(load, load->work_ns * (dynamic ? 0.6 : 1));
        tell(load, t, TG_EVENT_OMP_ZONE_END, code + 24);
    }
    barrier(load, TG_OMP_SYNC_BARRIER_IMPLICIT, code + 24);
}

/* One thread executes it, the others wait at its end. */
static void single(struct load *load, unsigned region)
{
    unsigned executor = 0;
    uint64_t code = site(load, region, 16);
    for (unsigned t = 1; t < load->n_threads; t++)
        if (load->streams[t].now_ns < load->streams[executor].now_ns)
            executor = t;
    for (unsigned t = 0; t < load->n_threads; t++) {
        enum tg_omp_zone zone = t == executor ? TG_OMP_ZONE_SINGLE : TG_OMP_ZONE_SINGLE_OTHER;
        tell(load, t, TG_EVENT_OMP_ZONE_BEGIN, code)->omp_zone_begin.zone = zone;
        load->streams[t].now_ns += t == executor ? work(load, 900) : 0;
        tell(load, t, TG_EVENT_OMP_ZONE_END, code + 9)->omp_zone_end.zone = zone;
    }
    barrier(load, TG_OMP_SYNC_BARRIER_IMPLICIT, code + 9);
}

static void parallel(struct load *load, unsigned region)
{
    uint64_t team = ++load->last_team, code = site(load, region, 0);
    struct tg_event *event = tell(load, 0, TG_EVENT_OMP_PARALLEL_BEGIN, code);
    event->omp_parallel_begin.new_team = team;
    event->omp_parallel_begin.body = site(load, region, 1);
    double fork_ns = load->streams[0].now_ns;
    load->team = team;
    load->barriers = 0;
    for (unsigned t = 0; t < load->n_threads; t++) {
        if (t > 0)
            load->streams[t].now_ns = fork_ns + 250 + exponential(load, 400);
        event = tell(load, t, TG_EVENT_OMP_IMPLICIT_BEGIN, site(load, region, 1));
        event->omp_implicit_begin.team_size = load->n_threads;
    }
    for (unsigned l = 0; l < LOOPS; l++)
        loop(load, region, l);
    if (region == 3)
        single(load, region);
    if (region % 2 == 1)
        barrier(load, TG_OMP_SYNC_BARRIER, site(load, region, 15));
    for (unsigned t = 0; t < load->n_threads; t++) {
        load->streams[t].now_ns += work(load, 400);
        tell(load, t, TG_EVENT_OMP_IMPLICIT_END, site(load, region, 1));
    }
    barrier(load, TG_OMP_SYNC_BARRIER_JOIN, code);
    load->team = 0;
    tell(load, 0, TG_EVENT_OMP_PARALLEL_END, code)->omp_parallel_end.ended_team = team;
    load->streams[0].now_ns += work(load, 1500);
}

/* ---- MPI: the main threads' exchange after each time step */

static struct tg_event *call_mpi(struct load *load, const char *name, unsigned place)
{
    struct tg_event *event = tell(load, 0, TG_EVENT_MPI_ENTER, 0);
    event->mpi_enter = (struct tg_event_mpi_enter){
        .call = name, .comm = 1, .peer = -3, .tag = -3, .root = -3, .code = site(load, REGIONS, place)};
    return event;
}

static struct tg_event *return_mpi(struct load *load, const char *name)
{
    struct tg_event *event = tell(load, 0, TG_EVENT_MPI_LEAVE, 0);
    event->mpi_leave = (struct tg_event_mpi_leave){.call = name, .peer = -3, .tag = -3};
    return event;
}

/* With the ranks before and behind RANK of N: side 0 and 1. */
static unsigned neighbour(unsigned rank, unsigned n, unsigned side)
{
    return (rank + (side == 0 ? n - 1 : 1)) % n;
}

static void start(struct openmp_load *job, unsigned rank)
{
    struct load *load = &job->loads[rank];
    struct tg_event *event = tell(load, 0, TG_EVENT_PROCESS_START, 0);
    event->process_start = (struct tg_event_process_start){.origin = TG_ORIGIN_FORK};
    tell(load, 0, TG_EVENT_EXEC, 0)->exec =
        (struct tg_event_exec){.path = "/home/user/hydro", .former_tid = load->pid};
    tell(load, 0, TG_EVENT_IDENTITY, 0)->identity = (struct tg_event_identity){
        .host = "node", .job = "1", .source = "PMI_RANK", .rank = rank, .size = job->n_processes};
    call_mpi(load, "MPI_Init_thread", 0)->mpi_enter.comm = 0;
    tell(load, 0, TG_EVENT_MPI_COMM, 0)->mpi_comm = (struct tg_event_mpi_comm){
        .comm = 1, .handle = 0x44000000, .origin = TG_MPI_COMM_WORLD, .rank = rank, .size = job->n_processes};
    return_mpi(load, "MPI_Init_thread");
}

/* Posts the receives and sends of a halo of 8 KiB each. */
static void begin_exchange(struct openmp_load *job, unsigned rank)
{
    static const char *const names[] = {"MPI_Irecv", "MPI_Isend"};
    struct load *load = &job->loads[rank];
    for (unsigned i = 0; i < 4; i++) {
        struct tg_event *event = call_mpi(load, names[i / 2], 1 + i);
        event->mpi_enter.peer = neighbour(rank, job->n_processes, i % 2);
        event->mpi_enter.tag = i == 0 || i == 3 ? 7 : 8; /* a message sent behind is received from before */
        event->mpi_enter.bytes = 8192;
        return_mpi(load, names[i / 2])->mpi_leave.request = 0x98000000 + i;
    }
}

static void end_exchange(struct openmp_load *job, unsigned rank, uint64_t instance)
{
    struct load *load = &job->loads[rank];
    call_mpi(load, "MPI_Waitall", 5)->mpi_enter.comm = 0;
    for (unsigned side = 0; side < 2; side++) {
        double sent_ns = job->sent_ns[neighbour(rank, job->n_processes, side)];
        if (sent_ns > load->streams[0].now_ns)
            load->streams[0].now_ns = sent_ns;
    }
    for (unsigned i = 0; i < 4; i++)
        tell(load, 0, TG_EVENT_MPI_COMPLETE, 0)->mpi_complete =
            (struct tg_event_mpi_complete){.request = 0x98000000 + i,
                                           .peer = i < 2 ? (int64_t)neighbour(rank, job->n_processes, i) : -3,
                                           .tag = i < 2 ? 7 + (int64_t)i : -3,
                                           .bytes = i < 2 ? 8192 : 0};
    return_mpi(load, "MPI_Waitall");
    struct tg_event *event = call_mpi(load, "MPI_Allreduce", 6);
    event->mpi_enter.instance = instance;
    event->mpi_enter.bytes = 8;
}

/* One time step of all processes, from behind the sum over all of the one before. */
static void step(struct openmp_load *job)
{
    uint64_t instance = ++job->steps;
    double together_ns = 0;
    for (unsigned p = 0; p < job->n_processes; p++) {
        if (job->loads[p].streams[0].now_ns > together_ns)
            together_ns = job->loads[p].streams[0].now_ns;
        for (unsigned t = 0; t < job->n_threads; t++)
            job->loads[p].streams[t].n = job->loads[p].streams[t].taken = 0;
    }
    for (unsigned p = 0; p < job->n_processes; p++) {
        struct load *load = &job->loads[p];
        load->streams[0].now_ns = together_ns + exponential(load, 900);
        if (instance == 1)
            start(job, p);
        else
            return_mpi(load, "MPI_Allreduce");
        for (unsigned region = 0; region < REGIONS; region++)
            parallel(load, region);
        begin_exchange(job, p);
        job->sent_ns[p] = load->streams[0].now_ns;
    }
    for (unsigned p = 0; p < job->n_processes; p++)
        end_exchange(job, p, instance);
}

/* The stream of LOAD whose next event is the earliest, NULL where there is none left. */
static struct stream *earliest(struct load *load)
{
    struct stream *first = NULL;
    for (unsigned t = 0; t < load->n_threads; t++) {
        struct stream *stream = &load->streams[t];
        if (stream->taken < stream->n &&
            (first == NULL || stream->events[stream->taken].time_ns < first->events[first->taken].time_ns))
            first = stream;
    }
    return first;
}

/* Likewise, but goes on to the next region first. Behind the join no thread has an event before it. */
static struct stream *next_of(struct load *load)
{
    struct stream *stream = earliest(load);
    if (stream != NULL)
        return stream;
    for (unsigned t = 0; t < load->n_threads; t++)
        load->streams[t].n = load->streams[t].taken = 0;
    parallel(load, load->region++ % REGIONS);
    return earliest(load);
}

/* ---- all processes */

int openmp_load_create(unsigned n_processes, unsigned n_threads, double work_ns, uint64_t seed, bool with_mpi,
                       struct openmp_load **load)
{
    struct openmp_load *job = calloc(1, sizeof *job);
    if (job == NULL || n_threads == 0 || n_threads > MAX_THREADS || n_processes == 0) {
        free(job);
        return -1;
    }
    job->n_processes = n_processes;
    job->n_threads = n_threads;
    job->with_mpi = with_mpi;
    job->loads = calloc(n_processes, sizeof *job->loads);
    job->next = calloc(n_processes, sizeof *job->next);
    job->sent_ns = calloc(n_processes, sizeof *job->sent_ns);
    if (job->loads == NULL || job->next == NULL || job->sent_ns == NULL) {
        openmp_load_destroy(job);
        return -1;
    }
    for (unsigned p = 0; p < n_processes; p++) {
        struct load *of = &job->loads[p];
        of->state = seed + p * UINT64_C(0x1234567);
        of->n_threads = n_threads;
        of->work_ns = work_ns;
        of->pid = PID + (int32_t)(p * (MAX_THREADS + 1));
        of->base = UINT64_C(0x55d3c8401000) + p * UINT64_C(0x1372c5000);
        of->streams[0].now_ns = 31000.0 * p;
        if (!with_mpi)
            job->next[p] = next_of(of);
    }
    *load = job;
    return 0;
}

void openmp_load_destroy(struct openmp_load *load)
{
    if (load == NULL)
        return;
    for (unsigned p = 0; load->loads != NULL && p < load->n_processes; p++)
        for (unsigned t = 0; t < MAX_THREADS; t++)
            free(load->loads[p].streams[t].events);
    free(load->sent_ns);
    free(load->next);
    free(load->loads);
    free(load);
}

/* The process whose next event is the earliest; N_PROCESSES: none has one. */
static unsigned first_process(const struct openmp_load *job)
{
    unsigned first = job->n_processes;
    for (unsigned p = 0; p < job->n_processes; p++)
        if (job->next[p] != NULL &&
            (first == job->n_processes || job->next[p]->events[job->next[p]->taken].time_ns <
                                              job->next[first]->events[job->next[first]->taken].time_ns))
            first = p;
    return first;
}

int openmp_load_next(struct openmp_load *load, struct tg_event *event)
{
    unsigned first = first_process(load);
    if (first == load->n_processes && load->with_mpi) {
        step(load);
        for (unsigned p = 0; p < load->n_processes; p++)
            load->next[p] = earliest(&load->loads[p]);
        first = first_process(load);
    }
    if (first == load->n_processes || load->loads[first].failed)
        return -1;
    *event = load->next[first]->events[load->next[first]->taken++];
    load->next[first] = load->with_mpi ? earliest(&load->loads[first]) : next_of(&load->loads[first]);
    return 0;
}
