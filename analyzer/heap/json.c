/* A heap as JSON: what the text says, with nothing left out. */
#include "analyzer/heap/format.h"
#include "analyzer/heap/path_names.h"

#include "analyzer/output/stack_words.h"
#include "format/base/json_writer.h"

struct writing {
    struct tg_json *json;
    const struct tg_heap_drawing *drawing;
    struct tg_heap_path_names names;
};

static void member_moment(struct writing *writing, const char *key, uint64_t time_ns)
{
    tg_json_key(writing->json, key);
    if (time_ns == 0)
        tg_json_null(writing->json);
    else
        tg_json_signed(writing->json, (int64_t)(time_ns - writing->drawing->reading->start_ns));
}

static void member_amount(struct writing *writing, const char *key, const struct tg_heap_amount *amount)
{
    struct tg_json *json = writing->json;
    tg_json_key(json, key);
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "blocks", tg_heap_amount_blocks(amount));
    tg_json_member_unsigned(json, "bytes", amount->bytes);
    if (writing->drawing->profile->is_sampled)
        tg_json_member_unsigned(json, "standard_error", tg_heap_amount_error(amount));
    tg_json_end_object(json);
}

static void write_use(struct writing *writing, const struct tg_heap_use *use)
{
    member_amount(writing, "peak", &use->at_peak);
    member_amount(writing, "live", &use->live);
    member_amount(writing, "allocated", &use->allocated);
    tg_json_member_unsigned(writing->json, "temporary", use->temporary);
}

static bool write_call(void *context, const struct tg_stack_call *call)
{
    struct tg_json *json = context;
    tg_json_begin_object(json);
    tg_stack_words_members(json, call);
    tg_json_key(json, "address");
    tg_json_address(json, call->address);
    tg_json_end_object(json);
    return true;
}

static struct tg_error *write_row(struct writing *writing, const struct tg_heap_row *row)
{
    const struct tg_heap_reading *reading = writing->drawing->reading;
    struct tg_json *json = writing->json;
    struct tg_error *error = NULL;
    tg_json_begin_object(json);
    write_use(writing, &row->use);
    tg_json_member_unsigned(json, "processes", row->n_processes);
    tg_json_key(json, "ranks");
    tg_json_begin_array(json);
    for (size_t i = 0; i < row->n_ranks; i++)
        tg_json_signed(json, row->ranks[i]);
    tg_json_end_array(json);
    switch (writing->drawing->profile->by) {
    case TG_HEAP_BY_STACK:
        tg_json_key(json, "calls");
        tg_json_begin_array(json);
        error = tg_heap_path_each_call(&writing->names,
                                       tg_heap_call_paths_at(tg_heap_model_paths(reading->heap), row->path),
                                       write_call, json);
        tg_json_end_array(json);
        break;
    case TG_HEAP_BY_LIBRARY:
        tg_json_member_string(json, "library", row->module);
        break;
    case TG_HEAP_BY_SIZE:
        tg_json_member_unsigned(json, "least_bytes",
                                row->size_class == 0 ? 0 : UINT64_C(1) << (row->size_class - 1));
        tg_json_member_unsigned(json, "most_bytes",
                                row->size_class == 0 ? 0 : UINT64_MAX >> (64 - row->size_class));
        break;
    case TG_HEAP_BY_RANK:
        tg_json_member_unsigned(json, "process", row->process);
        tg_json_member_signed(json, "pid", tg_process_model_at(reading->processes, row->process)->pid);
        member_moment(writing, "peak_ns", row->peak_ns);
        break;
    }
    tg_json_end_object(json);
    return error;
}

static void write_growth(struct writing *writing)
{
    const struct tg_heap_growth *growth = tg_heap_model_growth(writing->drawing->reading->heap);
    struct tg_json *json = writing->json;
    tg_json_key(json, "growth");
    tg_json_begin_array(json);
    for (size_t i = 0; growth != NULL && i < growth->count; i++) {
        tg_json_begin_object(json);
        member_moment(writing, "t_ns", growth->start_ns + (i + 1) * growth->step_ns);
        tg_json_member_unsigned(json, "live", growth->points[i].last);
        tg_json_member_unsigned(json, "highest", growth->points[i].highest);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_faults(struct writing *writing)
{
    const struct tg_heap_model *heap = writing->drawing->reading->heap;
    struct tg_json *json = writing->json;
    char place[400];
    tg_json_key(json, "errors");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_heap_model_fault_count(heap); i++) {
        const struct tg_heap_fault *fault = tg_heap_model_fault_at(heap, i);
        const struct tg_heap_call_paths *paths = tg_heap_model_paths(heap);
        const char *name = tg_event_value_name(TG_EVENT_HEAP_ERROR, "error", fault->is.error);
        tg_json_begin_object(json);
        tg_json_member_string(json, "error", name != NULL ? name : "unknown");
        tg_json_member_unsigned(json, "process", fault->process);
        tg_json_member_signed(json, "tid", fault->tid);
        member_moment(writing, "t_ns", fault->time_ns);
        tg_json_member_unsigned(json, "count", fault->count);
        tg_json_key(json, "address");
        tg_json_address(json, fault->is.address);
        tg_json_key(json, "block");
        tg_json_address(json, fault->is.block);
        tg_json_member_unsigned(json, "size_bytes", fault->is.size_bytes);
        tg_json_member_signed(json, "offset", fault->is.offset);
        tg_json_member_unsigned(json, "wrong_bytes", fault->is.wrong_bytes);
        tg_json_member_string(json, "call", fault->is.call);
        tg_json_member_string(json, "where",
                              tg_heap_path_place(&writing->names, tg_heap_call_paths_at(paths, fault->path),
                                                 place, sizeof place));
        tg_json_member_string(json, "allocated",
                              tg_heap_path_place(&writing->names,
                                                 tg_heap_call_paths_at(paths, fault->allocated_path), place,
                                                 sizeof place));
        tg_json_member_string(json, "freed",
                              tg_heap_path_place(&writing->names,
                                                 tg_heap_call_paths_at(paths, fault->freed_path), place,
                                                 sizeof place));
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "further_errors", tg_heap_model_more_faults(heap));
}

static void write_gaps(struct writing *writing)
{
    const struct tg_heap_model *heap = writing->drawing->reading->heap;
    struct tg_json *json = writing->json;
    tg_json_key(json, "not_seen");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_heap_model_gap_count(heap); i++) {
        const struct tg_heap_gap *gap = tg_heap_model_gap_at(heap, i);
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "process", gap->process);
        tg_json_member_string(json, "module", gap->module);
        tg_json_member_string(json, "reason", gap->reason);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_leaks(struct writing *writing)
{
    const struct tg_heap_model *heap = writing->drawing->reading->heap;
    struct tg_json *json = writing->json;
    char place[400];
    tg_json_key(json, "leaks");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_heap_model_count(heap); i++) {
        const struct tg_heap_process *process = tg_heap_model_at(heap, i);
        for (size_t k = 0; k < process->scan.n_leaks; k++) {
            const struct tg_heap_leak *leak = &process->scan.leaks[k];
            const char *kind = tg_event_value_name(TG_EVENT_HEAP_LEAK, "leak", leak->kind);
            tg_json_begin_object(json);
            tg_json_member_unsigned(json, "process", process->process);
            tg_json_member_string(json, "leak", kind != NULL ? kind : "unknown");
            tg_json_member_unsigned(json, "blocks", leak->blocks);
            tg_json_member_unsigned(json, "bytes", leak->bytes);
            tg_json_key(json, "address");
            tg_json_address(json, leak->address);
            tg_json_member_string(
                json, "allocated",
                tg_heap_path_place(&writing->names,
                                   tg_heap_call_paths_at(tg_heap_model_paths(heap), leak->path), place,
                                   sizeof place));
            tg_json_end_object(json);
        }
    }
    tg_json_end_array(json);
}

struct tg_error *tg_heap_json_members(const struct tg_heap_drawing *drawing, struct tg_json *json)
{
    static const char *const by[] = {"stack", "library", "rank", "size"};
    const struct tg_heap_profile *profile = drawing->profile;
    struct writing writing = {
        .json = json, .drawing = drawing, .names = {drawing->reading->stacks, drawing->reading->names}};
    struct tg_error *error = NULL;
    tg_json_member_unsigned(json, "processes", profile->n_processes);
    tg_json_member_bool(json, "sampled", profile->is_sampled);
    member_moment(&writing, "peak_ns", profile->peak_ns);
    write_use(&writing, &profile->all);
    tg_json_member_unsigned(json, "recorded", profile->recorded);
    tg_json_member_unsigned(json, "freed", profile->freed);
    tg_json_member_unsigned(json, "frees_of_earlier_blocks", profile->unknown_frees);
    tg_json_member_unsigned(json, "frees_not_seen", profile->missed_frees);
    member_amount(&writing, "inherited", &profile->inherited);
    member_amount(&writing, "inherited_live", &profile->inherited_live);
    write_growth(&writing);
    write_faults(&writing);
    write_leaks(&writing);
    write_gaps(&writing);
    tg_json_member_string(json, "by", by[profile->by]);
    tg_json_key(json, "rows");
    tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < profile->count; i++)
        error = write_row(&writing, &profile->rows[i]);
    tg_json_end_array(json);
    return error;
}

struct tg_error *tg_heap_write_json(const struct tg_heap_drawing *drawing, FILE *stream)
{
    struct tg_json json;
    tg_json_init(&json, stream, true);
    tg_json_begin_object(&json);
    tg_json_member_string(&json, "trace", drawing->path);
    tg_json_key(&json, "at_ns");
    tg_json_signed(&json, (int64_t)(drawing->reading->end_ns - drawing->reading->start_ns));
    struct tg_error *error = tg_heap_json_members(drawing, &json);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
    return error;
}
