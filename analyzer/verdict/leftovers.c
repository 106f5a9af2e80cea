/* What a job that ended well left undone: messages that nobody received, requests that were never completed. It did no
 * harm this time; a longer message, or another library, and it hangs. */
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 64, GROUPS_TOLD = 4, NOBODY = -3 };

/* Messages or requests from one place to one other process. */
struct group {
    struct tg_mpi_message first;
    size_t partner; /* the process that the other half is of; SIZE_MAX not known */
    int64_t least_tag, most_tag;
    uint64_t count;
};

struct leftovers {
    struct tg_verdict_draft *draft;
    struct group groups[MAX_GROUPS];
    size_t n_groups;
    uint64_t count;
};

static bool is_send(const struct tg_mpi_message *message)
{
    return message->id != 0;
}

/* The rank in its communicator that MESSAGE goes to, or comes from. */
static int64_t peer_of(const struct tg_mpi_message *message)
{
    return is_send(message) ? message->destination : message->source;
}

static size_t partner_of(const struct tg_verdict_input *input, const struct tg_mpi_message *message)
{
    return peer_of(message) < 0 ? SIZE_MAX
                                : tg_mpi_model_process_of(input->mpi, message->process, message->job,
                                                          message->comm, peer_of(message));
}

/* Whether both are from one place to one process, whichever communicator they use, and whichever tag. */
static bool is_alike(const struct tg_verdict_input *input, const struct group *group,
                     const struct tg_mpi_message *y, size_t partner)
{
    const struct tg_mpi_message *x = &group->first;
    return x->process == y->process && group->partner == partner && is_send(x) == is_send(y) &&
           (partner != SIZE_MAX || (x->comm == y->comm && peer_of(x) == peer_of(y))) &&
           (x->tag < 0) == (y->tag < 0) && strcmp(x->name, y->name) == 0 &&
           (x->code == y->code || tg_words_is_same_line(input, x->process, x->code, y->process, y->code));
}

static void add(struct leftovers *leftovers, const struct tg_mpi_message *message)
{
    size_t partner = partner_of(leftovers->draft->input, message);
    leftovers->count++;
    for (size_t i = 0; i < leftovers->n_groups; i++) {
        struct group *group = &leftovers->groups[i];
        if (!is_alike(leftovers->draft->input, group, message, partner))
            continue;
        group->count++;
        group->least_tag = message->tag < group->least_tag ? message->tag : group->least_tag;
        group->most_tag = message->tag > group->most_tag ? message->tag : group->most_tag;
        return;
    }
    if (leftovers->n_groups < MAX_GROUPS)
        leftovers->groups[leftovers->n_groups++] = (struct group){.first = *message,
                                                                  .partner = partner,
                                                                  .least_tag = message->tag,
                                                                  .most_tag = message->tag,
                                                                  .count = 1};
}

static const struct tg_mpi_process *process_of(const struct leftovers *leftovers, size_t process)
{
    return tg_mpi_model_process(leftovers->draft->input->mpi, process);
}

/* Whether all that PROCESS received would be known. */
static bool is_known(const struct leftovers *leftovers, size_t process)
{
    const struct tg_mpi_process *known = process_of(leftovers, process);
    return known != NULL && known->finalized && !known->gave_up_receives;
}

/* Whether a receive was posted for MESSAGE: its request is what was never completed. */
static bool is_matched(const struct tg_mpi_matching *matching, uint64_t id)
{
    for (size_t i = 0; i < matching->n_sends; i++)
        if (matching->sends[i].message.id == id)
            return matching->sends[i].may_match;
    return false;
}

static struct tg_error *take_send(void *context, const struct tg_mpi_message *message)
{
    struct leftovers *leftovers = context;
    const struct tg_mpi_model *mpi = leftovers->draft->input->mpi;
    size_t receiver = message->comm == 0 || message->destination < 0
                          ? SIZE_MAX
                          : tg_mpi_model_process_of(mpi, message->process, message->job, message->comm,
                                                    message->destination);
    if (is_known(leftovers, message->process) && is_known(leftovers, receiver) &&
        !is_matched(&leftovers->draft->matching, message->id))
        add(leftovers, message);
    return NULL;
}

static struct tg_error *take_request(void *context, const struct tg_mpi_message *message)
{
    struct leftovers *leftovers = context;
    const struct tg_mpi_process *process = process_of(leftovers, message->process);
    if (process != NULL && process->finalized)
        add(leftovers, message);
    return NULL;
}

/* A request that is no message: with whom is not known, or all. */
static struct tg_error *take_started(void *context, const struct tg_mpi_started *started)
{
    const struct tg_mpi_message as_message = {.job = started->job,
                                              .comm = started->comm,
                                              .source = NOBODY,
                                              .destination = NOBODY,
                                              .tag = NOBODY,
                                              .process = started->process,
                                              .tid = started->tid,
                                              .name = started->name,
                                              .code = started->code,
                                              .since_ns = started->since_ns};
    return take_request(context, &as_message);
}

static struct tg_error *take_partitioned(void *context, const struct tg_mpi_partitioned *of)
{
    const struct tg_mpi_message as_message = {.job = of->job,
                                              .comm = of->comm,
                                              .source = of->source,
                                              .destination = of->destination,
                                              .tag = of->tag,
                                              .id = of->sends,
                                              .process = of->process,
                                              .tid = of->tid,
                                              .name = of->name,
                                              .code = of->code,
                                              .since_ns = of->since_ns};
    return take_request(context, &as_message);
}

/* "rank 0 sent 3 to rank 1 (MPI_Send, tag 3) in main (a.c:12)" */
static void print_group(const struct leftovers *leftovers, const struct group *group, bool are_messages)
{
    const struct tg_mpi_message *message = &group->first;
    const struct tg_verdict_input *input = leftovers->draft->input;
    int64_t peer = peer_of(message);
    FILE *stream = leftovers->draft->stream;
    tg_words_process(stream, input, message->process);
    fprintf(stream, are_messages ? " sent %" PRIu64 : " started %" PRIu64, group->count);
    if (peer != NOBODY)
        fputs(is_send(message) ? " to " : " from ", stream);
    if (peer == -1) {
        fputs("any rank", stream);
    } else if (group->partner < leftovers->draft->n_processes) {
        tg_words_process(stream, input, group->partner);
    } else if (peer != NOBODY) {
        fprintf(stream, "rank %" PRId64 " of ", peer);
        tg_words_comm(stream, input, message->job, message->comm);
    }
    fputs(" (", stream);
    tg_printable_write(stream, message->name);
    if (group->least_tag >= 0)
        fprintf(stream, group->least_tag == group->most_tag ? ", tag %" PRId64 : ", tags %" PRId64,
                group->least_tag);
    if (group->least_tag != group->most_tag)
        fprintf(stream, " to %" PRId64, group->most_tag);
    fputc(')', stream);
    tg_words_code(stream, input, message->process, message->code);
}

static int compare_groups(const void *a, const void *b)
{
    const struct tg_mpi_message *x = &((const struct group *)a)->first,
                                *y = &((const struct group *)b)->first;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

static struct tg_error *tell(struct leftovers *leftovers, bool are_messages)
{
    struct tg_verdict_draft *draft = leftovers->draft;
    FILE *stream = draft->stream;
    bool is_one = leftovers->count == 1;
    if (leftovers->count == 0)
        return NULL;
    if (!are_messages) /* messages come in order */
        qsort(leftovers->groups, leftovers->n_groups, sizeof *leftovers->groups, compare_groups);
    const struct tg_mpi_message *first = &leftovers->groups[0].first;
    const struct tg_finding finding = {.kind = are_messages ? TG_FINDING_UNRECEIVED : TG_FINDING_INCOMPLETE,
                                       .since_ns = first->since_ns,
                                       .process = first->process,
                                       .code = first->code,
                                       .is_warning = true};
    fprintf(stream, "%" PRIu64 " %s%s %s never %s: ", leftovers->count, are_messages ? "message" : "request",
            is_one ? "" : "s", is_one ? "was" : "were", are_messages ? "received" : "completed");
    for (size_t i = 0; i < leftovers->n_groups; i++) {
        const struct tg_mpi_message *message = &leftovers->groups[i].first;
        tg_verdict_blame(draft, message->process, message->tid, message->code);
        if (i >= GROUPS_TOLD)
            continue;
        fputs(i == 0 ? "" : "; ", stream);
        print_group(leftovers, &leftovers->groups[i], are_messages);
    }
    fputs(leftovers->n_groups > GROUPS_TOLD ? "; and others." : ".", stream);
    return tg_verdict_add(draft, &finding);
}

/* Where events were lost it is not known who received what, and after an error not what became of its request. */
struct tg_error *tg_verdict_find_leftovers(struct tg_verdict_draft *draft)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    struct leftovers messages = {.draft = draft}, requests = {.draft = draft};
    if (!draft->is_good_end || draft->input->has_losses || tg_mpi_model_unkept(mpi) > 0 ||
        tg_mpi_model_impossible(mpi) > 0 || tg_mpi_model_faults(mpi) > 0)
        return NULL;
    struct tg_error *error = tg_mpi_matching_make(mpi, &draft->matching);
    if (error == NULL)
        error = tg_mpi_model_visit_sends(mpi, take_send, &messages);
    if (error == NULL)
        error = tg_mpi_model_visit_requests(mpi, take_request, &requests);
    if (error == NULL)
        error = tg_mpi_model_visit_started(mpi, take_started, &requests);
    if (error == NULL)
        error = tg_mpi_model_visit_partitioned(mpi, take_partitioned, &requests);
    if (error == NULL)
        error = tell(&messages, true);
    return error != NULL ? error : tell(&requests, false);
}
