# What the scripts here begin with. All of it goes by events, nothing waits for a time.
proc check {what expected} {
    set got [uplevel 1 $what]
    if {$got ne $expected} {error "$what: '$got', not '$expected'"}
}
proc check_match {what pattern} {
    set got [uplevel 1 $what]
    if {![string match $pattern $got]} {error "$what: '$got' does not match '$pattern'"}
}
proc check_error {what pattern} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error"}
    if {![regexp -- $pattern $message]} {error "$what: '$message' has not '$pattern'"}
}
# Returns once no thread of SET exists. The threads of a process that exits go one after the other, and those that were stopped
# keep no dwait waiting.
proc until_gone {set} {
    while {[members existent($set)] ne ""} {after 5}
}
# The members of a set: "1.1-2, 2.1", without the counts and the p that marks numbers of processes.
proc members {set} {
    regexp {\[(.*)\]} [dptsets $set] whole list
    return [string map {p ""} $list]
}
# All threads of all processes of the group in front of before(), nothing held.
proc gather {threads} {
    dfocus gW {dbarrier before -stop_when_hit none -stop_when_done none}
    dfocus g dcont
    check {members held(g)} ""
    check {members breakpoint(g)} $threads
    ddelete 1
}

# ---- jobs of MPI: the workers of all ranks, and who started these
set team "gWr0&gSr0"
set launchers "g1" ;# a group of their own, apart from the ranks
set round -2 ;# of live_ranks, in which gather_ranks had everybody last

proc count {set} {
    regexp {(\d+):(\d+)} [dptsets $set] whole processes threads
    return "$processes $threads"
}
# The numbers of a rank's workers: "1,4-6" written out.
proc workers {rank} {
    set numbers {}
    foreach range [split [lindex [split [members pWr$rank] .] 1] ,] {
        lassign [split $range -] first last
        for {set number $first} {$number <= ($last eq "" ? $first : $last)} {incr number} {lappend numbers $number}
    }
    return $numbers
}
# Everybody of the team to before(), in the same round, wherever they are now; nothing is planted then.
proc gather_ranks {} {
    global team round
    incr round 2
    set id [dfocus gSr0 dbreak before -t -if "\$round_number >= $round"]
    dfocus $team dcont
    ddelete $id
    check {count breakpoint($team)} "4 16"
    check {members held(gr0)} ""
}
proc clear {} {
    ddelete -a
    check {members held(gr0)} ""
}

