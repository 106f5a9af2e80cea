#include "analyzer/report/mpir_rows.h"

#include "analyzer/output/rank_ranges.h"

#define RANK(heading, key, form, member) TG_FIELD(struct tg_mpir_rank_row, heading, key, form, member)

const struct tg_report_field tg_mpir_rank_fields[] = {
    RANK(">RANK", NULL, CHARS, numbers),
    RANK(NULL, "rank", SIGNED, rank.rank),
    RANK("HOST", NULL, CHARS, hosts),
    RANK(NULL, "host", TEXT, rank.host),
    RANK(NULL, "executable", TEXT, rank.executable),
    RANK(">PID", NULL, CHARS, pid),
    RANK(NULL, "table_pid", SIGNED, rank.table_pid),
    RANK(NULL, "process", PROCESS, rank.process),
    RANK("STATE", NULL, TEXT, state_words),
    RANK(NULL, "state", TEXT, state),
    RANK("HOW", NULL, TEXT, way_words),
    RANK(NULL, "way", TEXT, way),
    RANK("GATE", NULL, TEXT, gate_words),
    RANK(NULL, "gate", TEXT, gate),
    RANK(NULL, "woken", FLAG, rank.woken),
    TG_FIELD_ELSE(struct tg_mpir_rank_row, "EXECUTABLE", NULL, TEXT, rank.executable, "?"),
    RANK("WHY", NULL, CHARS, why),
    RANK(NULL, "reason", TEXT, rank.reason),
    RANK(NULL, "problem", TEXT, rank.problem),
    RANK(NULL, "since_ns", MOMENT, rank.since_ns),
    {0},
};

#define OTHER(heading, key, form, member) TG_FIELD(struct tg_mpir_other_row, heading, key, form, member)

const struct tg_report_field tg_mpir_other_fields[] = {
    TG_FIELD_ELSE(struct tg_mpir_other_row, "JOB", "job", TEXT, other.job, "?"),
    OTHER(">RANKS", NULL, CHARS, ranks),
    OTHER(">COUNT", NULL, COUNT, numbers.count),
    OTHER("HOST", NULL, TEXT, host),
    OTHER(NULL, "host", TEXT, other.host),
    OTHER("FOUND BY", "found_by", TEXT, other.way),
    OTHER("RANK FROM", "rank_source", TEXT, other.source),
    OTHER("WHAT", NULL, TEXT, what),
    OTHER(NULL, "spawned", FLAG, other.is_outside),
    OTHER(NULL, "not_selected", FLAG, other.is_let_go),
    OTHER(NULL, "rank_numbers", RANKS, numbers),
    {0},
};

const char *tg_mpir_value_name(enum tg_event_kind kind, const char *field, uint64_t value)
{
    const char *name = tg_event_value_name(kind, field, value);
    return name == NULL ? "unknown" : name;
}

struct tg_mpir_rank_row tg_mpir_rank_row(const struct tg_mpir_rank *rank)
{
    struct tg_mpir_rank_row row = {.rank = *rank, .state_words = "", .way_words = "", .gate_words = ""};
    if (rank->is_told) {
        row.state = tg_mpir_value_name(TG_EVENT_MPIR_RANK, "state", rank->state);
        row.way = tg_mpir_value_name(TG_EVENT_MPIR_RANK, "way", rank->way);
        row.gate = tg_mpir_value_name(TG_EVENT_MPIR_RANK, "gate", rank->gate);
    } else {
        row.state = rank->in_table ? "in_table" : "left_table";
        row.way = "none";
        row.gate = "unknown";
    }
    return row;
}

struct tg_mpir_other_row tg_mpir_other_row(const struct tg_mpir_other *other)
{
    struct tg_mpir_other_row row = {.other = *other,
                                    .numbers = {other->ranks, other->n_ranks},
                                    .host = other->host == NULL ? "several" : other->host,
                                    .what = other->is_outside  ? "started by MPI_Comm_spawn"
                                            : other->is_let_go ? "not one of the requested ranks"
                                                               : ""};
    tg_rank_ranges_print(other->ranks, other->n_ranks, row.ranks, sizeof row.ranks);
    return row;
}
