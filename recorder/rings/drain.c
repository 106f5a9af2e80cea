#include "recorder/rings/drain.h"

#include "format/base/thread.h"
#include "recorder/engine/event_queue.h"
#include "recorder/rings/mapping_guard.h"
#include "recorder/rings/spare_processor.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    BUSY_NS = 1000000,        /* between rounds where a ring was more than a quarter full ... */
    CALM_NS = 10000000,       /* ... where something came ... */
    IDLE_NS = 50000000,       /* ... and where nothing did */
    PAIR_NS = 5000000,        /* between pairs of the clock */
    REAP_NS = 25000000,       /* between looks which processes have gone */
    SCAN_NS = 1000000000,     /* between looks for rings that nothing told of */
    ROUND_RECORDS = 20000,    /* told before rings are looked at again: some milliseconds */
    MAX_HOLD_NS = 1000000000, /* longer than this nothing waits for what may still come */
    FEW_BYTES = 4096,         /* what rings have is told at once up to this */
    TURN_RECORDS = 4000,      /* told where a processor was idle, before that is asked again */
    PATIENCE_NS = 100000000,  /* between turns where no processor is idle */
    LATE_BYTES = 1 << 20, /* taken and not told where the rings are the backlog: memory that is used again */
    PRESSING = 192,       /* 1/256 of a ring: what is in it cannot wait any longer, until ... */
    PRESSED = 160,        /* ... it is emptied down to this */
};
const uint64_t tg_agent_drain_hold_ns = 20000000;
/* As long the order waits for one time of the rings, while what comes is told at once. */
static const uint64_t max_order_ns = 20000000000;

struct tg_agent_drain {
    struct tg_agent_drain_options options;
    struct tg_event_queue *queue;
    struct tg_ring_set *rings;
    pthread_t thread;
    bool thread_started;
    bool over;          /* __atomic: finish, or with `dropped` go */
    bool dropped;       /* __atomic */
    bool rests;         /* __atomic; whoever adds an event calls it */
    uint64_t held_from; /* __atomic: see tg_agent_drain_hold */
    uint64_t settle_ns; /* __atomic; somebody waits until what is earlier is told, 0 nobody */
    pthread_mutex_t settle_lock;
    pthread_cond_t settled;              /* SETTLE_NS became 0, or FORESIGHT NULL */
    struct tg_ring_foresight *foresight; /* __atomic; somebody waits for it, NULL nobody */

    /* the thread's own */
    int clock_fd;
    uint64_t n_pairs;
    uint64_t interval_ns;
    uint64_t next_reap_ns, next_scan_ns;
    uint32_t rings_made;
    bool scanned;
    bool cleaned;
    uint64_t next_turn_ns;
    bool pressed;            /* rings were filling, and are being emptied */
    uint64_t order_ns;       /* up to which time the order is known, while rings have more, ... */
    uint64_t order_since_ns; /* ... and since when it has been that time */
};

/* ---- one round */

static void take_pair(struct tg_agent_drain *drain, bool at_once)
{
    struct tg_tick_clock *clock = drain->options.clock;
    struct tg_tick_pair pair = tg_tick_clock_take(clock);
    if (!at_once && pair.time_ns < tg_tick_clock_last(clock).time_ns + PAIR_NS)
        return;
    if (tg_tick_clock_add(clock, pair) && drain->clock_fd >= 0)
        tg_tick_clock_save(drain->clock_fd, drain->n_pairs++, pair);
}

static void tell_lost(struct tg_agent_drain *drain)
{
    uint64_t lost = tg_event_queue_take_lost(drain->queue);
    if (lost == 0)
        return;
    const struct tg_event event = {
        .time_ns = tg_tick_clock_last(drain->options.clock).time_ns,
        .kind = TG_EVENT_LOSS,
        .loss = {.source = TG_LOSS_WRITER_QUEUE,
                 .count = lost,
                 .reason = "stop events came faster than they could be sorted"},
    };
    drain->options.sink.add(drain->options.sink.context, &event);
}

/* Up to when everything has come: what was published late, by a thread that lost its processor in between,
 * has had its time. */
static uint64_t settled_ns(struct tg_agent_drain *drain, uint64_t now_ns, uint64_t order_ns)
{
    if (order_ns != drain->order_ns) {
        drain->order_ns = order_ns;
        drain->order_since_ns = now_ns;
    }
    uint64_t held_ns = __atomic_load_n(&drain->held_from, __ATOMIC_ACQUIRE);
    uint64_t last_ns = tg_tick_clock_last(drain->options.clock).time_ns;
    uint64_t least_ns = now_ns > MAX_HOLD_NS ? now_ns - MAX_HOLD_NS : 0;
    uint64_t until_ns = now_ns > tg_agent_drain_hold_ns ? now_ns - tg_agent_drain_hold_ns : 0;
    if (held_ns > 0 && held_ns - 1 < until_ns)
        until_ns = held_ns - 1;
    if (until_ns < least_ns) /* a stop without an end */
        until_ns = least_ns;
    if (order_ns < until_ns) /* or a ring lies about its times */
        until_ns = now_ns - drain->order_since_ns < max_order_ns ? order_ns : least_ns;
    return until_ns < last_ns ? until_ns : last_ns;
}

static void choose_interval(struct tg_agent_drain *drain, const struct tg_ring_round *round)
{
    if (round->fullest >= 64)
        drain->interval_ns = BUSY_NS;
    else if (round->fullest >= 16)
        drain->interval_ns = drain->interval_ns / 2 > BUSY_NS ? drain->interval_ns / 2 : BUSY_NS;
    else
        drain->interval_ns += drain->interval_ns / 2;
    uint64_t most = round->taken_bytes > 0 ? CALM_NS : IDLE_NS;
    if (drain->interval_ns > most)
        drain->interval_ns = most;
}

/* Whether nothing is to be done before an event is added or a ring is made: whoever does that calls. Rings
 * themselves are looked into, because who writes to them calls nobody. */
static bool is_at_rest(const struct tg_agent_drain *drain)
{
    const struct tg_ring_set_file *file = drain->options.file;
    return tg_ring_set_is_empty(drain->rings) && tg_event_queue_first(drain->queue) == NULL &&
           (file == NULL || file->n_written(file->context) == file->n_events(file->context));
}

/* Everything up to UNTIL_NS is told, and the rings were emptied at NOW_NS. */
static void tell_settled(struct tg_agent_drain *drain, uint64_t until_ns, uint64_t now_ns)
{
    uint64_t settle_ns = __atomic_load_n(&drain->settle_ns, __ATOMIC_ACQUIRE);
    uint64_t held_ns = __atomic_load_n(&drain->held_from, __ATOMIC_ACQUIRE);
    uint64_t wanted_ns = held_ns > 0 && held_ns - 1 < settle_ns ? held_ns - 1 : settle_ns;
    if (settle_ns == 0 || now_ns < settle_ns || until_ns < wanted_ns)
        return;
    pthread_mutex_lock(&drain->settle_lock);
    __atomic_store_n(&drain->settle_ns, 0, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&drain->settled);
    pthread_mutex_unlock(&drain->settle_lock);
}

static void foresee(struct tg_agent_drain *drain, struct tg_ring_foresight *wanted)
{
    if (wanted == NULL)
        return;
    pthread_mutex_lock(&drain->settle_lock);
    /* The waiting thread may have given up. */
    if (__atomic_load_n(&drain->foresight, __ATOMIC_RELAXED) == wanted &&
        tg_ring_set_foresee(drain->rings, wanted)) {
        __atomic_store_n(&drain->foresight, NULL, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&drain->settled);
    }
    pthread_mutex_unlock(&drain->settle_lock);
}

static void reap(struct tg_agent_drain *drain, uint64_t now_ns)
{
    if (now_ns < drain->next_reap_ns)
        return;
    drain->next_reap_ns = now_ns + REAP_NS;
    tg_ring_set_reap(drain->rings);
}

enum pace { AT_ONCE, A_BEGINNING, A_TURN, LATER };

/* Whether somebody waits, or cannot wait, for what is in the rings. */
static enum pace choose_pace(struct tg_agent_drain *drain, bool settles, uint64_t now_ns)
{
    if (drain->options.growth_bytes == 0)
        return AT_ONCE;
    const struct tg_ring_set_fill fill = tg_ring_set_look(drain->rings);
    drain->pressed = fill.fullest >= (drain->pressed ? PRESSED : PRESSING);
    if (settles || drain->pressed || fill.bytes < FEW_BYTES || tg_event_queue_is_filling(drain->queue))
        return AT_ONCE;
    if (fill.is_new) { /* no more than its first records */
        drain->next_turn_ns = now_ns + PATIENCE_NS;
        return A_BEGINNING;
    }
    if (now_ns < drain->next_turn_ns && !tg_spare_processor())
        return LATER;
    drain->next_turn_ns = now_ns + PATIENCE_NS;
    return A_TURN;
}

/* Returns how long to wait before the next round. */
static uint64_t do_round(struct tg_agent_drain *drain)
{
    const struct tg_agent_drain_options *options = &drain->options;
    take_pair(drain, false);
    struct tg_ring_foresight *foresight = __atomic_load_n(&drain->foresight, __ATOMIC_ACQUIRE);
    uint64_t now_ns = tg_tick_clock_take(options->clock).time_ns;
    /* After the time: this thread can lose its processor in between, and a ring that was made and filled
     * meanwhile would be looked for when the end of its process has been told. */
    uint32_t rings_made = tg_agent_directory_control(options->directory).rings_made;
    if (!drain->scanned || rings_made != drain->rings_made || now_ns >= drain->next_scan_ns) {
        drain->scanned = true;
        drain->rings_made = rings_made;
        drain->next_scan_ns = now_ns + SCAN_NS;
        tg_ring_set_scan(drain->rings);
    }
    tell_lost(drain);
    bool settles = foresight != NULL || __atomic_load_n(&drain->settle_ns, __ATOMIC_ACQUIRE) != 0;
    if (options->file != NULL) {
        options->file->flush(options->file->context, false);
        /* The thread that settles may be waited for by the one that is behind: only the file holds that up. */
        if (options->file->has_backlog(options->file->context) ||
            (!settles && options->file->is_behind(options->file->context)))
            return BUSY_NS;
    }
    enum pace pace = choose_pace(drain, settles, now_ns);
    if (pace == A_TURN || pace == LATER)
        drain->order_since_ns = now_ns;
    if (pace == LATER) {
        reap(drain, now_ns);
        return CALM_NS;
    }
    struct tg_ring_round round =
        pace == AT_ONCE ? tg_ring_set_take(drain->rings) : tg_ring_set_take_little(drain->rings);
    foresee(drain, foresight);
    uint64_t until_ns = settled_ns(drain, now_ns, round.order_ns);
    uint64_t told = tg_ring_set_stats(drain->rings).records;
    bool all = tg_ring_set_tell(drain->rings, until_ns, pace == AT_ONCE ? ROUND_RECORDS : TURN_RECORDS);
    told = tg_ring_set_stats(drain->rings).records - told;
    if (all)
        tell_settled(drain, until_ns, now_ns);
    reap(drain, now_ns);
    if (pace == A_TURN)
        return told > 0 ? 0 : CALM_NS; /* what there is, is too young */
    choose_interval(drain, &round);
    if (pace == A_BEGINNING)
        return told > 0 ? 0 : drain->interval_ns;
    if (!all || round.order_ns != UINT64_MAX)
        return 0;
    if (__atomic_load_n(&drain->settle_ns, __ATOMIC_ACQUIRE) != 0 ||
        __atomic_load_n(&drain->foresight, __ATOMIC_ACQUIRE) != NULL)
        return BUSY_NS;
    return is_at_rest(drain) ? TG_AGENT_DIRECTORY_NO_LIMIT : drain->interval_ns;
}

/* ---- the thread */

static void tell_end(struct tg_agent_drain *drain)
{
    struct tg_agent_control control = tg_agent_directory_control(drain->options.directory);
    if (control.unkept > 0)
        tg_ring_set_tell_loss(drain->rings, 0, 0, control.unkept,
                              "no ring could be created for them, their thread could not read the clock any "
                              "more, they came from a signal handler while their thread ended, or their "
                              "process was forked into a pid namespace of its own");
    uint64_t out_of_order = tg_ring_set_stats(drain->rings).out_of_order;
    if (out_of_order == 0)
        return;
    char text[160];
    snprintf(text, sizeof text, "%ju event%s came more than %ju ms late and out of order",
             (uintmax_t)out_of_order, out_of_order == 1 ? "" : "s",
             (uintmax_t)tg_agent_drain_hold_ns / 1000000);
    const struct tg_event event = {.time_ns = tg_tick_clock_last(drain->options.clock).time_ns,
                                   .kind = TG_EVENT_NOTE,
                                   .note = {.text = text}};
    drain->options.sink.add(drain->options.sink.context, &event);
}

/* Faults of this thread must not become the end of the process without a word from a handler. */
static void let_faults_come(void)
{
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGBUS);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGFPE);
    sigaddset(&faults, SIGILL);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

/* What dead recorders left is removed when the job's first ring is there and this thread has nothing to do: the job does not
 * wait for it at its start. */
static void clean(struct tg_agent_drain *drain, bool at_once)
{
    if (drain->cleaned || (!at_once && tg_ring_set_stats(drain->rings).rings == 0))
        return;
    drain->cleaned = true;
    tg_agent_directory_clean(drain->options.directory);
}

static void *run(void *argument)
{
    struct tg_agent_drain *drain = argument;
    let_faults_come();
    while (!__atomic_load_n(&drain->over, __ATOMIC_ACQUIRE)) {
        uint32_t attention = tg_agent_directory_control(drain->options.directory).attention;
        uint64_t wait_ns = do_round(drain);
        bool rests = wait_ns == TG_AGENT_DIRECTORY_NO_LIMIT;
        __atomic_store_n(&drain->rests, rests, __ATOMIC_SEQ_CST);
        if (rests && !is_at_rest(drain)) /* added before the rest could be seen */
            continue;
        if (wait_ns > 0 && !__atomic_load_n(&drain->over, __ATOMIC_ACQUIRE)) {
            clean(drain, false);
            tg_agent_directory_wait(drain->options.directory, attention, wait_ns);
        }
    }
    if (__atomic_load_n(&drain->dropped, __ATOMIC_ACQUIRE))
        return NULL;
    take_pair(drain, true);
    tell_lost(drain);
    tg_ring_set_finish(drain->rings);
    tell_end(drain);
    clean(drain, true);
    return NULL;
}

static struct tg_error *start_thread(struct tg_agent_drain *drain)
{
    struct tg_error *error =
        tg_thread_start(run, drain, "the thread that reads the agents' rings", &drain->thread);
    drain->thread_started = error == NULL;
    return error;
}

struct tg_error *tg_agent_drain_create(const struct tg_agent_drain_options *options,
                                       struct tg_agent_drain **drain)
{
    struct tg_agent_drain *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    made->interval_ns = BUSY_NS;
    made->held_from = UINT64_MAX;
    pthread_mutex_init(&made->settle_lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&made->settled, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int directory = tg_agent_directory_fd(options->directory);
    made->clock_fd = openat(directory, "clock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (made->clock_fd >= 0) {
        tg_tick_clock_save(made->clock_fd, made->n_pairs++, tg_tick_clock_first(options->clock));
        tg_tick_clock_save(made->clock_fd, made->n_pairs++, tg_tick_clock_last(options->clock));
    }
    tg_mapping_guard_install();
    struct tg_error *error = tg_event_queue_create(0, &made->queue);
    const struct tg_ring_set_options rings = {.directory_fd = directory,
                                              .clock = options->clock,
                                              .queue = made->queue,
                                              .sink = options->sink,
                                              .file = options->file,
                                              .max_bytes = options->growth_bytes > 0 ? LATE_BYTES : 0,
                                              .growth_bytes = options->growth_bytes};
    if (error == NULL)
        error = tg_ring_set_create(&rings, &made->rings);
    if (error == NULL)
        error = start_thread(made);
    if (error != NULL) {
        tg_agent_drain_destroy(made);
        return error;
    }
    *drain = made;
    return NULL;
}

void tg_agent_drain_add(struct tg_agent_drain *drain, const struct tg_event *event)
{
    tg_event_queue_add(drain->queue, event);
    if (__atomic_exchange_n(&drain->rests, false, __ATOMIC_SEQ_CST))
        tg_agent_directory_call(drain->options.directory);
}

void tg_agent_drain_seal(struct tg_agent_drain *drain, uint64_t n_events, bool with_last)
{
    tg_ring_set_seal(drain->rings, n_events, with_last);
}

void tg_agent_drain_hold(struct tg_agent_drain *drain, uint64_t time_ns)
{
    __atomic_store_n(&drain->held_from, time_ns, __ATOMIC_RELEASE);
}

static struct timespec moment_in(uint64_t within_ns)
{
    uint64_t end_ns = tg_engine_now_ns() + within_ns;
    return (struct timespec){.tv_sec = (time_t)(end_ns / 1000000000), .tv_nsec = (long)(end_ns % 1000000000)};
}

static void call(struct tg_agent_drain *drain)
{
    __atomic_store_n(&drain->rests, false, __ATOMIC_SEQ_CST);
    tg_agent_directory_call(drain->options.directory);
}

bool tg_agent_drain_settle(struct tg_agent_drain *drain, uint64_t up_to_ns, uint64_t within_ns)
{
    const struct timespec end = moment_in(within_ns);
    uint64_t now_ns = tg_engine_now_ns();
    __atomic_store_n(&drain->settle_ns, up_to_ns < now_ns ? up_to_ns : now_ns, __ATOMIC_RELEASE);
    call(drain);
    pthread_mutex_lock(&drain->settle_lock);
    int result = 0;
    while (result == 0 && __atomic_load_n(&drain->settle_ns, __ATOMIC_ACQUIRE) != 0)
        result = pthread_cond_timedwait(&drain->settled, &drain->settle_lock, &end);
    bool settled = __atomic_exchange_n(&drain->settle_ns, 0, __ATOMIC_ACQ_REL) == 0;
    pthread_mutex_unlock(&drain->settle_lock);
    return settled;
}

bool tg_agent_drain_foresee(struct tg_agent_drain *drain, struct tg_ring_foresight *foresight,
                            uint64_t within_ns)
{
    const struct timespec end = moment_in(within_ns);
    __atomic_store_n(&drain->foresight, foresight, __ATOMIC_RELEASE);
    call(drain);
    pthread_mutex_lock(&drain->settle_lock);
    int result = 0;
    while (result == 0 && __atomic_load_n(&drain->foresight, __ATOMIC_ACQUIRE) != NULL)
        result = pthread_cond_timedwait(&drain->settled, &drain->settle_lock, &end);
    bool is_known = __atomic_exchange_n(&drain->foresight, NULL, __ATOMIC_ACQ_REL) == NULL;
    pthread_mutex_unlock(&drain->settle_lock);
    return is_known;
}

static void stop_thread(struct tg_agent_drain *drain)
{
    if (!drain->thread_started)
        return;
    __atomic_store_n(&drain->over, true, __ATOMIC_RELEASE);
    tg_agent_directory_call(drain->options.directory);
    pthread_join(drain->thread, NULL);
    drain->thread_started = false;
}

void tg_agent_drain_finish(struct tg_agent_drain *drain, struct tg_agent_drain_stats *stats)
{
    stop_thread(drain);
    struct tg_ring_set_stats rings = tg_ring_set_stats(drain->rings);
    if (stats != NULL)
        *stats = (struct tg_agent_drain_stats){.records = rings.records,
                                               .rings = rings.rings,
                                               .programs = rings.programs,
                                               .out_of_order = rings.out_of_order};
}

void tg_agent_drain_destroy(struct tg_agent_drain *drain)
{
    if (drain == NULL)
        return;
    __atomic_store_n(&drain->dropped, true, __ATOMIC_RELEASE);
    stop_thread(drain);
    tg_ring_set_destroy(drain->rings);
    tg_event_queue_destroy(drain->queue);
    if (drain->clock_fd >= 0)
        close(drain->clock_fd);
    pthread_cond_destroy(&drain->settled);
    pthread_mutex_destroy(&drain->settle_lock);
    free(drain);
}
