#include "analyzer/sequence/team.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct member {
    uint32_t lane;
    size_t index;
    uint64_t phase; /* number of the one that it is in */
    bool waits;     /* at the barrier behind that */
    bool ended;
    bool helps; /* at the end, in a task */
    uint64_t ended_ns;
    UT_hash_handle hh;
};

struct phase {
    struct tg_sequence_list *lists; /* by member index; N_LISTS of them */
    size_t n_lists;
    bool has_barrier;
    bool differs;
    bool is_cancelled;
    struct tg_sequence_barrier barrier;
    struct tg_sequence_part *parts; /* parts of the barrier by member index; BEGIN_NS 0: not arrived */
    size_t n_parts;
};

struct tg_sequence_team {
    uint64_t size;
    uint64_t from_ns;
    bool is_across, is_cancelled;
    struct member *by_lane;
    struct member **members;
    size_t n_members, capacity;
    struct phase *phases; /* numbers [first, first + n_phases) */
    size_t n_phases, phase_capacity;
    uint64_t first;
    size_t n_behind; /* members that have left phase FIRST, or ended */
    struct tg_sequence_list done;
    uint64_t left_out;
};

struct tg_error *tg_sequence_team_create(uint64_t size, uint64_t from_ns, bool is_across,
                                         struct tg_sequence_team **team)
{
    struct tg_sequence_team *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->size = size;
    made->from_ns = from_ns;
    made->is_across = is_across;
    *team = made;
    return NULL;
}

static void deinit_phase(struct phase *phase)
{
    for (size_t i = 0; i < phase->n_lists; i++)
        tg_sequence_list_deinit(&phase->lists[i]);
    free(phase->lists);
    free(phase->parts);
}

void tg_sequence_team_destroy(struct tg_sequence_team *team)
{
    if (team == NULL)
        return;
    for (size_t i = 0; i < team->n_phases; i++)
        deinit_phase(&team->phases[i]);
    free(team->phases);
    HASH_CLEAR(hh, team->by_lane);
    for (size_t i = 0; i < team->n_members; i++)
        free(team->members[i]);
    free(team->members);
    tg_sequence_list_deinit(&team->done);
    free(team);
}

void tg_sequence_team_set_size(struct tg_sequence_team *team, uint64_t size)
{
    team->size = size;
}

/* ---- members and phases */

static struct member *find_member(const struct tg_sequence_team *team, uint32_t lane)
{
    struct member *member;
    HASH_FIND(hh, team->by_lane, &lane, sizeof lane, member);
    return member;
}

struct tg_error *tg_sequence_team_add(struct tg_sequence_team *team, uint32_t lane)
{
    if (find_member(team, lane) != NULL)
        return NULL;
    struct member *member;
    struct tg_error *error = TG_ARRAY_RESERVE(team->members, team->capacity, team->n_members + 1);
    if (error == NULL)
        error = TG_HASH_CREATE(hh, team->by_lane, lane, &lane, member);
    if (error != NULL)
        return error;
    member->index = team->n_members;
    team->members[team->n_members++] = member;
    return NULL;
}

/* Phase NUMBER with room for member INDEX; NULL where it is too far off (*ERROR stays NULL) or without
 * memory. */
static struct phase *get_phase(struct tg_sequence_team *team, uint64_t number, size_t index,
                               struct tg_error **error)
{
    if (number < team->first || number - team->first >= TG_SEQUENCE_MAX_APART)
        return NULL;
    size_t at = (size_t)(number - team->first);
    *error = TG_ARRAY_RESERVE(team->phases, team->phase_capacity, at + 1);
    if (*error != NULL)
        return NULL;
    while (team->n_phases <= at)
        team->phases[team->n_phases++] = (struct phase){0};
    struct phase *phase = &team->phases[at];
    if (phase->n_lists <= index) {
        size_t wanted = team->capacity;
        struct tg_sequence_list *lists = reallocarray(phase->lists, wanted, sizeof *lists);
        if (lists != NULL)
            phase->lists = lists;
        struct tg_sequence_part *parts =
            lists == NULL ? NULL : reallocarray(phase->parts, wanted, sizeof *parts);
        if (parts == NULL) {
            *error = tg_error_no_memory();
            return NULL;
        }
        phase->parts = parts;
        memset(&lists[phase->n_lists], 0, (wanted - phase->n_lists) * sizeof *lists);
        memset(&parts[phase->n_lists], 0, (wanted - phase->n_lists) * sizeof *parts);
        phase->n_lists = phase->n_parts = wanted;
    }
    return phase;
}

static struct tg_sequence_list *list_in(struct tg_sequence_team *team, const struct member *member,
                                        uint64_t number)
{
    struct tg_error *error = NULL;
    struct phase *phase = get_phase(team, number, member->index, &error);
    tg_error_destroy(error);
    if (phase == NULL) {
        team->left_out++;
        return NULL;
    }
    return &phase->lists[member->index];
}

struct tg_sequence_list *tg_sequence_team_list(struct tg_sequence_team *team, uint32_t lane)
{
    const struct member *member = find_member(team, lane);
    return member == NULL ? NULL : list_in(team, member, member->phase);
}

/* Whether MEMBER had left the barrier behind phase NUMBER at TIME_NS. */
static bool had_left(const struct tg_sequence_team *team, const struct member *member, uint64_t number,
                     uint64_t time_ns)
{
    if (number < team->first || number - team->first >= team->n_phases)
        return false;
    const struct phase *phase = &team->phases[number - team->first];
    const struct tg_sequence_part *part =
        member->index < phase->n_parts ? &phase->parts[member->index] : NULL;
    return part != NULL && part->begin_ns != 0 && part->end_ns != 0 && part->end_ns <= time_ns;
}

struct tg_sequence_list *tg_sequence_team_list_for_task(struct tg_sequence_team *team, uint32_t lane,
                                                        uint32_t maker, uint64_t created_ns)
{
    const struct member *member = find_member(team, lane), *creator = find_member(team, maker);
    if (member == NULL)
        return NULL;
    bool is_behind = member->waits && creator != NULL && had_left(team, creator, member->phase, created_ns);
    return list_in(team, member, member->phase + is_behind);
}

uint64_t tg_sequence_team_phase(const struct tg_sequence_team *team, uint32_t lane)
{
    const struct member *member = find_member(team, lane);
    return member == NULL ? 0 : member->phase;
}

bool tg_sequence_team_waits(const struct tg_sequence_team *team, uint32_t lane)
{
    const struct member *member = find_member(team, lane);
    return member != NULL && (member->waits || member->ended);
}

bool tg_sequence_team_has_ended(const struct tg_sequence_team *team, uint32_t lane)
{
    const struct member *member = find_member(team, lane);
    return member != NULL && member->ended;
}

void tg_sequence_team_helps(struct tg_sequence_team *team, uint32_t lane)
{
    struct member *member = find_member(team, lane);
    struct tg_error *error = NULL;
    if (member != NULL)
        member->helps = member->ended;
    if (member == NULL || !member->waits)
        return;
    struct phase *phase = get_phase(team, member->phase, member->index, &error);
    tg_error_destroy(error);
    if (phase != NULL && phase->parts[member->index].role == TG_SEQUENCE_WAITS)
        phase->parts[member->index].role = TG_SEQUENCE_HELPS;
}

size_t tg_sequence_team_member_count(const struct tg_sequence_team *team)
{
    return team->n_members;
}

uint32_t tg_sequence_team_lane(const struct tg_sequence_team *team, size_t i)
{
    return team->members[i]->lane;
}

uint64_t tg_sequence_team_left_out(const struct tg_sequence_team *team)
{
    return team->left_out;
}

/* ---- closing phases */

static void note_part(struct tg_sequence_node *node, const struct tg_sequence_part *part)
{
    if (node->begin_ns == 0 || (part->begin_ns != 0 && part->begin_ns < node->begin_ns))
        node->begin_ns = part->begin_ns;
}

/* Parts of the barrier that closes a phase: members that came, and, in an open one, those that did not. */
static struct tg_error *add_barrier(const struct tg_sequence_team *team, const struct phase *phase,
                                    struct tg_sequence_node *node)
{
    struct tg_error *error = NULL;
    node->has_barrier = true;
    node->differs = phase->differs;
    node->what = phase->barrier.what;
    node->name = phase->barrier.name;
    node->id = phase->barrier.id;
    node->code = phase->barrier.code;
    node->from = phase->barrier.lane;
    size_t n_came = 0;
    for (size_t i = 0; i < phase->n_parts && i < team->n_members; i++)
        n_came += phase->parts[i].begin_ns != 0;
    node->is_cancelled = phase->is_cancelled || (team->is_cancelled && n_came < team->n_members);
    for (size_t i = 0; error == NULL && i < team->n_members; i++) {
        struct tg_sequence_part part = i < phase->n_parts ? phase->parts[i] : (struct tg_sequence_part){0};
        part.lane = team->members[i]->lane;
        if (part.begin_ns == 0)
            part.role = node->is_cancelled ? TG_SEQUENCE_DOES : TG_SEQUENCE_MISSING;
        error = tg_sequence_node_add_part(node, &part);
    }
    if (team->size > team->n_members && !team->is_across)
        node->absent = team->size - team->n_members;
    return error;
}

static void take_extent(struct tg_sequence_node *node, uint64_t *end_ns)
{
    for (size_t i = 0; i < node->children.count; i++) {
        const struct tg_sequence_node *child = node->children.items[i];
        if (node->begin_ns == 0 || (child->begin_ns != 0 && child->begin_ns < node->begin_ns))
            node->begin_ns = child->begin_ns;
        if (child->end_ns > *end_ns)
            *end_ns = child->end_ns;
    }
    for (size_t i = 0; i < node->n_parts; i++) {
        note_part(node, &node->parts[i]);
        if (node->parts[i].end_ns > *end_ns)
            *end_ns = node->parts[i].end_ns;
        if (node->parts[i].begin_ns > *end_ns)
            *end_ns = node->parts[i].begin_ns;
    }
}

/* The first phase goes to the ones that are done. */
static struct tg_error *close_first(struct tg_sequence_team *team, bool is_open)
{
    struct phase phase = team->phases[0];
    memmove(&team->phases[0], &team->phases[1], --team->n_phases * sizeof *team->phases);
    team->first++;
    struct tg_sequence_node *node = tg_sequence_node_create(TG_SEQUENCE_PHASE, TG_SEQUENCE_NO_LANE, 0);
    struct tg_error *error = node == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL)
        error = tg_sequence_merge(phase.lists, phase.n_lists, &node->children);
    if (error == NULL && phase.has_barrier)
        error = add_barrier(team, &phase, node);
    deinit_phase(&phase);
    if (error != NULL) {
        tg_sequence_node_destroy(node);
        return error;
    }
    uint64_t end_ns = 0;
    take_extent(node, &end_ns);
    bool is_empty = node->children.count == 0 && !node->has_barrier;
    if (is_empty || (!is_open && end_ns < team->from_ns)) {
        tg_sequence_node_destroy(node);
        return NULL;
    }
    node->is_across = team->is_across;
    tg_sequence_node_finish(node, is_open ? 0 : end_ns);
    return tg_sequence_list_append(&team->done, node);
}

static void count_behind(struct tg_sequence_team *team)
{
    team->n_behind = 0;
    for (size_t i = 0; i < team->n_members; i++)
        team->n_behind += team->members[i]->ended || team->members[i]->phase > team->first;
}

static struct tg_error *close_phases(struct tg_sequence_team *team)
{
    uint64_t expected = team->size > team->n_members ? team->size : team->n_members;
    struct tg_error *error = NULL;
    while (error == NULL && team->n_phases > 1 && team->n_behind >= expected) {
        error = close_first(team, false);
        count_behind(team);
    }
    return error;
}

/* ---- barriers */

struct tg_error *tg_sequence_team_arrive(struct tg_sequence_team *team, uint32_t lane, uint64_t number,
                                         const struct tg_sequence_barrier *barrier, uint64_t time_ns)
{
    struct member *member = find_member(team, lane);
    struct tg_error *error = NULL;
    if (member == NULL || number < member->phase)
        return NULL;
    member->waits = true;
    struct phase *phase = get_phase(team, number, member->index, &error);
    if (phase == NULL)
        return error;
    if (!phase->has_barrier) {
        phase->has_barrier = true;
        phase->barrier = *barrier;
        phase->barrier.lane = lane;
    }
    phase->differs |= phase->barrier.name != barrier->name || phase->barrier.id != barrier->id;
    phase->parts[member->index] =
        (struct tg_sequence_part){.lane = lane, .role = TG_SEQUENCE_WAITS, .begin_ns = time_ns};
    return NULL;
}

struct tg_error *tg_sequence_team_pass(struct tg_sequence_team *team, uint32_t lane, uint64_t number,
                                       uint64_t time_ns)
{
    struct member *member = find_member(team, lane);
    struct tg_error *error = NULL;
    if (member == NULL || number < member->phase)
        return NULL;
    struct phase *phase = get_phase(team, number, member->index, &error);
    if (phase != NULL && phase->has_barrier && phase->parts[member->index].begin_ns != 0) {
        phase->parts[member->index].role = TG_SEQUENCE_PASSED;
        phase->parts[member->index].end_ns = time_ns;
    }
    if (error == NULL) /* the node exists from here on, whatever happens */
        get_phase(team, number + 1, member->index, &error);
    if (!member->ended && member->phase <= team->first && number + 1 > team->first)
        team->n_behind++;
    member->phase = number + 1;
    member->waits = false;
    return error != NULL ? error : close_phases(team);
}

void tg_sequence_team_cancel(struct tg_sequence_team *team, uint64_t number)
{
    team->is_cancelled = true;
    if (number >= team->first && number - team->first < team->n_phases)
        team->phases[number - team->first].is_cancelled = true;
}

struct tg_error *tg_sequence_team_end(struct tg_sequence_team *team, uint32_t lane, uint64_t time_ns)
{
    struct member *member = find_member(team, lane);
    if (member == NULL || member->ended)
        return NULL;
    team->n_behind += member->phase <= team->first;
    member->ended = true;
    member->waits = false;
    member->ended_ns = time_ns;
    return close_phases(team);
}

/* ---- the end */

/* Members that are through wait at the end of the last phase. */
static struct tg_error *add_join(struct tg_sequence_team *team, bool is_over, uint64_t end_ns,
                                 const struct tg_sequence_barrier *join)
{
    size_t n_ended = 0;
    uint64_t last = team->first + (team->n_phases > 0 ? team->n_phases - 1 : 0);
    struct tg_error *error = NULL;
    for (size_t i = 0; i < team->n_members; i++)
        n_ended += team->members[i]->ended;
    if (join == NULL || n_ended == 0)
        return NULL;
    struct phase *phase = get_phase(team, last, team->n_members - 1, &error);
    if (phase == NULL)
        return error;
    if (phase->has_barrier) { /* some wait there: the end is behind it */
        phase = get_phase(team, last + 1, team->n_members - 1, &error);
        if (phase == NULL)
            return error;
    }
    phase->has_barrier = true;
    phase->barrier = *join;
    phase->barrier.lane = team->members[0]->lane;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct member *member = team->members[i];
        if (member->ended || is_over)
            phase->parts[i] = (struct tg_sequence_part){
                .lane = member->lane,
                .role = is_over         ? TG_SEQUENCE_PASSED
                        : member->helps ? TG_SEQUENCE_HELPS
                                        : TG_SEQUENCE_WAITS,
                .begin_ns = member->ended ? member->ended_ns : end_ns,
                .end_ns = is_over ? end_ns : 0,
            };
    }
    return NULL;
}

struct tg_error *tg_sequence_team_finish(struct tg_sequence_team *team, bool is_over, uint64_t end_ns,
                                         size_t keep, const struct tg_sequence_barrier *join,
                                         struct tg_sequence_list *phases)
{
    struct tg_error *error = NULL;
    if (team->n_members > 0)
        error = add_join(team, is_over, end_ns, join);
    if (error == NULL && !is_over && keep > 0)
        error = tg_sequence_list_keep_last(&team->done, keep);
    while (error == NULL && team->n_phases > 0) {
        count_behind(team);
        bool is_open = !is_over && (team->n_behind < team->n_members || team->n_phases == 1);
        error = close_first(team, is_open);
    }
    if (error == NULL) {
        *phases = team->done;
        team->done = (struct tg_sequence_list){0};
    }
    return error;
}
