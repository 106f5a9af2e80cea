# The replay console on a real hybrid job: every barrier and critical section of every rank, there and back.
# Set before: ranks, rounds, threads, entries (a dictionary: rank to critical entries).
proc check {condition what} {
    if {![uplevel 1 [list expr $condition]]} {
        error "not so: $what; [info event]"
    }
}

# Those places of the rank's workers that are of KIND.
proc places {kind} {
    set found {}
    foreach worker [info workers -list] {
        foreach place [dict get $worker places] {
            if {[dict get $place kind] eq $kind} {
                lappend found $place
            }
        }
    }
    return $found
}

proc number {} {
    return [dict get [info event -dict] number]
}

proc team_waits {} {
    set barriers [info barrier -list]
    return [expr {[llength $barriers] > 0 && ![dict get [lindex $barriers 0] join]}]
}

proc pass_barriers {} {
    set passed 0
    # Those who come to the next one before the last has left this one are there already.
    while {[team_waits] || ![catch {opm next barrier} why]} {
        set came [number]
        set barrier [lindex [info barrier -list] 0]
        check {[llength [dict get $barrier waiting]] >= 1} "somebody waits where the first one came"
        set team [dict get $barrier team]
        set instance [dict get $barrier number]
        if {[dict get $barrier join]} {
            continue
        }
        opm barrier pass
        check {[number] > $came} "passing goes on"
        foreach place [places sync] {
            check {[dict get $place what] eq "barrier_join" || [dict get $place team] != $team || [dict get $place id] != $instance} "nobody is at it any more"
        }
        set here [info event]
        back [expr {[number] - $came}]
        check {[number] == $came} "back is where it was"
        opm barrier pass
        check {[info event] eq $here} "there and back is the same"
        incr passed
    }
    check {[string match "no barrier zone*" $why]} $why
    return $passed
}

proc count_criticals {} {
    set entered 0
    while {![catch {find omp_mutex_enter}]} {
        # libomp reports a release when it is done: the next thread may be recorded inside before the last one is out
        set most [expr {[string match "*seen=ompt*" [info event]] ? 2 : 1}]
        set inside [llength [places mutex]]
        check {$inside >= 1 && $inside <= $most} "one is inside, not $inside"
        incr entered
    }
    goto start
    opm next critical
    opm step
    opm all_out
    check {[llength [places mutex]] == 0 && [llength [places wait]] == 0} "all are out of the critical section"
    return $entered
}

for {set rank 0} {$rank < $ranks} {incr rank} {
    dfocus all
    goto end
    dfocus r$rank
    check {[llength [info workers -list]] == $threads} "all workers of rank $rank are known"
    check {[string match "#*(dead)*" [lindex [split [info workers] \n] 1]]} "they are dead at the end"
    goto start
    set passed [pass_barriers]
    check {$passed >= 2 * $rounds} "rank $rank passes [expr {2 * $rounds}] barriers, not $passed"
    goto start
    check {[count_criticals] >= [dict get $entries $rank]} "rank $rank enters its critical sections"
    goto end
    set last [number]
    find -back mpi_enter call=MPI_Finalize
    check {[number] < $last && [string match "*MPI_Finalize*" [info mpi]]} "MPI_Finalize is before the end"
    find -back mpi_leave call=MPI_Barrier
    goto start
    opm start
    opm step
    opm step out
}
dfocus all
goto end
check {[string match "*no process is waiting for another" [where]]} "nobody waits at the end of a good run"
check {[llength [split [info workers] \n]] <= 3 * $ranks} "workers that are alike are told together"
puts fine
