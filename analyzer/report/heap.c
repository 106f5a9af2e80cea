/* The heap of a job: who had how much, and from where. */
#include "analyzer/heap/format.h"
#include "analyzer/report/sections.h"

/* What the report has read, as a reading of the heap; what it points to is the report's. */
static struct tg_heap_reading reading_of(const struct tg_report *report)
{
    return (struct tg_heap_reading){.processes = report->processes,
                                    .heap = report->heap,
                                    .stacks = report->stacks,
                                    .objects = report->addresses,
                                    .names = report->names,
                                    .summary = report->summary,
                                    .start_ns = report->start_ns,
                                    .end_ns = report->end_ns};
}

/* PROFILE of READING as PAGE has it. */
static struct tg_heap_drawing drawing_of(const struct tg_report_page *page,
                                         const struct tg_heap_reading *reading,
                                         const struct tg_heap_profile *profile)
{
    return (struct tg_heap_drawing){.reading = reading,
                                    .selection = page->report->selection,
                                    .profile = profile,
                                    .path = page->report->path,
                                    .all = page->options->all,
                                    .colour = page->options->colour,
                                    .columns = page->options->columns};
}

/* The table of one profile under a title. */
static struct tg_error *write_table(const struct tg_report_page *page, const struct tg_heap_reading *reading,
                                    const char *title, enum tg_heap_by by, enum tg_heap_cost cost,
                                    size_t rows)
{
    const struct tg_report *report = page->report;
    struct tg_heap_profile profile;
    struct tg_error *error =
        tg_heap_profile_make(report->heap, report->processes, report->selection, by, cost, &profile);
    if (error != NULL)
        return error;
    struct tg_heap_drawing drawing = drawing_of(page, reading, &profile);
    drawing.rows = rows;
    if (profile.count > 0 && tg_heap_cost_of(&profile.rows[0].use, cost) > 0) {
        fprintf(page->stream, "%s\n", title);
        error = tg_heap_write_table(&drawing, page->stream);
    }
    tg_heap_profile_deinit(&profile);
    return error;
}

static struct tg_error *write_overview(const struct tg_report_page *page,
                                       const struct tg_heap_reading *reading)
{
    const struct tg_report *report = page->report;
    struct tg_heap_profile profile;
    struct tg_error *error = tg_heap_profile_make(report->heap, report->processes, report->selection,
                                                  TG_HEAP_BY_STACK, TG_HEAP_COST_PEAK, &profile);
    if (error != NULL)
        return error;
    const struct tg_heap_drawing drawing = drawing_of(page, reading, &profile);
    error = tg_heap_write_overview(&drawing, page->stream);
    if (error == NULL)
        error = tg_heap_write_troubles(&drawing, page->stream);
    tg_heap_profile_deinit(&profile);
    return error;
}

struct tg_error *tg_report_heap(const struct tg_report_page *page)
{
    static const struct {
        const char *title;
        enum tg_heap_by by;
        enum tg_heap_cost cost;
        size_t rows;
    } tables[] = {
        {"Most at the peak", TG_HEAP_BY_STACK, TG_HEAP_COST_PEAK, 8},
        {"Most live at the end", TG_HEAP_BY_STACK, TG_HEAP_COST_LIVE, 5},
        {"Most calls", TG_HEAP_BY_STACK, TG_HEAP_COST_CALLS, 5},
        {"Most temporary blocks", TG_HEAP_BY_STACK, TG_HEAP_COST_TEMPORARY, 5},
        {"By library", TG_HEAP_BY_LIBRARY, TG_HEAP_COST_PEAK, 5},
    };
    if (tg_heap_model_count(page->report->heap) == 0)
        return NULL;
    const struct tg_heap_reading reading = reading_of(page->report);
    tg_report_title(page, "Heap");
    struct tg_error *error = write_overview(page, &reading);
    for (size_t i = 0; error == NULL && i < sizeof tables / sizeof *tables; i++)
        error = write_table(page, &reading, tables[i].title, tables[i].by, tables[i].cost, tables[i].rows);
    return error;
}

struct tg_error *tg_report_heap_json(const struct tg_report *report, struct tg_json *json)
{
    tg_json_key(json, "heap");
    if (tg_heap_model_count(report->heap) == 0) {
        tg_json_null(json);
        return NULL;
    }
    const struct tg_heap_reading reading = reading_of(report);
    struct tg_heap_profile profile;
    struct tg_error *error = tg_heap_profile_make(report->heap, report->processes, report->selection,
                                                  TG_HEAP_BY_STACK, TG_HEAP_COST_PEAK, &profile);
    if (error != NULL)
        return error;
    const struct tg_heap_drawing drawing = {
        .reading = &reading, .selection = report->selection, .profile = &profile, .path = report->path};
    tg_json_begin_object(json);
    error = tg_heap_json_members(&drawing, json);
    tg_json_end_object(json);
    tg_heap_profile_deinit(&profile);
    return error;
}
