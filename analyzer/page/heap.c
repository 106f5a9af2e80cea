/* The document of the heap: how much was live when, and from where most of it came. */
#include "analyzer/heap/format.h"
#include "analyzer/page/documents.h"

enum { ROWS = 30 };

static struct tg_error *write_profile(const struct tg_page *page, const struct tg_heap_reading *reading,
                                      struct tg_json *json)
{
    struct tg_heap_profile profile;
    struct tg_error *error = tg_heap_profile_make(reading->heap, reading->processes, NULL, TG_HEAP_BY_STACK,
                                                  TG_HEAP_COST_PEAK, &profile);
    if (error != NULL)
        return error;
    size_t whole = profile.count;
    profile.count = whole < ROWS ? whole : ROWS;
    const struct tg_heap_drawing drawing = {.reading = reading, .profile = &profile, .path = page->path};
    tg_json_key(json, "heap");
    tg_json_begin_object(json);
    error = tg_heap_json_members(&drawing, json);
    tg_json_end_object(json);
    profile.count = whole;
    tg_heap_profile_deinit(&profile);
    return error;
}

struct tg_error *tg_page_heap(const struct tg_page *page, const char *query, struct tg_json *json)
{
    (void)query;
    bool may_be_there = page->path != NULL && page->has_heap;
    struct tg_heap_reading reading = {0};
    const struct tg_heap_reading_request request = {
        .path = page->path, .services = page->services, .progress = page->shown};
    struct tg_error *error = may_be_there ? tg_heap_reading_make(&request, &reading) : NULL;
    bool is_there = error == NULL && may_be_there && tg_heap_model_count(reading.heap) > 0;
    tg_json_member_bool(json, "there", is_there);
    if (is_there)
        error = write_profile(page, &reading, json);
    if (may_be_there && error == NULL)
        tg_heap_reading_deinit(&reading);
    return error;
}
