/* Messages without their other half: threads that wait to receive what nobody has sent, or to send what
 * nobody receives. */
#include "analyzer/verdict/messages.h"

#include "analyzer/finding/polling.h"
#include "analyzer/finding/words.h"
#include "analyzer/verdict/chains.h"
#include "analyzer/verdict/finders.h"
#include "format/base/array.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SENDERS = 512 }; /* of a receive from any rank; beyond that nothing is said of it */

/* ---- what threads wait for */

/* The half that CALL of THREAD is, or that its REQUEST completes; NULL: not known. */
static const struct tg_mpi_half *find_half(const struct tg_mpi_half *halves, size_t count,
                                           const struct tg_mpi_thread *thread, uint64_t request, uint64_t id)
{
    for (size_t i = 0; i < count; i++) {
        const struct tg_mpi_message *message = &halves[i].message;
        bool is_it = id != 0 ? message->id == id
                             : message->process == thread->process && message->request == request &&
                                   (request != 0 || (message->tid == thread->tid &&
                                                     message->since_ns == thread->call.since_ns));
        if (is_it)
            return &halves[i];
    }
    return NULL;
}

static size_t process_of(const struct tg_verdict_draft *draft, const struct tg_mpi_message *message,
                         int64_t rank)
{
    return rank < 0 ? SIZE_MAX
                    : tg_mpi_model_process_of(draft->input->mpi, message->process, message->job,
                                              message->comm, rank);
}

/* The process of the other half, SIZE_MAX: any, or not in the trace. */
static size_t other_of(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    return process_of(draft, &half->message,
                      half->message.id != 0 ? half->message.destination : half->message.source);
}

/* A synchronous send, or a receive, needs the other side; another send may be over as soon as there is room. */
static bool is_sure(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    bool is_synchronous = strncmp(half->message.name, "MPI_Ssend", 9) == 0 ||
                          strncmp(half->message.name, "MPI_Issend", 10) == 0;
    return draft->work[half->thread->process] == TG_WORK_NONE && !half->is_matched && half->thread->in_call &&
           !draft->stillness.has_unbegun && (half->message.id == 0 || is_synchronous) &&
           tg_mpi_model_unkept(draft->input->mpi) == 0 && tg_mpi_model_impossible(draft->input->mpi) == 0;
}

static struct tg_error *add_edge(struct tg_verdict_draft *draft, const struct tg_verdict_half *half,
                                 size_t to, bool is_choice)
{
    const struct tg_verdict_wait wait = {.from = half->thread->process,
                                         .to = to,
                                         .thread = half->thread,
                                         .bytes = half->message.id != 0 ? half->message.bytes : 0,
                                         .is_sure = is_sure(draft, half),
                                         .is_choice = is_choice,
                                         .sends = half->message.id != 0};
    return tg_verdict_add_wait(draft, &wait);
}

/* A receive from any rank waits for all others of its communicator at once. */
static struct tg_error *add_any(struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    const struct tg_mpi_message *message = &half->message;
    const struct tg_mpi_model *mpi = draft->input->mpi;
    int64_t size = tg_mpi_model_peer_count(mpi, message->process, message->job, message->comm);
    bool is_inter = tg_mpi_model_comm(mpi, message->job, message->comm).is_inter;
    if (size > MAX_SENDERS)
        return NULL;
    for (int64_t rank = 0; rank < size; rank++)
        if ((is_inter || rank != message->destination) && process_of(draft, message, rank) == SIZE_MAX)
            return NULL; /* somebody who is not in this trace may send */
    struct tg_error *error = NULL;
    for (int64_t rank = 0; error == NULL && rank < size; rank++)
        if (is_inter || rank != message->destination)
            error = add_edge(draft, half, process_of(draft, message, rank), true);
    return error;
}

/* Large messages move while both sides are in MPI. */
static bool is_slow(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    size_t other = other_of(draft, half);
    return !half->is_choice && other < draft->n_processes && other != half->thread->process &&
           !tg_verdict_is_in_mpi(draft, other) && !tg_verdict_is_gone(draft, other);
}

static struct tg_error *add_half(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                                 const struct tg_mpi_half *found, bool is_choice)
{
    const struct tg_verdict_half half = {.thread = thread,
                                         .message = found->message,
                                         .is_choice = is_choice || found->message.source == -1,
                                         .is_matched = found->may_match};
    if (half.is_matched && !is_slow(draft, &half))
        return NULL;
    struct tg_error *error = TG_ARRAY_APPEND(draft->halves, draft->n_halves, draft->half_capacity, half);
    if (error != NULL)
        return error;
    draft->is_waiting[thread->process] = true;
    if (found->message.source == -1)
        return add_any(draft, &half);
    return add_edge(draft, &half, other_of(draft, &half), half.is_choice);
}

/* The half that REQUEST, which THREAD waits for, lacks; NULL: none, or not known. */
static const struct tg_mpi_half *half_of_request(const struct tg_verdict_draft *draft,
                                                 const struct tg_mpi_thread *thread, uint64_t request)
{
    struct tg_mpi_message message;
    const struct tg_mpi_matching *matching = &draft->matching;
    if (!tg_mpi_model_request(draft->input->mpi, thread->process, request, &message))
        return NULL;
    return message.id != 0 ? find_half(matching->sends, matching->n_sends, thread, 0, message.id)
                           : find_half(matching->receives, matching->n_receives, thread, request, 0);
}

/* HALF, where it has not found its other half. */
static const struct tg_mpi_half *open_half(const struct tg_mpi_half *half)
{
    return half == NULL || half->may_match ? NULL : half;
}

static struct tg_error *collect_completion(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    const char *name = thread->call.name;
    bool is_choice = strcmp(name, "MPI_Waitany") == 0 || strcmp(name, "MPI_Waitsome") == 0 ||
                     strcmp(name, "MPI_Testany") == 0 || strcmp(name, "MPI_Testsome") == 0;
    struct tg_error *error = NULL;
    for (size_t i = 0; is_choice && i < thread->n_requests; i++)
        if (open_half(half_of_request(draft, thread, thread->requests[i])) == NULL)
            return NULL; /* the other half of this request may come */
    for (size_t i = 0; error == NULL && i < 2 * thread->n_requests; i++) {
        size_t nth = i % thread->n_requests;
        bool is_for_sends = i >= thread->n_requests; /* last: a send may be over as soon as there is room */
        const struct tg_mpi_half *half = half_of_request(draft, thread, thread->requests[nth]);
        if (half != NULL && (half->message.id != 0) == is_for_sends)
            error = add_half(draft, thread, half, is_choice && thread->n_requests > 1);
    }
    return error;
}

static struct tg_error *collect_thread(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    const struct tg_mpi_matching *matching = &draft->matching;
    const struct tg_mpi_half *sent = NULL, *receive = NULL;
    enum tg_mpi_role role = tg_mpi_call_role(thread->call.name, NULL, NULL);
    if (thread->process >= draft->n_processes || !tg_polling_waits(draft->input, thread))
        return NULL;
    if (role == TG_MPI_COMPLETION)
        return collect_completion(draft, thread);
    bool is_buffered = strncmp(thread->call.name, "MPI_Bsend", 9) == 0;
    if ((role == TG_MPI_SEND || role == TG_MPI_SEND_RECEIVE) && thread->sent_id != 0 && !is_buffered)
        sent = find_half(matching->sends, matching->n_sends, thread, 0, thread->sent_id);
    if (role == TG_MPI_RECEIVE || role == TG_MPI_SEND_RECEIVE || role == TG_MPI_PROBE)
        receive = find_half(matching->receives, matching->n_receives, thread, 0, 0);
    struct tg_error *error = receive == NULL ? NULL : add_half(draft, thread, receive, false);
    return error != NULL || sent == NULL ? error : add_half(draft, thread, sent, false);
}

struct tg_error *tg_verdict_collect_messages(struct tg_verdict_draft *draft)
{
    struct tg_error *error = tg_mpi_matching_make(draft->input->mpi, &draft->matching);
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(draft->input->mpi); i++)
        error = collect_thread(draft, tg_mpi_model_thread_at(draft->input->mpi, i));
    return error;
}

/* ---- words */

static void print_other_side(struct tg_verdict_draft *draft, const char *begin, size_t process)
{
    FILE *stream = draft->stream;
    fputs(begin, stream);
    tg_words_process(stream, draft->input, process);
    size_t told = tg_verdict_told_in(draft, process);
    if (told != SIZE_MAX) {
        tg_verdict_refer(draft, " (see ", told, ").");
        return;
    }
    fputs(": ", stream);
    tg_words_process_state(stream, draft->input, process);
    fputc('.', stream);
}

/* How much of what HALF needs OTHER, without its other half as well, has: 3 all but the tag, 2 all but the
 * rank that it is for, 1 all but the rank that it is from; 0 less. */
static int likeness(const struct tg_mpi_message *half, const struct tg_mpi_message *other)
{
    bool same_tag = half->tag < 0 || other->tag < 0 || half->tag == other->tag;
    bool same_source = half->source < 0 || other->source < 0 || half->source == other->source;
    bool same_destination = half->destination == other->destination;
    if (half->job != other->job || half->comm != other->comm)
        return 0;
    if (same_source && same_destination)
        return same_tag ? 0 : 3;
    if (!same_tag)
        return 0;
    return same_source ? 2 : same_destination ? 1 : 0;
}

/* Whether another process than HALF's lacks a half of PROCESS as well. */
static bool is_missed_elsewhere(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half,
                                size_t process)
{
    for (size_t i = 0; i < draft->n_halves; i++)
        if (draft->halves[i].thread->process != half->thread->process && !draft->halves[i].is_matched &&
            other_of(draft, &draft->halves[i]) == process)
            return true;
    return false;
}

/* Whether OTHER may be meant for HALF, which it does not fit. Whom HALF waits for may still be about to come to it. Where the
 * two are of or for different ranks, it is that third one's business, as long as what holds that one up is something else. */
static bool may_be_meant(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half,
                         const struct tg_mpi_message *other)
{
    bool is_send = half->message.id != 0;
    const struct tg_mpi_message *sent = is_send ? &half->message : other;
    const struct tg_mpi_message *receive = is_send ? other : &half->message;
    size_t needed = other_of(draft, half), receiver = process_of(draft, sent, sent->destination);
    size_t third = receiver != receive->process ? receiver : process_of(draft, receive, receive->source);
    if (receive->source == -1 && receive->process < draft->n_processes && !draft->is_stuck[receive->process])
        return false; /* somebody can go on, and may send another message */
    if (needed == SIZE_MAX)
        return true;
    if (!tg_verdict_waits(draft, needed) && !tg_verdict_is_in_mpi(draft, needed) &&
        (!tg_verdict_is_gone(draft, needed) || is_missed_elsewhere(draft, half, needed)))
        return false;
    if (third == SIZE_MAX || third == sent->process || third == receive->process)
        return true;
    return tg_verdict_is_gone(draft, third)
               ? !is_missed_elsewhere(draft, half, third)
               : tg_verdict_chain_leads(draft, third, sent->process, receive->process);
}

/* What was sent, or is received, in place of what HALF needs; NULL: nothing is like it. */
static const struct tg_mpi_message *find_alike(const struct tg_verdict_draft *draft,
                                               const struct tg_verdict_half *half)
{
    bool is_send = half->message.id != 0;
    const struct tg_mpi_matching *matching = &draft->matching;
    const struct tg_mpi_half *others = is_send ? matching->receives : matching->sends;
    size_t count = is_send ? matching->n_receives : matching->n_sends;
    const struct tg_mpi_message *best = NULL;
    int most = 0;
    for (size_t i = 0; i < count; i++) {
        int alike = others[i].may_match ? 0 : likeness(&half->message, &others[i].message);
        if (alike > most && may_be_meant(draft, half, &others[i].message)) {
            most = alike;
            best = &others[i].message;
        }
    }
    return best;
}

bool tg_verdict_is_astray(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    const struct tg_mpi_message *alike = half->is_matched ? NULL : find_alike(draft, half);
    return alike != NULL && alike->process == other_of(draft, half) && likeness(&half->message, alike) >= 2;
}

static void print_tag(FILE *stream, int64_t tag)
{
    if (tag < 0)
        fputs("any tag", stream);
    else
        fprintf(stream, "tag %" PRId64, tag);
}

static void print_rank(FILE *stream, int64_t rank)
{
    if (rank < 0)
        fputs("any rank", stream);
    else
        fprintf(stream, "rank %" PRId64, rank);
}

/* Whether the call that sent MESSAGE has come back: one that only starts a request says nothing of that. */
static bool has_sent(const struct tg_verdict_draft *draft, const struct tg_mpi_message *message)
{
    bool is_nonblocking = false, is_persistent = false;
    (void)tg_mpi_call_role(message->name, &is_nonblocking, &is_persistent);
    if (message->id == 0 || is_nonblocking || is_persistent)
        return false;
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        if (thread->process == message->process && thread->in_call && thread->sent_id == message->id)
            return false;
    }
    return true;
}

/* "rank 1 sent tag 98 by MPI_Send in main (a.c:12) at 1.2 s", or "rank 1 is sending tag 98". */
static void print_sent(struct tg_verdict_draft *draft, const struct tg_mpi_message *sent, bool has_come_back,
                       int64_t receiver)
{
    FILE *stream = draft->stream;
    tg_words_process(stream, draft->input, sent->process);
    fputs(has_come_back ? " sent " : " is sending ", stream);
    print_tag(stream, sent->tag);
    if (sent->destination != receiver) {
        fputs(" to ", stream);
        print_rank(stream, sent->destination);
    }
    if (!has_come_back)
        return;
    fputs(" by ", stream);
    tg_printable_write(stream, sent->name);
    tg_words_call_code(stream, draft->input, sent->process, sent->code, sent->since_ns);
    tg_words_moment(stream, draft->input, sent->since_ns);
}

/* "rank 1 sent tag 98 by MPI_Send in main (a.c:12) at 1.2 s, but rank 0 waits for tag 99.", which BEGIN comes before: "" or
 * " But ". */
static void print_alike(struct tg_verdict_draft *draft, const char *begin, const struct tg_verdict_half *half,
                        const struct tg_mpi_message *alike)
{
    FILE *stream = draft->stream;
    const struct tg_mpi_message *sent = half->message.id != 0 ? &half->message : alike;
    const struct tg_mpi_message *receive = half->message.id != 0 ? alike : &half->message;
    bool has_come_back = has_sent(draft, sent);
    fputs(begin, stream);
    print_sent(draft, sent, has_come_back, receive->destination);
    fputs(*begin == '\0' ? ", but " : ", ", stream);
    tg_words_process(stream, draft->input, receive->process);
    fputs(" waits for ", stream);
    print_tag(stream, receive->tag);
    if (receive->source >= 0 && sent->source != receive->source) {
        fputs(" from ", stream);
        print_rank(stream, receive->source);
    }
    if (alike == receive || !has_come_back) {
        fputs(": ", stream);
        tg_printable_write(stream, alike->name);
        tg_words_since(stream, draft->input, alike->since_ns);
        tg_words_call_code(stream, draft->input, alike->process, alike->code, alike->since_ns);
    }
    fputc('.', stream);
}

size_t tg_verdict_print_astray(struct tg_verdict_draft *draft, const char *begin, size_t process)
{
    for (size_t i = 0; i < draft->n_halves; i++) {
        const struct tg_verdict_half *half = &draft->halves[i];
        if (half->thread->process != process || !tg_verdict_is_astray(draft, half))
            continue;
        const struct tg_mpi_message *alike = find_alike(draft, half);
        print_alike(draft, begin, half, alike);
        return alike->process;
    }
    return SIZE_MAX;
}

/* Whether OTHER is all that HALF lacks, but on another communicator. */
static bool is_elsewhere(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half,
                         const struct tg_mpi_half *other)
{
    const struct tg_mpi_message *own = &half->message, *there = &other->message;
    const struct tg_mpi_message *sent = own->id != 0 ? own : there, *receive = own->id != 0 ? there : own;
    return !other->may_match && own->comm != there->comm && own->tag >= 0 && own->tag == there->tag &&
           receive->source >= 0 && process_of(draft, sent, sent->destination) == receive->process &&
           process_of(draft, receive, receive->source) == sent->process;
}

void tg_verdict_print_elsewhere(struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    FILE *stream = draft->stream;
    bool is_send = half->message.id != 0;
    const struct tg_mpi_half *others = is_send ? draft->matching.receives : draft->matching.sends;
    size_t count = is_send ? draft->matching.n_receives : draft->matching.n_sends, i = 0;
    while (!half->is_matched && i < count && !is_elsewhere(draft, half, &others[i]))
        i++;
    if (half->is_matched || i == count || find_alike(draft, half) != NULL)
        return;
    const struct tg_mpi_message *there = &others[i].message;
    fputs(" On ", stream);
    tg_words_comm(stream, draft->input, there->job, there->comm);
    fputs(", ", stream);
    tg_words_process(stream, draft->input, there->process);
    fputs(is_send ? " waits for that tag from " : " has sent that tag to ", stream);
    tg_words_process(stream, draft->input, half->message.process);
    fputs(is_send ? ", but nobody has sent it there: " : ", but nobody has received it there: ", stream);
    tg_printable_write(stream, there->name);
    tg_words_call_code(stream, draft->input, there->process, there->code, there->since_ns);
    tg_words_moment(stream, draft->input, there->since_ns);
    fputc('.', stream);
}

/* ---- findings */

/* Whether HALF waits for something that cannot come, or has waited too long. */
static bool is_worth_telling(struct tg_verdict_draft *draft, const struct tg_verdict_half *half,
                             uint64_t lasted_ns)
{
    size_t process = half->thread->process, other = other_of(draft, half);
    bool needs_other = half->message.id == 0 || is_sure(draft, half);
    if (half->thread->call.since_ns > draft->stillness.at_ns && !tg_verdict_is_gone(draft, other))
        return false;
    if (draft->work[process] == TG_WORK_GOES_ON && (other == SIZE_MAX || !tg_verdict_is_gone(draft, other)))
        return tg_verdict_pass_for_work(draft, process, lasted_ns);
    if (half->is_matched || (!half->thread->in_call && !half->is_choice))
        return tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns);
    if (!half->thread->in_call) /* HALF's thread serves whoever comes, and may go on without */
        return draft->is_stuck[process];
    if (needs_other && other != SIZE_MAX && tg_verdict_is_gone(draft, other))
        return true;
    if (draft->is_stuck[process])
        return needs_other || tg_stillness_is_closed(&draft->stillness, TG_WAIT_MPI, lasted_ns,
                                                     half->message.id != 0 ? half->message.bytes : 0);
    if (other != SIZE_MAX && tg_verdict_is_explained(draft, other) && !tg_verdict_is_gone(draft, other))
        return tg_stillness_is_closed(&draft->stillness, TG_WAIT_MPI, lasted_ns, half->message.bytes);
    if (other != SIZE_MAX && tg_verdict_may_be_on_its_way(draft, other, tg_verdict_way(half->thread)))
        return tg_stillness_pass_over(&draft->stillness, TG_WAIT_MPI, lasted_ns);
    return tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns);
}

/* Others that could send to HALF, which takes a message from any rank: those who do not wait. */
static void print_candidates(struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    size_t told = 0;
    for (size_t i = 0; i < draft->n_waits && told < TG_VERDICT_DETAILED; i++) {
        const struct tg_verdict_wait *wait = &draft->waits[i];
        if (wait->thread != half->thread || !wait->is_choice || draft->is_waiting[wait->to])
            continue;
        told++;
        print_other_side(draft, " It may come from ", wait->to);
        tg_verdict_blame_last_call(draft, wait->to);
    }
    if (told == 0 && draft->is_stuck[half->thread->process])
        fputs(" Every possible sender is waiting or has ended.", draft->stream);
}

static void print_cause(struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    const struct tg_mpi_message *message = &half->message,
                                *alike = half->is_matched ? NULL : find_alike(draft, half);
    bool is_send = message->id != 0;
    size_t other = other_of(draft, half);
    if (alike != NULL) {
        if (!tg_verdict_is_astray(draft, half))
            print_alike(draft, " But ", half, alike);
        tg_verdict_blame(draft, alike->process, alike->tid, alike->code);
        tg_verdict_blame(draft, message->process, message->tid, message->code);
    }
    if (message->source == -1) {
        print_candidates(draft, half);
    } else if (other == SIZE_MAX) {
        fputs(is_send ? " The receiver is not in this trace." : " The sender is not in this trace.",
              draft->stream);
        tg_verdict_blame_rank(draft, is_send ? message->destination : message->source);
    } else {
        tg_verdict_print_elsewhere(draft, half);
        print_other_side(draft, is_send ? " The receiver is " : " The sender is ", other);
        if (alike == NULL)
            tg_verdict_blame_last_call(draft, other);
    }
}

/* Whether one that could send to HALF, which takes a message from any, has trouble of its own. */
static bool is_held_up(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    for (size_t i = 0; half->is_choice && i < draft->n_waits; i++)
        if (draft->waits[i].thread == half->thread && tg_verdict_is_explained(draft, draft->waits[i].to))
            return true;
    return half->is_choice && draft->is_stuck[half->thread->process];
}

static struct tg_error *tell_half(struct tg_verdict_draft *draft, const struct tg_verdict_half *half,
                                  uint64_t lasted_ns)
{
    FILE *stream = draft->stream;
    const struct tg_mpi_message *message = &half->message;
    bool is_send = message->id != 0;
    size_t other = other_of(draft, half);
    const struct tg_finding finding = {.kind = is_send ? TG_FINDING_SEND : TG_FINDING_RECEIVE,
                                       .since_ns = half->thread->call.since_ns,
                                       .process = message->process,
                                       .code = message->code,
                                       .waiting = 1,
                                       .is_consequence = tg_verdict_waits(draft, other) ||
                                                         tg_verdict_is_explained(draft, other) ||
                                                         is_held_up(draft, half)};
    if (tg_verdict_is_astray(draft, half)) { /* the cause comes first */
        print_alike(draft, "", half, find_alike(draft, half));
        fputs(" So ", stream);
    }
    tg_words_process(stream, draft->input, message->process);
    fputs(" has been ", stream);
    if (!half->thread->in_call)
        fprintf(stream, "polling in vain (%s) for ", half->thread->call.name);
    else
        fputs(is_send && !half->is_matched ? "sending " : "waiting for ", stream);
    fputs(half->is_matched ? "the other side of a message: "
          : is_send        ? "a message that nobody receives: "
                           : "a message that nobody has sent: ",
          stream);
    tg_words_half(stream, message);
    tg_words_since(stream, draft->input, half->thread->call.since_ns);
    tg_words_call_code(stream, draft->input, message->process, message->code, half->thread->call.since_ns);
    if (lasted_ns > 0) {
        fputc(',', stream);
        tg_stillness_print(stream, &draft->stillness, TG_WAIT_MPI, lasted_ns);
    }
    fputc('.', stream);
    print_cause(draft, half);
    return tg_verdict_add(draft, &finding);
}

/* How long HALF has waited; for somebody who is busy, since that one's last call. */
static uint64_t lasted(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half)
{
    size_t process = half->thread->process, other = other_of(draft, half);
    uint64_t since_ns = half->thread->call.since_ns;
    if (other < draft->n_processes && !tg_verdict_waits(draft, other) && !tg_verdict_is_gone(draft, other) &&
        tg_verdict_last_step(draft, other) > since_ns)
        since_ns = tg_verdict_last_step(draft, other);
    return tg_verdict_lasted(draft, process, other, since_ns);
}

/* Whether one of the halves of the same process behind NTH has a message of another tag or rank in its place: that is the
 * cause. */
static bool has_stray_behind(struct tg_verdict_draft *draft, size_t nth)
{
    const struct tg_verdict_half *halves = draft->halves;
    for (size_t i = nth + 1; i < draft->n_halves; i++)
        if (halves[i].thread->process == halves[nth].thread->process &&
            tg_verdict_is_astray(draft, &halves[i]) &&
            is_worth_telling(draft, &halves[i], lasted(draft, &halves[i])))
            return true;
    return false;
}

/* One finding of each process is enough. */
struct tg_error *tg_verdict_find_messages(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0, last = SIZE_MAX; error == NULL && i < draft->n_halves; i++) {
        const struct tg_verdict_half *half = &draft->halves[i];
        size_t process = half->thread->process;
        uint64_t lasted_ns = lasted(draft, half);
        if (process == last || draft->ring_of[process] != SIZE_MAX ||
            !is_worth_telling(draft, half, lasted_ns) ||
            (!tg_verdict_is_astray(draft, half) && has_stray_behind(draft, i)))
            continue;
        last = process;
        error = tell_half(draft, half, lasted_ns);
    }
    return error;
}
