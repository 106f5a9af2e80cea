/* The figures of the settings: side by side for people, and with the names of their fields in JSON. */
#ifndef TG_ANALYZER_FILTER_TABLES_H
#define TG_ANALYZER_FILTER_TABLES_H

#include "analyzer/filter/evaluation.h"
#include "format/base/json_writer.h"

#include <stdio.h>

/* The cost of each setting: a row for each figure, a column for each setting. Only error: NO_MEMORY. */
struct tg_error *tg_filter_table_outcomes(const struct tg_filter_evaluation *evaluation, bool colour,
                                          FILE *stream);
/* A row for each breakpoint; nothing where there are none. Only error: NO_MEMORY. */
struct tg_error *tg_filter_table_goals(const struct tg_filter_evaluation *evaluation, bool colour,
                                       FILE *stream);
/* The results of the simulation. Only error: NO_MEMORY. */
struct tg_error *tg_filter_table_simulation(const struct tg_filter_evaluation *evaluation, bool colour,
                                            FILE *stream);

/* The same figures of one setting as members of the object that is open. */
void tg_filter_table_outcome_json(struct tg_json *json, const struct tg_filter_evaluation *evaluation,
                                  const struct tg_filter_outcome *outcome);
void tg_filter_table_goal_json(struct tg_json *json, const struct tg_planting *planting);
void tg_filter_table_simulation_json(struct tg_json *json, const struct tg_simulation_result *result);

#endif
