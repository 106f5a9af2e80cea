#include "analyzer/output/stack_words.h"
#include "analyzer/where/page.h"
#include "analyzer/where/waits.h"
#include "format/base/json_writer.h"

#include <inttypes.h>
#include <string.h>

static void write_groups(struct tg_json *json, const struct tg_where_page *page)
{
    tg_json_key(json, "groups");
    tg_json_begin_array(json);
    for (size_t i = 0; i < page->verdict->count; i++) {
        const struct tg_where_group *group = &page->verdict->groups[i];
        tg_json_begin_object(json);
        tg_json_member_string(json, "call", group->call);
        tg_json_key(json, "ranks");
        tg_json_begin_array(json);
        for (size_t k = 0; k < group->count; k++)
            tg_json_signed(json, page->threads->threads[group->threads[k]].process->rank);
        tg_json_end_array(json);
        tg_json_member_string(json, "function", group->place->at.function);
        tg_json_member_string(json, "file", group->place->at.file);
        tg_json_member_unsigned(json, "line", group->place->at.line);
        tg_json_key(json, "moves");
        if (page->threads->has_two_looks)
            tg_json_bool(json, group->has_moved || group->is_worked_for);
        else
            tg_json_null(json);
        tg_json_member_string(json, "polls", group->polls);
        tg_json_member_string(json, "callback_of", group->place->is_handler ? "" : group->place->callback_of);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static const char *task_name(enum tg_thread_task task)
{
    static const char *const names[] = {[TG_THREAD_OF_PROGRAM] = "program",
                                        [TG_THREAD_OF_OPENMP] = "openmp_worker",
                                        [TG_THREAD_OF_LIBRARY] = "library"};
    return names[task];
}

static bool write_frame(void *context, const struct tg_stack_call *call)
{
    struct tg_json *json = context;
    char pc[24];
    snprintf(pc, sizeof pc, "0x%" PRIx64, call->pc);
    tg_json_begin_object(json);
    tg_json_member_string(json, "pc", pc);
    tg_stack_words_members(json, call);
    tg_json_key(json, "inlined");
    tg_json_bool(json, call->is_inlined);
    tg_json_key(json, "signal");
    tg_json_bool(json, call->is_signal);
    tg_json_end_object(json);
    return true;
}

static void write_frames(struct tg_json *json, const struct tg_where_page *page,
                         const struct tg_where_thread *thread)
{
    const char *end = tg_event_value_name(TG_EVENT_STACK, "end", thread->stack->end);
    tg_json_member_string(json, "end", end != NULL ? end : "");
    tg_json_key(json, "frames");
    tg_json_begin_array(json);
    tg_stack_each_call(page->look->stacks, thread->stack, write_frame, json);
    tg_json_end_array(json);
}

static void write_values(struct tg_json *json, const struct tg_where_values *values)
{
    tg_json_key(json, "arguments");
    tg_json_begin_object(json);
    for (size_t i = 0; i < values->count; i++)
        if (*values->items[i].text != '\0')
            tg_json_member_string(json, values->items[i].name, values->items[i].text);
    tg_json_end_object(json);
}

/* A rank or tag: any is null, and one that is not known is left out. */
static void write_number(struct tg_json *json, const char *name, int64_t number)
{
    enum { ANY = -1 };
    if (number < ANY)
        return;
    tg_json_key(json, name);
    if (number >= 0)
        tg_json_signed(json, number);
    else
        tg_json_null(json);
}

static void write_requests(struct tg_json *json, const struct tg_look_requests *requests)
{
    tg_json_key(json, "requests");
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "count", requests->count);
    tg_json_member_unsigned(json, "pending", requests->n_pending);
    tg_json_member_unsigned(json, "collective", requests->n_collective);
    tg_json_key(json, "messages");
    tg_json_begin_array(json);
    for (size_t i = 0; i < requests->n_messages; i++) {
        const struct tg_look_message *message = &requests->messages[i];
        tg_json_begin_object(json);
        tg_json_member_string(json, "what", message->sends ? "send" : "receive");
        write_number(json, "rank", message->rank);
        write_number(json, "peer", message->peer);
        write_number(json, "tag", message->tag);
        if (message->is_world || message->is_other) {
            tg_json_key(json, "world");
            tg_json_bool(json, message->is_world);
        }
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    tg_json_end_object(json);
}

static void write_wait(struct tg_json *json, const struct tg_where_threads *threads,
                       const struct tg_where_thread *thread)
{
    const struct tg_where_wait *wait = thread->wait;
    tg_json_key(json, "waits_for");
    tg_json_begin_object(json);
    tg_json_member_string(json, "what", tg_where_wait_name(wait->is.what));
    if (wait->is.owner != 0)
        tg_json_member_signed(json, "owner", wait->is.owner);
    if (wait->is.partner != 0)
        tg_json_member_signed(json, "process", wait->is.partner);
    tg_json_key(json, "deadlock");
    tg_json_bool(json, tg_where_waits_for_itself(threads, (size_t)(thread - threads->threads)));
    tg_json_end_object(json);
}

static void write_thread(struct tg_json *json, const struct tg_where_page *page,
                         const struct tg_where_thread *thread)
{
    const struct tg_where_threads *threads = page->threads;
    tg_json_begin_object(json);
    tg_json_key(json, "rank");
    if (thread->is_rank)
        tg_json_signed(json, thread->process->rank);
    else
        tg_json_null(json);
    tg_json_member_signed(json, "pid", thread->stack->pid);
    tg_json_member_signed(json, "tid", thread->stack->tid);
    tg_json_member_string(json, "program", tg_process_entry_name(thread->process));
    tg_json_member_string(json, "task", task_name(thread->path.task));
    tg_json_key(json, "moves");
    if (threads->has_two_looks)
        tg_json_bool(json, thread->has_moved);
    else
        tg_json_null(json);
    tg_json_key(json, "path");
    tg_json_begin_array(json);
    for (size_t i = 0; i < thread->path.count; i++)
        tg_json_string(json, thread->path.steps[i]);
    tg_json_end_array(json);
    if (thread->values != NULL)
        write_values(json, thread->values);
    if (thread->requests != NULL)
        write_requests(json, thread->requests);
    if (thread->wait != NULL)
        write_wait(json, page->threads, thread);
    if (page->with_threads)
        write_frames(json, page, thread);
    tg_json_end_object(json);
}

static void write_pauses(struct tg_json *json, const struct tg_where_look *look)
{
    tg_json_key(json, "pauses");
    tg_json_begin_array(json);
    for (size_t i = 0; i < look->n_pauses; i++) {
        tg_json_begin_object(json);
        tg_json_member_signed(json, "pid", look->pauses[i].pid);
        tg_json_member_unsigned(json, "took_ns", look->pauses[i].took_ns);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

void tg_where_write_json(FILE *stream, const struct tg_where_page *page)
{
    struct tg_json json;
    tg_json_init(&json, stream, true);
    tg_json_begin_object(&json);
    tg_json_member_string(&json, "verdict", tg_where_kind_name(page->verdict->kind));
    write_groups(&json, page);
    tg_json_member_unsigned(&json, "ranks", page->threads->n_ranks);
    tg_json_member_signed(&json, "size", page->threads->size);
    tg_json_member_unsigned(&json, "longest_pause_ns", page->look->longest_pause_ns);
    write_pauses(&json, page->look);
    tg_json_key(&json, "threads");
    tg_json_begin_array(&json);
    for (size_t i = 0; i < page->threads->count; i++)
        write_thread(&json, page, &page->threads->threads[i]);
    tg_json_end_array(&json);
    tg_json_key(&json, "refused");
    tg_json_begin_array(&json);
    for (size_t i = 0; i < page->look->n_refusals; i++) {
        tg_json_begin_object(&json);
        tg_json_member_signed(&json, "pid", page->look->refusals[i].pid);
        tg_json_member_string(&json, "reason", page->look->refusals[i].reason);
        tg_json_end_object(&json);
    }
    tg_json_end_array(&json);
    tg_json_key(&json, "remarks");
    tg_json_begin_array(&json);
    for (size_t i = 0; i < page->look->n_remarks; i++)
        tg_json_string(&json, page->look->remarks[i]);
    tg_json_end_array(&json);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
}
