# bash completion for tollgate(1)

# The long options of a command, as its --help tells them: "--json" or "--output=".
_tollgate_options()
{
    "$1" "$2" --help 2>/dev/null | sed -nE 's/^ {1,8}(-.*)$/\1/p' | sed 's/  .*//' |
        grep -oE -- '(^|[ ,])--?[a-z][a-z0-9_-]{2,}(\[?=)?' | tr -d ' ,[' | sort -u
}

_tollgate_kinds="process_start program exec command_line environment identity thread_start thread_exit process_exit detach
entry agent thread_name memory_kills signal group_stop breakpoint_hit watch_set watch_hit watch_removed library_load library_unload library_null breakpoint_spec
breakpoint_planted breakpoint_removed library_call library_return filter_settings filter_decision
deferred_handled omp_runtime omp_parallel_begin omp_parallel_end omp_implicit_begin omp_implicit_end
omp_zone_begin omp_zone_end omp_section omp_sync_begin omp_sync_end omp_mutex_wait omp_mutex_enter
omp_mutex_leave omp_task_create omp_task_begin omp_task_end omp_cancel omp_chunk omp_iteration omp_mutex_test mpi_comm mpi_enter mpi_leave
mpi_complete mpi_error mpi_comm_name mpi_requests mpi_poll mpi_group mpi_partitions mpi_poll_sum mpir_symbols mpir_write mpir_state mpir_table mpir_rank mpir_job
barrier_created barrier_arrival barrier_held barrier_satisfied barrier_released
barrier_deleted barrier_stuck barrier_left barrier_enabled control_process
control_thread control_unhold
control_stopped control_resumed control_end control_command stack stack_snapshot code_name thread_wait call_values heap_start heap_stack heap_alloc heap_free heap_resize heap_error heap_unseen heap_leak heap_leak_scan deep_bind loss note tracer_wait stop_price"

_tollgate_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_tollgate_words()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# What follows OPTION (a value being typed in $2); fails where the option takes none that is known.
_tollgate_value()
{
    case $1 in
    --kind | -k)
        local before=
        [[ $2 == *,* ]] && before=${2%,*},
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$_tollgate_kinds" -- "${2##*,}")
        ;;
    --symbols) _tollgate_words "auto off" "$2" ;;
    --mode) _tollgate_words "slow medium fast" "$2" ;;
    --format | -f) _tollgate_words "svg html seqdiag mermaid plantuml massif pprof collapsed" "$2" ;;
    --sort) _tollgate_words "peak live bytes calls temporary" "$2" ;;
    --by) _tollgate_words "worker rank stack library size" "$2" ;;
    --around) _tollgate_words "last" "$2" ;;
    --dlopen) _tollgate_words "agent in-process stops none" "$2" ;;
    --openmp | --mpi) _tollgate_words "on off" "$2" ;;
    --heap) _tollgate_words "events sample:512K check check,red_zones" "$2" ;;
    --host) mapfile -t COMPREPLY < <(compgen -A hostname -- "$2") ;;
    --output | -o | --flamegraph | --settings | --script | -x | --rc | --input) _tollgate_files "$2" ;;
    --pid | -p | --rank | -r | --from | --to | --at | --match | --break | --ring-size | --heap-depth | --ranks | --slurm-step | --processes | --clients | --team | --execute | -e | --interval | --repeat | --port)
        COMPREPLY=()
        ;;
    *) return 1 ;;
    esac
}

_tollgate()
{
    local commands="where record report heap filter sequence dump replay live web recover redact calibrate"
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _tollgate_words "$commands help --help --version" "$word"
        return
    fi
    if [[ $command == help ]]; then
        _tollgate_words "$commands" "$word"
        return
    fi
    # Behind `record ... -- PROGRAM` the program's own completion takes over.
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ $command =~ ^(record|live)$ && ${COMP_WORDS[i]} == -- ]]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            else
                _tollgate_files "$word"
            fi
            return
        fi
    done
    # bash breaks words at '=': "--kind=li" is three of them.
    if [[ $word == = ]]; then
        _tollgate_value "$previous" "" && return
    elif [[ $previous == = ]]; then
        _tollgate_value "${COMP_WORDS[COMP_CWORD - 2]}" "$word" && return
    elif _tollgate_value "$previous" "$word"; then
        return
    fi
    if [[ $word == -* ]]; then
        _tollgate_words "$(_tollgate_options "${COMP_WORDS[0]}" "$command")" "$word"
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
        return
    fi
    _tollgate_files "$word"
}

complete -F _tollgate tollgate
