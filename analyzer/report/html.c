#include "analyzer/report/html.h"

#include "analyzer/html/file.h"
#include "analyzer/models/event_headline.h"
#include "analyzer/page/answer.h"
#include "analyzer/page/timeline_pass.h"

#include <stdlib.h>

enum { SLICE = 1 << 20 };

/* The documents as text, by their number. */
struct documents {
    struct tg_html_document of[16];
    char *text[16];
    size_t count;
};

static struct tg_error *write_document(const struct tg_page *page, const char *name,
                                       struct documents *documents)
{
    size_t size;
    char **text = &documents->text[documents->count];
    FILE *stream = open_memstream(text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_page_write(page, name, NULL, stream);
    if (fclose(stream) != 0 && error == NULL)
        error = tg_error_no_memory();
    documents->of[documents->count] = (struct tg_html_document){.name = name, .json = *text};
    documents->count++;
    return error;
}

static struct tg_error *write_documents(const struct tg_page *page, const struct tg_page *of_trace,
                                        struct documents *documents)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_page_count(); i++) {
        const char *name = tg_page_name_at(i);
        error = write_document(tg_page_is_of_trace(name) ? of_trace : page, name, documents);
    }
    return error;
}

static struct tg_error *read_timeline(const char *path, struct tg_progress *progress,
                                      struct tg_timeline_pass **pass)
{
    struct tg_error *error = tg_timeline_pass_create(path, pass);
    if (error == NULL)
        tg_timeline_pass_watch(*pass, progress);
    for (bool more = true; error == NULL && more;)
        error = tg_timeline_pass_work(*pass, SLICE, &more);
    return error;
}

struct tg_error *tg_report_write_html(const struct tg_report *report,
                                      const struct tg_command_services *services,
                                      struct tg_progress *progress, FILE *stream)
{
    char limits[TG_REPORT_RESERVATION];
    struct tg_timeline_pass *pass = NULL;
    struct documents documents = {.count = 0};
    struct tg_page page = {.words = tg_report_words(report),
                           .verdict = &report->verdict,
                           .name = tg_event_headline_base_name(report->path),
                           .limits = tg_report_reservation(report, limits),
                           .moment_ns = report->end_ns,
                           .end_ns = report->end_ns,
                           .services = services,
                           .is_over = !report->selection->has_to && !report->summary.is_recording,
                           .is_untraced = tg_trace_meta_is_untraced(report->meta),
                           .is_file = true,
                           .shown = progress};
    struct tg_page of_trace = page;
    struct tg_error *error = read_timeline(report->path, progress, &pass);
    if (error == NULL) {
        tg_timeline_pass_fill(pass, &of_trace);
        error = write_documents(&page, &of_trace, &documents);
    }
    if (error == NULL)
        tg_html_file_write(stream, page.name, documents.of, documents.count);
    tg_progress_end(progress);
    for (size_t i = 0; i < documents.count; i++)
        free(documents.text[i]);
    tg_timeline_pass_destroy(pass);
    return error;
}
