/* The last stacks of threads: those with the same calls together. */
#include "analyzer/finding/words.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_SHOWN = 12, CALLS_SHOWN = 24 };

/* Stacks with the same calls. */
struct group {
    const struct tg_last_stack *first;
    size_t *members; /* indices in the model */
    size_t count;
    bool is_program; /* a frame of the program's own is in it */
};

static bool is_same_frame(const struct tg_stack_frame *a, const struct tg_stack_frame *b)
{
    return a->kind == b->kind && a->module == b->module && a->address == b->address && a->line == b->line &&
           a->function == b->function && a->file == b->file && (*a->module != '\0' || a->pc == b->pc);
}

static bool is_same_stack(const struct tg_last_stack *a, const struct tg_last_stack *b)
{
    bool is_same = a->count == b->count && a->reason == b->reason && a->signal == b->signal;
    for (size_t i = 0; is_same && i < a->count; i++)
        is_same = is_same_frame(&a->frames[i], &b->frames[i]);
    return is_same;
}

/* Whether A and B are of ranks of one job, or neither is of a rank. */
static bool is_of_one_job(const struct tg_process_model *processes, const struct tg_last_stack *a,
                          const struct tg_last_stack *b)
{
    const struct tg_process_entry *x = tg_process_model_at(processes, a->process),
                                  *y = tg_process_model_at(processes, b->process);
    return strcmp(x->rank < 0 ? "" : x->job, y->rank < 0 ? "" : y->job) == 0;
}

static void free_groups(struct group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(groups[i].members);
    free(groups);
}

/* The groups of the stacks of the processes that the selection admits; NULL without memory. */
static struct group *make_groups(const struct tg_report *report, size_t *count)
{
    size_t n = tg_stack_model_count(report->stacks);
    struct group *groups = calloc(n + 1, sizeof *groups);
    bool has_jobs = tg_words_has_several_jobs(report->processes);
    *count = 0;
    for (size_t i = 0; groups != NULL && i < n; i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(report->stacks, i);
        if (!tg_selection_admits_process(report->selection,
                                         tg_process_model_at(report->processes, stack->process)))
            continue;
        size_t k = 0;
        while (k < *count && (!is_same_stack(groups[k].first, stack) ||
                              (has_jobs && !is_of_one_job(report->processes, groups[k].first, stack))))
            k++;
        size_t *members = realloc(groups[k].members, (groups[k].count + 1) * sizeof *members);
        if (members == NULL) {
            free_groups(groups, n);
            return NULL;
        }
        if (k == *count) {
            groups[k].first = stack;
            groups[k].is_program = tg_stack_place_find(report->stacks, stack).is_known;
            ++*count;
        }
        members[groups[k].count++] = i;
        groups[k].members = members;
    }
    return groups;
}

/* ---- text */

static void print_thread(const struct tg_report_page *page, const struct tg_last_stack *stack)
{
    const char *name = tg_process_model_thread_name(page->report->processes, stack->process, stack->tid);
    fprintf(page->stream, ", thread %" PRId32, stack->tid);
    if (name == NULL)
        return;
    fputc(' ', page->stream);
    tg_printable_write_quoted(page->stream, name);
}

static void write_members(const struct tg_report_page *page, const struct group *group)
{
    const struct tg_report *report = page->report;
    char text[256];
    int64_t *ranks = calloc(group->count, sizeof *ranks);
    size_t n = 0, others = 0;
    const char *job = "";
    for (size_t i = 0; ranks != NULL && i < group->count; i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(report->stacks, group->members[i]);
        const struct tg_process_entry *entry = tg_process_model_at(report->processes, stack->process);
        if (entry->rank >= 0) {
            ranks[n++] = entry->rank;
            job = entry->job;
        } else {
            others++;
        }
    }
    size_t n_ranks = ranks != NULL ? tg_rank_ranges_sort(ranks, n) : 0;
    if (n_ranks > 0)
        fprintf(page->stream, "rank%s %s", tg_report_plural(n_ranks),
                tg_rank_ranges_print(ranks, n_ranks, text, sizeof text));
    if (n_ranks > 0 && page->many_jobs && *job != '\0') {
        fputs(" of job ", page->stream);
        tg_printable_write(page->stream, job);
    }
    if (others > 0)
        fprintf(page->stream, "%s%s %" PRId32, n_ranks > 0 ? ", " : "",
                others == 1 ? "process" : "processes such as", group->first->pid);
    if (group->count == 1 && group->first->tid != group->first->pid)
        print_thread(page, group->first);
    else if (group->count > 1)
        fprintf(page->stream, ", %zu threads", group->count);
    free(ranks);
}

static void write_reason(const struct tg_report_page *page, const struct tg_last_stack *stack)
{
    char name[32], moment[TG_QUANTITY_SIZE];
    tg_signal_name(stack->signal, name, sizeof name);
    fprintf(page->stream, ", at %s s", tg_quantity_moment(stack->time_ns, page->report->start_ns, 6, moment));
    switch (stack->reason) {
    case TG_STACK_FATAL_SIGNAL:
        fprintf(page->stream, " (ended by %s)", name);
        break;
    case TG_STACK_CAUGHT_SIGNAL:
        fprintf(page->stream, " (%s, which has a handler)", name);
        break;
    case TG_STACK_JOB_SIGNAL:
        fprintf(page->stream, " (%s to the job)", name);
        break;
    case TG_STACK_EXIT:
        fputs(stack->signal != 0 ? " (killed)" : " (exit)", page->stream);
        break;
    default:
        fputs(" (the recording ended)", page->stream);
    }
    fputc('\n', page->stream);
}

struct writing {
    const struct tg_report_page *page;
    size_t n, left_out;
};

static bool write_call(void *context, const struct tg_stack_call *call)
{
    struct writing *writing = context;
    char text[400];
    if (writing->n == CALLS_SHOWN && !writing->page->options->all) {
        writing->left_out++;
        return true;
    }
    fprintf(writing->page->stream, "  #%-2zu %s%s%s\n", writing->n++,
            tg_stack_words_call(call, text, sizeof text), call->is_inlined ? " (inlined)" : "",
            call->is_signal ? " (signal handler's frame)" : "");
    return true;
}

static void write_end(const struct tg_report_page *page, const struct tg_last_stack *stack)
{
    const char *words = tg_stack_words_end(stack->end);
    if (*words != '\0')
        fprintf(page->stream, "  ... (%s)\n", words);
}

static void write_group(const struct tg_report_page *page, const struct group *group)
{
    struct writing writing = {.page = page};
    write_members(page, group);
    write_reason(page, group->first);
    tg_stack_each_call(page->report->stacks, group->first, write_call, &writing);
    tg_report_more(page, 2, writing.left_out);
    write_end(page, group->first);
}

static void write_looks(const struct tg_report_page *page)
{
    const struct tg_stack_model *stacks = page->report->stacks;
    char moment[TG_QUANTITY_SIZE], took[TG_QUANTITY_SIZE];
    for (size_t i = 0; i < tg_stack_model_look_count(stacks); i++) {
        const struct tg_stack_look *look = tg_stack_model_look_at(stacks, i);
        uint64_t missing = look->is.threads > look->is.taken ? look->is.threads - look->is.taken : 0;
        if (missing == 0)
            continue;
        fprintf(page->stream, "at %s s: no stack of %" PRIu64 " of %" PRIu64 " threads",
                tg_quantity_moment(look->time_ns, page->report->start_ns, 6, moment), missing,
                look->is.threads);
        if (look->is.unstopped > 0)
            fprintf(page->stream, ", %" PRIu64 " of which did not stop in time", look->is.unstopped);
        fprintf(page->stream, " (%s)\n", tg_quantity_duration(look->is.took_ns, took));
    }
}

struct tg_error *tg_report_stacks(const struct tg_report_page *page)
{
    size_t count, shown = 0, helpers = 0;
    if (tg_stack_model_count(page->report->stacks) == 0)
        return NULL;
    struct group *groups = make_groups(page->report, &count);
    if (groups == NULL)
        return tg_error_no_memory();
    tg_report_title(page, "Last stacks");
    for (size_t i = 0; i < count; i++) {
        if (!groups[i].is_program && !page->options->all)
            helpers++;
        else if (shown < GROUPS_SHOWN || page->options->all)
            shown++, write_group(page, &groups[i]);
    }
    tg_report_more(page, 0, count - shown - helpers);
    if (helpers > 0)
        fprintf(page->stream,
                "and %zu without code of the program (launchers, helper threads); --all shows them\n",
                helpers);
    write_looks(page);
    free_groups(groups, count);
    return NULL;
}

/* ---- JSON */

static bool write_call_json(void *context, const struct tg_stack_call *call)
{
    struct tg_json *json = context;
    tg_json_begin_object(json);
    tg_stack_words_members(json, call);
    tg_json_key(json, "address");
    tg_json_address(json, call->address);
    tg_json_member_bool(json, "python", call->is_python);
    tg_json_member_bool(json, "inlined", call->is_inlined);
    tg_json_member_bool(json, "signal_handler", call->is_signal);
    tg_json_member_bool(json, "runtime", call->is_runtime);
    tg_json_end_object(json);
    return true;
}

void tg_report_stacks_json(const struct tg_report *report, struct tg_json *json)
{
    tg_json_key(json, "stacks");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_stack_model_count(report->stacks); i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(report->stacks, i);
        const struct tg_process_entry *entry = tg_process_model_at(report->processes, stack->process);
        if (!tg_selection_admits_process(report->selection, entry))
            continue;
        const char *reason = tg_event_value_name(TG_EVENT_STACK, "reason", stack->reason);
        const char *end = tg_event_value_name(TG_EVENT_STACK, "end", stack->end);
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "process", stack->process);
        tg_json_member_signed(json, "tid", stack->tid);
        const char *name = tg_process_model_thread_name(report->processes, stack->process, stack->tid);
        tg_json_member_string(json, "thread_name", name != NULL ? name : "");
        tg_report_member_moment(json, "t_ns", report, stack->time_ns);
        tg_json_member_string(json, "reason", reason != NULL ? reason : "unknown");
        tg_json_member_signed(json, "signal", stack->signal);
        tg_json_member_string(json, "end", end != NULL ? end : "unknown");
        tg_json_key(json, "calls");
        tg_json_begin_array(json);
        tg_stack_each_call(report->stacks, stack, write_call_json, json);
        tg_json_end_array(json);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}
