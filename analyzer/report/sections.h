/* The sections of a report, as text and as JSON. */
#ifndef TG_ANALYZER_REPORT_SECTIONS_H
#define TG_ANALYZER_REPORT_SECTIONS_H

#include "analyzer/report/page.h"
#include "format/base/json_writer.h"

/* Sections that analyzer/report/text.c puts in order. Only error: NO_MEMORY. */
struct tg_error *tg_report_bad_ends(const struct tg_report_page *page);
struct tg_error *tg_report_tree(const struct tg_report_page *page);
struct tg_error *tg_report_libraries(const struct tg_report_page *page);
struct tg_error *tg_report_verdict(const struct tg_report_page *page);
struct tg_error *tg_report_openmp(const struct tg_report_page *page);
struct tg_error *tg_report_mpi(const struct tg_report_page *page);
struct tg_error *tg_report_mpir(const struct tg_report_page *page);
struct tg_error *tg_report_control(const struct tg_report_page *page);

/* Members "post_mortem", "openmp" and "mpi" of the JSON report. Only error: NO_MEMORY. */
struct tg_error *tg_report_parallel_json(const struct tg_report *report, struct tg_json *json);
/* Member "control". */
void tg_report_control_json(const struct tg_report *report, struct tg_json *json);
/* Member "mpir", likewise. */
struct tg_error *tg_report_mpir_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_load_calls(const struct tg_report_page *page);

#endif
