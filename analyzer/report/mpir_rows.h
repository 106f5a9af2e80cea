/* Rows of MPIR's tables in a report: the same fields make their text and their JSON. */
#ifndef TG_ANALYZER_REPORT_MPIR_ROWS_H
#define TG_ANALYZER_REPORT_MPIR_ROWS_H

#include "analyzer/models/mpir.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/mpir_others.h"

/* One rank, in the text also several that are alike. */
struct tg_mpir_rank_row {
    struct tg_mpir_rank rank; /* the only one, or the first */
    const char *state, *way, *gate;
    /* as the table shows it */
    const char *state_words, *way_words, *gate_words;
    char numbers[96], hosts[128], pid[32], why[1200];
};

/* Ranks that no MPIR table has. */
struct tg_mpir_other_row {
    struct tg_mpir_other other;
    struct tg_report_ranks numbers;
    /* as the table shows it */
    const char *host, *what;
    char ranks[96];
};

/* Lists of fields that end with one that is all zero. */
extern const struct tg_report_field tg_mpir_rank_fields[], tg_mpir_other_fields[];

/* The row of RANK as JSON has it: its words for the table are empty. */
struct tg_mpir_rank_row tg_mpir_rank_row(const struct tg_mpir_rank *rank);

/* The row of OTHER, as text and as JSON; it lives as long as OTHER. */
struct tg_mpir_other_row tg_mpir_other_row(const struct tg_mpir_other *other);

/* The name of the enum value VALUE of FIELD of KIND as in dumps, "unknown" where there is none; static. */
const char *tg_mpir_value_name(enum tg_event_kind kind, const char *field, uint64_t value);

#endif
