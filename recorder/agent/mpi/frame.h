/* One call of MPI by the program: what a wrapper does around the library's function.
 *
 * MPI_NAME and PMPI_NAME are both wrapped: the first is what programs call, and a PMPI tool may be behind
 * it; the second is what a tool in front of the agent calls, and Open MPI's Fortran library. Of
 * calls within calls of one thread the outermost alone is recorded. */
#ifndef TG_RECORDER_AGENT_MPI_FRAME_H
#define TG_RECORDER_AGENT_MPI_FRAME_H

#include "recorder/agent/mpi/error.h"
#include "recorder/agent/mpi/library.h"
#include "recorder/agent/record.h"

/* As in a trace: what there is nothing of. */
enum { TG_MPI_NOTHING = -3 };

/* The outermost call of a thread. */
struct tg_mpi_frame {
    enum tg_mpi_call call;
    const void *code;
    struct tg_mpi_polled
        *repeats;  /* a poll whose entry is not recorded unless it finds something: its place; else NULL */
    bool has_told; /* polling has been told: behind tg_mpi_poll_end its requests may be told */
    enum tg_mpi_poll_outcome poll;
    uint64_t begun_ticks; /* of a poll that is not the first of its row */
};

/* Polls in vain from one place that were not recorded one by one, since they were last told. In tg_agent_room, one for each of
 * TG_MPI_POLL_PLACES. */
struct tg_mpi_polled {
    enum tg_mpi_call call;
    uint64_t polls, inside_ticks, longest_ticks, first_ticks,
        last_ticks; /* the first began, and the last ended */
};

/* Further arguments of MPI_ENTER. */
struct tg_mpi_enter {
    uint64_t comm;
    uint64_t instance;
    int64_t peer;
    int64_t tag;
    int64_t root;
    tg_mpi_amount_t amount;
    uint64_t request; /* 0: none */
    bool receives;    /* FROM, FROM_TAG and FROM_AMOUNT are said */
    int64_t from, from_tag;
    tg_mpi_amount_t from_amount;
    const void *requests; /* requests that a poll asks about, several */
};

/* Further arguments of MPI_LEAVE. */
struct tg_mpi_leave {
    uint64_t request;
    int64_t peer;
    int64_t tag;
    uint64_t bytes;
};

enum { TG_MPI_POLL_PLACES = 6 };

/* State of a thread. */
struct tg_mpi_thread {
    const void *outermost; /* frame of the wrapper in progress */
    const void
        *fortran; /* address where Fortran code called the library, which has not called the agent yet; set by
                            recorder/agent/mpi/fortran.c */
    unsigned n_polls;
    const void
        *polls[TG_MPI_POLL_PLACES]; /* places that polled since something else was recorded: a row of polls */
    bool is_various;                /* not all of them asked for the same */
    uint64_t n_in_row, polled;      /* how many they were, and a mixture of what the first one asked for */
    uint64_t row_ticks, told_ticks,
        inside_ticks; /* the first one's, those of the last record about the row, and how
                                                     long polls took since then */
};
extern __thread struct tg_mpi_thread tg_mpi_thread __attribute__((tls_model("initial-exec")));

/* Whether the code with stack frame HERE runs within a recorded call of the thread. */
bool tg_mpi_frame_is_within_call(const void *here);

/* Begins FRAME for CALL made from CODE by the wrapper with stack frame HERE. False where it is not recorded:
 * MPI is not observed, or it is a call within a call. */
bool tg_mpi_frame_begin_slowly(struct tg_mpi_frame *frame, enum tg_mpi_call call, const void *code,
                               const void *here);

static inline bool tg_mpi_frame_begin(struct tg_mpi_frame *frame, enum tg_mpi_call call, const void *code,
                                      const void *here)
{
    struct tg_mpi_thread *thread = &tg_mpi_thread;
    if (TG_AGENT_UNLIKELY(thread->outermost != NULL || thread->fortran != NULL ||
                          (tg_agent.flags & TG_AGENT_MPI) == 0 ||
                          __atomic_load_n(&tg_mpi.abi, __ATOMIC_ACQUIRE) == NULL))
        return tg_mpi_frame_begin_slowly(frame, call, code, here);
    thread->outermost = here;
    tg_mpi_failure = (struct tg_mpi_failure){0};
    *frame = (struct tg_mpi_frame){.call = call, .code = code};
    return true;
}

static inline void tg_mpi_frame_end(void)
{
    tg_mpi_thread.outermost = NULL;
}

/* MPI_ENTER of a call on something with id COMM: collective (INSTANCE is 0 where only some take part), or
 * from one process to another; of one with nothing to say. */
tg_agent_moment tg_mpi_enter_collective(const struct tg_mpi_frame *frame, uint64_t comm, uint64_t instance,
                                        int64_t root, tg_mpi_amount_t amount);
void tg_mpi_enter_point(const struct tg_mpi_frame *frame, uint64_t comm, int64_t peer, int64_t tag,
                        tg_mpi_amount_t amount);
/* Of one that sends and receives: PEER and TAG are those of the send. */
void tg_mpi_enter_both(const struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter);
tg_agent_moment tg_mpi_enter(const struct tg_mpi_frame *frame);
/* Of one that waits for, or starts, REQUEST, or several: MPI_REQUESTS follows. */
void tg_mpi_enter_request(const struct tg_mpi_frame *frame, uint64_t request);
/* Of one about PARTITION of REQUEST, or several: TG_MPI_NOTHING, and MPI_PARTITIONS follows. */
void tg_mpi_enter_partition(const struct tg_mpi_frame *frame, uint64_t request, int64_t partition);
void tg_mpi_record_leave(const struct tg_mpi_frame *frame, const struct tg_mpi_leave *leave, int result);
/* Records a return with nothing but the result. */
void tg_mpi_record_return(const struct tg_mpi_frame *frame, int result);
/* The same, at MOMENT: that of the last record about what the call has done, if it is not 0. */
void tg_mpi_record_return_at(tg_agent_moment moment, const struct tg_mpi_frame *frame, int result);

/* Calls that poll. Programs make them by the million while they wait: of an unbroken row of those that found
 * nothing, made from the same place, only the first is recorded, now and then that they go on, and what they were together
 * (unless each is asked for, TG_AGENT_EVERY). Begins with ENTER; ends with whether something was found (or went wrong): true, and
 * ENTER is recorded by now, where what was found is to be recorded too, and then tg_mpi_record_leave. */
void tg_mpi_poll_begin(struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter);
bool tg_mpi_poll_end(struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter, bool found, int result);

/* Ranks and roots as the program gave them, as a trace has them. */
int64_t tg_mpi_peer(int rank);
int64_t tg_mpi_tag(int tag);
int64_t tg_mpi_root(int root);

/* Defines MPI_NAME and PMPI_NAME with PARAMETERS, and begins the definition of what they do where they are
 * observed: a function of `frame`, `next` (the library's function) and PARAMETERS, whose body follows.
 *
 *     TG_MPI_WRAP(Wait, (void *request, void *status), (request, status))
 *     {
 *         ... int result = next(request, status); ...
 *     } */
#define TG_MPI_WRAP(name, parameters, arguments) TG_MPI_WRAP_(name, parameters, arguments)
#define TG_MPI_WRAP_(name, parameters, arguments)                                                            \
    typedef int name##_function parameters;                                                                  \
    static int observed_##name(struct tg_mpi_frame *frame, name##_function *next, TG_MPI_UNPACK parameters); \
    TG_MPI_WRAPPER(MPI_##name, name, TG_MPI_NAME_MPI, parameters, arguments)                                 \
    TG_MPI_WRAPPER(PMPI_##name, name, TG_MPI_NAME_PMPI, parameters, arguments)                               \
    static int observed_##name(struct tg_mpi_frame *frame, name##_function *next, TG_MPI_UNPACK parameters)
#define TG_MPI_WRAPPER(symbol, name, which, parameters, arguments)                                           \
    TG_AGENT_EXPORT int symbol parameters;                                                                   \
    int symbol parameters                                                                                    \
    {                                                                                                        \
        name##_function *next = (name##_function *)(uintptr_t)tg_mpi_next(TG_MPI_CALL_##name, which);        \
        struct tg_mpi_frame frame;                                                                           \
        if (!tg_mpi_frame_begin(&frame, TG_MPI_CALL_##name, __builtin_return_address(0),                     \
                                __builtin_frame_address(0)))                                                 \
            return next arguments;                                                                           \
        int result = observed_##name(&frame, next, TG_MPI_UNPACK arguments);                                 \
        tg_mpi_frame_end();                                                                                  \
        return result;                                                                                       \
    }
#define TG_MPI_UNPACK(...) __VA_ARGS__

#endif
