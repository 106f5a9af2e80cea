#include "format/event/event.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define FIELD(record, member, field_type)                                                                    \
    {                                                                                                        \
#member, TG_FIELD_##field_type, offsetof(struct record, member), NULL, NULL                          \
    }
#define FIELD_NAMED(record, member, text, field_type)                                                        \
    {                                                                                                        \
        text, TG_FIELD_##field_type, offsetof(struct record, member), NULL, NULL                             \
    }
#define FIELD_ENUM(record, member, value_names)                                                              \
    {                                                                                                        \
#member, TG_FIELD_ENUM, offsetof(struct record, member), NULL, value_names                           \
    }
#define FIELD_LIST(record, member, schema)                                                                   \
    {                                                                                                        \
#member, TG_FIELD_LIST, offsetof(struct record, member), &schema, NULL                               \
    }

static const char *const origin_names[] = {"launched", "attached", "fork", "vfork", "clone", NULL};
static const char *const linkage_names[] = {"unknown", "dynamic", "static", NULL};
static const char *const exit_names[] = {"exited", "signaled", "lost", NULL};
static const char *const found_names[] = {"startup", "loader", "catch_up", "attach", "agent", NULL};
static const char *const mode_names[] = {"slow", "medium", "fast", NULL};
static const char *const decision_names[] = {"reported", "deferred", "not_stopped", NULL};
static const char *const rule_names[] = {"always_recalculate",
                                         "pattern",
                                         "default_last_positive",
                                         "default_last_negated",
                                         "default_all_empty",
                                         "no_stop",
                                         NULL};
static const char *const trigger_names[] = {"reported_event", "entry",      "signal", "fork",
                                            "thread",         "breakpoint", "exit",   "detach",
                                            "group_stop",     "halt",       NULL};
static const char *const loss_names[] = {"writer_queue", "writer_file", "target", "limit", "ring", NULL};

static const char *const agent_names[] = {"watching", "aside", NULL};
static const char *const call_names[] = {"dlopen", "dlmopen", "dlclose", NULL};
static const char *const seen_names[] = {"wrapped", "ompt", "breakpoint", "inferred", NULL};
static const char *const zone_names[] = {
    "loop",      "sections", "single", "single_other", "masked",       "workshare",     "distribute", "scope",
    "taskgroup", "taskloop", "teams",  "target",       "ordered_loop", "doacross_loop", NULL};
static const char *const schedule_names[] = {"none", "static", "dynamic", "guided", "runtime", "auto", NULL};
static const char *const sync_names[] = {
    "barrier",   "barrier_implicit", "barrier_join", "taskwait", "taskgroup",
    "taskyield", "reduction",        "copyprivate",  "doacross", NULL};
static const char *const mutex_names[] = {"critical", "critical_named", "ordered", "atomic",
                                          "lock",     "nest_lock",      NULL};
static const char *const task_end_names[] = {"completed", "suspended", "cancelled",
                                             "detached",  "fulfilled", NULL};
static const char *const depend_names[] = {"in", "out", "inout", "mutexinoutset", "other", NULL};
static const char *const cancel_names[] = {"parallel", "loop", "sections", "taskgroup", NULL};
static const char *const mpir_role_names[] = {"candidate", "starter", "rank", NULL};
static const char *const mpir_layout_names[] = {"none", "dwarf", "elf_class", NULL};
static const char *const mpir_seen_names[] = {"breakpoint", "attach", "exit", "detach", NULL};
static const char *const mpir_state_names[] = {"null", "spawned", "aborting", "other", "unreadable", NULL};
static const char *const mpir_rank_state_names[] = {"acquired",     "remote",  "missed",
                                                    "not_selected", "outside", NULL};
static const char *const mpir_way_names[] = {"none", "fork", "attached", "already", NULL};
static const char *const mpir_gate_names[] = {"absent", "set", "not_needed", "failed", NULL};
static const char *const mpir_acquisition_names[] = {"none", "mpir_launch", "mpir_attach", "fork_following",
                                                     NULL};
static const char *const comm_origin_names[] = {"world",     "self",  "dup",   "split",  "create", "spawn",
                                                "intercomm", "merge", "freed", "window", "file",   NULL};

static const char *const barrier_stop_names[] = {"none", "process", "group", NULL};
static const char *const barrier_reason_names[] = {"satisfied", "deleted", "disabled", "unheld",
                                                   "exited",    "exec",    "detached", NULL};

static const struct tg_field string_item_fields[] = {FIELD(tg_string_item, text, STRING)};
static const struct tg_record_schema string_item_schema = {"string", sizeof(struct tg_string_item),
                                                           COUNT(string_item_fields), string_item_fields};

static const struct tg_field library_fields[] = {
    FIELD(tg_library, path, STRING),      FIELD(tg_library, build_id, STRING),
    FIELD(tg_library, base, ADDRESS),     FIELD(tg_library, size_bytes, UNSIGNED),
    FIELD(tg_library, link_map, ADDRESS), FIELD(tg_library, dependency, BOOL),
};
static const struct tg_record_schema library_schema = {"library", sizeof(struct tg_library),
                                                       COUNT(library_fields), library_fields};

static const struct tg_field dependence_fields[] = {
    FIELD(tg_omp_dependence, address, ADDRESS),
    FIELD_ENUM(tg_omp_dependence, kind, depend_names),
};
static const struct tg_record_schema dependence_schema = {"dependence", sizeof(struct tg_omp_dependence),
                                                          COUNT(dependence_fields), dependence_fields};
static const struct tg_field member_fields[] = {FIELD(tg_mpi_member, world_rank, SIGNED)};
static const struct tg_record_schema member_schema = {"member", sizeof(struct tg_mpi_member),
                                                      COUNT(member_fields), member_fields};

static const struct tg_field mpir_symbol_fields[] = {
    FIELD(tg_mpir_symbol, name, STRING),
    FIELD(tg_mpir_symbol, address, ADDRESS),
    FIELD(tg_mpir_symbol, size_bytes, UNSIGNED),
    FIELD(tg_mpir_symbol, text, STRING),
};
static const struct tg_record_schema mpir_symbol_schema = {"mpir_symbol", sizeof(struct tg_mpir_symbol),
                                                           COUNT(mpir_symbol_fields), mpir_symbol_fields};
static const struct tg_field mpir_entry_fields[] = {
    FIELD(tg_mpir_entry, rank, UNSIGNED),     FIELD(tg_mpir_entry, host, STRING),
    FIELD(tg_mpir_entry, executable, STRING), FIELD(tg_mpir_entry, pid, SIGNED),
    FIELD(tg_mpir_entry, problem, STRING),
};
static const struct tg_record_schema mpir_entry_schema = {"mpir_entry", sizeof(struct tg_mpir_entry),
                                                          COUNT(mpir_entry_fields), mpir_entry_fields};

static const struct tg_field control_unit_fields[] = {
    FIELD(tg_control_unit, dpid, UNSIGNED),
    FIELD(tg_control_unit, dtid, UNSIGNED),
};
static const struct tg_record_schema control_unit_schema = {"control_unit", sizeof(struct tg_control_unit),
                                                            COUNT(control_unit_fields), control_unit_fields};

static const struct tg_field process_start_fields[] = {
    FIELD_ENUM(tg_event_process_start, origin, origin_names),
    FIELD(tg_event_process_start, parent_pid, SIGNED),
};
static const struct tg_field program_fields[] = {
    FIELD(tg_event_program, path, STRING),
    FIELD(tg_event_program, build_id, STRING),
    FIELD(tg_event_program, interpreter, STRING),
    FIELD(tg_event_program, base, ADDRESS),
    FIELD(tg_event_program, entry, ADDRESS),
    FIELD(tg_event_program, bits, UNSIGNED),
    FIELD_ENUM(tg_event_program, linkage, linkage_names),
    FIELD(tg_event_program, secure, BOOL),
};
static const struct tg_field exec_fields[] = {
    FIELD(tg_event_exec, path, STRING),
    FIELD(tg_event_exec, former_tid, SIGNED),
};
static const struct tg_field command_line_fields[] = {
    FIELD_LIST(tg_event_command_line, arguments, string_item_schema),
};
static const struct tg_field environment_fields[] = {
    FIELD_LIST(tg_event_environment, variables, string_item_schema),
};
static const struct tg_field identity_fields[] = {
    FIELD(tg_event_identity, host, STRING),   FIELD(tg_event_identity, job, STRING),
    FIELD(tg_event_identity, source, STRING), FIELD(tg_event_identity, rank, SIGNED),
    FIELD(tg_event_identity, size, SIGNED),
};
static const struct tg_field thread_start_fields[] = {FIELD(tg_event_thread_start, parent_tid, SIGNED)};
static const struct tg_field thread_exit_fields[] = {FIELD(tg_event_thread_exit, status, SIGNED)};
static const struct tg_field process_exit_fields[] = {
    FIELD_ENUM(tg_event_process_exit, how, exit_names),
    FIELD(tg_event_process_exit, status, SIGNED),
    FIELD(tg_event_process_exit, core_dumped, BOOL),
};
static const struct tg_field detach_fields[] = {FIELD(tg_event_detach, reason, STRING)};
static const struct tg_field entry_fields[] = {FIELD(tg_event_entry, address, ADDRESS)};
static const struct tg_field signal_fields[] = {
    FIELD(tg_event_signal, signal, SIGNED),
    FIELD(tg_event_signal, code, SIGNED),
    FIELD(tg_event_signal, sender_pid, SIGNED),
    FIELD(tg_event_signal, address, ADDRESS),
};
static const struct tg_field group_stop_fields[] = {FIELD(tg_event_group_stop, signal, SIGNED)};
static const struct tg_field breakpoint_hit_fields[] = {
    FIELD(tg_event_breakpoint_hit, breakpoint, UNSIGNED),
    FIELD(tg_event_breakpoint_hit, address, ADDRESS),
};
static const struct tg_field library_load_fields[] = {
    FIELD_ENUM(tg_event_library_load, found, found_names),
    FIELD_NAMED(tg_event_library_load, namespace_index, "namespace", UNSIGNED),
    FIELD(tg_event_library_load, state, UNSIGNED),
    FIELD(tg_event_library_load, read_ns, UNSIGNED),
    FIELD(tg_event_library_load, handle_ns, UNSIGNED),
    FIELD_LIST(tg_event_library_load, libraries, library_schema),
};
static const struct tg_field library_unload_fields[] = {
    FIELD_ENUM(tg_event_library_unload, found, found_names),
    FIELD_NAMED(tg_event_library_unload, namespace_index, "namespace", UNSIGNED),
    FIELD(tg_event_library_unload, state, UNSIGNED),
    FIELD_LIST(tg_event_library_unload, libraries, library_schema),
};
static const struct tg_field library_null_fields[] = {FIELD(tg_event_library_null, state, UNSIGNED)};
static const struct tg_field breakpoint_spec_fields[] = {
    FIELD(tg_event_breakpoint_spec, breakpoint, UNSIGNED),
    FIELD(tg_event_breakpoint_spec, text, STRING),
};
static const struct tg_field breakpoint_planted_fields[] = {
    FIELD(tg_event_breakpoint_planted, breakpoint, UNSIGNED),
    FIELD(tg_event_breakpoint_planted, address, ADDRESS),
    FIELD(tg_event_breakpoint_planted, library, STRING),
    FIELD(tg_event_breakpoint_planted, late, BOOL),
    FIELD(tg_event_breakpoint_planted, window_ns, UNSIGNED),
};
static const struct tg_field breakpoint_removed_fields[] = {
    FIELD(tg_event_breakpoint_removed, breakpoint, UNSIGNED),
    FIELD(tg_event_breakpoint_removed, address, ADDRESS),
    FIELD(tg_event_breakpoint_removed, library, STRING),
};
static const struct tg_field filter_settings_fields[] = {
    FIELD_ENUM(tg_event_filter_settings, mode, mode_names),
    FIELD(tg_event_filter_settings, match, STRING),
};
static const struct tg_field filter_decision_fields[] = {
    FIELD_ENUM(tg_event_filter_decision, decision, decision_names),
    FIELD_ENUM(tg_event_filter_decision, rule, rule_names),
    FIELD(tg_event_filter_decision, pattern, STRING),
    FIELD(tg_event_filter_decision, library, STRING),
};
static const struct tg_field deferred_handled_fields[] = {
    FIELD_ENUM(tg_event_deferred_handled, trigger, trigger_names),
    FIELD(tg_event_deferred_handled, events, UNSIGNED),
    FIELD(tg_event_deferred_handled, libraries, UNSIGNED),
    FIELD(tg_event_deferred_handled, handle_ns, UNSIGNED),
};
static const struct tg_field agent_fields[] = {
    FIELD_ENUM(tg_event_agent, state, agent_names),
    FIELD(tg_event_agent, reason, STRING),
};
static const struct tg_field library_call_fields[] = {
    FIELD_ENUM(tg_event_library_call, call, call_names), FIELD(tg_event_library_call, path, STRING),
    FIELD(tg_event_library_call, flags, UNSIGNED),       FIELD(tg_event_library_call, namespace_id, SIGNED),
    FIELD(tg_event_library_call, handle, ADDRESS),       FIELD(tg_event_library_call, caller, ADDRESS),
};
static const struct tg_field library_return_fields[] = {
    FIELD_ENUM(tg_event_library_return, call, call_names),
    FIELD(tg_event_library_return, handle, ADDRESS),
    FIELD(tg_event_library_return, error, STRING),
};
/* TG_OMP_PLACE */
#define PLACE_FIELDS(record)                                                                                 \
    FIELD(record, team, UNSIGNED), FIELD(record, thread_num, UNSIGNED), FIELD(record, level, UNSIGNED),      \
        FIELD(record, code, ADDRESS), FIELD_ENUM(record, seen, seen_names)

static const struct tg_field omp_runtime_fields[] = {
    FIELD(tg_event_omp_runtime, name, STRING),
    FIELD(tg_event_omp_runtime, version, STRING),
    FIELD_ENUM(tg_event_omp_runtime, seen, seen_names),
};
static const struct tg_field omp_parallel_begin_fields[] = {
    PLACE_FIELDS(tg_event_omp_parallel_begin),
    FIELD(tg_event_omp_parallel_begin, new_team, UNSIGNED),
    FIELD(tg_event_omp_parallel_begin, requested, UNSIGNED),
    FIELD(tg_event_omp_parallel_begin, body, ADDRESS),
};
static const struct tg_field omp_parallel_end_fields[] = {
    PLACE_FIELDS(tg_event_omp_parallel_end),
    FIELD(tg_event_omp_parallel_end, ended_team, UNSIGNED),
};
static const struct tg_field omp_implicit_begin_fields[] = {
    PLACE_FIELDS(tg_event_omp_implicit_begin),
    FIELD(tg_event_omp_implicit_begin, parent_team, UNSIGNED),
    FIELD(tg_event_omp_implicit_begin, team_size, UNSIGNED),
};
static const struct tg_field omp_implicit_end_fields[] = {
    PLACE_FIELDS(tg_event_omp_implicit_end),
};
static const struct tg_field omp_zone_begin_fields[] = {
    PLACE_FIELDS(tg_event_omp_zone_begin),
    FIELD_ENUM(tg_event_omp_zone_begin, zone, zone_names),
    FIELD_ENUM(tg_event_omp_zone_begin, schedule, schedule_names),
    FIELD(tg_event_omp_zone_begin, count, UNSIGNED),
};
static const struct tg_field omp_zone_end_fields[] = {
    PLACE_FIELDS(tg_event_omp_zone_end),
    FIELD_ENUM(tg_event_omp_zone_end, zone, zone_names),
};
static const struct tg_field omp_section_fields[] = {
    PLACE_FIELDS(tg_event_omp_section),
    FIELD(tg_event_omp_section, section, UNSIGNED),
};
static const struct tg_field omp_sync_begin_fields[] = {
    PLACE_FIELDS(tg_event_omp_sync_begin),
    FIELD_ENUM(tg_event_omp_sync_begin, sync, sync_names),
    FIELD(tg_event_omp_sync_begin, instance, UNSIGNED),
};
static const struct tg_field omp_sync_end_fields[] = {
    PLACE_FIELDS(tg_event_omp_sync_end),
    FIELD_ENUM(tg_event_omp_sync_end, sync, sync_names),
    FIELD(tg_event_omp_sync_end, instance, UNSIGNED),
    FIELD(tg_event_omp_sync_end, cancelled, BOOL),
};
static const struct tg_field omp_mutex_wait_fields[] = {
    PLACE_FIELDS(tg_event_omp_mutex_wait),
    FIELD_ENUM(tg_event_omp_mutex_wait, mutex, mutex_names),
    FIELD(tg_event_omp_mutex_wait, lock, ADDRESS),
};
static const struct tg_field omp_mutex_enter_fields[] = {
    PLACE_FIELDS(tg_event_omp_mutex_enter),
    FIELD_ENUM(tg_event_omp_mutex_enter, mutex, mutex_names),
    FIELD(tg_event_omp_mutex_enter, lock, ADDRESS),
};
static const struct tg_field omp_mutex_leave_fields[] = {
    PLACE_FIELDS(tg_event_omp_mutex_leave),
    FIELD_ENUM(tg_event_omp_mutex_leave, mutex, mutex_names),
    FIELD(tg_event_omp_mutex_leave, lock, ADDRESS),
};
static const struct tg_field omp_task_create_fields[] = {
    PLACE_FIELDS(tg_event_omp_task_create),
    FIELD(tg_event_omp_task_create, task, UNSIGNED),
    FIELD(tg_event_omp_task_create, parent_task, UNSIGNED),
    FIELD(tg_event_omp_task_create, body, ADDRESS),
    FIELD(tg_event_omp_task_create, flags, UNSIGNED),
    FIELD_LIST(tg_event_omp_task_create, dependences, dependence_schema),
};
static const struct tg_field omp_task_begin_fields[] = {
    PLACE_FIELDS(tg_event_omp_task_begin),
    FIELD(tg_event_omp_task_begin, task, UNSIGNED),
    FIELD(tg_event_omp_task_begin, resumed, BOOL),
};
static const struct tg_field omp_task_end_fields[] = {
    PLACE_FIELDS(tg_event_omp_task_end),
    FIELD(tg_event_omp_task_end, task, UNSIGNED),
    FIELD_ENUM(tg_event_omp_task_end, how, task_end_names),
};
static const struct tg_field omp_cancel_fields[] = {
    PLACE_FIELDS(tg_event_omp_cancel),
    FIELD_ENUM(tg_event_omp_cancel, construct, cancel_names),
    FIELD(tg_event_omp_cancel, activated, BOOL),
};
static const struct tg_field mpi_comm_fields[] = {
    FIELD(tg_event_mpi_comm, comm, ADDRESS),
    FIELD(tg_event_mpi_comm, parent, ADDRESS),
    FIELD(tg_event_mpi_comm, handle, ADDRESS),
    FIELD_ENUM(tg_event_mpi_comm, origin, comm_origin_names),
    FIELD(tg_event_mpi_comm, rank, SIGNED),
    FIELD(tg_event_mpi_comm, size, SIGNED),
    FIELD_LIST(tg_event_mpi_comm, members, member_schema),
};
static const struct tg_field mpi_enter_fields[] = {
    FIELD(tg_event_mpi_enter, call, STRING),       FIELD(tg_event_mpi_enter, comm, ADDRESS),
    FIELD(tg_event_mpi_enter, instance, UNSIGNED), FIELD(tg_event_mpi_enter, peer, SIGNED),
    FIELD(tg_event_mpi_enter, tag, SIGNED),        FIELD(tg_event_mpi_enter, root, SIGNED),
    FIELD(tg_event_mpi_enter, bytes, UNSIGNED),    FIELD(tg_event_mpi_enter, code, ADDRESS),
};
static const struct tg_field mpi_leave_fields[] = {
    FIELD(tg_event_mpi_leave, call, STRING),    FIELD(tg_event_mpi_leave, request, ADDRESS),
    FIELD(tg_event_mpi_leave, peer, SIGNED),    FIELD(tg_event_mpi_leave, tag, SIGNED),
    FIELD(tg_event_mpi_leave, bytes, UNSIGNED), FIELD(tg_event_mpi_leave, result, SIGNED),
};
static const struct tg_field mpi_complete_fields[] = {
    FIELD(tg_event_mpi_complete, request, ADDRESS), FIELD(tg_event_mpi_complete, peer, SIGNED),
    FIELD(tg_event_mpi_complete, tag, SIGNED),      FIELD(tg_event_mpi_complete, bytes, UNSIGNED),
    FIELD(tg_event_mpi_complete, cancelled, BOOL),
};
static const struct tg_field mpir_symbols_fields[] = {
    FIELD(tg_event_mpir_symbols, object, STRING),
    FIELD_ENUM(tg_event_mpir_symbols, role, mpir_role_names),
    FIELD_ENUM(tg_event_mpir_symbols, layout, mpir_layout_names),
    FIELD(tg_event_mpir_symbols, stride_bytes, UNSIGNED),
    FIELD(tg_event_mpir_symbols, host_offset, UNSIGNED),
    FIELD(tg_event_mpir_symbols, executable_offset, UNSIGNED),
    FIELD(tg_event_mpir_symbols, pid_offset, UNSIGNED),
    FIELD_LIST(tg_event_mpir_symbols, symbols, mpir_symbol_schema),
};
static const struct tg_field mpir_write_fields[] = {
    FIELD(tg_event_mpir_write, symbol, STRING),
    FIELD(tg_event_mpir_write, value, SIGNED),
    FIELD(tg_event_mpir_write, error, STRING),
};
static const struct tg_field mpir_state_fields[] = {
    FIELD_ENUM(tg_event_mpir_state, seen, mpir_seen_names),
    FIELD_ENUM(tg_event_mpir_state, state, mpir_state_names),
    FIELD(tg_event_mpir_state, raw_state, SIGNED),
    FIELD(tg_event_mpir_state, abort_string, STRING),
    FIELD(tg_event_mpir_state, table_size, SIGNED),
    FIELD(tg_event_mpir_state, table_address, ADDRESS),
};
static const struct tg_field mpir_table_fields[] = {
    FIELD(tg_event_mpir_table, snapshot, UNSIGNED),
    FIELD(tg_event_mpir_table, first, UNSIGNED),
    FIELD(tg_event_mpir_table, claimed_size, SIGNED),
    FIELD(tg_event_mpir_table, read_ns, UNSIGNED),
    FIELD(tg_event_mpir_table, last, BOOL),
    FIELD(tg_event_mpir_table, reason, STRING),
    FIELD_LIST(tg_event_mpir_table, entries, mpir_entry_schema),
};
static const struct tg_field mpir_rank_fields[] = {
    FIELD(tg_event_mpir_rank, starter_pid, SIGNED),
    FIELD(tg_event_mpir_rank, rank, SIGNED),
    FIELD(tg_event_mpir_rank, host, STRING),
    FIELD(tg_event_mpir_rank, executable, STRING),
    FIELD(tg_event_mpir_rank, table_pid, SIGNED),
    FIELD_ENUM(tg_event_mpir_rank, state, mpir_rank_state_names),
    FIELD_ENUM(tg_event_mpir_rank, way, mpir_way_names),
    FIELD_ENUM(tg_event_mpir_rank, gate, mpir_gate_names),
    FIELD(tg_event_mpir_rank, woken, BOOL),
    FIELD(tg_event_mpir_rank, reason, STRING),
};
static const struct tg_field mpir_job_fields[] = {
    FIELD(tg_event_mpir_job, launcher, STRING),
    FIELD_ENUM(tg_event_mpir_job, acquisition, mpir_acquisition_names),
    FIELD(tg_event_mpir_job, reason, STRING),
    FIELD(tg_event_mpir_job, i_am_starter, BOOL),
    FIELD(tg_event_mpir_job, acquired_pre_main, BOOL),
    FIELD(tg_event_mpir_job, force_to_main, BOOL),
    FIELD(tg_event_mpir_job, partial_attach_ok, BOOL),
    FIELD(tg_event_mpir_job, ignore_queues, BOOL),
    FIELD(tg_event_mpir_job, job, STRING),
};
static const struct tg_field barrier_created_fields[] = {
    FIELD(tg_event_barrier_created, barrier, UNSIGNED),
    FIELD(tg_event_barrier_created, of_threads, BOOL),
    FIELD_ENUM(tg_event_barrier_created, stop_when_hit, barrier_stop_names),
    FIELD_ENUM(tg_event_barrier_created, stop_when_done, barrier_stop_names),
    FIELD(tg_event_barrier_created, share_group, UNSIGNED),
    FIELD(tg_event_barrier_created, group, UNSIGNED),
    FIELD(tg_event_barrier_created, process, UNSIGNED),
    FIELD(tg_event_barrier_created, location, STRING),
    FIELD_LIST(tg_event_barrier_created, members, control_unit_schema),
};
static const struct tg_field barrier_arrival_fields[] = {
    FIELD(tg_event_barrier_arrival, barrier, UNSIGNED), FIELD(tg_event_barrier_arrival, dpid, UNSIGNED),
    FIELD(tg_event_barrier_arrival, dtid, UNSIGNED),    FIELD(tg_event_barrier_arrival, late, BOOL),
    FIELD(tg_event_barrier_arrival, more, BOOL),
};
static const struct tg_field barrier_held_fields[] = {
    FIELD(tg_event_barrier_held, barrier, UNSIGNED),
    FIELD(tg_event_barrier_held, dpid, UNSIGNED),
    FIELD(tg_event_barrier_held, dtid, UNSIGNED),
};
static const struct tg_field barrier_satisfied_fields[] = {
    FIELD(tg_event_barrier_satisfied, barrier, UNSIGNED),
    FIELD(tg_event_barrier_satisfied, members, UNSIGNED),
    FIELD(tg_event_barrier_satisfied, lost, UNSIGNED),
};
static const struct tg_field barrier_released_fields[] = {
    FIELD(tg_event_barrier_released, barrier, UNSIGNED),
    FIELD(tg_event_barrier_released, dpid, UNSIGNED),
    FIELD(tg_event_barrier_released, dtid, UNSIGNED),
    FIELD_ENUM(tg_event_barrier_released, reason, barrier_reason_names),
};
static const struct tg_field barrier_deleted_fields[] = {
    FIELD(tg_event_barrier_deleted, barrier, UNSIGNED),
};
static const struct tg_field barrier_stuck_fields[] = {
    FIELD(tg_event_barrier_stuck, barrier, UNSIGNED), FIELD(tg_event_barrier_stuck, dpid, UNSIGNED),
    FIELD(tg_event_barrier_stuck, dtid, UNSIGNED),    FIELD(tg_event_barrier_stuck, holder, UNSIGNED),
    FIELD(tg_event_barrier_stuck, blocked, UNSIGNED),
};
static const struct tg_field barrier_left_fields[] = {
    FIELD(tg_event_barrier_left, barrier, UNSIGNED),
    FIELD(tg_event_barrier_left, dpid, UNSIGNED),
    FIELD(tg_event_barrier_left, dtid, UNSIGNED),
    FIELD_ENUM(tg_event_barrier_left, reason, barrier_reason_names),
    FIELD(tg_event_barrier_left, arrived, BOOL),
};
static const struct tg_field barrier_enabled_fields[] = {
    FIELD(tg_event_barrier_enabled, barrier, UNSIGNED),
    FIELD(tg_event_barrier_enabled, enabled, BOOL),
};
static const struct tg_field control_process_fields[] = {
    FIELD(tg_event_control_process, dpid, UNSIGNED),
    FIELD(tg_event_control_process, control_group, UNSIGNED),
    FIELD(tg_event_control_process, share_group, UNSIGNED),
    FIELD(tg_event_control_process, workers_group, UNSIGNED),
};
static const struct tg_field control_thread_fields[] = {
    FIELD(tg_event_control_thread, dpid, UNSIGNED),
    FIELD(tg_event_control_thread, dtid, UNSIGNED),
    FIELD(tg_event_control_thread, manager, BOOL),
};
static const struct tg_field control_unhold_fields[] = {
    FIELD(tg_event_control_unhold, dpid, UNSIGNED),
    FIELD(tg_event_control_unhold, dtid, UNSIGNED),
};
static const struct tg_field control_stopped_fields[] = {
    FIELD(tg_event_control_stopped, dpid, UNSIGNED),
    FIELD(tg_event_control_stopped, dtid, UNSIGNED),
};
static const struct tg_field control_resumed_fields[] = {
    FIELD(tg_event_control_resumed, dpid, UNSIGNED),
    FIELD(tg_event_control_resumed, dtid, UNSIGNED),
};
static const struct tg_field loss_fields[] = {
    FIELD_ENUM(tg_event_loss, source, loss_names),
    FIELD(tg_event_loss, count, UNSIGNED),
    FIELD(tg_event_loss, reason, STRING),
};
static const struct tg_field note_fields[] = {FIELD(tg_event_note, text, STRING)};

static const struct kind_descriptor {
    unsigned number;
    struct tg_record_schema schema;
} kinds[] = {
#define X(symbol, number, member, name)                                                                      \
    {number, {name, sizeof(struct tg_event_##member), COUNT(member##_fields), member##_fields}},
    TG_EVENT_KINDS(X)
#undef X
};

#define X(symbol, number, member, name)                                                                      \
    _Static_assert(COUNT(member##_fields) <= TG_EVENT_MAX_FIELDS, "too many fields: " name);
TG_EVENT_KINDS(X)
#undef X

static const struct kind_descriptor *find_kind(unsigned kind)
{
    size_t low = 0, high = COUNT(kinds);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (kinds[middle].number == kind)
            return &kinds[middle];
        if (kinds[middle].number < kind)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct tg_record_schema *tg_event_schema(unsigned kind)
{
    const struct kind_descriptor *descriptor = find_kind(kind);
    return descriptor == NULL ? NULL : &descriptor->schema;
}

size_t tg_event_kind_count(void)
{
    return COUNT(kinds);
}

enum tg_event_kind tg_event_kind_at(size_t i)
{
    return (enum tg_event_kind)kinds[i].number;
}

const char *tg_event_kind_name(unsigned kind)
{
    const struct kind_descriptor *descriptor = find_kind(kind);
    return descriptor == NULL ? "unknown" : descriptor->schema.name;
}

unsigned tg_event_kind_by_name(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].schema.name, name) == 0)
            return kinds[i].number;
    return 0;
}

const char *tg_field_value_name(const struct tg_field *field, uint64_t value)
{
    for (uint64_t i = 0; field->names != NULL && field->names[i] != NULL; i++)
        if (i == value)
            return field->names[i];
    return NULL;
}
