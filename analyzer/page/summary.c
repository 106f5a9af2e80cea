/* The document of the page's head: which job, when, and what limits what is said of it. */
#include "analyzer/finding/words.h"
#include "analyzer/page/documents.h"

static void write_counts(const struct tg_page *page, struct tg_json *json)
{
    const struct tg_process_model *processes = page->words.processes;
    uint64_t ranks = 0, running = 0, threads = 0;
    for (size_t i = 0; i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        ranks += entry->rank >= 0;
        running += entry->end == TG_PROCESS_RUNNING;
        threads += entry->threads_started;
    }
    tg_json_member_unsigned(json, "processes", tg_process_model_count(processes));
    tg_json_member_unsigned(json, "ranks", ranks);
    tg_json_member_unsigned(json, "threads", threads);
    tg_json_member_unsigned(json, "running", running);
}

struct tg_error *tg_page_summary(const struct tg_page *page, const char *query, struct tg_json *json)
{
    (void)query;
    tg_json_member_string(json, "name", page->name == NULL ? "" : page->name);
    tg_json_member_bool(json, "live", page->is_live);
    tg_json_member_bool(json, "over", page->is_over);
    tg_page_member_moment(page, json, "end", page->end_ns > page->moment_ns ? page->end_ns : page->moment_ns);
    if (page->is_live)
        tg_page_member_moment(page, json, "last", page->end_ns);
    write_counts(page, json);
    tg_json_member_string(json, "limits", page->limits == NULL ? "" : page->limits);
    return NULL;
}
