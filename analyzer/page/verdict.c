/* The document of the verdict: sentences with their evidence, and who waits for whom. */
#include "analyzer/finding/end_tally.h"
#include "analyzer/finding/end_words.h"
#include "analyzer/finding/words.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/page/documents.h"
#include "analyzer/page/graph.h"
#include "analyzer/page/newer_place.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>

enum { FINDINGS = 40, CULPRITS = 16, CALLS = 40 }; /* at most so many are written; others are counted */

/* Writes PROCESS as member "who". */
static struct tg_error *member_who(const struct tg_page *page, struct tg_json *json, size_t process)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    tg_words_process(stream, &page->words, process);
    if (fclose(stream) == 0)
        tg_json_member_string(json, "who", text);
    free(text);
    return NULL;
}

/* The state of the thread that is named, or of the process. */
static struct tg_error *member_state(const struct tg_page *page, struct tg_json *json,
                                     const struct tg_culprit *culprit)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    bool is_known = true;
    if (culprit->tid == 0)
        tg_words_process_state(stream, &page->words, culprit->process);
    else
        is_known = tg_words_thread_state(stream, &page->words, culprit->process, culprit->tid,
                                         tg_end_words_worker(&page->words, culprit->process, culprit->tid));
    if (fclose(stream) == 0 && is_known)
        tg_json_member_string(json, "state", text);
    free(text);
    return NULL;
}

struct writing {
    struct tg_json *json;
    size_t n;
};

static bool write_call(void *context, const struct tg_stack_call *call)
{
    struct writing *writing = context;
    char text[400];
    if (writing->n++ == CALLS)
        return false;
    tg_json_begin_object(writing->json);
    tg_json_member_string(writing->json, "text", tg_stack_words_call(call, text, sizeof text));
    if (call->line != 0) {
        tg_json_member_string(writing->json, "file", call->file);
        tg_json_member_unsigned(writing->json, "line", call->line);
    }
    tg_json_member_bool(writing->json, "runtime", call->is_runtime);
    tg_json_end_object(writing->json);
    return true;
}

static int32_t thread_of(const struct tg_page *page, const struct tg_culprit *culprit)
{
    return culprit->tid != 0 ? culprit->tid
                             : tg_process_model_at(page->words.processes, culprit->process)->pid;
}

static void write_stack(const struct tg_page *page, const struct tg_culprit *culprit, struct tg_json *json)
{
    const struct tg_stack_model *stacks = page->words.stacks;
    const int32_t tid = thread_of(page, culprit);
    const struct tg_page_stack *now = tg_page_stack_now(page, culprit->process, tid);
    const struct tg_last_stack *last =
        now != NULL || stacks == NULL ? NULL : tg_stack_model_find(stacks, culprit->process, tid);
    if (now == NULL && (last == NULL || last->count == 0))
        return;
    struct writing writing = {.json = json};
    if (now == NULL)
        tg_page_member_moment(page, json, "stack_at", last->time_ns);
    tg_json_key(json, "stack");
    tg_json_begin_array(json);
    for (size_t i = 0; now != NULL && i < now->n_calls && write_call(&writing, &now->calls[i]); i++)
        continue;
    if (now == NULL)
        tg_stack_each_call(stacks, last, write_call, &writing);
    tg_json_end_array(json);
}

/* Where it is by its stack, where that is newer than the call that the finding has of it. */
static void write_place(const struct tg_page *page, const struct tg_culprit *culprit, struct tg_json *json)
{
    char place[256];
    const struct tg_code_namer *namer = &page->words.namer;
    if (culprit->code == 0)
        return;
    if (tg_page_newer_place(page, culprit->process, thread_of(page, culprit), place, sizeof place))
        tg_json_member_string(json, "place", place);
    else if (namer->name != NULL)
        tg_json_member_string(
            json, "place", namer->name(namer->context, culprit->process, culprit->code, place, sizeof place));
}

/* Evidence: what is known of one who is named. */
static struct tg_error *write_culprit(const struct tg_page *page, const struct tg_culprit *culprit,
                                      struct tg_json *json)
{
    char place[256];
    struct tg_error *error = NULL;
    tg_json_begin_object(json);
    if (culprit->rank >= 0)
        tg_json_member_signed(json, "rank", culprit->rank);
    if (culprit->worker >= 0)
        tg_json_member_signed(json, "worker", culprit->worker);
    if (culprit->process < tg_process_model_count(page->words.processes)) {
        tg_json_member_unsigned(json, "process", culprit->process);
        if (culprit->tid != 0)
            tg_json_member_signed(json, "tid", culprit->tid);
        error = member_who(page, json, culprit->process);
        if (error == NULL)
            error = member_state(page, json, culprit);
        write_place(page, culprit, json);
        write_stack(page, culprit, json);
    } else {
        snprintf(place, sizeof place, "rank %lld, which is not in the trace", (long long)culprit->rank);
        tg_json_member_string(json, "who", place);
    }
    tg_json_end_object(json);
    return error;
}

static const char *severity_of(const struct tg_finding *finding)
{
    if (finding->kind == TG_FINDING_INTERRUPTED || finding->kind == TG_FINDING_ASKED)
        return "note";
    if (finding->is_warning)
        return "warning";
    return finding->is_consequence ? "consequence" : "error";
}

static struct tg_error *write_finding(const struct tg_page *page, const struct tg_finding *finding,
                                      struct tg_json *json)
{
    struct tg_error *error = NULL;
    tg_json_begin_object(json);
    tg_json_member_string(json, "kind", tg_finding_kind_name(finding->kind));
    tg_json_member_string(json, "severity", severity_of(finding));
    tg_json_member_string(json, "text", finding->text);
    if (finding->since_ns != 0)
        tg_page_member_moment(page, json, "since", finding->since_ns);
    tg_json_key(json, "evidence");
    tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < finding->n_culprits && i < CULPRITS; i++)
        error = write_culprit(page, &finding->culprits[i], json);
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "evidence_left_out",
                            finding->n_culprits > CULPRITS ? finding->n_culprits - CULPRITS : 0);
    tg_json_end_object(json);
    return error;
}

/* The sentence in place of findings. */
static void write_nothing(const struct tg_page *page, struct tg_json *json)
{
    char text[200];
    const struct tg_process_model *processes = page->words.processes;
    struct tg_end_tally tally = {.is_over = page->is_over, .is_untraced = page->is_untraced};
    for (size_t i = 0; i < tg_process_model_count(processes); i++)
        tg_end_tally_add(&tally, tg_process_model_at(processes, i));
    if (tg_process_model_count(processes) == 0)
        snprintf(text, sizeof text, "There are no processes.");
    else if (tally.n_bad == 0 && !page->is_over)
        snprintf(text, sizeof text, "Nothing wrong found at this moment.");
    else
        tg_end_tally_print(&tally, text, sizeof text);
    tg_json_member_unsigned(json, "abnormal", tally.n_bad);
    tg_json_member_string(json, "nothing", text);
}

static struct tg_error *write_verdict(const struct tg_page *page, const struct tg_verdict *verdict,
                                      struct tg_json *json)
{
    struct tg_error *error = NULL;
    tg_json_key(json, "findings");
    tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < verdict->count && i < FINDINGS; i++)
        error = write_finding(page, &verdict->findings[i], json);
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "findings_left_out",
                            verdict->count > FINDINGS ? verdict->count - FINDINGS : 0);
    write_nothing(page, json);
    tg_json_member_string(json, "busy", verdict->busy == NULL ? "" : verdict->busy);
    tg_json_member_string(json, "limits", page->limits == NULL ? "" : page->limits);
    tg_json_key(json, "graph");
    tg_json_begin_object(json);
    if (error == NULL)
        error = tg_page_graph(page, verdict, json);
    tg_json_end_object(json);
    return error;
}

struct tg_error *tg_page_verdict(const struct tg_page *page, const char *query, struct tg_json *json)
{
    (void)query;
    if (page->verdict != NULL)
        return write_verdict(page, page->verdict, json);
    struct tg_verdict made = {0};
    struct tg_error *error = tg_verdict_make(&page->words, &made);
    if (error == NULL)
        error = write_verdict(page, &made, json);
    tg_verdict_deinit(&made);
    return error;
}
