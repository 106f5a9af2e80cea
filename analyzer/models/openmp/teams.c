#include "analyzer/models/openmp/teams.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

static void drop_team(struct tg_openmp_teams *teams, struct tg_openmp_team_entry *team)
{
    struct tg_openmp_team_entry **recent = tg_openmp_teams_recent(teams, team->key.process, team->key.id);
    if (*recent == team)
        *recent = NULL;
    HASH_DEL(teams->entries, team);
    free(team->members);
    free(team);
}

void tg_openmp_teams_deinit(struct tg_openmp_teams *teams)
{
    struct tg_openmp_team_entry *team, *next;
    HASH_ITER (hh, teams->entries, team, next)
        drop_team(teams, team);
}

static struct tg_error *copy_team(const struct tg_openmp_team_entry *from, struct tg_openmp_teams *to)
{
    struct tg_openmp_team_entry *team = malloc(sizeof *team);
    if (team == NULL)
        return tg_error_no_memory();
    *team = *from;
    memset(&team->hh, 0, sizeof team->hh);
    team->members = NULL;
    team->capacity = 0;
    struct tg_error *error = TG_ARRAY_COPY(team->members, team->public.n_members, team->capacity,
                                           from->members, from->public.n_members);
    team->public.members = team->members;
    if (error == NULL)
        error = TG_HASH_ADD(hh, to->entries, key, team);
    if (error != NULL) {
        free(team->members);
        free(team);
    }
    return error;
}

struct tg_error *tg_openmp_teams_copy(const struct tg_openmp_teams *from, struct tg_openmp_teams *to)
{
    struct tg_error *error = NULL;
    const struct tg_openmp_team_entry *team = from->entries;
    for (; error == NULL && team != NULL; team = team->hh.next)
        error = copy_team(team, to);
    return error;
}

struct tg_openmp_team_entry *tg_openmp_teams_find(const struct tg_openmp_teams *teams, size_t process,
                                                  uint64_t id)
{
    struct tg_openmp_team_key key;
    struct tg_openmp_team_entry *team;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.id = id;
    HASH_FIND(hh, teams->entries, &key, sizeof key, team);
    return team;
}

struct tg_openmp_team_entry *tg_openmp_teams_find_anew(struct tg_openmp_teams *teams, size_t process,
                                                       uint64_t id)
{
    struct tg_openmp_team_entry *team = tg_openmp_teams_find(teams, process, id);
    if (team != NULL)
        *tg_openmp_teams_recent(teams, process, id) = team;
    return team;
}

struct tg_error *tg_openmp_teams_get(struct tg_openmp_teams *teams, size_t process, uint64_t id,
                                     uint64_t begin_ns, struct tg_openmp_team_entry **team)
{
    struct tg_openmp_team_entry *found = tg_openmp_teams_seek(teams, process, id);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.process = process;
        found->key.id = id;
        found->public = (struct tg_openmp_team){
            .process = process, .id = id, .owner = SIZE_MAX, .canceller = SIZE_MAX, .begin_ns = begin_ns};
        struct tg_error *error = TG_HASH_ADD(hh, teams->entries, key, found);
        if (error != NULL) {
            free(found);
            return error;
        }
    }
    *team = found;
    return NULL;
}

void tg_openmp_teams_end_if_done(struct tg_openmp_teams *teams, struct tg_openmp_team_entry *team)
{
    bool may_grow =
        team->public.owner == SIZE_MAX ? team->public.n_members < team->public.size : !team->is_over;
    if (!may_grow && team->n_ended >= team->public.n_members)
        drop_team(teams, team);
}

void tg_openmp_teams_drop_process(struct tg_openmp_teams *teams, size_t process)
{
    struct tg_openmp_team_entry *team, *next;
    HASH_ITER (hh, teams->entries, team, next)
        if (team->key.process == process)
            drop_team(teams, team);
}

struct tg_openmp_member *tg_openmp_team_search_member(struct tg_openmp_team_entry *team, size_t worker,
                                                      size_t *nth)
{
    for (size_t i = 0; i < team->public.n_members; i++)
        if (team->members[i].worker == worker) {
            *nth = i;
            return &team->members[i];
        }
    return NULL;
}

struct tg_error *tg_openmp_team_add_member(struct tg_openmp_team_entry *team, size_t worker,
                                           uint64_t thread_num)
{
    struct tg_error *error =
        TG_ARRAY_APPEND(team->members, team->public.n_members, team->capacity,
                        (struct tg_openmp_member){.worker = worker, .thread_num = thread_num});
    team->public.members = team->members;
    return error;
}

static bool is_same_pair(const struct tg_openmp_difference *difference, uint64_t one, uint64_t other)
{
    return (difference->first_code == one && difference->second_code == other) ||
           (difference->first_code == other && difference->second_code == one);
}

/* MEMBER comes from CODE to where the first one came from elsewhere. Arrivals are in order of instances, but
 * for one: so the first ones are those to keep. */
static void note_difference(struct tg_openmp_team_entry *team, const struct tg_openmp_member *member,
                            uint64_t code)
{
    struct tg_openmp_team *public = &team->public;
    for (size_t i = 0; i < public->n_differences; i++) {
        struct tg_openmp_difference *known = &public->differences[i];
        if (known->instance == team->instance && known->second_code == code)
            known->n_second++;
        if (is_same_pair(known, team->first_code, code))
            return;
    }
    if (public->n_differences < TG_OPENMP_MAX_DIFFERENCES)
    public->differences[public->n_differences++] =
        (struct tg_openmp_difference){.instance = team->instance,
                                      .first = team->first,
                                      .second = member->worker,
                                      .first_code = team->first_code,
                                      .second_code = code,
                                      .n_first = team->n_like_first,
                                      .n_second = 1};
}

/* One more comes from where the first one came from. */
static void count_like_first(struct tg_openmp_team_entry *team)
{
    team->n_like_first++;
    for (size_t i = 0; i < team->public.n_differences; i++)
        if (team->public.differences[i].instance == team->instance)
            team->public.differences[i].n_first = team->n_like_first;
}

bool tg_openmp_team_arrive(struct tg_openmp_team_entry *team, struct tg_openmp_member *member,
                           const struct tg_event_omp_sync_begin *begin, uint64_t time_ns)
{
    bool is_new = begin->instance > member->arrived;
    if (is_new)
        member->arrived = begin->instance;
    member->sync = begin->sync;
    member->arrived_ns = time_ns;
    member->code = begin->code;
    if (begin->instance > team->instance) {
        team->instance = begin->instance;
        team->first = member->worker;
        team->first_code = begin->code;
        team->n_like_first = 1;
    } else if (begin->instance == team->instance && begin->code != 0 && team->first_code != 0) {
        if (begin->code == team->first_code)
            count_like_first(team);
        else
            note_difference(team, member, begin->code);
    }
    return is_new;
}
