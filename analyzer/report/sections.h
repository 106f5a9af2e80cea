/* The sections of a report, as text and as JSON. */
#ifndef TG_ANALYZER_REPORT_SECTIONS_H
#define TG_ANALYZER_REPORT_SECTIONS_H

#include "analyzer/report/page.h"
#include "format/base/json_writer.h"

/* The text's sections. Only error: NO_MEMORY. */

/* The verdict and what to do next, on about LINES lines where the width is limited. First section of the
 * page. */
struct tg_error *tg_report_verdict(const struct tg_report_page *page, size_t lines);
/* The facts about the job and its trace, without a title. */
void tg_report_header(const struct tg_report_page *page);
struct tg_error *tg_report_bad_ends(const struct tg_report_page *page);
struct tg_error *tg_report_stacks(const struct tg_report_page *page);
struct tg_error *tg_report_tree(const struct tg_report_page *page);
struct tg_error *tg_report_mpir(const struct tg_report_page *page);
struct tg_error *tg_report_control(const struct tg_report_page *page);
struct tg_error *tg_report_mpi(const struct tg_report_page *page);
struct tg_error *tg_report_mpi_places(const struct tg_report_page *page);
struct tg_error *tg_report_mpi_late(const struct tg_report_page *page);
/* "most in MPI_Allreduce at solve (solver.c:120): 3,000 calls, 12.40 s", a line behind INDENT blanks; nothing where no call but
 * those that start and end MPI came back. */
struct tg_error *tg_report_mpi_costliest(const struct tg_report_page *page, int indent);
struct tg_error *tg_report_openmp(const struct tg_report_page *page);
struct tg_error *tg_report_heap(const struct tg_report_page *page);
struct tg_error *tg_report_libraries(const struct tg_report_page *page);
struct tg_error *tg_report_load_calls(const struct tg_report_page *page);
/* A summary on one screen, in place of all other sections. */
struct tg_error *tg_report_summary(const struct tg_report_page *page);

/* Members of the JSON report. Only error: NO_MEMORY. */
void tg_report_stacks_json(const struct tg_report *report, struct tg_json *json);
void tg_report_control_json(const struct tg_report *report, struct tg_json *json);
void tg_report_processes_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_mpir_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_openmp_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_mpi_json(const struct tg_report *report, struct tg_json *json);
/* The member "late_senders" of the member "mpi". */
struct tg_error *tg_report_mpi_late_json(const struct tg_report *report, struct tg_json *json);
/* The member "places" of the member "mpi". */
struct tg_error *tg_report_mpi_places_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_heap_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_libraries_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_load_calls_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_kinds_json(const struct tg_report *report, struct tg_json *json);
struct tg_error *tg_report_breakpoints_json(const struct tg_report *report, struct tg_json *json);

#endif
