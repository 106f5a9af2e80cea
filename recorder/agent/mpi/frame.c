#include "recorder/agent/mpi/frame.h"

__thread struct tg_mpi_thread tg_mpi_thread __attribute__((tls_model("initial-exec")));

_Static_assert(TG_MPI_POLL_PLACES * sizeof(struct tg_mpi_polled) <= TG_AGENT_ROOM_BYTES, "they are there");

/* Frames grow downwards: one that is not below the outermost call's is of code that left that call by longjmp
 * or an exception, as error handlers may. */
bool tg_mpi_frame_is_within_call(const void *here)
{
    const void *outermost = tg_mpi_thread.outermost;
    return outermost != NULL && (uintptr_t)here < (uintptr_t)outermost;
}

bool tg_mpi_frame_begin_slowly(struct tg_mpi_frame *frame, enum tg_mpi_call call, const void *code,
                               const void *here)
{
    struct tg_mpi_thread *thread = &tg_mpi_thread;
    if (tg_mpi_frame_is_within_call(here) || !tg_agent_observes(TG_AGENT_MPI))
        return false;
    thread->outermost = here;
    tg_mpi_failure = (struct tg_mpi_failure){0};
    if (!tg_mpi_library_is_known()) {
        thread->outermost = NULL;
        return false;
    }
    *frame = (struct tg_mpi_frame){.call = call, .code = code};
    if (TG_AGENT_UNLIKELY(thread->fortran != NULL)) {
        frame->code = thread->fortran;
        thread->fortran = NULL;
    }
    return true;
}

/* ---- records */

/* The first words of all kinds of MPI_ENTER. */
static inline __attribute__((always_inline)) void
put_enter(uint64_t *arguments, const struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter)
{
    arguments[0] = frame->call | tg_mpi_amount_op(enter->amount) << TG_MPI_CALL_OP_SHIFT |
                   tg_mpi_amount_type(enter->amount) << TG_MPI_CALL_TYPE_SHIFT |
                   tg_mpi_amount_type(enter->from_amount) << TG_MPI_CALL_FROM_TYPE_SHIFT;
    arguments[1] = enter->comm;
    arguments[2] = enter->instance;
    arguments[3] = (uint64_t)enter->peer;
    arguments[4] = (uint64_t)enter->tag;
    arguments[5] = (uint64_t)enter->root;
    arguments[6] = tg_mpi_amount_bytes(enter->amount);
    arguments[7] = (uintptr_t)frame->code;
}

/* Of one without a request. (ENTER is in no memory where it is the caller's own.) */
static inline __attribute__((always_inline)) tg_agent_moment write_plain(const struct tg_mpi_frame *frame,
                                                                         const struct tg_mpi_enter *enter)
{
    uint64_t *arguments = tg_agent_begin(TG_RECORD_MPI_ENTER, 8);
    if (arguments == NULL)
        return 0;
    put_enter(arguments, frame, enter);
    return tg_agent_commit_repeatable(arguments, TG_RECORD_MPI_ENTER, 10);
}

static inline __attribute__((always_inline)) void write_request(const struct tg_mpi_frame *frame,
                                                                const struct tg_mpi_enter *enter)
{
    uint64_t *arguments = tg_agent_begin(TG_RECORD_MPI_ENTER_REQUEST, 9);
    if (arguments == NULL)
        return;
    put_enter(arguments, frame, enter);
    arguments[8] = enter->request;
    arguments[9] = 0; /* fills the record up */
    tg_agent_commit_repeatable(arguments, TG_RECORD_MPI_ENTER_REQUEST, 12);
}

static void write_both(const struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter)
{
    uint64_t *arguments = tg_agent_begin(TG_RECORD_MPI_ENTER_BOTH, 11);
    if (arguments == NULL)
        return;
    put_enter(arguments, frame, enter);
    arguments[8] = 1;
    arguments[9] = (uint64_t)enter->from;
    arguments[10] = (uint64_t)enter->from_tag;
    arguments[11] = 0; /* fills the record up */
    tg_agent_commit_repeatable(arguments, TG_RECORD_MPI_ENTER_BOTH, 14);
}

static void write_enter(const struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter)
{
    if (enter->receives)
        write_both(frame, enter);
    else if (enter->request != 0)
        write_request(frame, enter);
    else
        write_plain(frame, enter);
}

/* What was polled in vain since it was last told, place by place. */
static void tell_sums(struct tg_mpi_thread *thread)
{
    struct tg_mpi_polled *places = tg_agent_room();
    for (unsigned i = 0; places != NULL && i < thread->n_polls; i++) {
        struct tg_mpi_polled *place = &places[i];
        uint64_t *arguments = place->polls > 0 ? tg_agent_begin(TG_RECORD_MPI_POLL_SUM, 7) : NULL;
        if (arguments == NULL)
            continue;
        uint64_t now = tg_agent_ticks();
        arguments[0] = place->call;
        arguments[1] = (uintptr_t)thread->polls[i];
        arguments[2] = place->polls;
        arguments[3] = place->inside_ticks;
        arguments[4] = place->longest_ticks;
        arguments[5] = now - place->first_ticks;
        arguments[6] = now - place->last_ticks;
        tg_agent_commit();
        *place = (struct tg_mpi_polled){.call = place->call};
    }
}

/* Something else than a poll in vain is about to be recorded. */
static inline void end_row(void)
{
    struct tg_mpi_thread *thread = &tg_mpi_thread;
    if (TG_AGENT_LIKELY(thread->n_polls == 0))
        return;
    tell_sums(thread);
    thread->n_polls = 0;
}

tg_agent_moment tg_mpi_enter_collective(const struct tg_mpi_frame *frame, uint64_t comm, uint64_t instance,
                                        int64_t root, tg_mpi_amount_t amount)
{
    end_row();
    return write_plain(frame, &(const struct tg_mpi_enter){.comm = comm,
                                                           .instance = instance,
                                                           .peer = TG_MPI_NOTHING,
                                                           .tag = TG_MPI_NOTHING,
                                                           .root = root,
                                                           .amount = amount});
}

void tg_mpi_enter_point(const struct tg_mpi_frame *frame, uint64_t comm, int64_t peer, int64_t tag,
                        tg_mpi_amount_t amount)
{
    end_row();
    write_plain(frame, &(const struct tg_mpi_enter){
                           .comm = comm, .peer = peer, .tag = tag, .root = TG_MPI_NOTHING, .amount = amount});
}

void tg_mpi_enter_both(const struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter)
{
    end_row();
    write_enter(frame, enter);
}

tg_agent_moment tg_mpi_enter(const struct tg_mpi_frame *frame)
{
    return tg_mpi_enter_collective(frame, 0, 0, TG_MPI_NOTHING, 0);
}

void tg_mpi_enter_request(const struct tg_mpi_frame *frame, uint64_t request)
{
    tg_mpi_enter_partition(frame, request, TG_MPI_NOTHING);
}

void tg_mpi_enter_partition(const struct tg_mpi_frame *frame, uint64_t request, int64_t partition)
{
    const struct tg_mpi_enter enter = {
        .peer = TG_MPI_NOTHING, .tag = partition, .root = TG_MPI_NOTHING, .request = request};
    end_row();
    if (request != 0)
        write_request(frame, &enter);
    else
        write_plain(frame, &enter);
}

static void record_leave(const struct tg_mpi_frame *frame, const struct tg_mpi_leave *leave, int result,
                         tg_agent_moment moment)
{
    if (TG_AGENT_UNLIKELY(result != 0 && !tg_mpi_failure.is_told))
        tg_mpi_error_tell(result, tg_mpi_call_name(frame->call));
    uint64_t *arguments = tg_agent_begin_at(moment, TG_RECORD_MPI_LEAVE, 6);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)frame->call | (uint64_t)frame->poll << TG_MPI_CALL_POLL_SHIFT;
    arguments[1] = leave->request;
    arguments[2] = (uint64_t)leave->peer;
    arguments[3] = (uint64_t)leave->tag;
    arguments[4] = leave->bytes;
    arguments[5] = (uint64_t)(int64_t)result;
    tg_agent_commit_repeatable(arguments, TG_RECORD_MPI_LEAVE, 8);
}

void tg_mpi_record_leave(const struct tg_mpi_frame *frame, const struct tg_mpi_leave *leave, int result)
{
    record_leave(frame, leave, result, 0);
}

void tg_mpi_record_return_at(tg_agent_moment moment, const struct tg_mpi_frame *frame, int result)
{
    static const struct tg_mpi_leave nothing = {.peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING};
    record_leave(frame, &nothing, result, moment);
}

void tg_mpi_record_return(const struct tg_mpi_frame *frame, int result)
{
    tg_mpi_record_return_at(0, frame, result);
}

/* ---- polls */

void tg_mpi_poll_begin(struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter)
{
    const struct tg_mpi_thread *thread = &tg_mpi_thread;
    bool is_each_told = (tg_agent.flags & TG_AGENT_EVERY) != 0;
    struct tg_mpi_polled *places = thread->n_polls > 0 && !is_each_told ? tg_agent_room() : NULL;
    for (unsigned i = 0; places != NULL && i < thread->n_polls; i++)
        if (thread->polls[i] == frame->code)
            frame->repeats = &places[i];
    if (thread->n_polls > 0)
        frame->begun_ticks = tg_agent_ticks();
    if (frame->repeats == NULL)
        write_enter(frame, enter);
}

static __attribute__((constructor)) void start(void)
{
    tg_agent_at_thread_end = end_row;
}

/* A number for what a poll asks for, and from where; all partitions of a request are one thing. */
static uint64_t mix_of(const struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter)
{
    enum { PEER_SHIFT = 40, TAG_SHIFT = 20 };
    uint64_t tag = frame->call == TG_MPI_CALL_Parrived ? 0 : (uint64_t)enter->tag;
    return (uintptr_t)frame->code ^ enter->comm ^ enter->request ^ (uintptr_t)enter->requests ^
           (uint64_t)enter->peer << PEER_SHIFT ^ tag << TAG_SHIFT;
}

static void begin_row(const struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter)
{
    struct tg_mpi_thread *thread = &tg_mpi_thread;
    thread->is_various = false;
    thread->n_in_row = 0;
    thread->polled = mix_of(frame, enter);
    thread->row_ticks = thread->told_ticks = tg_agent_ticks();
    thread->inside_ticks = 0;
}

/* Counts a poll in vain, of a row that began before; records now and then that the row goes on. */
static void go_on(struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter)
{
    enum { FIRST_TICKS = 1 << 28, NEXT_TICKS = 1 << 30, PERMILLE = 1000 }; /* some 0.1 s, and 0.4 s */
    struct tg_mpi_thread *thread = &tg_mpi_thread;
    struct tg_mpi_polled *place = frame->repeats;
    uint64_t now = tg_agent_ticks(), passed = now - thread->told_ticks, lasted = now - frame->begun_ticks;
    thread->inside_ticks += lasted;
    if (TG_AGENT_LIKELY(place != NULL)) {
        if (place->polls++ == 0)
            place->first_ticks = frame->begun_ticks;
        place->inside_ticks += lasted;
        place->longest_ticks = lasted > place->longest_ticks ? lasted : place->longest_ticks;
        place->last_ticks = now;
    }
    if (TG_AGENT_LIKELY(passed < (thread->told_ticks == thread->row_ticks ? FIRST_TICKS : NEXT_TICKS)))
        return;
    tell_sums(thread);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_MPI_POLL, 9);
    if (arguments == NULL)
        return;
    arguments[0] = frame->call;
    arguments[1] = enter->comm;
    arguments[2] = (uint64_t)enter->peer;
    arguments[3] = (uint64_t)enter->tag;
    arguments[4] = (uintptr_t)frame->code;
    arguments[5] = enter->request;
    arguments[6] = thread->n_in_row;
    arguments[7] = thread->inside_ticks / (passed / PERMILLE);
    arguments[8] = thread->is_various;
    tg_agent_commit();
    thread->told_ticks = now;
    thread->inside_ticks = 0;
    frame->has_told = true;
}

/* The first poll in vain from its place, or each one. */
static void record_in_vain(struct tg_mpi_frame *frame, int result)
{
    struct tg_mpi_thread *thread = &tg_mpi_thread;
    frame->poll = TG_MPI_POLL_VAIN;
    tg_mpi_record_return(frame, result);
    struct tg_mpi_polled *places = tg_agent_room();
    for (unsigned i = 0; i < thread->n_polls; i++)
        if (thread->polls[i] == frame->code)
            return;
    if (places == NULL || thread->n_polls == TG_MPI_POLL_PLACES)
        return;
    places[thread->n_polls] = (struct tg_mpi_polled){.call = frame->call};
    thread->polls[thread->n_polls++] = frame->code;
}

bool tg_mpi_poll_end(struct tg_mpi_frame *frame, const struct tg_mpi_enter *enter, bool has_found, int result)
{
    struct tg_mpi_thread *thread = &tg_mpi_thread;
    if (has_found || result != 0) {
        end_row();
        if (frame->repeats != NULL)
            write_enter(frame, enter);
        frame->poll = TG_MPI_POLL_FINDS;
        return true;
    }
    bool is_first = thread->n_polls == 0;
    if (is_first)
        begin_row(frame, enter);
    thread->n_in_row++;
    thread->is_various |= thread->polled != mix_of(frame, enter);
    if (frame->repeats == NULL)
        record_in_vain(frame, result);
    if (!is_first)
        go_on(frame, enter);
    return false;
}

/* ---- what the program's numbers mean */

int64_t tg_mpi_peer(int rank)
{
    enum { ANY = -1, NOBODY = -2 };
    if (rank == tg_mpi.abi->proc_null)
        return NOBODY;
    return rank == tg_mpi.abi->any_source ? ANY : rank;
}

int64_t tg_mpi_tag(int tag)
{
    enum { ANY = -1 };
    return tag == tg_mpi.abi->any_tag ? ANY : tag;
}

int64_t tg_mpi_root(int root)
{
    enum { NOBODY = -2, THIS_PROCESS = -4 };
    if (root == tg_mpi.abi->proc_null)
        return NOBODY;
    return root == tg_mpi.abi->root ? THIS_PROCESS : root;
}
