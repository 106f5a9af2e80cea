/* Regions. The runtime gets a trampoline in the body's place, so that every thread that begins and ends the
 * region's body is seen. */
#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/gomp/memory.h"

/* A region on its way through the runtime: on the stack of the thread that meets it, which waits at the join
 * for all who use it. */
struct region {
    void *first_word; /* GOMP_parallel_reductions looks into what it is given */
    tg_gomp_body *body;
    void *data;
    const struct tg_gomp *gomp;
    const void *code;
    uint64_t team, parent_team;
    uint32_t level;
    uint16_t workshare; /* 1 + enum tg_omp_zone that comes with the region, 0 none */
    uint16_t schedule;
    uint64_t count;
};

static void begin_body(const struct region *region)
{
    int thread_num = region->gomp->omp_get_thread_num();
    int size = region->gomp->omp_get_num_threads();
    tg_agent_moment moment = tg_openmp_enter(region->code, TG_OMP_WRAPPED, region->team, region->parent_team,
                                             (uint32_t)thread_num, (uint32_t)size, region->level);
    tg_gomp_inside = region->gomp;
    tg_gomp_inferred = (struct tg_gomp_inferred){.site = NULL};
    tg_openmp_frame.code = tg_gomp_in_body(region->body);
    tg_openmp_frame.workshare = region->workshare;
    if (region->workshare != 0)
        tg_openmp_zone_begin(moment, region->code, TG_OMP_WRAPPED, region->workshare - 1, region->schedule,
                             region->count);
}

static void end_body(void)
{
    tg_openmp_implicit_end(tg_gomp_close_unseen(), NULL, TG_OMP_WRAPPED);
}

static void run_body(void *argument)
{
    const struct region *region = argument;
    begin_body(region);
    region->body(region->data);
    end_body();
}

/* Place of a thread that meets a region, to which the thread comes back. */
struct around {
    struct tg_openmp_frame frame;
    const struct tg_gomp *inside;
    struct tg_gomp_inferred inferred;
};

/* The thread meets REGION, whose body, data, gomp, code and workshare are set. */
static void meet(struct region *region, unsigned n_threads, struct around *around)
{
    *around = (struct around){tg_openmp_frame, tg_gomp_inside, tg_gomp_inferred};
    region->team = tg_openmp_new_team();
    region->parent_team = tg_openmp_frame.team;
    region->level = tg_openmp_frame.level + 1;
    tg_openmp_parallel_begin(region->code, TG_OMP_WRAPPED, region->team, n_threads,
                             (const void *)(uintptr_t)region->body);
}

/* The thread is back from the region. */
static void leave(const struct region *region, const struct around *around)
{
    tg_gomp_inside = around->inside;
    tg_gomp_inferred = around->inferred;
    tg_openmp_return(&around->frame);
    tg_openmp_parallel_end(region->code, TG_OMP_WRAPPED, region->team);
}

/* Meets REGION, and does CALL, which calls CALL the runtime with the trampoline and its argument. A macro,
 * since the runtime's functions take different arguments. */
#define THROUGH(region, n_threads, call)                                                                     \
    do {                                                                                                     \
        struct around around;                                                                                \
        meet(&(region), (n_threads), &around);                                                               \
        call;                                                                                                \
        leave(&(region), &around);                                                                           \
    } while (0)

void GOMP_parallel(tg_gomp_body *body, void *data, unsigned n_threads, unsigned flags)
{
    const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_parallel(body, data, n_threads, flags);
        return;
    }
    struct region region = {.body = body, .data = data, .gomp = gomp, .code = tg_gomp_code(TG_GOMP_CALLER())};
    THROUGH(region, n_threads, gomp->GOMP_parallel(run_body, &region, n_threads, flags));
}

unsigned GOMP_parallel_reductions(tg_gomp_body *body, void *data, unsigned n_threads, unsigned flags)
{
    const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);
    if (!tg_gomp_records(gomp))
        return gomp->GOMP_parallel_reductions(body, data, n_threads, flags);
    struct region region = {.first_word = *(void **)data,
                            .body = body,
                            .data = data,
                            .gomp = gomp,
                            .code = tg_gomp_code(TG_GOMP_CALLER())};
    unsigned result;
    THROUGH(region, n_threads, result = gomp->GOMP_parallel_reductions(run_body, &region, n_threads, flags));
    return result;
}

void GOMP_parallel_sections(tg_gomp_body *body, void *data, unsigned n_threads, unsigned count,
                            unsigned flags)
{
    const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_parallel_sections(body, data, n_threads, count, flags);
        return;
    }
    struct region region = {.body = body,
                            .data = data,
                            .gomp = gomp,
                            .code = tg_gomp_code(TG_GOMP_CALLER()),
                            .workshare = 1 + TG_OMP_ZONE_SECTIONS,
                            .count = count};
    THROUGH(region, n_threads, gomp->GOMP_parallel_sections(run_body, &region, n_threads, count, flags));
}

#define PARALLEL_LOOP(name, zone, schedule_name, chunk_parameter, chunk_argument)                            \
    void name(tg_gomp_body *body, void *data, unsigned n_threads, long start, long end,                      \
              long increment chunk_parameter, unsigned flags)                                                \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);                            \
        if (!tg_gomp_records(gomp)) {                                                                        \
            gomp->name(body, data, n_threads, start, end, increment chunk_argument, flags);                  \
            return;                                                                                          \
        }                                                                                                    \
        struct region region = {.body = body,                                                                \
                                .data = data,                                                                \
                                .gomp = gomp,                                                                \
                                .code = tg_gomp_code(TG_GOMP_CALLER()),                                      \
                                .workshare = 1 + TG_OMP_ZONE_##zone,                                         \
                                .schedule = TG_OMP_SCHEDULE_##schedule_name};                                \
        THROUGH(region, n_threads,                                                                           \
                gomp->name(run_body, &region, n_threads, start, end, increment chunk_argument, flags));      \
    }
#define COMMA ,
#define CHUNKED(name, zone, schedule, version)                                                               \
    PARALLEL_LOOP(name, zone, schedule, COMMA long chunk, COMMA chunk)
#define RUNTIME(name, zone, schedule, version) PARALLEL_LOOP(name, zone, schedule, , )
TG_GOMP_PARALLEL_LOOPS_CHUNKED(CHUNKED)
TG_GOMP_PARALLEL_LOOPS_RUNTIME(RUNTIME)

/* ---- GCC before 4.9: the program itself calls the body between start and end, on the thread that meets the
 * region; the others come through the trampoline. What they need outlives the call of start: it is in memory
 * of its own until the end. */

struct started {
    struct region region;
    struct around around;
    struct started *outer;
};

static __thread struct {
    struct started *innermost;
    unsigned n_unseen; /* regions inside of it of which nothing is recorded */
} started __attribute__((tls_model("initial-exec")));

/* NULL: the region is not seen. */
static struct started *start(const struct tg_gomp *gomp, const struct region *like, unsigned n_threads)
{
    struct started *begun = NULL;
    if (tg_gomp_records(gomp) && started.n_unseen == 0)
        begun = tg_gomp_memory(sizeof *begun);
    if (begun == NULL)
        return NULL;
    begun->region = *like;
    meet(&begun->region, n_threads, &begun->around);
    return begun;
}

static void has_started(struct started *begun)
{
    if (begun == NULL) {
        started.n_unseen++;
        return;
    }
    begun->outer = started.innermost;
    started.innermost = begun;
    begin_body(&begun->region);
}

void GOMP_parallel_start(tg_gomp_body *body, void *data, unsigned n_threads)
{
    const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);
    struct region like = {.body = body, .data = data, .gomp = gomp, .code = tg_gomp_code(TG_GOMP_CALLER())};
    struct started *begun = start(gomp, &like, n_threads);
    if (begun == NULL)
        gomp->GOMP_parallel_start(body, data, n_threads);
    else
        gomp->GOMP_parallel_start(run_body, &begun->region, n_threads);
    has_started(begun);
}

void GOMP_parallel_sections_start(tg_gomp_body *body, void *data, unsigned n_threads, unsigned count)
{
    const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);
    struct region like = {.body = body,
                          .data = data,
                          .gomp = gomp,
                          .code = tg_gomp_code(TG_GOMP_CALLER()),
                          .workshare = 1 + TG_OMP_ZONE_SECTIONS,
                          .count = count};
    struct started *begun = start(gomp, &like, n_threads);
    if (begun == NULL)
        gomp->GOMP_parallel_sections_start(body, data, n_threads, count);
    else
        gomp->GOMP_parallel_sections_start(run_body, &begun->region, n_threads, count);
    has_started(begun);
}

#define STARTED_LOOP(name, zone, schedule_name, chunk_parameter, chunk_argument)                             \
    void name(tg_gomp_body *body, void *data, unsigned n_threads, long first, long end,                      \
              long increment chunk_parameter)                                                                \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next((const void *)(uintptr_t)body);                            \
        struct region like = {.body = body,                                                                  \
                              .data = data,                                                                  \
                              .gomp = gomp,                                                                  \
                              .code = tg_gomp_code(TG_GOMP_CALLER()),                                        \
                              .workshare = 1 + TG_OMP_ZONE_##zone,                                           \
                              .schedule = TG_OMP_SCHEDULE_##schedule_name};                                  \
        struct started *begun = start(gomp, &like, n_threads);                                               \
        if (begun == NULL)                                                                                   \
            gomp->name(body, data, n_threads, first, end, increment chunk_argument);                         \
        else                                                                                                 \
            gomp->name(run_body, &begun->region, n_threads, first, end, increment chunk_argument);           \
        has_started(begun);                                                                                  \
    }
#define STARTED_CHUNKED(name, zone, schedule, version)                                                       \
    STARTED_LOOP(name, zone, schedule, COMMA long chunk, COMMA chunk)
#define STARTED_RUNTIME(name, zone, schedule, version) STARTED_LOOP(name, zone, schedule, , )
TG_GOMP_STARTED_LOOPS_CHUNKED(STARTED_CHUNKED)
TG_GOMP_STARTED_LOOPS_RUNTIME(STARTED_RUNTIME)

void GOMP_parallel_end(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    struct started *ended = started.innermost;
    if (started.n_unseen > 0 || ended == NULL) {
        started.n_unseen -= started.n_unseen > 0;
        gomp->GOMP_parallel_end();
        return;
    }
    end_body();
    gomp->GOMP_parallel_end();
    leave(&ended->region, &ended->around);
    started.innermost = ended->outer;
    tg_gomp_memory_free(ended, sizeof *ended);
}
