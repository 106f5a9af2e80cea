/* Records: where the agent's parts put what they see. Everything here may be called at any time, by any
 * thread, also in signal handlers, before main, in fork children and while a thread ends; where nothing is
 * recorded (no recorder, stepped aside) it does nothing. It never changes errno.
 *
 * The agent links libc alone, allocates nothing with malloc, and takes no lock while it records. What belongs
 * to the process and is read by all parts is in `tg_agent`; each part keeps what it alone needs in a static
 * struct of its own (recorder/agent/gomp/gomp.c the runtimes that it found,
 * recorder/agent/mpi/{comm,objects,request}.c tables of handles, recorder/agent/calls/dl_calls.c its sites).
 *
 * Thread-local variables are initial-exec: a handler can reach them, and they are there before a thread's
 * first instruction. They come out of the static thread-local storage, which the recorder enlarges by what
 * they take (recorder/inject/files.h); all of them together stay below 640 bytes (a test holds them to that).
 * */
#ifndef TG_RECORDER_AGENT_RECORD_H
#define TG_RECORDER_AGENT_RECORD_H

#include "recorder/agent/repeat.h"

/* So far ahead of a record its cache lines are asked for: the recorder read them last, and the lock that the
 * program takes next would wait until they are there. */
enum { TG_AGENT_AHEAD_BYTES = 1024 };

/* A record that was written: the position behind it, in the lowest bits half of its words; 0: none. The clock is most of what a
 * record costs: who knows that another one is of the same moment passes this on, and that one takes over the time, if nothing
 * was recorded in between. */
typedef uint64_t tg_agent_moment;
enum { TG_AGENT_MOMENT_WORDS = 15 };

/* Whether the record at the calling thread's position takes over the time of the one before, that of MOMENT; *TICKS becomes
 * it. */
static inline __attribute__((always_inline)) bool tg_agent_is_at(tg_agent_moment moment, uint64_t *ticks)
{
    const struct tg_agent_thread *thread = &tg_agent_thread;
    uint64_t before = thread->written - (moment & TG_AGENT_MOMENT_WORDS) * 16;
    if (moment == 0 || (moment & ~(uint64_t)TG_AGENT_MOMENT_WORDS) != thread->written)
        return false;
    *ticks = *(const uint64_t *)(const void *)(thread->data + (before & thread->mask));
    return true;
}

/* Begins a record of KIND with N_ARGUMENTS words of arguments, at most TG_AGENT_MAX_WORDS - 2: returns where
 * to write all of them, before tg_agent_commit; NULL where it is not recorded (then no commit). Between the
 * two nothing else may be called. MOMENT 0: now. */
static inline __attribute__((always_inline)) uint64_t *tg_agent_begin_at(tg_agent_moment moment,
                                                                         unsigned kind, size_t n_arguments)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    size_t n_words = (n_arguments + 3) & ~(size_t)1;
    if (TG_AGENT_UNLIKELY(thread->busy != NULL))
        return tg_agent_begin_nested(kind, n_words, __builtin_frame_address(0));
    thread->busy = __builtin_frame_address(0);
    tg_agent_signal_fence();
    if (TG_AGENT_UNLIKELY(thread->written + n_words * 8 > thread->limit ||
                          thread->generation != *tg_agent.generation))
        return tg_agent_begin_slowly(kind, n_words);
    uint64_t *record = (uint64_t *)(void *)(thread->data + (thread->written & thread->mask));
    __builtin_prefetch((const char *)record + TG_AGENT_AHEAD_BYTES, 1);
    if (!tg_agent_is_at(moment, &record[0]))
        record[0] = tg_agent_ticks();
    record[1] = kind | n_words << TG_AGENT_WORDS_SHIFT | thread->place;
    return record + 2;
}

static inline __attribute__((always_inline)) uint64_t *tg_agent_begin(unsigned kind, size_t n_arguments)
{
    return tg_agent_begin_at(0, kind, n_arguments);
}

/* The record begun last is complete, and has N_WORDS. */
static inline __attribute__((always_inline)) void tg_agent_commit_words(uint64_t n_words)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    thread->written += n_words * 8;
    __atomic_store_n(&thread->header->head, thread->written, __ATOMIC_RELEASE);
    tg_agent_signal_fence();
    thread->busy = NULL;
    tg_agent_signal_fence();
    if (TG_AGENT_UNLIKELY(thread->limit == 0))
        tg_agent_commit_slowly();
}

/* The record begun last is complete. */
static inline __attribute__((always_inline)) void tg_agent_commit(void)
{
    const struct tg_agent_thread *thread = &tg_agent_thread;
    const uint64_t *record = (const uint64_t *)(void *)(thread->data + (thread->written & thread->mask));
    tg_agent_commit_words(record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff);
}

/* The same for the record of KIND that has ARGUMENTS, and N_WORDS in all, which may be a repeat: what fills it up to an even
 * number of words must be 0. Where both are constant the comparison of the words is straight code. */
static inline __attribute__((always_inline)) tg_agent_moment
tg_agent_commit_repeatable(uint64_t *arguments, unsigned kind, uint64_t n_words)
{
    if (TG_AGENT_UNLIKELY(tg_agent_thread.mask == UINT64_MAX)) { /* a handler's */
        tg_agent_commit_words(n_words);
        return 0;
    }
    n_words = tg_agent_shrink(arguments - 2, kind, n_words);
    uint64_t written = tg_agent_thread.written + n_words * 8;
    tg_agent_commit_words(n_words);
    return n_words / 2 > TG_AGENT_MOMENT_WORDS ? 0 : written | n_words / 2;
}

/* The records below where they cannot be written at once; SHAPE is the kind, and how many arguments it has <<
 * TG_AGENT_WORDS_SHIFT. (Six parameters: none on the stack, where tg_agent_begin would take its frame for
 * that of a handler of the caller.) */
void tg_agent_record_slowly(unsigned shape, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
    TG_AGENT_SHARED(tg_agent_record_slowly);

/* tg_agent_begin and tg_agent_commit for what is hot: N_WORDS is constant and nothing is called, so that no
 * register is saved, and the next record does not wait for this one's size to come back from memory. MOMENT
 * 0: now. NULL: nothing was begun. */
static inline __attribute__((always_inline)) uint64_t *tg_agent_begin_at_once(unsigned kind, uint64_t n_words,
                                                                              tg_agent_moment moment)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    if (TG_AGENT_UNLIKELY(thread->busy != NULL || tg_agent.clock != TG_AGENT_CLOCK_TSC))
        return NULL;
    thread->busy = __builtin_frame_address(0);
    tg_agent_signal_fence();
    uint64_t written = thread->written;
    if (TG_AGENT_UNLIKELY(written + n_words * 8 > thread->limit ||
                          thread->generation != *tg_agent.generation)) {
        thread->busy = NULL;
        return NULL;
    }
    uint64_t *record = (uint64_t *)(void *)(thread->data + (written & thread->mask));
    __builtin_prefetch((const char *)record + TG_AGENT_AHEAD_BYTES, 1);
    if (!tg_agent_is_at(moment, &record[0]))
        record[0] = __rdtsc();
    record[1] = kind | n_words << TG_AGENT_WORDS_SHIFT | thread->place;
    return record;
}

static inline __attribute__((always_inline)) tg_agent_moment tg_agent_commit_at_once(uint64_t n_words)
{
    uint64_t written = tg_agent_thread.written + n_words * 8;
    tg_agent_commit_words(n_words);
    return written | n_words / 2;
}

/* Whole records of one to five arguments, of MOMENT where nothing was recorded since, otherwise of now. */
static inline __attribute__((always_inline)) tg_agent_moment
tg_agent_record2_at(tg_agent_moment moment, unsigned kind, uint64_t a, uint64_t b)
{
    enum { WORDS = 4 };
    uint64_t *record = tg_agent_begin_at_once(kind, WORDS, moment);
    if (TG_AGENT_UNLIKELY(record == NULL)) {
        tg_agent_record_slowly(kind | 2 << TG_AGENT_WORDS_SHIFT, a, b, 0, 0, 0);
        return 0;
    }
    if (tg_agent_is_repeatable(kind))
        return tg_agent_commit_at_once(tg_agent_shrink2(record, kind, record[1], a, b));
    record[2] = a;
    record[3] = b;
    return tg_agent_commit_at_once(WORDS);
}

static inline __attribute__((always_inline)) tg_agent_moment tg_agent_record2(unsigned kind, uint64_t a,
                                                                              uint64_t b)
{
    return tg_agent_record2_at(0, kind, a, b);
}

static inline __attribute__((always_inline)) tg_agent_moment tg_agent_record1(unsigned kind, uint64_t a)
{
    return tg_agent_record2(kind, a, 0); /* as large */
}

static inline __attribute__((always_inline)) tg_agent_moment
tg_agent_record4(unsigned kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    enum { WORDS = 6 };
    uint64_t *record = tg_agent_begin_at_once(kind, WORDS, 0);
    if (TG_AGENT_UNLIKELY(record == NULL)) {
        tg_agent_record_slowly(kind | 4 << TG_AGENT_WORDS_SHIFT, a, b, c, d, 0);
        return 0;
    }
    record[2] = a;
    record[3] = b;
    record[4] = c;
    record[5] = d;
    return tg_agent_commit_at_once(tg_agent_is_repeatable(kind) ? tg_agent_shrink(record, kind, WORDS)
                                                                : WORDS);
}

static inline __attribute__((always_inline)) tg_agent_moment
tg_agent_record5(unsigned kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    enum { WORDS = 8 };
    uint64_t *record = tg_agent_begin_at_once(kind, WORDS, 0);
    if (TG_AGENT_UNLIKELY(record == NULL)) {
        tg_agent_record_slowly(kind | 5 << TG_AGENT_WORDS_SHIFT, a, b, c, d, e);
        return 0;
    }
    record[2] = a;
    record[3] = b;
    record[4] = c;
    record[5] = d;
    record[6] = e;
    record[7] = 0;
    return tg_agent_commit_at_once(tg_agent_is_repeatable(kind) ? tg_agent_shrink(record, kind, WORDS)
                                                                : WORDS);
}

/* The first word of OpenMP records: "place(WHICH)" of the contract. SEEN is enum tg_omp_seen. */
static inline uint64_t tg_agent_place(const void *code, unsigned seen, unsigned which)
{
    return ((uint64_t)(uintptr_t)code & TG_AGENT_CODE_MASK) | (uint64_t)seen << TG_AGENT_SEEN_SHIFT |
           (uint64_t)which << TG_AGENT_ENUM_SHIFT;
}

/* Words that a string argument takes: TEXT may be NULL, which counts as "". */
size_t tg_agent_string_words(const char *text) TG_AGENT_SHARED(tg_agent_string_words);
/* Writes TEXT into ARGUMENTS, tg_agent_string_words(TEXT) words as counted before. */
void tg_agent_put_string(uint64_t *arguments, const char *text, size_t n_words)
    TG_AGENT_SHARED(tg_agent_put_string);

/* Records TEXT as KIND: TG_RECORD_NOTE or TG_RECORD_ASIDE. */
void tg_agent_say(unsigned kind, const char *text) TG_AGENT_SHARED(tg_agent_say);

#endif
