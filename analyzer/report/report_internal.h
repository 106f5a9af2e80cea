/* Between the files of the text report. */
#ifndef TG_ANALYZER_REPORT_REPORT_INTERNAL_H
#define TG_ANALYZER_REPORT_REPORT_INTERNAL_H

#include "analyzer/report/report.h"
#include "format/base/json_writer.h"

/* What a section writes with. */
struct tg_report_page {
    const struct tg_report *report;
    const struct tg_report_text_options *options;
    FILE *stream;
    bool many_jobs; /* ranks of more than one job: a rank alone does not say which */
};

/* A blank line and the section's title. */
void tg_report_title(const struct tg_report_page *page, const char *title);

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
