#include "analyzer/models/mpi/polls.h"

#include "analyzer/models/mpi/call.h"

#include <stddef.h>

/* A poll that is repeated is recorded only where it finds something, unless each is. */
void tg_mpi_poll_enter(struct tg_mpi_thread *thread, bool polls, uint64_t code, uint64_t time_ns)
{
    if (!polls) {
        thread->polls_since_ns = thread->polled_ns = 0;
        return;
    }
    thread->poll_found = thread->polls_since_ns != 0 && thread->call.code == code;
    if (thread->polls_since_ns == 0)
        thread->polls_since_ns = time_ns;
}

void tg_mpi_poll_leave(struct tg_mpi_thread *thread, const struct tg_event_mpi_leave *leave, uint64_t time_ns,
                       struct tg_wait_times *waits)
{
    bool is_known =
        leave->poll !=
        TG_MPI_POLL_NONE_KNOWN; /* else an older trace, where one that is repeated in vain is not told */
    if (is_known ? leave->poll == TG_MPI_POLL_IN_VAIN
                 : !thread->poll_found && leave->peer == -3 && leave->request == 0) {
        if (!thread->poll_found)
            thread->polls_various |= thread->polled_ns != 0;
        return;
    }
    if (thread->polled_ns != 0)
        tg_wait_times_add(waits, thread->polls_since_ns, time_ns);
    thread->polls_since_ns = thread->polled_ns = 0;
}

/* What THREAD does between its polls, as TOLD says of the time since the event before. */
static void note_gap(struct tg_mpi_thread *thread, const struct tg_event_mpi_poll *told, uint64_t time_ns)
{
    enum { PERMILLE = 1000 };
    bool is_first = thread->polled_ns == 0 || told->polls <= thread->poll_count;
    uint64_t since_ns = is_first ? thread->polls_since_ns : thread->polled_ns;
    uint64_t polls = is_first ? told->polls : told->polls - thread->poll_count;
    uint64_t outside = told->permille < PERMILLE ? PERMILLE - told->permille : 0;
    uint64_t passed_ns = time_ns > since_ns ? time_ns - since_ns : 0;
    thread->poll_gap_ns = polls == 0 ? UINT64_MAX : passed_ns / PERMILLE * outside / polls;
}

void tg_mpi_poll_repeat(struct tg_mpi_thread *thread, const struct tg_event_mpi_poll *told, const char *name,
                        uint64_t time_ns)
{
    if (thread->polls_since_ns == 0)
        thread->polls_since_ns = thread->left_ns;
    thread->call = (struct tg_mpi_call){.name = name,
                                        .comm = told->comm,
                                        .peer = told->peer,
                                        .tag = told->tag,
                                        .root = -3,
                                        .code = told->code,
                                        .since_ns = thread->polls_since_ns,
                                        .request = told->request};
    note_gap(thread, told, time_ns);
    thread->polled_ns = time_ns;
    thread->poll_count = told->polls;
    thread->polls_various = told->various != 0;
    thread->n_requests = 0;
    thread->found_nothing = tg_mpi_call_role(name, NULL, NULL) == TG_MPI_PROBE;
}
