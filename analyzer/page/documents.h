/* The documents of the page (page.h), each in a file of its own. */
#ifndef TG_ANALYZER_PAGE_DOCUMENTS_H
#define TG_ANALYZER_PAGE_DOCUMENTS_H

#include "analyzer/page/page.h"
#include "format/base/json_writer.h"

/* All of these write members to JSON, inside of an object that was begun and has the moment. QUERY is as in query.h, and what a
 * document does not know of it is passed over. Errors: NO_MEMORY, those of what QUERY asks for, and of reading the trace again.
 * What was written until then stays written: the caller throws it away. */
struct tg_error *tg_page_summary(const struct tg_page *page, const char *query, struct tg_json *json);
struct tg_error *tg_page_verdict(const struct tg_page *page, const char *query, struct tg_json *json);
struct tg_error *tg_page_strip(const struct tg_page *page, const char *query, struct tg_json *json);
struct tg_error *tg_page_stacks(const struct tg_page *page, const char *query, struct tg_json *json);
struct tg_error *tg_page_diagram(const struct tg_page *page, const char *query, struct tg_json *json);
struct tg_error *tg_page_filter(const struct tg_page *page, const char *query, struct tg_json *json);
struct tg_error *tg_page_heap(const struct tg_page *page, const char *query, struct tg_json *json);

/* A member that is TIME_NS relative to the trace's start. */
static inline void tg_page_member_moment(const struct tg_page *page, struct tg_json *json, const char *key,
                                         uint64_t time_ns)
{
    tg_json_member_signed(json, key, (int64_t)(time_ns - page->words.start_ns));
}

/* A member that is VALUE, JSON that somebody else has written. */
static inline void tg_page_member_json(struct tg_json *json, const char *key, const char *value)
{
    tg_json_key(json, key);
    json->after_key = false;
    fputs(value, json->stream);
}

#endif
