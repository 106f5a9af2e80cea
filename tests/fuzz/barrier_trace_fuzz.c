/* Any events of live control in any order: bytes choose kinds and numbers, most of them small enough to meet.
 * Who is held does not run, a barrier that has been satisfied waits for nobody, and a copy of the model says
 * the same. */
#include "analyzer/job/barrier_trace.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

enum { MAX_EVENTS = 2000, MAX_MEMBERS = 4, NUMBERS = 12 };

struct input {
    const uint8_t *bytes;
    size_t left;
    struct tg_control_unit members[MAX_MEMBERS];
};

static uint8_t take_byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

static uint64_t take_number(struct input *input)
{
    uint8_t byte = take_byte(input);
    if (byte < 0xf8)
        return byte % NUMBERS;
    return byte == 0xf8 ? UINT32_MAX : byte == 0xf9 ? UINT64_MAX : (uint64_t)byte << 30;
}

static struct tg_event take_event(struct input *input)
{
    static const enum tg_event_kind others[] = {TG_EVENT_THREAD_EXIT, TG_EVENT_PROCESS_EXIT, TG_EVENT_DETACH,
                                                TG_EVENT_EXEC};
    const unsigned n_kinds = TG_EVENT_CONTROL_RESUMED - TG_EVENT_BARRIER_CREATED + 1;
    uint8_t choice = (uint8_t)(take_byte(input) % (n_kinds + 4));
    struct tg_event event = {.kind = choice < n_kinds
                                         ? (enum tg_event_kind)(TG_EVENT_BARRIER_CREATED + choice)
                                         : others[choice - n_kinds]};
    event.pid = (int32_t)(take_byte(input) % 4);
    event.tid = (int32_t)(take_byte(input) % 8);
    const struct tg_record_schema *schema = tg_event_schema(event.kind);
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        char *at = (char *)TG_EVENT_PAYLOAD(&event) + field->offset;
        if (field->type == TG_FIELD_LIST) {
            struct tg_list list = {.items = input->members, .count = take_byte(input) % (MAX_MEMBERS + 1)};
            for (uint64_t j = 0; j < list.count; j++)
                input->members[j] = (struct tg_control_unit){take_number(input), take_number(input)};
            memcpy(at, &list, sizeof list);
        } else if (field->type != TG_FIELD_STRING) {
            uint64_t number = take_number(input);
            memcpy(at, &number, sizeof number);
        }
    }
    return event;
}

static void check(const struct tg_run_model *model)
{
    for (uint32_t dpid = 1; dpid < NUMBERS; dpid++) {
        for (uint32_t dtid = 1; dtid < NUMBERS; dtid++) {
            struct tg_thread_id unit = {dpid, dtid};
            if (tg_run_model_has_thread(model, unit) && tg_run_model_is_held(model, unit))
                assert(tg_run_model_state(model, unit) != TG_RUN_RUNNING);
        }
    }
    for (uint32_t id = 1; id < NUMBERS; id++) {
        struct tg_barrier_status status;
        if (tg_barriers_status(model, id, &status))
            assert(status.n_arrived == 0 || (status.enabled && status.n_arrived < status.n_members));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {.bytes = data, .left = size};
    struct tg_barrier_trace *trace = NULL;
    struct tg_barrier_trace_verdict verdict;
    struct tg_run_model *copy = NULL;
    assert(tg_barrier_trace_create(&trace) == NULL);
    for (size_t i = 0; i < MAX_EVENTS && input.left > 0; i++) {
        struct tg_event event = take_event(&input);
        assert(tg_barrier_trace_feed(trace, &event) == NULL);
        check(tg_barrier_trace_model(trace));
    }
    assert(tg_run_model_copy(tg_barrier_trace_model(trace), &copy) == NULL);
    check(copy);
    for (uint32_t dpid = 1; dpid < NUMBERS; dpid++) /* goes on by itself */
        tg_error_destroy(tg_run_model_remove_process(copy, dpid, TG_BARRIER_BY_EXIT));
    check(tg_barrier_trace_model(trace));
    tg_barrier_trace_verdict(trace, &verdict);
    assert((verdict.n_differences > 0) == (verdict.first[0] != '\0'));
    tg_run_model_destroy(copy);
    tg_barrier_trace_destroy(trace);
    return 0;
}
