#include "recorder/rings/tick_clock.h"

#include "format/base/search.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/platform/x86.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
    MAX_PAIRS = 4096,
    TRIES = 8,
    FRACTION_BITS = TG_TICK_FRACTION_BITS,
    NEAR = 4, /* the pairs around most ticks are among the latest */
    BOOT_ID_BYTES = 36,
    MAX_NS_PER_TICK = 1 << 20, /* nothing counts as slowly */
};

struct knot {
    struct tg_tick_pair pair;
    uint64_t scale; /* ns per tick up to the next knot, FRACTION_BITS behind the point */
};

struct tg_tick_clock {
    enum tg_agent_clock source;
    size_t n_knots;
    struct knot knots[MAX_PAIRS];
};

/* ---- what can be trusted */

/* As the C library found it at its start: the instruction itself takes 20 us in a virtual machine. */
static bool is_tsc_invariant(void)
{
    return CPU_FEATURE_PRESENT(INVARIANT_TSC);
}

/* The kernel takes the TSC off this list when it finds it unsteady, or processors that differ. */
static bool is_tsc_trusted(void)
{
    char list[256], *next = list, *word;
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
    bool got = file != NULL && fgets(list, sizeof list, file) != NULL;
    if (file != NULL)
        fclose(file);
    while (got && (word = strsep(&next, " \n")) != NULL)
        if (strcmp(word, "tsc") == 0)
            return true;
    return false;
}

enum tg_agent_clock tg_tick_clock_best(void)
{
    return is_tsc_invariant() && is_tsc_trusted() ? TG_AGENT_CLOCK_TSC : TG_AGENT_CLOCK_MONOTONIC;
}

/* ---- pairs */

struct tg_error *tg_tick_clock_create(enum tg_agent_clock source, struct tg_tick_clock **clock)
{
    struct tg_tick_clock *made = malloc(sizeof *made); /* KNOTS are many and not to be cleared */
    if (made == NULL)
        return tg_error_no_memory();
    made->source = source;
    made->n_knots = 0;
    *clock = made;
    return NULL;
}

void tg_tick_clock_destroy(struct tg_tick_clock *clock)
{
    free(clock);
}

enum tg_agent_clock tg_tick_clock_source(const struct tg_tick_clock *clock)
{
    return clock->source;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Not before what precedes it has been executed. */
static uint64_t read_tsc(void)
{
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}

uint64_t tg_tick_clock_now(const struct tg_tick_clock *clock)
{
    return clock->source == TG_AGENT_CLOCK_TSC ? read_tsc() : monotonic_ns();
}

struct tg_tick_pair tg_tick_clock_take(const struct tg_tick_clock *clock)
{
    struct tg_tick_pair best = {0};
    uint64_t best_width = UINT64_MAX;
    if (clock->source != TG_AGENT_CLOCK_TSC) {
        best.ticks = best.time_ns = monotonic_ns();
        return best;
    }
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = read_tsc();
        uint64_t time_ns = monotonic_ns();
        uint64_t width = read_tsc() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct tg_tick_pair){.ticks = before + width / 2, .time_ns = time_ns};
        }
    }
    return best;
}

static uint64_t scale_between(struct tg_tick_pair a, struct tg_tick_pair b)
{
    return (uint64_t)(((unsigned __int128)(b.time_ns - a.time_ns) << FRACTION_BITS) / (b.ticks - a.ticks));
}

/* Every other one of the older half goes, never the first one. */
static void thin_out(struct tg_tick_clock *clock)
{
    size_t kept = 1;
    for (size_t i = 1; i < clock->n_knots; i++)
        if (i % 2 == 0 || i >= MAX_PAIRS / 2)
            clock->knots[kept++] = clock->knots[i];
    clock->n_knots = kept;
    for (size_t i = 0; i + 1 < kept; i++)
        clock->knots[i].scale = scale_between(clock->knots[i].pair, clock->knots[i + 1].pair);
}

bool tg_tick_clock_add(struct tg_tick_clock *clock, struct tg_tick_pair pair)
{
    struct tg_tick_pair last = tg_tick_clock_last(clock);
    if (clock->n_knots > 0 && (pair.ticks <= last.ticks || pair.time_ns <= last.time_ns ||
                               (pair.time_ns - last.time_ns) / MAX_NS_PER_TICK > pair.ticks - last.ticks))
        return false;
    if (clock->n_knots == MAX_PAIRS)
        thin_out(clock);
    if (clock->n_knots > 0)
        clock->knots[clock->n_knots - 1].scale = scale_between(last, pair);
    clock->knots[clock->n_knots++] = (struct knot){.pair = pair};
    return true;
}

struct tg_tick_pair tg_tick_clock_last(const struct tg_tick_clock *clock)
{
    return clock->n_knots == 0 ? (struct tg_tick_pair){0} : clock->knots[clock->n_knots - 1].pair;
}

struct tg_tick_pair tg_tick_clock_first(const struct tg_tick_clock *clock)
{
    return clock->n_knots == 0 ? (struct tg_tick_pair){0} : clock->knots[0].pair;
}

/* ---- conversion */

static uint64_t scaled(uint64_t ticks, uint64_t scale)
{
    unsigned __int128 ns = (unsigned __int128)ticks * scale >> FRACTION_BITS;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static uint64_t outside(const struct tg_tick_clock *clock, uint64_t ticks)
{
    struct tg_tick_pair first = tg_tick_clock_first(clock), last = tg_tick_clock_last(clock);
    if (clock->n_knots < 2)
        return first.time_ns;
    uint64_t scale = scale_between(first, last);
    if (ticks >= last.ticks) {
        uint64_t after_ns = scaled(ticks - last.ticks, scale);
        return after_ns > UINT64_MAX - last.time_ns ? UINT64_MAX : last.time_ns + after_ns;
    }
    uint64_t before_ns = scaled(first.ticks - ticks, scale);
    return before_ns > first.time_ns ? 0 : first.time_ns - before_ns;
}

/* The last knot at or before TICKS, which are not before the first one. */
static size_t find_knot(const struct tg_tick_clock *clock, uint64_t ticks)
{
    for (size_t i = clock->n_knots; i > 0 && i + NEAR > clock->n_knots; i--)
        if (clock->knots[i - 1].pair.ticks <= ticks)
            return i - 1;
    return TG_UPPER_BOUND(clock->knots, clock->n_knots, pair.ticks, ticks) - 1;
}

uint64_t tg_tick_clock_time(const struct tg_tick_clock *clock, uint64_t ticks)
{
    if (clock->source != TG_AGENT_CLOCK_TSC)
        return ticks;
    if (clock->n_knots < 2 || ticks < clock->knots[0].pair.ticks ||
        ticks >= clock->knots[clock->n_knots - 1].pair.ticks)
        return outside(clock, ticks);
    const struct knot *knot = &clock->knots[find_knot(clock, ticks)];
    return knot->pair.time_ns + scaled(ticks - knot->pair.ticks, knot->scale);
}

struct tg_tick_line tg_tick_clock_line(const struct tg_tick_clock *clock, uint64_t ticks)
{
    if (clock->source != TG_AGENT_CLOCK_TSC)
        return (struct tg_tick_line){.length = UINT64_MAX, .scale = UINT64_C(1) << FRACTION_BITS};
    if (clock->n_knots < 2 || ticks < clock->knots[0].pair.ticks ||
        ticks >= clock->knots[clock->n_knots - 1].pair.ticks)
        return (struct tg_tick_line){0};
    const struct knot *knot = &clock->knots[find_knot(clock, ticks)];
    return (struct tg_tick_line){.first = knot->pair.ticks,
                                 .length = knot[1].pair.ticks - knot->pair.ticks,
                                 .time_ns = knot->pair.time_ns,
                                 .scale = knot->scale};
}

uint64_t tg_tick_clock_ticks(const struct tg_tick_clock *clock, uint64_t time_ns)
{
    if (clock->source != TG_AGENT_CLOCK_TSC)
        return time_ns;
    uint64_t first = tg_tick_clock_first(clock).ticks, last = tg_tick_clock_last(clock).ticks;
    if (first >= last)
        return first;
    return first + TG_PARTITION_POINT(last - first, i, tg_tick_clock_time(clock, first + i) < time_ns);
}

uint64_t tg_tick_clock_ticks_per_second(const struct tg_tick_clock *clock)
{
    struct tg_tick_pair first = tg_tick_clock_first(clock), last = tg_tick_clock_last(clock);
    if (clock->source != TG_AGENT_CLOCK_TSC)
        return 1000000000;
    if (clock->n_knots < 2)
        return 0;
    return (uint64_t)((unsigned __int128)(last.ticks - first.ticks) * 1000000000 /
                      (last.time_ns - first.time_ns));
}

/* ---- the salvager's file: lines of one length, the first one says which start of the machine */

static bool read_boot_id(char id[BOOT_ID_BYTES])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, id, BOOT_ID_BYTES);
    close(fd);
    return got == BOOT_ID_BYTES;
}

static void write_line(int fd, uint64_t line, const char *text)
{
    char bytes[TG_TICK_CLOCK_LINE_BYTES];
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes, text, strnlen(text, sizeof bytes - 1));
    bytes[sizeof bytes - 1] = '\n';
    if (pwrite(fd, bytes, sizeof bytes, (off_t)(line * sizeof bytes)) < 0)
        return; /* a salvager will have one pair less */
}

void tg_tick_clock_save(int fd, uint64_t i, struct tg_tick_pair pair)
{
    char text[TG_TICK_CLOCK_LINE_BYTES];
    if (i == 0) {
        char id[BOOT_ID_BYTES] = {0};
        snprintf(text, sizeof text, "boot %.*s", BOOT_ID_BYTES, read_boot_id(id) ? id : "?");
        write_line(fd, 0, text);
    }
    snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, pair.ticks, pair.time_ns);
    write_line(fd, i == 0 ? 1 : 2 + (i - 1) % (TG_TICK_CLOCK_LINES - 2), text);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct tg_tick_pair *x = a, *y = b;
    return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

bool tg_tick_clock_load(struct tg_tick_clock *clock, int fd)
{
    char lines[TG_TICK_CLOCK_LINES * TG_TICK_CLOCK_LINE_BYTES + 1], id[BOOT_ID_BYTES];
    struct tg_tick_pair pairs[TG_TICK_CLOCK_LINES];
    size_t n_pairs = 0;
    ssize_t got = pread(fd, lines, sizeof lines - 1, 0);
    lines[got > 0 ? got : 0] = '\0';
    bool same_start =
        strncmp(lines, "boot ", 5) == 0 && read_boot_id(id) && strncmp(lines + 5, id, sizeof id) == 0;
    char *next = lines, *line;
    while (n_pairs < TG_TICK_CLOCK_LINES && (line = strsep(&next, "\n")) != NULL) {
        struct tg_tick_pair pair;
        if (sscanf(line, "%" SCNu64 " %" SCNu64, &pair.ticks, &pair.time_ns) == 2)
            pairs[n_pairs++] = pair;
    }
    qsort(pairs, n_pairs, sizeof pairs[0], compare_pairs);
    for (size_t i = 0; i < n_pairs; i++)
        tg_tick_clock_add(clock, pairs[i]);
    return same_start;
}
