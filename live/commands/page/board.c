#include "live/commands/page/board.h"

#include "analyzer/finding/words.h"
#include "analyzer/job/action_points.h"
#include "analyzer/job/list.h"
#include "analyzer/models/openmp/barrier.h"
#include "analyzer/output/rank_ranges.h"
#include "format/base/array.h"
#include "live/commands/info/barrier_states.h"
#include "live/commands/info/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100, RANKS_SIZE = 120 };

/* Teams that are alike: at a barrier at one place, with as many waiting and missing. */
struct crowd {
    struct tg_openmp_barrier barrier; /* of the first */
    uint64_t size;
    size_t process; /* of the first */
    int64_t *ranks; /* -1: none */
    size_t count, capacity;
};

struct board {
    struct tg_verdict_input input;
    struct crowd crowds[MOST];
    size_t n_crowds, left_out;
    struct tg_json *json; /* of the collectives */
    size_t n_collectives;
};

static int64_t rank_of(const struct board *board, size_t process)
{
    return tg_process_model_at(board->input.processes, process)->rank;
}

/* A member whose text WRITE writes. */
static void put_words(struct tg_json *json, const char *key, const struct board *board, size_t process,
                      uint64_t code)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return;
    tg_words_code(stream, &board->input, process, code);
    fclose(stream);
    tg_json_member_string(json, key, text == NULL ? "" : text + strspn(text, " "));
    free(text);
}

static void put_ranks(struct tg_json *json, const char *key, int64_t *ranks, size_t count)
{
    char text[RANKS_SIZE];
    tg_json_member_string(
        json, key,
        count == 0 ? "" : tg_rank_ranges_print(ranks, tg_rank_ranges_sort(ranks, count), text, sizeof text));
}

/* ---- teams */

static bool is_alike(const struct crowd *crowd, const struct tg_openmp_barrier *barrier, uint64_t size)
{
    const struct tg_openmp_barrier *other = &crowd->barrier;
    return crowd->size == size && other->code == barrier->code && other->sync == barrier->sync &&
           other->is_open == barrier->is_open && other->passed == barrier->passed &&
           other->waiting == barrier->waiting && other->missing == barrier->missing;
}

static struct tg_error *take_team(void *context, const struct tg_openmp_team *team)
{
    struct board *board = context;
    struct tg_openmp_barrier barrier;
    size_t i = 0;
    if (!tg_openmp_barrier_of(team, &barrier))
        return NULL;
    while (i < board->n_crowds && !is_alike(&board->crowds[i], &barrier, team->size))
        i++;
    if (i == MOST) {
        board->left_out++;
        return NULL;
    }
    struct crowd *crowd = &board->crowds[i];
    if (i == board->n_crowds) {
        *crowd = (struct crowd){.barrier = barrier, .size = team->size, .process = team->process};
        board->n_crowds++;
    }
    if (barrier.since_ns < crowd->barrier.since_ns)
        crowd->barrier.since_ns = barrier.since_ns;
    return TG_ARRAY_APPEND(crowd->ranks, crowd->count, crowd->capacity, rank_of(board, team->process));
}

static void put_crowd(const struct board *board, struct crowd *crowd, struct tg_json *json)
{
    const struct tg_openmp_barrier *barrier = &crowd->barrier;
    size_t n_ranks = 0;
    for (size_t i = 0; i < crowd->count; i++)
        if (crowd->ranks[i] >= 0)
            crowd->ranks[n_ranks++] = crowd->ranks[i];
    tg_json_begin_object(json);
    tg_json_member_string(json, "kind",
                          barrier->sync == TG_OMP_SYNC_BARRIER_JOIN ? "end of a parallel region"
                          : barrier->sync == TG_OMP_SYNC_BARRIER    ? "barrier"
                                                                    : "implicit barrier");
    put_words(json, "where", board, crowd->process, barrier->code);
    tg_json_member_unsigned(json, "teams", crowd->count);
    put_ranks(json, "ranks", crowd->ranks, n_ranks);
    tg_json_member_signed(json, "pid", tg_process_model_at(board->input.processes, crowd->process)->pid);
    tg_json_member_unsigned(json, "size", crowd->size);
    tg_json_member_unsigned(json, "waiting", barrier->waiting);
    tg_json_member_unsigned(json, "passed", barrier->passed);
    tg_json_member_unsigned(json, "missing", barrier->missing);
    tg_json_member_signed(json, "since", (int64_t)(barrier->since_ns - board->input.start_ns));
    tg_json_end_object(json);
}

static struct tg_error *write_teams(struct board *board, struct tg_json *json)
{
    struct tg_error *error = tg_openmp_model_visit_teams(board->input.openmp, take_team, board);
    tg_json_key(json, "teams");
    tg_json_begin_array(json);
    for (size_t i = 0; i < board->n_crowds; i++) {
        if (error == NULL)
            put_crowd(board, &board->crowds[i], json);
        free(board->crowds[i].ranks);
    }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "teams_left_out", board->left_out);
    return error;
}

/* ---- collectives */

static struct tg_error *put_collective(void *context, const struct tg_mpi_collective *collective,
                                       const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    struct board *board = context;
    struct tg_json *json = board->json;
    size_t n_arrived = 0, n_missing = 0, first = SIZE_MAX;
    if (++board->n_collectives > MOST)
        return NULL;
    int64_t *ranks = calloc(2 * n_arrivals + 1, sizeof *ranks), *missing = ranks + n_arrivals;
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n_arrivals; i++) {
        int64_t rank = arrivals[i].world_rank >= 0 ? arrivals[i].world_rank : arrivals[i].comm_rank;
        if (arrivals[i].entered_ns == 0)
            missing[n_missing++] = rank;
        else
            ranks[n_arrived++] = rank;
        if (arrivals[i].entered_ns != 0 && first == SIZE_MAX && arrivals[i].process != SIZE_MAX)
            first = i;
    }
    tg_json_begin_object(json);
    tg_json_member_string(json, "name", collective->name == NULL ? "" : collective->name);
    put_words(json, "where", board, first == SIZE_MAX ? SIZE_MAX : arrivals[first].process,
              first == SIZE_MAX ? 0 : arrivals[first].code);
    tg_json_member_signed(json, "size", collective->size);
    tg_json_member_unsigned(json, "n_arrived", n_arrived);
    tg_json_member_unsigned(json, "n_missing", n_missing);
    put_ranks(json, "arrived", ranks, n_arrived);
    put_ranks(json, "missing", missing, n_missing);
    tg_json_member_signed(json, "since", (int64_t)(collective->first_ns - board->input.start_ns));
    tg_json_end_object(json);
    free(ranks);
    return NULL;
}

static struct tg_error *write_collectives(struct board *board, struct tg_json *json)
{
    board->json = json;
    tg_json_key(json, "collectives");
    tg_json_begin_array(json);
    struct tg_error *error = tg_mpi_model_visit_collectives(board->input.mpi, put_collective, board);
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "collectives_left_out",
                            board->n_collectives > MOST ? board->n_collectives - MOST : 0);
    return error;
}

/* ---- barriers of dbarrier */

/* Members KEY of a barrier: how many, and who, as long as what differs among them. */
struct some {
    struct tg_job_set set;
    size_t count;
};

static void put_some(const struct tg_barrier_states *states, const char *key, const struct some *some,
                     struct tg_json *json)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return;
    if (some->count > 0)
        tg_error_destroy(tg_job_list_print(states->view, &some->set, stream)); /* no memory: nobody is told */
    fclose(stream);
    tg_json_key(json, key);
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "count", some->count);
    tg_json_member_string(json, "who", text == NULL ? "" : text);
    tg_json_end_object(json);
    free(text);
}

static void put_location(const struct tg_barrier_states *states, size_t i, struct tg_json *json)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return;
    tg_action_point_print_location(states->locations[i], stream);
    fclose(stream);
    tg_json_member_string(json, "location", text == NULL ? "" : text);
    free(text);
}

static void put_stuck(const struct tg_barrier_states *states, uint32_t id, struct tg_json *json)
{
    struct tg_run_decision why;
    char unit[40];
    if (!tg_barriers_why_stuck(states->model, id, &why))
        return;
    if (why.thread.dtid == 0)
        snprintf(unit, sizeof unit, "p%" PRIu32, why.thread.dpid);
    else
        snprintf(unit, sizeof unit, "p%" PRIu32 ".%" PRIu32, why.thread.dpid, why.thread.dtid);
    tg_json_member_string(json, "stuck_for", unit);
    tg_json_member_unsigned(json, "holder", why.number);
}

static struct tg_error *write_point(const struct tg_barrier_states *states, size_t i, struct tg_json *json)
{
    enum { ARRIVED, HELD, MISSING, GROUPS };
    static const char *const keys[GROUPS] = {"arrived", "held", "missing"};
    struct some groups[GROUPS] = {0};
    struct tg_barrier_status status = {0};
    struct tg_barrier_member *members = NULL;
    uint32_t id = tg_barriers_at(states->model, i)->id;
    size_t count = 0;
    tg_barriers_status(states->model, id, &status);
    struct tg_error *error = tg_barrier_states_members(states, id, &members, &count);
    for (size_t k = 0; error == NULL && k < GROUPS; k++)
        error = tg_job_set_init(&groups[k].set, states->view);
    for (size_t k = 0; error == NULL && k < count; k++) {
        struct some *some = &groups[members[k].standing <= TG_STANDS_LET_GO ? ARRIVED : MISSING];
        tg_barrier_states_add(states, members[k].thread, &some->set);
        some->count++;
        if (members[k].standing == TG_STANDS_ARRIVED) {
            tg_barrier_states_add(states, members[k].thread, &groups[HELD].set);
            groups[HELD].count++;
        }
    }
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "id", id);
    put_location(states, i, json);
    tg_json_member_unsigned(json, "satisfied", status.round);
    tg_json_member_bool(json, "enabled", status.enabled);
    for (size_t k = 0; error == NULL && k < GROUPS; k++)
        put_some(states, keys[k], &groups[k], json);
    put_stuck(states, id, json);
    tg_json_end_object(json);
    for (size_t k = 0; k < GROUPS; k++)
        tg_job_set_deinit(&groups[k].set);
    free(members);
    return error;
}

static struct tg_error *write_points(const struct tg_barrier_states *states, struct tg_json *json)
{
    size_t count = tg_barriers_count(states->model);
    struct tg_error *error = NULL;
    tg_json_key(json, "points");
    tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < count && i < MOST; i++)
        error = write_point(states, i, json);
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "points_left_out", count > MOST ? count - MOST : 0);
    return error;
}

/* ---- holds of dhold */

static void collect_held(const struct tg_barrier_states *states, struct tg_job_set *set, size_t *count)
{
    for (size_t i = 0; i < tg_job_view_count(states->view); i++) {
        const struct tg_job_process *process = tg_job_view_at(states->view, i);
        uint32_t dpid = process->info.dpid;
        bool is_whole = tg_run_model_is_held_by_user(states->model, (struct tg_thread_id){dpid, 0});
        for (size_t k = 0; k < process->n_threads; k++) {
            const struct tg_job_thread *thread = tg_job_view_thread(states->view, process, k);
            if (thread->state == TG_JOB_NONEXISTENT ||
                (!is_whole &&
                 !tg_run_model_is_held_by_user(states->model, (struct tg_thread_id){dpid, thread->dtid})))
                continue;
            tg_job_set_add(set, process, k);
            ++*count;
        }
    }
}

/* Threads that somebody's command holds: a list as dstatus has it, and how many there are. */
static struct tg_error *write_holds(const struct tg_barrier_states *states, struct tg_json *json)
{
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    char *text = NULL;
    size_t size, count = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_job_set_init(&set, states->view);
    if (error == NULL)
        collect_held(states, &set, &count);
    if (error == NULL && count > 0)
        error = tg_job_list_print(states->view, &set, stream);
    fclose(stream);
    if (error == NULL) {
        tg_json_key(json, "holds");
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "threads", count);
        tg_json_member_string(json, "who", text);
        tg_json_end_object(json);
    }
    free(text);
    return error;
}

static struct tg_error *write_control(struct tg_console *console, struct tg_json *json)
{
    struct tg_barrier_states states = {0};
    struct tg_error *error = tg_barrier_states_take(console, &states);
    if (error == NULL)
        error = write_points(&states, json);
    if (error == NULL)
        error = write_holds(&states, json);
    tg_barrier_states_deinit(&states);
    return error;
}

struct tg_error *tg_page_board_write(struct tg_console *console, FILE *out)
{
    struct tg_json json;
    struct board *board = calloc(1, sizeof *board);
    if (board == NULL)
        return tg_error_no_memory();
    board->input = tg_console_words(console);
    tg_json_init(&json, out, false);
    tg_json_begin_object(&json);
    struct tg_error *error = write_teams(board, &json);
    if (error == NULL)
        error = write_collectives(board, &json);
    if (error == NULL)
        error = write_control(console, &json);
    tg_json_end_object(&json);
    free(board);
    return error;
}
