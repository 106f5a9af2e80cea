/* The document of the sequence diagram: its picture, which the page folds, searches and scales. */
#include "analyzer/page/documents.h"
#include "analyzer/page/query.h"
#include "analyzer/sequence/page_diagram.h"
#include "analyzer/sequence/read.h"

#include <stdlib.h>
#include <string.h>

/* What QUERY asks for: ranks=0-3,7, by=rank|worker, all=1. */
static struct tg_error *choose(const struct tg_page *page, const char *query, struct tg_selection *selection,
                               struct tg_sequence_request *request)
{
    char ranks[200], by[8];
    tg_query_text(query, "ranks", ranks, sizeof ranks);
    tg_query_text(query, "by", by, sizeof by);
    *request = (struct tg_sequence_request){.path = page->path,
                                            .name = page->name,
                                            .selection = selection,
                                            .services = page->services,
                                            .n_events = page->n_events,
                                            .progress = page->shown,
                                            .all = tg_query_number(query, "all", 0) != 0};
    if (!page->is_file && page->moment_ns != 0 && page->n_events == 0) {
        selection->has_to = true;
        selection->to_ns = page->moment_ns - page->words.start_ns;
    }
    if (strcmp(by, "worker") == 0)
        request->by = TG_SEQUENCE_BY_WORKER;
    else if (strcmp(by, "rank") == 0)
        request->by = TG_SEQUENCE_BY_RANK;
    return *ranks == '\0' ? NULL : tg_selection_add_ranks(selection, ranks);
}

struct tg_error *tg_page_diagram(const struct tg_page *page, const char *query, struct tg_json *json)
{
    struct tg_selection selection = {0};
    struct tg_sequence_request request;
    struct tg_sequence_reading reading = {0};
    if (page->path == NULL) {
        tg_json_member_bool(json, "there", false);
        return NULL;
    }
    struct tg_error *error = choose(page, query, &selection, &request);
    if (error == NULL)
        error = tg_sequence_read(&request, &reading);
    if (error != NULL &&
        (tg_error_code(error) == TG_ERROR_NOT_FOUND || tg_error_code(error) == TG_ERROR_USAGE)) {
        tg_json_member_bool(json, "there", false);
        tg_json_member_string(json, "why", tg_error_message(error));
        tg_error_destroy(error);
        error = NULL;
    } else if (error == NULL) {
        const struct tg_sequence_drawing drawing = {.sequence = reading.sequence,
                                                    .rows = &reading.rows,
                                                    .title = reading.title,
                                                    .note = reading.note};
        error = tg_sequence_page_diagram(&drawing, json);
    }
    tg_sequence_reading_deinit(&reading);
    tg_selection_deinit(&selection);
    return error;
}
