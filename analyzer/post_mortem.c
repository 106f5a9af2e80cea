#include "analyzer/post_mortem.h"

#include "analyzer/openmp_barrier.h"
#include "analyzer/openmp_words.h"
#include "analyzer/post_mortem_words.h"
#include "format/printable.h"
#include "format/signal_name.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMED = 8 }; /* of those who wait or are missing; the others are counted */

struct writing {
    const struct tg_post_mortem_input *input;
    struct tg_post_mortem *result;
    size_t capacity;
    FILE *stream; /* where the current finding's text is written, into: */
    char *text;
    size_t size;
    size_t begun; /* the current one begins here in the text */
};

const char *tg_finding_kind_name(enum tg_finding_kind kind)
{
    static const char *const names[] = {
        [TG_FINDING_CRASH] = "crash",
        [TG_FINDING_STARTER] = "starter",
        [TG_FINDING_COLLECTIVE] = "mpi_collective",
        [TG_FINDING_MISMATCH] = "mpi_mismatch",
        [TG_FINDING_BARRIER] = "omp_barrier",
        [TG_FINDING_LOCK] = "lock",
        [TG_FINDING_RECEIVE] = "mpi_receive",
    };
    return names[kind];
}

static bool is_fault(int64_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGABRT || signal == SIGSYS || signal == SIGTRAP;
}

bool tg_post_mortem_is_called_for(const struct tg_process_model *processes)
{
    for (size_t i = 0; i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->end == TG_PROCESS_KILLED || entry->end == TG_PROCESS_RUNNING ||
            entry->end == TG_PROCESS_DETACHED || (entry->end == TG_PROCESS_EXITED && entry->status != 0))
            return true;
    }
    return false;
}

void tg_post_mortem_deinit(struct tg_post_mortem *result)
{
    for (size_t i = 0; i < result->count; i++)
        free(result->findings[i].text);
    free(result->findings);
    *result = (struct tg_post_mortem){0};
}

/* ---- findings */

/* Makes FINDING one, with what was written to the stream since the last one. */
static struct tg_error *add_finding(struct writing *w, const struct tg_finding *finding)
{
    if (w->result->count == w->capacity) {
        size_t capacity = w->capacity == 0 ? 8 : 2 * w->capacity;
        struct tg_finding *findings = reallocarray(w->result->findings, capacity, sizeof *findings);
        if (findings == NULL)
            return tg_error_no_memory();
        w->result->findings = findings;
        w->capacity = capacity;
    }
    if (fflush(w->stream) != 0)
        return tg_error_no_memory();
    char *text = strndup(w->text + w->begun, w->size - w->begun);
    if (text == NULL)
        return tg_error_no_memory();
    w->begun = w->size;
    struct tg_finding *added = &w->result->findings[w->result->count++];
    *added = *finding;
    added->text = text;
    return NULL;
}

/* "A, B and C" as items come, one call each: I counts them, N are all. */
static void print_separator(FILE *stream, size_t i, size_t n)
{
    size_t shown = n < MAX_NAMED ? n : MAX_NAMED;
    if (i > 0)
        fputs(i + 1 == shown && n == shown ? " and " : ", ", stream);
}

static void print_more(FILE *stream, size_t n)
{
    if (n > MAX_NAMED)
        fprintf(stream, " and %zu more", n - MAX_NAMED);
}

/* ---- crashes */

static const struct tg_openmp_worker *last_worker(const struct tg_post_mortem_input *input, size_t process,
                                                  int32_t tid)
{
    const struct tg_openmp_worker *found = NULL;
    for (size_t i = 0; i < tg_openmp_model_worker_count(input->openmp); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(input->openmp, i);
        if (worker->process == process && worker->tid == tid)
            found = worker;
    }
    return found;
}

static void print_crashed_in(struct writing *w, FILE *stream, size_t process, int32_t tid,
                             const struct tg_openmp_worker *worker)
{
    char *state;
    size_t size;
    FILE *words = open_memstream(&state, &size);
    if (words == NULL)
        return;
    bool is_known = tg_words_thread_state(words, w->input, process, tid, worker);
    if (fclose(words) == 0 && is_known)
        fprintf(stream, " It was %s.", state);
    free(state);
}

static struct tg_error *find_crash(struct writing *w, const struct tg_process_entry *entry)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(w->input->mpi, entry->index);
    bool aborted = mpi != NULL && mpi->aborted_ns != 0;
    bool crashed = entry->end == TG_PROCESS_KILLED && is_fault(entry->status);
    if (!crashed && !aborted)
        return NULL;
    char name[32];
    FILE *stream = w->stream;
    struct tg_finding finding = {
        .kind = TG_FINDING_CRASH, .since_ns = entry->last_ns, .process = entry->index};
    tg_words_process(stream, w->input, entry->index);
    if (aborted) {
        finding.since_ns = mpi->aborted_ns;
        fputs(" called MPI_Abort", stream);
        tg_words_moment(stream, w->input, mpi->aborted_ns);
    } else {
        fprintf(stream, " was killed by %s", tg_signal_name(entry->status, name, sizeof name));
        tg_words_moment(stream, w->input, entry->last_ns);
    }
    /* the thread of its last signal is the one that crashed */
    bool knows_thread = entry->last.kind == TG_EVENT_SIGNAL && entry->last.number == entry->status;
    int32_t tid = knows_thread ? entry->last.tid : entry->pid;
    const struct tg_openmp_worker *worker = last_worker(w->input, entry->index, tid);
    if (crashed && knows_thread) {
        fprintf(stream, ", in thread %" PRId32, tid);
        if (worker != NULL)
            fprintf(stream, " (worker %" PRIu64 ")", worker->number);
        if (entry->last.address != 0)
            fprintf(stream, ", at address 0x%" PRIx64, entry->last.address);
    }
    fputc('.', stream);
    print_crashed_in(w, stream, entry->index, tid, worker);
    if (worker != NULL && worker->n_places > 0)
        finding.code = worker->places[worker->n_places - 1].code;
    return add_finding(w, &finding);
}

static struct tg_error *find_crashes(struct writing *w)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_process_model_count(w->input->processes); i++)
        error = find_crash(w, tg_process_model_at(w->input->processes, i));
    return error;
}

/* ---- starters */

/* Its ranks that are traced and lived longer. */
static uint64_t count_survivors(const struct tg_post_mortem_input *input, size_t i, uint64_t ended_ns)
{
    size_t count;
    uint64_t survivors = 0;
    const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(input->mpir, i, &count);
    for (size_t at = 0; at < count; at++) {
        if (ranks[at].process >= tg_process_model_count(input->processes))
            continue;
        const struct tg_process_entry *entry = tg_process_model_at(input->processes, ranks[at].process);
        survivors += entry->end == TG_PROCESS_RUNNING || entry->last_ns > ended_ns;
    }
    return survivors;
}

/* What a starter's end says; *SURVIVORS are its ranks that went on. */
static bool ended_badly(const struct tg_post_mortem_input *input, size_t i, uint64_t *survivors)
{
    const struct tg_mpir_starter *starter = tg_mpir_model_at(input->mpir, i);
    if (!starter->has_ended)
        return false;
    *survivors = count_survivors(input, i, starter->ended_ns);
    if (starter->ended_how == TG_EXIT_SIGNAL)
        return !is_fault(starter->status); /* that is told as a crash */
    return *survivors > 0 && (starter->ended_how != TG_EXIT_STATUS || starter->status != 0);
}

static void print_starter_end(FILE *stream, const struct tg_post_mortem_input *input,
                              const struct tg_mpir_starter *starter, uint64_t survivors)
{
    char name[32];
    if (starter->ended_how == TG_EXIT_SIGNAL)
        fprintf(stream, " was killed by %s", tg_signal_name(starter->status, name, sizeof name));
    else if (starter->ended_how == TG_EXIT_STATUS)
        fprintf(stream, " ended with exit status %" PRId64, starter->status);
    else
        fputs(" ended", stream);
    tg_words_moment(stream, input, starter->ended_ns);
    if (survivors > 0)
        fprintf(stream, ", before %" PRIu64 " of its ranks", survivors);
}

static struct tg_error *find_starter(struct writing *w, size_t i)
{
    const struct tg_mpir_starter *starter = tg_mpir_model_at(w->input->mpir, i);
    uint64_t survivors = 0;
    bool badly = starter->is_starter && ended_badly(w->input, i, &survivors);
    if (!starter->has_aborted && !badly)
        return NULL;
    FILE *stream = w->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_STARTER,
                                       .since_ns =
                                           starter->has_aborted ? starter->aborted_ns : starter->ended_ns,
                                       .process = starter->process};
    fputs("the starter of the job, ", stream);
    tg_words_process(stream, w->input, starter->process);
    fputc(',', stream);
    if (starter->has_aborted) {
        fputs(" said that the job aborts", stream);
        tg_words_moment(stream, w->input, starter->aborted_ns);
    }
    if (badly) {
        fputs(starter->has_aborted ? ", and" : "", stream);
        print_starter_end(stream, w->input, starter, survivors);
    }
    if (*starter->abort_string != '\0') {
        fputs(": ", stream);
        tg_printable_write_quoted(stream, starter->abort_string);
    }
    fputc('.', stream);
    return add_finding(w, &finding);
}

static struct tg_error *find_starters(struct writing *w)
{
    struct tg_error *error = NULL;
    size_t count = w->input->mpir == NULL ? 0 : tg_mpir_model_count(w->input->mpir);
    for (size_t i = 0; error == NULL && i < count; i++)
        error = find_starter(w, i);
    return error;
}

/* ---- MPI collectives */

static size_t count_standing(const struct tg_mpi_arrival *arrivals, size_t n, enum tg_mpi_standing standing)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += arrivals[i].standing == standing;
    return count;
}

static void print_ranks(FILE *stream, const struct tg_mpi_arrival *arrivals, size_t n,
                        enum tg_mpi_standing standing)
{
    size_t all = count_standing(arrivals, n, standing), at = 0;
    fputs(all == 1 ? "rank " : "ranks ", stream);
    for (size_t i = 0; i < n && at < MAX_NAMED; i++) {
        if (arrivals[i].standing != standing)
            continue;
        print_separator(stream, at++, all);
        int64_t rank = arrivals[i].world_rank >= 0 ? arrivals[i].world_rank : arrivals[i].comm_rank;
        fprintf(stream, "%" PRId64, rank);
    }
    print_more(stream, all);
}

static void print_missing_ranks(struct writing *w, FILE *stream, const struct tg_mpi_arrival *arrivals,
                                size_t n, struct tg_finding *finding)
{
    size_t told = 0;
    for (size_t i = 0; i < n && told < MAX_NAMED; i++) {
        if (arrivals[i].standing != TG_MPI_MISSING)
            continue;
        if (told++ == 0)
            finding->process = arrivals[i].process;
        if (arrivals[i].process == SIZE_MAX) {
            fprintf(stream, " Of rank %" PRId64 " nothing is in the trace.",
                    arrivals[i].world_rank >= 0 ? arrivals[i].world_rank : arrivals[i].comm_rank);
            continue;
        }
        fputc(' ', stream);
        fputs("Missing is ", stream);
        tg_words_process(stream, w->input, arrivals[i].process);
        fputs(": ", stream);
        tg_words_process_state(stream, w->input, arrivals[i].process);
        fputc('.', stream);
    }
}

static struct tg_error *find_collective(void *context, const struct tg_mpi_collective *collective,
                                        const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    struct writing *w = context;
    size_t missing = count_standing(arrivals, n_arrivals, TG_MPI_MISSING);
    size_t waiting = count_standing(arrivals, n_arrivals, TG_MPI_WAITING);
    if (waiting == 0 || (missing == 0 && !collective->differs))
        return NULL;
    FILE *stream = w->stream;
    struct tg_finding finding = {.kind = collective->differs ? TG_FINDING_MISMATCH : TG_FINDING_COLLECTIVE,
                                 .since_ns = collective->first_ns,
                                 .process = SIZE_MAX,
                                 .waiting = waiting,
                                 .missing = missing};
    for (size_t i = 0; i < n_arrivals && finding.code == 0; i++)
        if (arrivals[i].standing == TG_MPI_WAITING)
            finding.code = arrivals[i].code;
    print_ranks(stream, arrivals, n_arrivals, TG_MPI_WAITING);
    fputs(waiting == 1 ? " waits in " : " wait in ", stream);
    tg_printable_write(stream, collective->name);
    fprintf(stream, " (number %" PRIu64 " on %s)", collective->instance,
            collective->comm == 1 ? "MPI_COMM_WORLD" : "its communicator");
    for (size_t i = 0; i < n_arrivals; i++)
        if (arrivals[i].standing == TG_MPI_WAITING && arrivals[i].process != SIZE_MAX) {
            tg_words_code(stream, w->input, arrivals[i].process, arrivals[i].code);
            break;
        }
    fputs(", the first", stream);
    tg_words_moment(stream, w->input, collective->first_ns);
    fputc('.', stream);
    if (collective->differs)
        fputs(
            " Others called another collective in its place: the program's ranks do not agree on what comes "
            "next.",
            stream);
    print_missing_ranks(w, stream, arrivals, n_arrivals, &finding);
    return add_finding(w, &finding);
}

/* ---- OpenMP barriers */

static const struct tg_openmp_worker *worker_of(const struct writing *w,
                                                const struct tg_openmp_member *member)
{
    return tg_openmp_model_worker_at(w->input->openmp, member->worker);
}

static void print_missing_workers(struct writing *w, FILE *stream, const struct tg_openmp_team *team,
                                  const struct tg_openmp_barrier *barrier)
{
    size_t told = 0;
    for (size_t i = 0; i < team->n_members && told < MAX_NAMED; i++) {
        if (tg_openmp_member_standing(&team->members[i], barrier) != TG_OPENMP_MISSING)
            continue;
        told++;
        fputs(" Missing is ", stream);
        tg_words_worker(stream, w->input, worker_of(w, &team->members[i]));
        fputs(": ", stream);
        tg_words_worker_state(stream, w->input, worker_of(w, &team->members[i]));
        fputc('.', stream);
    }
    if (team->size > team->n_members)
        fprintf(stream, " %" PRIu64 " of its %" PRIu64 " threads never began the region.",
                team->size - team->n_members, team->size);
}

/* A join is worth words only where somebody waits for it who would go on: the one that met the region. */
static bool is_waited_for(const struct tg_openmp_model *model, const struct tg_openmp_team *team,
                          const struct tg_openmp_barrier *barrier)
{
    if (barrier->missing == 0 || barrier->waiting == 0)
        return false;
    if (barrier->sync != TG_OMP_SYNC_BARRIER_JOIN || team->owner == SIZE_MAX)
        return true;
    const struct tg_openmp_worker *owner = tg_openmp_model_worker_at(model, team->owner);
    return owner->n_places > 0 && owner->places[owner->n_places - 1].kind == TG_OPENMP_IN_SYNC;
}

static struct tg_error *find_barrier(void *context, const struct tg_openmp_team *team)
{
    struct writing *w = context;
    struct tg_openmp_barrier barrier;
    if (!tg_openmp_team_barrier(team, &barrier) || !is_waited_for(w->input->openmp, team, &barrier))
        return NULL;
    FILE *stream = w->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_BARRIER,
                                       .since_ns = barrier.since_ns,
                                       .process = team->process,
                                       .code = barrier.code,
                                       .waiting = barrier.waiting,
                                       .missing = barrier.missing};
    tg_words_process(stream, w->input, team->process);
    fprintf(stream, ": %" PRIu64 " of %" PRIu64 " threads of a team wait at the %s", barrier.waiting,
            team->size > team->n_members ? team->size : (uint64_t)team->n_members,
            tg_openmp_words_sync(barrier.sync)->phrase);
    tg_words_code(stream, w->input, team->process, barrier.code);
    if (barrier.passed > 0)
        fprintf(stream, ", %" PRIu64 " %s passed it", barrier.passed, barrier.passed == 1 ? "has" : "have");
    fputs(", the first came", stream);
    tg_words_moment(stream, w->input, barrier.since_ns);
    fputc('.', stream);
    print_missing_workers(w, stream, team, &barrier);
    return add_finding(w, &finding);
}

/* ---- locks */

static const struct tg_openmp_place *innermost(const struct tg_openmp_worker *worker)
{
    return worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
}

static bool is_same_lock(const struct tg_openmp_worker *worker, const struct tg_openmp_place *place,
                         const struct tg_openmp_worker *other, const struct tg_openmp_place *others)
{
    return worker->process == other->process && place->what == others->what && place->id == others->id;
}

static bool holds(const struct tg_openmp_worker *worker, const struct tg_openmp_worker *waiter,
                  const struct tg_openmp_place *waited)
{
    for (size_t i = 0; i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_MUTEX &&
            is_same_lock(waiter, waited, worker, &worker->places[i]))
            return true;
    return false;
}

/* Whether WORKER is the first of those who wait for what it waits for: one finding tells of all. */
static bool is_first_waiter(const struct tg_openmp_model *model, const struct tg_openmp_worker *worker,
                            uint64_t *waiters)
{
    const struct tg_openmp_place *place = innermost(worker);
    bool first = true;
    *waiters = 0;
    for (size_t i = 0; i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *other = tg_openmp_model_worker_at(model, i);
        const struct tg_openmp_place *others = innermost(other);
        if (others == NULL || others->kind != TG_OPENMP_IN_MUTEX_WAIT ||
            !is_same_lock(worker, place, other, others))
            continue;
        first = first && other->index >= worker->index;
        ++*waiters;
    }
    return first;
}

static const struct tg_openmp_worker *find_holder(const struct tg_openmp_model *model,
                                                  const struct tg_openmp_worker *waiter)
{
    for (size_t i = 0; i < tg_openmp_model_worker_count(model); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        if (holds(worker, waiter, innermost(waiter)))
            return worker;
    }
    return NULL;
}

static struct tg_error *find_lock(struct writing *w, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = innermost(worker);
    uint64_t waiters;
    if (place == NULL || place->kind != TG_OPENMP_IN_MUTEX_WAIT ||
        !is_first_waiter(w->input->openmp, worker, &waiters))
        return NULL;
    const struct tg_openmp_worker *holder = find_holder(w->input->openmp, worker);
    FILE *stream = w->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_LOCK,
                                       .since_ns = place->since_ns,
                                       .process = worker->process,
                                       .code = place->code,
                                       .waiting = waiters,
                                       .missing = holder == NULL ? 0 : 1};
    tg_words_process(stream, w->input, worker->process);
    fprintf(stream, ": %" PRIu64 " thread%s to enter the %s", waiters, waiters == 1 ? " waits" : "s wait",
            tg_openmp_words_mutex(place->what)->phrase);
    tg_words_code(stream, w->input, worker->process, place->code);
    fputs(", worker ", stream);
    fprintf(stream, "%" PRIu64 "", worker->number);
    tg_words_moment(stream, w->input, place->since_ns);
    fputs(". ", stream);
    if (holder == NULL) {
        fputs("Who has it cannot be seen in the trace.", stream);
    } else {
        fputs(holder == worker ? "It has it itself: " : "It is held by ", stream);
        tg_words_worker(stream, w->input, holder);
        fputs(": ", stream);
        tg_words_worker_state(stream, w->input, holder);
        fputc('.', stream);
    }
    return add_finding(w, &finding);
}

static struct tg_error *find_locks(struct writing *w)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_openmp_model_worker_count(w->input->openmp); i++)
        error = find_lock(w, tg_openmp_model_worker_at(w->input->openmp, i));
    return error;
}

/* ---- receives */

static struct tg_error *find_receive(void *context, const struct tg_mpi_message *message)
{
    struct writing *w = context;
    if (message->source == -2 || tg_mpi_model_has_send(w->input->mpi, message))
        return NULL;
    FILE *stream = w->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_RECEIVE,
                                       .since_ns = message->since_ns,
                                       .process = message->process,
                                       .code = message->code,
                                       .waiting = 1};
    const struct tg_mpi_call call = {
        .name = message->name, .peer = message->source, .tag = message->tag, .comm = message->comm};
    tg_words_process(stream, w->input, message->process);
    fputs(" waits for a message that nobody has sent: ", stream);
    tg_words_call(stream, &call);
    fputs(", posted", stream);
    tg_words_moment(stream, w->input, message->since_ns);
    tg_words_code(stream, w->input, message->process, message->code);
    fputc('.', stream);
    for (size_t i = 0; message->comm == 1 && i < tg_mpi_model_process_count(w->input->mpi); i++) {
        const struct tg_mpi_process *sender = tg_mpi_model_process_at(w->input->mpi, i);
        if (sender->rank != message->source || sender->job != message->job)
            continue;
        fputs(" The one to send it, ", stream);
        tg_words_process(stream, w->input, sender->process);
        fputs(", is ", stream);
        tg_words_process_state(stream, w->input, sender->process);
        fputc('.', stream);
        break;
    }
    return add_finding(w, &finding);
}

/* ---- all together */

static int compare_findings(const void *a, const void *b)
{
    const struct tg_finding *x = a, *y = b;
    bool x_crash = x->kind == TG_FINDING_CRASH, y_crash = y->kind == TG_FINDING_CRASH;
    if (x_crash != y_crash)
        return x_crash ? -1 : 1;
    if (x->since_ns != y->since_ns)
        return x->since_ns < y->since_ns ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* A sentence begins with a capital letter. */
static void capitalise(char *text)
{
    if (text[0] >= 'a' && text[0] <= 'z')
        text[0] = (char)(text[0] - 'a' + 'A');
}

struct tg_error *tg_post_mortem_make(const struct tg_post_mortem_input *input, struct tg_post_mortem *result)
{
    struct tg_post_mortem made = {0};
    struct writing w = {.input = input, .result = &made};
    w.stream = open_memstream(&w.text, &w.size);
    if (w.stream == NULL)
        return tg_error_no_memory();
    struct tg_error *error = find_crashes(&w);
    if (error == NULL)
        error = find_starters(&w);
    if (error == NULL)
        error = tg_mpi_model_visit_collectives(input->mpi, find_collective, &w);
    if (error == NULL)
        error = tg_openmp_model_visit_teams(input->openmp, find_barrier, &w);
    if (error == NULL)
        error = find_locks(&w);
    if (error == NULL)
        error = tg_mpi_model_visit_receives(input->mpi, find_receive, &w);
    fclose(w.stream);
    free(w.text);
    if (error != NULL) {
        tg_post_mortem_deinit(&made);
        return error;
    }
    for (size_t i = 0; i < made.count; i++)
        capitalise(made.findings[i].text);
    if (made.count > 0)
        qsort(made.findings, made.count, sizeof *made.findings, compare_findings);
    *result = made;
    return NULL;
}
