#include "analyzer/page/answer.h"

#include "analyzer/page/documents.h"

#include <string.h>

static const struct {
    const char *name;
    struct tg_error *(*write)(const struct tg_page *page, const char *query, struct tg_json *json);
    bool is_of_trace;
} documents[] = {
    {"summary", tg_page_summary, false}, {"verdict", tg_page_verdict, false},
    {"strip", tg_page_strip, true},      {"stacks", tg_page_stacks, false},
    {"diagram", tg_page_diagram, true},  {"filter", tg_page_filter, true},
    {"heap", tg_page_heap, true},
};

enum { N_DOCUMENTS = sizeof documents / sizeof documents[0] };

size_t tg_page_count(void)
{
    return N_DOCUMENTS;
}

const char *tg_page_name_at(size_t i)
{
    return documents[i].name;
}

bool tg_page_is_of_trace(const char *name)
{
    for (size_t i = 0; i < N_DOCUMENTS; i++)
        if (strcmp(documents[i].name, name) == 0)
            return documents[i].is_of_trace;
    return false;
}

struct tg_error *tg_page_write(const struct tg_page *page, const char *name, const char *query, FILE *stream)
{
    size_t i = 0;
    while (i < N_DOCUMENTS && strcmp(documents[i].name, name) != 0)
        i++;
    if (i == N_DOCUMENTS)
        return tg_error_create(TG_ERROR_NOT_FOUND, "the page has no such document");
    struct tg_json json;
    tg_json_init(&json, stream, false);
    tg_json_begin_object(&json);
    tg_page_member_moment(page, &json, "moment", page->moment_ns);
    struct tg_error *error = documents[i].write(page, query, &json);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
    return error;
}
