/* The table of teams whose regions are not over. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_TEAMS_H
#define TG_ANALYZER_MODELS_OPENMP_TEAMS_H

#include "analyzer/models/openmp/state.h"
#include "format/base/error.h"
#include "format/base/hash.h"

struct tg_openmp_team_key {
    size_t process;
    uint64_t id;
};

struct tg_openmp_team_entry {
    struct tg_openmp_team public;
    struct tg_openmp_team_key key;
    struct tg_openmp_member *members;
    size_t capacity;
    size_t n_ended;
    uint64_t instance; /* the highest that somebody has come to, who was the first to, and from where */
    size_t first;
    uint64_t first_code;
    uint64_t n_like_first; /* members that came to it from there */
    bool is_over; /* the one that met it has left; it goes with its last member, as one that nobody was seen
                     to meet does */
    UT_hash_handle hh;
};

/* All zero is an empty one. */
struct tg_openmp_teams {
    struct tg_openmp_team_entry *entries;    /* in order of addition along hh.next */
    struct tg_openmp_team_entry *recent[64]; /* found or added lately, by process and id */
};

void tg_openmp_teams_deinit(struct tg_openmp_teams *teams);
/* Adds those of FROM, with their members, to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_teams_copy(const struct tg_openmp_teams *from, struct tg_openmp_teams *to);

/* Team ID of PROCESS; NULL where it is not known. */
struct tg_openmp_team_entry *tg_openmp_teams_find(const struct tg_openmp_teams *teams, size_t process,
                                                  uint64_t id);
/* The same, and it is found sooner the next time. */
struct tg_openmp_team_entry *tg_openmp_teams_find_anew(struct tg_openmp_teams *teams, size_t process,
                                                       uint64_t id);

/* Where team ID of PROCESS is if it was found lately. */
static inline struct tg_openmp_team_entry **tg_openmp_teams_recent(struct tg_openmp_teams *teams,
                                                                   size_t process, uint64_t id)
{
    return &teams->recent[(id + id / 64 + process * 17) % (sizeof teams->recent / sizeof *teams->recent)];
}

/* Team ID of PROCESS, for who feeds the model; NULL where it is not known. */
static inline struct tg_openmp_team_entry *tg_openmp_teams_seek(struct tg_openmp_teams *teams, size_t process,
                                                                uint64_t id)
{
    struct tg_openmp_team_entry *team = *tg_openmp_teams_recent(teams, process, id);
    return team != NULL && team->key.id == id && team->key.process == process
               ? team
               : tg_openmp_teams_find_anew(teams, process, id);
}

/* The same, made where its beginning was not seen: then it begins at BEGIN_NS. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_teams_get(struct tg_openmp_teams *teams, size_t process, uint64_t id,
                                     uint64_t begin_ns, struct tg_openmp_team_entry **team);
/* Drops TEAM where nobody can be in it any more. */
void tg_openmp_teams_end_if_done(struct tg_openmp_teams *teams, struct tg_openmp_team_entry *team);
void tg_openmp_teams_drop_process(struct tg_openmp_teams *teams, size_t process);

/* The member that is worker WORKER, by its index; NULL where there is none. *NTH becomes its place. */
struct tg_openmp_member *tg_openmp_team_search_member(struct tg_openmp_team_entry *team, size_t worker,
                                                      size_t *nth);
/* The same. *NTH: where it was found last. NULL also where TEAM is NULL. */
static inline struct tg_openmp_member *tg_openmp_team_find_member(struct tg_openmp_team_entry *team,
                                                                  size_t worker, size_t *nth)
{
    if (team == NULL)
        return NULL;
    if (*nth < team->public.n_members && team->members[*nth].worker == worker)
        return &team->members[*nth];
    return tg_openmp_team_search_member(team, worker, nth);
}
struct tg_error *tg_openmp_team_add_member(struct tg_openmp_team_entry *team, size_t worker,
                                           uint64_t thread_num);

/* MEMBER of TEAM comes to a barrier. False: it has been there already. */
bool tg_openmp_team_arrive(struct tg_openmp_team_entry *team, struct tg_openmp_member *member,
                           const struct tg_event_omp_sync_begin *begin, uint64_t time_ns);

#endif
