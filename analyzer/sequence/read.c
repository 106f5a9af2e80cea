#include "analyzer/sequence/read.h"

#include "analyzer/models/openmp/barrier.h"
#include "analyzer/models/stack_places.h"
#include "analyzer/output/code_names.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/output/trace_pass.h"
#include "analyzer/sequence/attached.h"
#include "analyzer/sequence/builder.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/trace/read_ahead.h"
#include "format/trace/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results of the first pass over the trace. Of MPI it has who called it, and whose ranks there are. */
struct survey {
    struct tg_process_model *processes;
    struct tg_openmp_model *openmp;
    struct tg_mpi_model *mpi;
    bool *called_mpi; /* by process */
    size_t n_called, called_capacity;
    uint64_t start_ns, last_ns;
};

struct reading {
    const struct tg_sequence_request *request;
    struct survey survey;
    struct tg_sequence_attached *attached; /* of the pass */
    struct tg_process_model *processes;    /* second pass */
    struct tg_code_names *names;
    struct tg_stack_model *stacks; /* where ranks are at the end */
    struct tg_sequence_builder *builder;
    struct tg_sequence_reading *result;
    bool by_rank;
    size_t n_jobs; /* by rank: those that the ranks are of */
};

/* ---- passing over the trace */

enum { EVENTS_BETWEEN_LOOKS = 1024 }; /* at what may interrupt, at most */

static struct tg_error *look(const struct tg_sequence_request *request)
{
    if (request->is_interrupted != NULL && request->is_interrupted())
        return tg_error_create(TG_ERROR_USAGE, "interrupted");
    return NULL;
}

/* What a pass does with events. */
struct steps {
    struct tg_error *(*event)(struct reading *reading, const struct tg_event *event);
    /* Of kinds of which its model of processes has taken EVENT already, together with others (tg_process_model_feed_run). */
    struct tg_error *(*plain)(struct reading *reading, const struct tg_event *event,
                              const struct tg_process_entry *entry);
};

/* Takes the first of COUNT events, or as many as are plain; *TAKEN is how many these were. */
static struct tg_error *take_some(struct reading *reading, const struct steps *steps,
                                  const struct tg_event *events, size_t count, size_t *taken)
{
    const struct tg_selection *selection = reading->request->selection;
    struct tg_process_model *processes =
        reading->processes != NULL ? reading->processes : reading->survey.processes;
    size_t indexes[TG_PROCESS_MAX_RUN];
    struct tg_error *error = NULL;
    *taken = 0;
    if (!selection->has_to)
        error = tg_process_model_feed_run(processes, events, count, indexes, taken);
    for (size_t i = 0; error == NULL && i < *taken; i++)
        error = steps->plain(reading, &events[i], tg_process_model_at(processes, indexes[i]));
    if (error != NULL || *taken != 0)
        return error;
    *taken = 1;
    /* names of code come when the job has ended */
    bool is_within =
        !selection->has_to || events->time_ns <= selection->to_ns || events->kind == TG_EVENT_CODE_NAME;
    return is_within ? steps->event(reading, events) : NULL;
}

static struct tg_error *read_some(const struct reading *reading, struct tg_trace_reader *reader,
                                  const struct tg_event **events, size_t *count)
{
    if (reading->request->n_events == 0)
        return tg_trace_reader_run(reader, events, count);
    struct tg_error *damage = tg_trace_reader_next(reader, events);
    *count = damage == NULL && *events != NULL;
    return damage;
}

/* Has STEPS take every event up to the end of the window; *DAMAGE (owned by the caller) ends it early. */
static struct tg_error *pass(struct reading *reading, const struct steps *steps, struct tg_error **damage)
{
    struct tg_trace_reader *reader = NULL;
    const struct tg_sequence_request *request = reading->request;
    bool is_first = reading->processes == NULL;
    struct tg_error *error = tg_trace_reader_open(request->path, &reader);
    if (error != NULL)
        return error;
    tg_trace_reader_read_ahead(reader, tg_read_ahead_threads());
    tg_progress_watch(request->progress, reader);
    uint64_t n_read = 0, next_look = 0;
    for (bool first = true; error == NULL; first = false) {
        const struct tg_event *events = NULL;
        size_t count;
        if (request->n_events != 0 && n_read == request->n_events)
            break;
        *damage = read_some(reading, reader, &events, &count);
        if (*damage != NULL)
            count = 0;
        if (first && is_first) {
            reading->survey.start_ns = tg_trace_start_ns(reader, count > 0 ? events : NULL);
            tg_selection_start(request->selection, reading->survey.start_ns);
        }
        if (count == 0)
            break;
        for (size_t i = 0, taken; error == NULL && i < count; i += taken, n_read += taken) {
            if (n_read >= next_look) {
                next_look = n_read + EVENTS_BETWEEN_LOOKS - TG_PROCESS_MAX_RUN;
                error = look(request);
            }
            if (error == NULL)
                error = take_some(reading, steps, events + i, count - i, &taken);
            else
                taken = 0;
        }
    }
    reading->result->start_ns = reading->survey.start_ns;
    reading->result->summary = tg_trace_reader_summary(reader);
    tg_trace_reader_close(reader);
    return error;
}

/* Calls FEED for what follows from EVENT of an attached process, ENTRY (NULL none). */
static struct tg_error *feed_concluded(struct reading *reading, const struct tg_event *event,
                                       const struct tg_process_entry *entry,
                                       struct tg_error *(*feed)(struct reading *reading,
                                                                const struct tg_event *event, size_t process))
{
    struct tg_event concluded[TG_SEQUENCE_CONCLUDED];
    size_t count = 0;
    struct tg_error *error =
        entry == NULL ? NULL : tg_sequence_attached_feed(reading->attached, event, entry, concluded, &count);
    for (size_t i = 0; error == NULL && i < count; i++)
        error = feed(reading, &concluded[i], entry->index);
    return error;
}

/* The first call of a process says that it calls MPI; what the others do is not looked at before the second pass. */
static struct tg_error *survey_mpi(struct reading *reading, const struct tg_event *event, size_t process)
{
    struct survey *survey = &reading->survey;
    struct tg_error *error = NULL;
    if (event->kind == TG_EVENT_MPI_ENTER) {
        while (error == NULL && survey->n_called <= process)
            error = TG_ARRAY_APPEND(survey->called_mpi, survey->n_called, survey->called_capacity, false);
        if (error != NULL || survey->called_mpi[process])
            return error;
        survey->called_mpi[process] = true;
    } else if (event->kind != TG_EVENT_MPI_COMM && event->kind != TG_EVENT_IDENTITY) {
        return NULL;
    }
    return tg_mpi_model_feed(survey->mpi, event, process);
}

static struct tg_error *build_concluded(struct reading *reading, const struct tg_event *event, size_t process)
{
    return tg_sequence_builder_feed(reading->builder, event, process);
}

static struct tg_error *survey_plain(struct reading *reading, const struct tg_event *event,
                                     const struct tg_process_entry *entry)
{
    struct survey *survey = &reading->survey;
    if (event->time_ns > survey->last_ns)
        survey->last_ns = event->time_ns;
    struct tg_error *error = feed_concluded(reading, event, entry, survey_mpi);
    if (error == NULL && entry != NULL && tg_openmp_model_needs(event->kind))
        error = tg_openmp_model_feed(survey->openmp, event, entry->index);
    if (error == NULL && entry != NULL)
        error = survey_mpi(reading, event, entry->index);
    return error;
}

static struct tg_error *survey_event(struct reading *reading, const struct tg_event *event)
{
    if (event->kind == TG_EVENT_CODE_NAME)
        return NULL;
    struct tg_process_entry *entry = NULL;
    struct tg_error *error = tg_process_model_feed(reading->survey.processes, event, &entry);
    return error != NULL ? error : survey_plain(reading, event, entry);
}

static struct tg_error *build_plain(struct reading *reading, const struct tg_event *event,
                                    const struct tg_process_entry *entry)
{
    struct tg_error *error = feed_concluded(reading, event, entry, build_concluded);
    if (error == NULL && entry != NULL)
        error = tg_sequence_builder_feed(reading->builder, event, entry->index);
    return error;
}

static struct tg_error *build_event(struct reading *reading, const struct tg_event *event)
{
    struct tg_process_entry *entry = NULL;
    struct tg_error *error = tg_process_model_feed(reading->processes, event, &entry);
    /* The objects of a process are kept beyond its end. */
    if (error == NULL && reading->names != NULL && event->kind != TG_EVENT_PROCESS_EXIT)
        error = tg_code_names_feed(reading->names, event);
    if (error == NULL)
        error = tg_stack_model_feed(reading->stacks, event, entry != NULL ? entry->index : SIZE_MAX);
    if (error != NULL || event->kind == TG_EVENT_CODE_NAME)
        return error;
    return build_plain(reading, event, entry);
}

/* ---- what matters */

/* How much a process has to tell: its open teams, and whether somebody is missing at a barrier. */
struct worth {
    const struct survey *survey;
    unsigned *of; /* by process */
};

enum { WORTH_OPENMP = 1, WORTH_OPEN = 2, WORTH_MISSING = 4, WORTH_KILLED = 8 };

static struct tg_error *rate_team(void *context, const struct tg_openmp_team *team)
{
    struct worth *worth = context;
    struct tg_openmp_barrier barrier;
    worth->of[team->process] |= WORTH_OPEN;
    if (tg_openmp_barrier_of(team, &barrier) && barrier.missing > 0)
        worth->of[team->process] |= WORTH_MISSING;
    return NULL;
}

static struct tg_error *rate(const struct survey *survey, unsigned **of)
{
    size_t count = tg_process_model_count(survey->processes);
    struct worth worth = {.survey = survey, .of = calloc(count + 1, sizeof *worth.of)};
    if (worth.of == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < tg_openmp_model_worker_count(survey->openmp); i++)
        worth.of[tg_openmp_model_worker_at(survey->openmp, i)->process] |= WORTH_OPENMP;
    struct tg_error *error = tg_openmp_model_visit_teams(survey->openmp, rate_team, &worth);
    for (size_t i = 0; i < count; i++)
        if (worth.of[i] != 0 && tg_process_model_at(survey->processes, i)->end == TG_PROCESS_KILLED)
            worth.of[i] |= WORTH_KILLED;
    *of = worth.of;
    return error;
}

/* Whether a call of PROCESS is in the trace; none is of an attached rank. */
static bool calls_mpi(const struct tg_mpi_model *mpi, size_t process)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(mpi); i++)
        if (tg_mpi_model_thread_at(mpi, i)->process == process)
            return true;
    return false;
}

/* The admitted process that matters most, of equals the lowest rank; SIZE_MAX: none has anything to tell. */
static size_t choose_process(const struct reading *reading, const unsigned *worth)
{
    const struct survey *survey = &reading->survey;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < tg_process_model_count(survey->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(survey->processes, i);
        bool tells = worth[i] != 0 || calls_mpi(survey->mpi, i);
        if (!tells || !tg_selection_admits_process(reading->request->selection, entry))
            continue;
        if (best == SIZE_MAX || worth[i] > worth[best] ||
            (worth[i] == worth[best] && entry->rank < tg_process_model_at(survey->processes, best)->rank))
            best = i;
    }
    return best;
}

/* 0 where no rank called MPI. */
static size_t count_ranks(const struct reading *reading)
{
    const struct survey *survey = &reading->survey;
    size_t count = 0;
    if (tg_mpi_model_thread_count(survey->mpi) == 0)
        return 0;
    for (size_t i = 0; i < tg_mpi_model_process_count(survey->mpi); i++) {
        const struct tg_mpi_process *process = tg_mpi_model_process_at(survey->mpi, i);
        const struct tg_process_entry *entry = tg_process_model_at(survey->processes, process->process);
        count += process->rank >= 0 && tg_selection_admits_process(reading->request->selection, entry);
    }
    return count;
}

static int compare_lanes(const void *a, const void *b)
{
    const struct tg_sequence_lane *left = a, *right = b;
    if (left->nth_job != right->nth_job)
        return left->nth_job < right->nth_job ? -1 : 1;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return left->process < right->process ? -1 : left->process > right->process;
}

/* The number of JOB among those of N LANES, which are of N_JOBS. */
static size_t number_of_job(const struct tg_sequence_lane *lanes, size_t n, size_t n_jobs, const char *job)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(lanes[i].job, job) == 0)
            return lanes[i].nth_job;
    return n_jobs;
}

/* The ranks of all jobs, in the order in which these come. */
static struct tg_error *list_ranks(struct reading *reading, struct tg_sequence_lane **lanes, size_t *n_lanes)
{
    const struct survey *survey = &reading->survey;
    size_t count = tg_mpi_model_process_count(survey->mpi), n = 0;
    struct tg_sequence_lane *made = calloc(count + 1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) {
        const struct tg_mpi_process *process = tg_mpi_model_process_at(survey->mpi, i);
        const struct tg_process_entry *entry = tg_process_model_at(survey->processes, process->process);
        if (process->rank < 0 || !tg_selection_admits_process(reading->request->selection, entry))
            continue;
        size_t nth = n > 0 && strcmp(made[n - 1].job, process->job) == 0
                         ? made[n - 1].nth_job
                         : number_of_job(made, n, reading->n_jobs, process->job);
        reading->n_jobs = nth < reading->n_jobs ? reading->n_jobs : nth + 1;
        made[n++] = (struct tg_sequence_lane){.process = process->process,
                                              .rank = process->rank,
                                              .job = process->job,
                                              .nth_job = nth,
                                              .is_alive = true};
    }
    for (size_t i = 0; reading->n_jobs == 1 && i < n; i++)
        made[i].job = NULL;
    qsort(made, n, sizeof *made, compare_lanes);
    *lanes = made;
    *n_lanes = n;
    return NULL;
}

/* ---- words */

static char *name_code(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    struct reading *reading = context;
    const struct tg_process_entry *entry = tg_process_model_at(reading->processes, process);
    return tg_code_names_print(reading->names, entry->pid, address, buffer, size);
}

static char *name_variable(void *context, size_t process, uint64_t address, char *buffer, size_t size)
{
    struct reading *reading = context;
    const struct tg_process_entry *entry = tg_process_model_at(reading->processes, process);
    return tg_code_names_variable(reading->names, entry->pid, address, buffer, size);
}

static char *name_line_behind(void *context, size_t process, uint64_t code, uint64_t since_ns, char *buffer,
                              size_t size)
{
    const struct reading *reading = context;
    struct tg_stack_call call;
    if (!tg_stack_find_line_of_call(reading->stacks, process, code, since_ns, &call))
        return NULL;
    return tg_stack_words_call(&call, buffer, size);
}

static struct tg_error *make_title(const struct reading *reading, size_t process, char **title)
{
    char moment[TG_QUANTITY_SIZE], path[160], program[96], text[512];
    const struct tg_selection *selection = reading->request->selection;
    uint64_t last_ns = reading->result->sequence->last_ns;
    if (selection->has_to && selection->to_ns < last_ns)
        last_ns = selection->to_ns;
    tg_quantity_moment(last_ns, reading->survey.start_ns, 6, moment);
    const char *name = reading->request->name != NULL ? reading->request->name : reading->request->path;
    tg_printable(tg_event_headline_base_name(name), path, sizeof path);
    if (reading->by_rank) {
        char of_jobs[48] = "";
        if (reading->n_jobs > 1)
            snprintf(of_jobs, sizeof of_jobs, " of %zu jobs", reading->n_jobs);
        snprintf(text, sizeof text, "%s: %zu ranks%s at %s s", path, reading->result->sequence->n_lanes,
                 of_jobs, moment);
    } else {
        const struct tg_process_entry *entry = tg_process_model_at(reading->processes, process);
        char rank[40] = "";
        if (entry->rank >= 0)
            snprintf(rank, sizeof rank, "rank %" PRId64 ", ", entry->rank);
        snprintf(text, sizeof text, "%s: %sprocess %" PRId32 " (%s) at %s s", path, rank, entry->pid,
                 tg_printable(tg_process_entry_name(entry), program, sizeof program), moment);
    }
    *title = strdup(text);
    return *title == NULL ? tg_error_no_memory() : NULL;
}

static struct tg_error *make_note(const struct reading *reading, char **note)
{
    const struct tg_sequence *sequence = reading->result->sequence;
    char left_out[96] = "", impossible[96] = "", attached[128] = "", count[TG_QUANTITY_SIZE];
    uint64_t attached_ns = tg_sequence_attached_since(reading->attached);
    if (sequence->left_out > 0)
        snprintf(left_out, sizeof left_out, "%s items left out: too far ahead of other lifelines",
                 tg_quantity_count(sequence->left_out, count));
    if (sequence->impossible > 0)
        snprintf(impossible, sizeof impossible, "%s%s inconsistent events", *left_out == '\0' ? "" : "; ",
                 tg_quantity_count(sequence->impossible, count));
    if (attached_ns != 0)
        snprintf(attached, sizeof attached,
                 "%sunknown: attached at %s s; calls are those of stacks taken then and later",
                 *left_out == '\0' && *impossible == '\0' ? "" : "; ",
                 tg_quantity_moment(attached_ns, reading->survey.start_ns, 6, count));
    return asprintf(note, "%s%s%s", left_out, impossible, attached) < 0 ? (*note = NULL, tg_error_no_memory())
                                                                        : NULL;
}

/* ---- all of it */

static struct tg_error *survey(struct reading *reading)
{
    struct tg_error *error = tg_process_model_create(&reading->survey.processes);
    if (error == NULL)
        error = tg_openmp_model_create(NULL, &reading->survey.openmp);
    if (error == NULL)
        error = tg_mpi_model_create(NULL, &reading->survey.mpi);
    TG_AUTO_ERROR struct tg_error *damage = NULL;
    if (error == NULL)
        error = tg_sequence_attached_create(&reading->attached);
    if (error == NULL)
        error = pass(reading, &(struct steps){survey_event, survey_plain}, &damage);
    if (error == NULL && damage == NULL && reading->result->summary.events > 0)
        error = tg_selection_check_end(reading->request->selection, reading->survey.start_ns,
                                       reading->result->summary.last_time_ns);
    if (error == NULL && tg_selection_limits_processes(reading->request->selection))
        error = tg_selection_choose(reading->request->selection, reading->survey.processes);
    return error;
}

static struct tg_error *build(struct reading *reading, const struct tg_sequence_options *options)
{
    struct tg_error *error = tg_sequence_builder_create(options, &reading->builder);
    if (error == NULL)
        error = tg_process_model_create(&reading->processes);
    if (error == NULL && reading->request->services != NULL)
        error = tg_code_names_create(reading->request->services, &reading->names);
    if (error == NULL)
        error = tg_stack_model_create(&reading->stacks);
    tg_sequence_attached_destroy(reading->attached); /* of the first pass */
    reading->attached = NULL;
    if (error == NULL)
        error = tg_sequence_attached_create(&reading->attached);
    if (error == NULL)
        error = pass(reading, &(struct steps){build_event, build_plain}, &reading->result->damage);
    if (error == NULL)
        error = tg_sequence_builder_finish(reading->builder, &reading->result->sequence);
    if (error != NULL)
        return error;
    const struct tg_code_namer namer = {
        .context = reading, .name = name_code, .variable = name_variable, .line_behind = name_line_behind};
    error = tg_sequence_rows_create(reading->result->sequence, reading->names == NULL ? NULL : &namer,
                                    reading->survey.start_ns, &reading->result->rows);
    if (error == NULL)
        error = make_title(reading, options->process, &reading->result->title);
    return error != NULL ? error : make_note(reading, &reading->result->note);
}

static struct tg_error *nothing_there(const struct reading *reading)
{
    const char *what = reading->by_rank ? "no rank called MPI" : "no process used OpenMP or called MPI";
    return tg_error_create(TG_ERROR_NOT_FOUND, "%s: nothing to draw: %s in the selected part of the trace",
                           reading->request->name != NULL ? reading->request->name : reading->request->path,
                           what);
}

static struct tg_error *choose_and_build(struct reading *reading)
{
    const struct tg_sequence_request *request = reading->request;
    unsigned *worth = NULL;
    struct tg_sequence_lane *lanes = NULL;
    struct tg_sequence_options options = {.all = request->all,
                                          .team = request->team,
                                          .from_ns =
                                              request->selection->has_from ? request->selection->from_ns : 0};
    struct tg_error *error = rate(&reading->survey, &worth);
    if (error != NULL)
        return error;
    options.process = choose_process(reading, worth);
    size_t n_ranks = count_ranks(reading);
    /* also of ranks that were killed: mpirun kills those that wait for each other */
    bool openmp_matters =
        options.process != SIZE_MAX && (worth[options.process] & (WORTH_OPEN | WORTH_MISSING)) != 0;
    reading->by_rank =
        request->by == TG_SEQUENCE_BY_RANK ||
        (request->by == TG_SEQUENCE_BY_WHAT_MATTERS && n_ranks > 1 && !openmp_matters && request->team == 0);
    free(worth);
    options.by_rank = reading->by_rank;
    if (reading->by_rank ? n_ranks == 0 : options.process == SIZE_MAX)
        return nothing_there(reading);
    if (reading->by_rank) {
        error = list_ranks(reading, &lanes, &options.n_lanes);
        options.lanes = lanes;
    }
    if (error == NULL)
        error = build(reading, &options);
    free(lanes);
    return error;
}

struct tg_error *tg_sequence_read(const struct tg_sequence_request *request,
                                  struct tg_sequence_reading *result)
{
    *result = (struct tg_sequence_reading){0};
    if (strcmp(request->path, "-") == 0)
        return tg_error_create(
            TG_ERROR_USAGE,
            "a diagram cannot be drawn from standard input: the trace is read twice; name its file");
    struct reading reading = {.request = request, .result = result};
    struct tg_error *error = survey(&reading);
    if (error == NULL)
        error = choose_and_build(&reading);
    tg_progress_end(request->progress);
    tg_process_model_destroy(reading.survey.processes);
    tg_openmp_model_destroy(reading.survey.openmp);
    tg_mpi_model_destroy(reading.survey.mpi);
    free(reading.survey.called_mpi);
    tg_process_model_destroy(reading.processes);
    tg_code_names_destroy(reading.names);
    tg_stack_model_destroy(reading.stacks);
    tg_sequence_builder_destroy(reading.builder);
    tg_sequence_attached_destroy(reading.attached);
    if (error != NULL)
        tg_sequence_reading_deinit(result);
    return error;
}

void tg_sequence_reading_deinit(struct tg_sequence_reading *reading)
{
    tg_sequence_rows_deinit(&reading->rows);
    tg_sequence_destroy(reading->sequence);
    tg_error_destroy(reading->damage);
    free(reading->title);
    free(reading->note);
    *reading = (struct tg_sequence_reading){0};
}
