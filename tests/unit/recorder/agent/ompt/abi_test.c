/* The agent's own declarations of OMPT against those of a compiler. */
#include "recorder/agent/ompt/abi.h"
#include "recorder/agent/ompt/chain.h"

#ifdef TG_HAVE_OMP_TOOLS
#include <omp-tools.h>
#endif
#include <stdio.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#ifdef TG_HAVE_OMP_TOOLS

#define SAME(ours, theirs) _Static_assert((unsigned)(ours) == (unsigned)(theirs), #theirs)

/* Layouts. */
SAME(sizeof(union tg_ompt_data), sizeof(ompt_data_t));
SAME(sizeof(struct tg_ompt_frame), sizeof(ompt_frame_t));
SAME(offsetof(struct tg_ompt_frame, exit_frame), offsetof(ompt_frame_t, exit_frame));
SAME(offsetof(struct tg_ompt_frame, enter_frame), offsetof(ompt_frame_t, enter_frame));
SAME(sizeof(struct tg_ompt_dependence), sizeof(ompt_dependence_t));
SAME(offsetof(struct tg_ompt_dependence, variable), offsetof(ompt_dependence_t, variable));
SAME(offsetof(struct tg_ompt_dependence, type), offsetof(ompt_dependence_t, dependence_type));
SAME(sizeof(struct tg_ompt_start_tool_result), sizeof(ompt_start_tool_result_t));
SAME(offsetof(struct tg_ompt_start_tool_result, initialize), offsetof(ompt_start_tool_result_t, initialize));
SAME(offsetof(struct tg_ompt_start_tool_result, finalize), offsetof(ompt_start_tool_result_t, finalize));
SAME(offsetof(struct tg_ompt_start_tool_result, tool_data), offsetof(ompt_start_tool_result_t, tool_data));
SAME(sizeof(int), sizeof(ompt_scope_endpoint_t));
SAME(sizeof(int), sizeof(ompt_set_result_t));
SAME(sizeof(uint64_t), sizeof(ompt_wait_id_t));
SAME(sizeof(uint64_t), sizeof(ompt_id_t));

/* Values. */
SAME(TG_OMPT_SET_ERROR, ompt_set_error);
SAME(TG_OMPT_SET_NEVER, ompt_set_never);
SAME(TG_OMPT_SET_IMPOSSIBLE, ompt_set_impossible);
SAME(TG_OMPT_SET_SOMETIMES, ompt_set_sometimes);
SAME(TG_OMPT_SET_SOMETIMES_PAIRED, ompt_set_sometimes_paired);
SAME(TG_OMPT_SET_ALWAYS, ompt_set_always);
SAME(TG_OMPT_BEGIN, ompt_scope_begin);
SAME(TG_OMPT_END, ompt_scope_end);
SAME(TG_OMPT_BEGINEND, ompt_scope_beginend);
SAME(TG_OMPT_SYNC_BARRIER, ompt_sync_region_barrier);
SAME(TG_OMPT_SYNC_BARRIER_IMPLICIT, ompt_sync_region_barrier_implicit);
SAME(TG_OMPT_SYNC_BARRIER_EXPLICIT, ompt_sync_region_barrier_explicit);
SAME(TG_OMPT_SYNC_BARRIER_IMPLEMENTATION, ompt_sync_region_barrier_implementation);
SAME(TG_OMPT_SYNC_TASKWAIT, ompt_sync_region_taskwait);
SAME(TG_OMPT_SYNC_TASKGROUP, ompt_sync_region_taskgroup);
SAME(TG_OMPT_SYNC_REDUCTION, ompt_sync_region_reduction);
SAME(TG_OMPT_SYNC_BARRIER_IMPLICIT_WORKSHARE, ompt_sync_region_barrier_implicit_workshare);
SAME(TG_OMPT_SYNC_BARRIER_IMPLICIT_PARALLEL, ompt_sync_region_barrier_implicit_parallel);
SAME(TG_OMPT_SYNC_BARRIER_TEAMS, ompt_sync_region_barrier_teams);
SAME(TG_OMPT_WORK_LOOP, ompt_work_loop);
SAME(TG_OMPT_WORK_SECTIONS, ompt_work_sections);
SAME(TG_OMPT_WORK_SINGLE_EXECUTOR, ompt_work_single_executor);
SAME(TG_OMPT_WORK_SINGLE_OTHER, ompt_work_single_other);
SAME(TG_OMPT_WORK_WORKSHARE, ompt_work_workshare);
SAME(TG_OMPT_WORK_DISTRIBUTE, ompt_work_distribute);
SAME(TG_OMPT_WORK_TASKLOOP, ompt_work_taskloop);
SAME(TG_OMPT_WORK_SCOPE, ompt_work_scope);
SAME(TG_OMPT_MUTEX_LOCK, ompt_mutex_lock);
SAME(TG_OMPT_MUTEX_TEST_LOCK, ompt_mutex_test_lock);
SAME(TG_OMPT_MUTEX_NEST_LOCK, ompt_mutex_nest_lock);
SAME(TG_OMPT_MUTEX_TEST_NEST_LOCK, ompt_mutex_test_nest_lock);
SAME(TG_OMPT_MUTEX_CRITICAL, ompt_mutex_critical);
SAME(TG_OMPT_MUTEX_ATOMIC, ompt_mutex_atomic);
SAME(TG_OMPT_MUTEX_ORDERED, ompt_mutex_ordered);
SAME(TG_OMPT_TASK_INITIAL, ompt_task_initial);
SAME(TG_OMPT_TASK_IMPLICIT, ompt_task_implicit);
SAME(TG_OMPT_TASK_EXPLICIT, ompt_task_explicit);
SAME(TG_OMPT_TASK_TARGET, ompt_task_target);
SAME(TG_OMPT_TASK_TASKWAIT, ompt_task_taskwait);
SAME(TG_OMPT_TASK_UNDEFERRED, ompt_task_undeferred);
SAME(TG_OMPT_TASK_UNTIED, ompt_task_untied);
SAME(TG_OMPT_TASK_FINAL, ompt_task_final);
SAME(TG_OMPT_TASK_MERGEABLE, ompt_task_mergeable);
SAME(TG_OMPT_TASK_COMPLETE, ompt_task_complete);
SAME(TG_OMPT_TASK_YIELD, ompt_task_yield);
SAME(TG_OMPT_TASK_CANCEL, ompt_task_cancel);
SAME(TG_OMPT_TASK_DETACH, ompt_task_detach);
SAME(TG_OMPT_TASK_EARLY_FULFILL, ompt_task_early_fulfill);
SAME(TG_OMPT_TASK_LATE_FULFILL, ompt_task_late_fulfill);
SAME(TG_OMPT_TASK_SWITCH, ompt_task_switch);
SAME(TG_OMPT_TASKWAIT_COMPLETE, ompt_taskwait_complete);
SAME(TG_OMPT_PARALLEL_LEAGUE, ompt_parallel_league);
SAME(TG_OMPT_DEPENDENCE_IN, ompt_dependence_type_in);
SAME(TG_OMPT_DEPENDENCE_OUT, ompt_dependence_type_out);
SAME(TG_OMPT_DEPENDENCE_INOUT, ompt_dependence_type_inout);
SAME(TG_OMPT_DEPENDENCE_MUTEXINOUTSET, ompt_dependence_type_mutexinoutset);
SAME(TG_OMPT_DEPENDENCE_SOURCE, ompt_dependence_type_source);
SAME(TG_OMPT_DEPENDENCE_SINK, ompt_dependence_type_sink);
SAME(TG_OMPT_CANCEL_PARALLEL, ompt_cancel_parallel);
SAME(TG_OMPT_CANCEL_SECTIONS, ompt_cancel_sections);
SAME(TG_OMPT_CANCEL_LOOP, ompt_cancel_loop);
SAME(TG_OMPT_CANCEL_TASKGROUP, ompt_cancel_taskgroup);
SAME(TG_OMPT_CANCEL_ACTIVATED, ompt_cancel_activated);
SAME(TG_OMPT_CANCEL_DETECTED, ompt_cancel_detected);
SAME(TG_OMPT_CANCEL_DISCARDED_TASK, ompt_cancel_discarded_task);

static void numbers_are_the_same(void **state)
{
    (void)state;
    int n_theirs = 0;
#define ompt_event_macro(name, type, number) n_theirs++;
    FOREACH_OMPT_EVENT(ompt_event_macro)
#undef ompt_event_macro
    assert_int_equal(n_theirs, TG_OMPT_CALLBACK_COUNT - 1);
    assert_int_equal(TG_OMPT_THREAD_BEGIN, ompt_callback_thread_begin);
    assert_int_equal(TG_OMPT_THREAD_END, ompt_callback_thread_end);
    assert_int_equal(TG_OMPT_PARALLEL_BEGIN, ompt_callback_parallel_begin);
    assert_int_equal(TG_OMPT_PARALLEL_END, ompt_callback_parallel_end);
    assert_int_equal(TG_OMPT_TASK_CREATE, ompt_callback_task_create);
    assert_int_equal(TG_OMPT_TASK_SCHEDULE, ompt_callback_task_schedule);
    assert_int_equal(TG_OMPT_IMPLICIT_TASK, ompt_callback_implicit_task);
    assert_int_equal(TG_OMPT_TARGET, ompt_callback_target);
    assert_int_equal(TG_OMPT_TARGET_DATA_OP, ompt_callback_target_data_op);
    assert_int_equal(TG_OMPT_TARGET_SUBMIT, ompt_callback_target_submit);
    assert_int_equal(TG_OMPT_CONTROL_TOOL, ompt_callback_control_tool);
    assert_int_equal(TG_OMPT_DEVICE_INITIALIZE, ompt_callback_device_initialize);
    assert_int_equal(TG_OMPT_DEVICE_FINALIZE, ompt_callback_device_finalize);
    assert_int_equal(TG_OMPT_DEVICE_LOAD, ompt_callback_device_load);
    assert_int_equal(TG_OMPT_DEVICE_UNLOAD, ompt_callback_device_unload);
    assert_int_equal(TG_OMPT_SYNC_REGION_WAIT, ompt_callback_sync_region_wait);
    assert_int_equal(TG_OMPT_MUTEX_RELEASED, ompt_callback_mutex_released);
    assert_int_equal(TG_OMPT_DEPENDENCES, ompt_callback_dependences);
    assert_int_equal(TG_OMPT_TASK_DEPENDENCE, ompt_callback_task_dependence);
    assert_int_equal(TG_OMPT_WORK, ompt_callback_work);
    assert_int_equal(TG_OMPT_MASKED, ompt_callback_masked);
    assert_int_equal(TG_OMPT_TARGET_MAP, ompt_callback_target_map);
    assert_int_equal(TG_OMPT_SYNC_REGION, ompt_callback_sync_region);
    assert_int_equal(TG_OMPT_LOCK_INIT, ompt_callback_lock_init);
    assert_int_equal(TG_OMPT_LOCK_DESTROY, ompt_callback_lock_destroy);
    assert_int_equal(TG_OMPT_MUTEX_ACQUIRE, ompt_callback_mutex_acquire);
    assert_int_equal(TG_OMPT_MUTEX_ACQUIRED, ompt_callback_mutex_acquired);
    assert_int_equal(TG_OMPT_NEST_LOCK, ompt_callback_nest_lock);
    assert_int_equal(TG_OMPT_FLUSH, ompt_callback_flush);
    assert_int_equal(TG_OMPT_CANCEL, ompt_callback_cancel);
    assert_int_equal(TG_OMPT_REDUCTION, ompt_callback_reduction);
    assert_int_equal(TG_OMPT_DISPATCH, ompt_callback_dispatch);
    assert_int_equal(TG_OMPT_TARGET_EMI, ompt_callback_target_emi);
    assert_int_equal(TG_OMPT_TARGET_DATA_OP_EMI, ompt_callback_target_data_op_emi);
    assert_int_equal(TG_OMPT_TARGET_SUBMIT_EMI, ompt_callback_target_submit_emi);
    assert_int_equal(TG_OMPT_TARGET_MAP_EMI, ompt_callback_target_map_emi);
    assert_int_equal(TG_OMPT_ERROR, ompt_callback_error);
}

/* Parameters: functions of the compiler's types are called through pointers of ours, with arguments that
 * differ by position. */
static uint64_t seen[8];

static void their_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                                unsigned team_size, unsigned index, int flags)
{
    seen[0] = endpoint;
    seen[1] = (uint64_t)(uintptr_t)parallel;
    seen[2] = (uint64_t)(uintptr_t)task;
    seen[3] = team_size;
    seen[4] = index;
    seen[5] = (uint64_t)flags;
}

static void their_work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                       ompt_data_t *task, uint64_t count, const void *code)
{
    seen[0] = kind;
    seen[1] = endpoint;
    seen[2] = (uint64_t)(uintptr_t)parallel;
    seen[3] = (uint64_t)(uintptr_t)task;
    seen[4] = count;
    seen[5] = (uint64_t)(uintptr_t)code;
}

static void their_dispatch(ompt_data_t *parallel, ompt_data_t *task, ompt_dispatch_t kind,
                           ompt_data_t instance)
{
    seen[0] = (uint64_t)(uintptr_t)parallel;
    seen[1] = (uint64_t)(uintptr_t)task;
    seen[2] = kind;
    seen[3] = instance.value;
}

static void arguments_arrive(void **state)
{
    (void)state;
    union tg_ompt_data parallel, task;
    const uint64_t at[] = {(uintptr_t)&parallel, (uintptr_t)&task};
    ompt_callback_implicit_task_t implicit_task = their_implicit_task;
    ((tg_ompt_function_IMPLICIT_TASK)(tg_ompt_function)implicit_task)(TG_OMPT_END, &parallel, &task, 13, 14,
                                                                      15);
    const uint64_t implicit_task_seen[] = {TG_OMPT_END, at[0], at[1], 13, 14, 15};
    assert_memory_equal(seen, implicit_task_seen, sizeof implicit_task_seen);
    ompt_callback_work_t work = their_work;
    ((tg_ompt_function_WORK)(tg_ompt_function)work)(TG_OMPT_WORK_SCOPE, TG_OMPT_BEGIN, &parallel, &task,
                                                    UINT64_MAX, (const void *)16);
    const uint64_t work_seen[] = {TG_OMPT_WORK_SCOPE, TG_OMPT_BEGIN, at[0], at[1], UINT64_MAX, 16};
    assert_memory_equal(seen, work_seen, sizeof work_seen);
    ompt_callback_dispatch_t dispatch = their_dispatch;
    ((tg_ompt_function_DISPATCH)(tg_ompt_function)dispatch)(&parallel, &task, 2,
                                                            (union tg_ompt_data){.value = 17});
    const uint64_t dispatch_seen[] = {at[0], at[1], 2, 17};
    assert_memory_equal(seen, dispatch_seen, sizeof dispatch_seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_same),
        cmocka_unit_test(arguments_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    puts("skipped: there is no omp-tools.h (Debian: libomp-dev)");
    return 77;
}

#endif
