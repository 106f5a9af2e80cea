#include "analyzer/models/mpir.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct tg_mpir_starter starter; /* objects point to the list below */
    struct tg_mpir_object *objects;
    size_t objects_capacity;
    struct tg_mpir_ranks ranks;
    struct tg_mpir_step *steps;
    size_t n_steps, steps_capacity;
    uint64_t unkept_steps;
    uint64_t next_index; /* of the table that is being read */
    size_t process;
    int32_t pid;
    UT_hash_handle by_process, by_pid; /* the latter only of the last one with its pid */
};

struct tg_mpir_model {
    struct tg_string_pool strings;
    struct entry **entries;
    size_t count, capacity;
    struct entry *by_process, *by_pid;
    struct tg_mpir_ranks outside; /* by process */
    uint64_t n_ranks;
    uint64_t beyond_limit;
    uint64_t impossible, impossible_ns;
    const char *impossible_what;
};

struct tg_error *tg_mpir_model_create(struct tg_mpir_model **model)
{
    struct tg_mpir_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *model = made;
    return NULL;
}

static void destroy_entry(struct entry *entry)
{
    if (entry == NULL)
        return;
    tg_mpir_ranks_deinit(&entry->ranks);
    free(entry->objects);
    free(entry->steps);
    free(entry);
}

void tg_mpir_model_destroy(struct tg_mpir_model *model)
{
    if (model == NULL)
        return;
    HASH_CLEAR(by_process, model->by_process);
    HASH_CLEAR(by_pid, model->by_pid);
    for (size_t i = 0; i < model->count; i++)
        destroy_entry(model->entries[i]);
    free(model->entries);
    tg_mpir_ranks_deinit(&model->outside);
    tg_string_pool_deinit(&model->strings);
    free(model);
}

/* ---- entries */

/* Takes ENTRY, also where it fails. */
static struct tg_error *add_entry(struct tg_mpir_model *model, struct entry *entry)
{
    struct tg_error *error = TG_ARRAY_RESERVE(model->entries, model->capacity, model->count + 1);
    if (error == NULL)
        error = TG_HASH_ADD(by_process, model->by_process, process, entry);
    if (error != NULL) {
        destroy_entry(entry);
        return error;
    }
    model->entries[model->count++] = entry;
    struct entry *former = NULL;
    HASH_FIND(by_pid, model->by_pid, &entry->pid, sizeof entry->pid, former);
    if (former != NULL)
        HASH_DELETE(by_pid, model->by_pid, former);
    return TG_HASH_ADD(by_pid, model->by_pid, pid, entry);
}

static struct tg_error *copy_entry(const struct entry *from, struct tg_mpir_model *copy)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return tg_error_no_memory();
    entry->starter = from->starter;
    entry->starter.objects = NULL;
    entry->starter.n_objects = 0;
    entry->unkept_steps = from->unkept_steps;
    entry->next_index = from->next_index;
    entry->process = from->process;
    entry->pid = from->pid;
    struct tg_error *error = tg_mpir_ranks_copy(&from->ranks, &entry->ranks);
    if (error == NULL)
        error = TG_ARRAY_COPY(entry->objects, entry->starter.n_objects, entry->objects_capacity,
                              from->objects, from->starter.n_objects);
    entry->starter.objects = entry->objects;
    if (error == NULL)
        error =
            TG_ARRAY_COPY(entry->steps, entry->n_steps, entry->steps_capacity, from->steps, from->n_steps);
    if (error != NULL) {
        destroy_entry(entry);
        return error;
    }
    return add_entry(copy, entry);
}

struct tg_error *tg_mpir_model_copy(const struct tg_mpir_model *model, struct tg_mpir_model **copy)
{
    struct tg_mpir_model *made = NULL;
    struct tg_error *error = tg_mpir_model_create(&made);
    if (error != NULL)
        return error;
    tg_string_pool_share(&model->strings, &made->strings);
    made->n_ranks = model->n_ranks;
    made->beyond_limit = model->beyond_limit;
    made->impossible = model->impossible;
    made->impossible_ns = model->impossible_ns;
    made->impossible_what = model->impossible_what;
    error = tg_mpir_ranks_copy(&model->outside, &made->outside);
    for (size_t i = 0; error == NULL && i < model->count; i++)
        error = copy_entry(model->entries[i], made);
    if (error != NULL) {
        tg_mpir_model_destroy(made);
        return error;
    }
    *copy = made;
    return NULL;
}

static struct entry *find_entry(const struct tg_mpir_model *model, size_t process)
{
    struct entry *entry = NULL;
    HASH_FIND(by_process, model->by_process, &process, sizeof process, entry);
    return entry;
}

/* *FOUND is NULL where there are too many. */
static struct tg_error *get_entry(struct tg_mpir_model *model, const struct tg_event *event, size_t process,
                                  struct entry **found)
{
    *found = find_entry(model, process);
    if (*found != NULL)
        return NULL;
    if (model->count >= TG_MPIR_MAX_PROCESSES) {
        model->beyond_limit++;
        return NULL;
    }
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return tg_error_no_memory();
    entry->process = process;
    entry->pid = event->pid;
    entry->starter = (struct tg_mpir_starter){.process = process,
                                              .pid = event->pid,
                                              .launcher = "",
                                              .reason = "",
                                              .job = "",
                                              .write_error = "",
                                              .abort_string = "",
                                              .table_reason = ""};
    struct tg_error *error = add_entry(model, entry);
    if (error == NULL)
        *found = entry;
    return error;
}

static void count_impossible(struct tg_mpir_model *model, const struct tg_event *event, const char *what)
{
    if (model->impossible++ > 0)
        return;
    model->impossible_ns = event->time_ns;
    model->impossible_what = what;
}

/* ---- steps */

static struct tg_error *intern(struct tg_mpir_model *model, const char *text, const char **interned)
{
    return tg_string_pool_intern(&model->strings, text, interned);
}

/* TEXT and DETAIL of STEP are not the model's yet. */
static struct tg_error *add_step(struct tg_mpir_model *model, struct entry *entry,
                                 const struct tg_event *event, struct tg_mpir_step step)
{
    struct tg_mpir_step *last = entry->n_steps == 0 ? NULL : &entry->steps[entry->n_steps - 1];
    if (step.kind == TG_MPIR_STEP_RANKS && last != NULL && last->kind == step.kind &&
        last->value == step.value) {
        last->count++;
        last->last_ns = event->time_ns;
        return NULL;
    }
    if (entry->n_steps >= TG_MPIR_MAX_STEPS) {
        entry->unkept_steps++;
        return NULL;
    }
    step.time_ns = step.last_ns = event->time_ns;
    struct tg_error *error = intern(model, step.text == NULL ? "" : step.text, &step.text);
    if (error == NULL)
        error = intern(model, step.detail == NULL ? "" : step.detail, &step.detail);
    return error != NULL ? error : TG_ARRAY_APPEND(entry->steps, entry->n_steps, entry->steps_capacity, step);
}

/* ---- events of a starter */

static struct tg_error *fill_object(struct tg_mpir_model *model, const struct tg_event_mpir_symbols *symbols,
                                    struct tg_mpir_object *object)
{
    *object = (struct tg_mpir_object){.layout = symbols->layout,
                                      .stride_bytes = symbols->stride_bytes,
                                      .host_offset = symbols->host_offset,
                                      .executable_offset = symbols->executable_offset,
                                      .pid_offset = symbols->pid_offset,
                                      .n_symbols = symbols->symbols.count,
                                      .dll_name = ""};
    const struct tg_mpir_symbol *items = symbols->symbols.items;
    struct tg_error *error = intern(model, symbols->object, &object->path);
    for (uint64_t i = 0; error == NULL && i < symbols->symbols.count; i++)
        if (strcmp(items[i].name, "MPIR_dll_name") == 0)
            error = intern(model, items[i].text, &object->dll_name);
    return error;
}

static struct tg_error *take_symbols(struct tg_mpir_model *model, const struct tg_event *event,
                                     struct entry *entry)
{
    const struct tg_event_mpir_symbols *symbols = &event->mpir_symbols;
    struct tg_mpir_object object;
    struct tg_error *error = fill_object(model, symbols, &object);
    if (error != NULL)
        return error;
    entry->starter.is_starter |= symbols->role == TG_MPIR_STARTER;
    for (size_t i = 0; i < entry->starter.n_objects; i++)
        if (entry->objects[i].path == object.path) { /* told again, now that its role is known */
            entry->objects[i] = object;
            return NULL;
        }
    if (entry->starter.n_objects >= TG_MPIR_MAX_OBJECTS) {
        model->beyond_limit++;
        return NULL;
    }
    error = TG_ARRAY_APPEND(entry->objects, entry->starter.n_objects, entry->objects_capacity, object);
    entry->starter.objects = entry->objects;
    if (error != NULL)
        return error;
    return add_step(model, entry, event,
                    (struct tg_mpir_step){.kind = TG_MPIR_STEP_SYMBOLS, .text = symbols->object});
}

static struct tg_error *take_job(struct tg_mpir_model *model, const struct tg_event *event,
                                 struct entry *entry)
{
    const struct tg_event_mpir_job *job = &event->mpir_job;
    struct tg_mpir_starter *starter = &entry->starter;
    struct tg_error *error = intern(model, job->launcher, &starter->launcher);
    if (error == NULL)
        error = intern(model, job->reason, &starter->reason);
    if (error == NULL)
        error = intern(model, job->job, &starter->job);
    bool is_news = !starter->is_recognised || starter->acquisition != job->acquisition;
    starter->is_starter = starter->is_recognised = true;
    starter->acquisition = job->acquisition;
    starter->i_am_starter = job->i_am_starter != 0;
    starter->acquired_pre_main = job->acquired_pre_main != 0;
    starter->force_to_main = job->force_to_main != 0;
    starter->partial_attach_ok = job->partial_attach_ok != 0;
    starter->ignore_queues = job->ignore_queues != 0;
    if (error != NULL || !is_news)
        return error;
    return add_step(model, entry, event,
                    (struct tg_mpir_step){.kind = TG_MPIR_STEP_RECOGNISED,
                                          .value = (int64_t)job->acquisition,
                                          .text = job->launcher,
                                          .detail = job->reason});
}

static struct tg_error *take_write(struct tg_mpir_model *model, const struct tg_event *event,
                                   struct entry *entry)
{
    const struct tg_event_mpir_write *write = &event->mpir_write;
    struct tg_error *error = NULL;
    if (strcmp(write->symbol, "MPIR_being_debugged") == 0) {
        entry->starter.is_written = true;
        entry->starter.being_debugged = write->value;
        error = intern(model, write->error, &entry->starter.write_error);
    }
    if (error != NULL)
        return error;
    return add_step(model, entry, event,
                    (struct tg_mpir_step){.kind = TG_MPIR_STEP_WRITE,
                                          .value = write->value,
                                          .text = write->symbol,
                                          .detail = write->error});
}

static struct tg_error *take_state(struct tg_mpir_model *model, const struct tg_event *event,
                                   struct entry *entry)
{
    const struct tg_event_mpir_state *state = &event->mpir_state;
    struct tg_mpir_starter *starter = &entry->starter;
    if (starter->has_ended && state->seen == TG_MPIR_AT_BREAKPOINT)
        count_impossible(model, event, "a job launcher called MPIR_Breakpoint after it ended");
    starter->has_state = true;
    starter->state = state->state;
    starter->raw_state = state->raw_state;
    starter->claimed_size = state->table_size;
    if (state->state == TG_MPIR_STATE_ABORTING && !starter->has_aborted) {
        starter->has_aborted = true;
        starter->aborted_ns = event->time_ns;
    }
    struct tg_error *error = NULL;
    if (state->abort_string[0] != '\0')
        error = intern(model, state->abort_string, &starter->abort_string);
    if (error != NULL)
        return error;
    return add_step(model, entry, event,
                    (struct tg_mpir_step){.kind = TG_MPIR_STEP_STATE,
                                          .value = (int64_t)state->state,
                                          .seen = state->seen,
                                          .count = state->table_size,
                                          .detail = state->abort_string});
}

/* ---- the table */

static struct tg_error *take_table_entry(struct tg_mpir_model *model, const struct tg_event *event,
                                         struct entry *entry, const struct tg_mpir_entry *row)
{
    struct tg_mpir_rank *rank = NULL;
    const char *host, *executable, *problem;
    int64_t number = row->rank > INT64_MAX ? INT64_MAX : (int64_t)row->rank;
    if (row->rank != entry->next_index)
        count_impossible(model, event, "the entries of a table are out of order");
    entry->next_index = row->rank + 1;
    if (model->n_ranks >= TG_MPIR_MAX_RANKS && tg_mpir_ranks_find(&entry->ranks, number) == NULL) {
        model->beyond_limit++;
        return NULL;
    }
    size_t before = entry->ranks.count;
    struct tg_error *error = intern(model, row->host, &host);
    if (error == NULL)
        error = intern(model, row->executable, &executable);
    if (error == NULL)
        error = intern(model, row->problem, &problem);
    if (error == NULL)
        error = tg_mpir_ranks_get(&entry->ranks, number, &rank);
    if (error != NULL)
        return error;
    model->n_ranks += entry->ranks.count - before;
    bool is_other = rank->table_pid != row->pid || rank->host != host || rank->executable != executable;
    if (rank->is_told && is_other) { /* another process has taken its place */
        rank->is_told = false;
        rank->process = SIZE_MAX;
    }
    if (!rank->is_told)
        rank->since_ns = event->time_ns;
    rank->in_table = true;
    rank->host = host;
    rank->executable = executable;
    rank->problem = problem;
    rank->table_pid = row->pid;
    return NULL;
}

static void begin_table(struct tg_mpir_model *model, const struct tg_event *event, struct entry *entry)
{
    struct tg_mpir_starter *starter = &entry->starter;
    if (event->mpir_table.snapshot <= starter->snapshots)
        count_impossible(model, event, "a table was read again under a number already used");
    if (starter->snapshots != 0 && !starter->is_whole)
        count_impossible(model, event, "the end of a table is missing");
    if (starter->has_ended)
        count_impossible(model, event, "the table of a job launcher was read after it ended");
    starter->is_starter = true;
    starter->snapshots = event->mpir_table.snapshot;
    starter->is_whole = false;
    starter->read_entries = 0;
    entry->next_index = 0;
    for (size_t i = 0; i < entry->ranks.count; i++)
        entry->ranks.ranks[i].in_table = false;
}

static struct tg_error *end_table(struct tg_mpir_model *model, const struct tg_event *event,
                                  struct entry *entry)
{
    const struct tg_event_mpir_table *table = &event->mpir_table;
    entry->starter.is_whole = true;
    entry->starter.read_ns = table->read_ns;
    struct tg_error *error = intern(model, table->reason, &entry->starter.table_reason);
    if (error != NULL)
        return error;
    return add_step(model, entry, event,
                    (struct tg_mpir_step){.kind = TG_MPIR_STEP_TABLE,
                                          .value = (int64_t)table->snapshot,
                                          .count = (int64_t)entry->starter.read_entries,
                                          .detail = table->reason});
}

static struct tg_error *take_table(struct tg_mpir_model *model, const struct tg_event *event,
                                   struct entry *entry)
{
    const struct tg_event_mpir_table *table = &event->mpir_table;
    const struct tg_mpir_entry *rows = table->entries.items;
    bool continues = entry->starter.snapshots == table->snapshot && !entry->starter.is_whole;
    if (!continues)
        begin_table(model, event, entry);
    if (table->entries.count > 0 && table->first != entry->next_index) {
        count_impossible(model, event, "a part of a table is missing");
        entry->next_index = table->first;
    }
    struct tg_error *error = NULL;
    for (uint64_t i = 0; error == NULL && i < table->entries.count; i++)
        error = take_table_entry(model, event, entry, &rows[i]);
    entry->starter.claimed_size = table->claimed_size;
    entry->starter.read_entries += table->entries.count;
    if (table->claimed_size < 0 || entry->starter.read_entries > (uint64_t)table->claimed_size) {
        if (table->entries.count > 0)
            count_impossible(model, event, "a table has more entries than its job launcher says");
    }
    return error != NULL || table->last == 0 ? error : end_table(model, event, entry);
}

/* ---- ranks */

/* Of MPI_Comm_spawn's, or of a job launcher that has no table, and not asked for. */
static bool is_in_no_table(const struct tg_event_mpir_rank *told)
{
    return told->state == TG_MPIR_OUTSIDE || (told->state == TG_MPIR_NOT_SELECTED && told->starter_pid == 0);
}

static struct tg_error *tell_rank(struct tg_mpir_model *model, const struct tg_event *event, size_t process,
                                  struct tg_mpir_rank *rank)
{
    const struct tg_event_mpir_rank *told = &event->mpir_rank;
    bool is_traced = told->state == TG_MPIR_ACQUIRED || told->state == TG_MPIR_OUTSIDE;
    /* one that was not selected may have been traced until it was let go */
    bool fits = told->state == TG_MPIR_NOT_SELECTED || is_traced == (told->way != TG_MPIR_WAY_NONE);
    if (told->state >= TG_MPIR_RANK_STATES)
        count_impossible(model, event, "a rank has an unknown state");
    else if (!fits)
        count_impossible(model, event, "how a rank was acquired contradicts its state");
    rank->is_told = true;
    rank->rank = told->rank;
    rank->state = told->state;
    rank->way = told->way;
    rank->gate = told->gate;
    rank->woken = told->woken != 0;
    rank->table_pid = told->table_pid;
    /* a rank that ended before its table was read is told by its starter */
    bool was_here = is_traced || told->state == TG_MPIR_NOT_SELECTED;
    bool is_own = is_in_no_table(told) || told->table_pid == event->pid;
    rank->process = was_here && is_own ? process : SIZE_MAX;
    rank->since_ns = event->time_ns;
    struct tg_error *error = intern(model, told->reason, &rank->reason);
    if (error == NULL)
        error = intern(model, told->host, &rank->host);
    if (error == NULL)
        error = intern(model, told->executable, &rank->executable);
    return error;
}

static struct entry *find_starter(const struct tg_mpir_model *model, int64_t pid)
{
    struct entry *entry = NULL;
    int32_t key = (int32_t)pid;
    if (key == pid)
        HASH_FIND(by_pid, model->by_pid, &key, sizeof key, entry);
    return entry;
}

/* A rank that no table has is known by its process: each such job has ranks from 0 on. */
static struct tg_error *take_outside(struct tg_mpir_model *model, const struct tg_event *event,
                                     size_t process)
{
    struct tg_mpir_rank *rank;
    if (model->outside.count >= TG_MPIR_MAX_PROCESSES &&
        tg_mpir_ranks_find(&model->outside, (int64_t)process) == NULL) {
        model->beyond_limit++;
        return NULL;
    }
    struct tg_error *error = tg_mpir_ranks_get(&model->outside, (int64_t)process, &rank);
    return error != NULL ? error : tell_rank(model, event, process, rank);
}

static struct tg_error *take_rank(struct tg_mpir_model *model, const struct tg_event *event, size_t process)
{
    const struct tg_event_mpir_rank *told = &event->mpir_rank;
    if (is_in_no_table(told))
        return take_outside(model, event, process);
    struct entry *entry = find_starter(model, told->starter_pid);
    struct tg_mpir_rank *rank = NULL;
    if (entry == NULL) {
        count_impossible(model, event, "a rank belongs to an unknown job launcher");
        return NULL;
    }
    rank = tg_mpir_ranks_find(&entry->ranks, told->rank);
    if (rank == NULL)
        count_impossible(model, event, "a rank is not in any table of its job launcher");
    if (rank == NULL && model->n_ranks >= TG_MPIR_MAX_RANKS) {
        model->beyond_limit++;
        return NULL;
    }
    struct tg_error *error = NULL;
    if (rank == NULL) {
        error = tg_mpir_ranks_get(&entry->ranks, told->rank, &rank);
        model->n_ranks += error == NULL;
    }
    if (error == NULL)
        error = tell_rank(model, event, process, rank);
    if (error != NULL)
        return error;
    return add_step(
        model, entry, event,
        (struct tg_mpir_step){.kind = TG_MPIR_STEP_RANKS, .value = (int64_t)told->state, .count = 1});
}

/* ---- ends */

static struct tg_error *take_end(struct tg_mpir_model *model, const struct tg_event *event,
                                 struct entry *entry)
{
    struct tg_mpir_starter *starter = &entry->starter;
    if (event->kind == TG_EVENT_DETACH) {
        starter->was_let_go = true;
        return add_step(model, entry, event,
                        (struct tg_mpir_step){.kind = TG_MPIR_STEP_LET_GO, .detail = event->detach.reason});
    }
    starter->has_ended = true;
    starter->ended_ns = event->time_ns;
    starter->ended_how = event->process_exit.how;
    starter->status = event->process_exit.status;
    return add_step(model, entry, event,
                    (struct tg_mpir_step){.kind = TG_MPIR_STEP_ENDED,
                                          .value = event->process_exit.status,
                                          .seen = event->process_exit.how});
}

/* Kinds that speak of a process only where it is known already. */
static struct tg_error *take_of_known(struct tg_mpir_model *model, const struct tg_event *event,
                                      size_t process)
{
    struct entry *entry = find_entry(model, process);
    if (entry == NULL) /* a rank that has a gate and nothing else of MPIR, or a process that has none of it */
        return NULL;
    if (event->kind == TG_EVENT_EXEC) {
        entry->starter.n_objects = 0;
        return NULL;
    }
    return event->kind == TG_EVENT_MPIR_WRITE ? take_write(model, event, entry)
                                              : take_end(model, event, entry);
}

struct tg_error *tg_mpir_model_feed(struct tg_mpir_model *model, const struct tg_event *event, size_t process)
{
    static struct tg_error *(*const takers[])(struct tg_mpir_model *, const struct tg_event *,
                                              struct entry *) = {take_symbols, take_state, take_table,
                                                                 take_job};
    size_t taker;
    switch ((unsigned)event->kind) {
    case TG_EVENT_MPIR_SYMBOLS:
        taker = 0;
        break;
    case TG_EVENT_MPIR_STATE:
        taker = 1;
        break;
    case TG_EVENT_MPIR_TABLE:
        taker = 2;
        break;
    case TG_EVENT_MPIR_JOB:
        taker = 3;
        break;
    case TG_EVENT_MPIR_RANK:
        return take_rank(model, event, process);
    case TG_EVENT_MPIR_WRITE:
    case TG_EVENT_EXEC:
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
        return take_of_known(model, event, process);
    default:
        return NULL;
    }
    struct entry *entry = NULL;
    struct tg_error *error = get_entry(model, event, process, &entry);
    return error != NULL || entry == NULL ? error : takers[taker](model, event, entry);
}

/* ---- answers */

uint64_t tg_mpir_model_impossible(const struct tg_mpir_model *model, uint64_t *first_ns, const char **first)
{
    *first_ns = model->impossible_ns;
    *first = model->impossible_what;
    return model->impossible;
}

uint64_t tg_mpir_model_beyond_limit(const struct tg_mpir_model *model)
{
    return model->beyond_limit;
}

size_t tg_mpir_model_count(const struct tg_mpir_model *model)
{
    return model->count;
}

const struct tg_mpir_starter *tg_mpir_model_at(const struct tg_mpir_model *model, size_t i)
{
    return &model->entries[i]->starter;
}

size_t tg_mpir_model_starter_count(const struct tg_mpir_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->count; i++)
        count += model->entries[i]->starter.is_starter;
    return count;
}

const struct tg_mpir_rank *tg_mpir_model_ranks(const struct tg_mpir_model *model, size_t i, size_t *count)
{
    *count = model->entries[i]->ranks.count;
    return model->entries[i]->ranks.ranks;
}

const struct tg_mpir_rank *tg_mpir_model_outside(const struct tg_mpir_model *model, size_t *count)
{
    *count = model->outside.count;
    return model->outside.ranks;
}

const struct tg_mpir_step *tg_mpir_model_steps(const struct tg_mpir_model *model, size_t i, size_t *count,
                                               uint64_t *unkept)
{
    *count = model->entries[i]->n_steps;
    *unkept = model->entries[i]->unkept_steps;
    return model->entries[i]->steps;
}
