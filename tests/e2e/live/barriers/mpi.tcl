# Barriers, holds and breakpoints over four ranks with a team of four threads each. Helper threads of the MPI library are
# no workers.
dgo
dwait -ranks 4
check {dptsets gSr0} "gSr0: 4:4\[0-3.1]"
# with everything in focus it is the ranks' main, not mpirun's
dfocus a {dbarrier main -stop_when_hit process}
dfocus gSr0 dcont
check {dptsets held(gSr0)} "held(gSr0): 0:0\[]"
check {dptsets breakpoint(gSr0)} "breakpoint(gSr0): 4:4\[0-3.1]"
# a library in one line, wherever it lies in each process
check {llength [split [dfocus gSr0 {dinfo libraries */libc.so.6}] \n]} 2
ddelete 1
# all workers of all ranks, from now on and with all threads to come; all that share the program stop when it is done
dfocus gWr0 {dbarrier work -stop_when_hit none -stop_when_done process}
dfocus gSr0 dcont
check {count held(gSr0)} "0 0"
check {count $team} "4 16"
check {count breakpoint(gSr0)} "4 16"
if {[members gSr0] eq [members $team]} {error "no helper thread: [dptsets gSr0]"}
ddelete 2
# the workers of rank 1 alone
dfocus r1 {baw after -stop_when_hit none; dcont}
check {count breakpoint(dr1)} "1 4"
ddelete 3
gather_ranks
foreach rank {0 1 2 3} {set of($rank) [workers $rank]}

# ---- the documentation's two listings, and its three examples
dset BARRIER_STOP_WHEN_DONE process
puts "LISTINGS"
set id [dfocus r0 [list dbarrier $line -stop_when_hit thread]]
puts [ac $id]
ddelete $id
set id [dfocus r0 [list baw $line -stop_when_hit thread]]
puts [ac $id]
puts "END"
ddelete $id
dunset BARRIER_STOP_WHEN_DONE

# each process stops as it arrives, and with it, by BARRIER_STOP_ALL, whoever else runs; all are released in the end
dfocus r0 {
    dbarrier $line
    while {![string match "*hit * times*" [dactions]] || [members held(gSr0)] ne ""} {dfocus gSr0 dcont}
}
dfocus gr0 dwait
clear
gather_ranks
# holds each of the ranks 0 to 2 as it arrives
dfocus {pr0 pr1 pr2} {
    dbarrier after
    while {![string match "*hit * times*" [dactions]] || [members held(gSr0)] ne ""} dcont
}
check {members running(pr0-2)} ""
clear
gather_ranks
# threads that are not at the line go on
dfocus gWr0 [list dbarrier $line -stop_when_hit none]
foreach rank {0 2} {foreach thread [lrange $of($rank) 0 1] {dfocus tr$rank.$thread dcont}}
check {count held(gSr0)} "2 4"
foreach rank {0 1 2} {foreach thread [lrange $of($rank) 2 3] {dfocus tr$rank.$thread dgo}}
dfocus pWr1 dgo
dfocus pWr0-2 dwait
check {count held(gSr0)} "3 12"
dfocus pWr3 dcont
check {count held(gSr0)} "0 0"
check {count stopped($team)} "4 16"
clear
gather_ranks
# the alias for all workers; when all are there the control group stops
dfocus r0 {BAW after -stop_when_hit none}
dfocus $team dcont
check {count held(gr0)} "0 0"
check {count breakpoint($team)} "4 16"
dfocus gr0 dwait
check {members running(gr0)} ""
dfocus $launchers dgo
clear
gather_ranks

# ---- every width
set far [lindex $of(0) 1]
set near [lindex $of(1) 1]
set b [lindex $of(1) 2]
set c [lindex $of(1) 3]
set runs(none) "0.$far, 1.$near"
if {$far == $near} {set runs(none) "0-1.$far"}
set runs(process) "0.$far"
set runs(group) ""
foreach {hit hit_width} {none 0 process 1 group 2} {
    foreach {done done_width} {none 0 process 1 group 2} {
        # A thread barrier over two threads of rank 1. A bystander in the process, $near, and one beyond, $far, were let go
        # and wait for the others at the end of the region: they run until something stops them.
        set width [lindex {none process group} [expr {max($hit_width, $done_width)}]]
        foreach bystander "tr0.$far tr1.$near" {dfocus $bystander dgo}
        dfocus [list tr1.$b tr1.$c] [list dbarrier work -stop_when_hit $hit -stop_when_done $done]
        dfocus tr1.$b dcont
        if {$hit ne "none"} {dfocus tr1.$near dwait}
        if {$hit eq "group"} {dfocus tr0.$far dwait}
        check {members running($team)} $runs($hit)
        check {members held(gr0)} "1.$b"
        foreach bystander "tr0.$far tr1.$near" {dfocus $bystander dgo}
        dfocus tr1.$c dcont
        if {$width ne "none"} {dfocus tr1.$near dwait}
        if {$width eq "group"} {dfocus tr0.$far dwait}
        check {members running($team)} $runs($width)
        check {members held(gr0)} ""
        if {$width eq "group"} {
            dfocus gr0 dwait
            check {members running(gr0)} ""
        }
        check {members stopped($launchers)} ""
        clear
        gather_ranks

        # A process barrier over the ranks 0 and 1, with a bystander in rank 2. Their own threads stop in any case.
        set bystander tr2.[lindex $of(2) 1]
        dfocus $bystander dgo
        dfocus {pr0 pr1} [list dbarrier after -stop_when_hit $hit -stop_when_done $done]
        dfocus r0 dcont
        if {$hit eq "group"} {dfocus $bystander dwait}
        check {count running($team)} [expr {$hit eq "group" ? "0 0" : "1 1"}]
        check {members held(gr0)} [members r0]
        dfocus $bystander dgo
        dfocus r1 dcont
        if {$width eq "group"} {dfocus $bystander dwait}
        check {count running($team)} [expr {$width eq "group" ? "0 0" : "1 1"}]
        check {members held(gr0)} ""
        clear
        gather_ranks
    }
}

# ---- holds by command and by a barrier; deleted, disabled and suppressed while it holds
lassign $of(1) a b c d
set id [dfocus r1 {baw work -stop_when_hit none}]
dfocus tr1.$b dcont
check {members held(gr0)} 1.$b
dfocus tr1.$b {dhold -thread}
dfocus tr1.$c {dhold -thread}
check {dfocus tr1.$c dgo} "1 thread is held and stays stopped"
ddelete $id
check {count held(gr0)} "1 2"
dfocus tr1.$b {dunhold -thread}
check {members held(gr0)} 1.$c
dfocus r1 {dhold -process}
check {members held(gr0)} [members r1]
dfocus tr1.$c {dunhold -thread}
check {members held(gr0)} [members r1]
dfocus r1 {dunhold -process}
check {members held(gr0)} ""
set id [dfocus r1 {baw after -stop_when_hit none}]
dfocus tr1.$a dcont
dfocus tr1.$b dcont
check {count held(gr0)} "1 2"
ddisable $id
check {members held(gr0)} ""
denable $id
dfocus tr1.$c dcont
check {members held(gr0)} 1.$c
dactions -suppress
check {members held(gr0)} ""
dactions -unsuppress
dfocus tr1.$d dcont
check {members held(gr0)} 1.$d
clear
check {count stopped($team)} "4 16"
gather_ranks

# ---- two barriers over the same two ranks, one waiting at each
set first [dfocus {pr0 pr1} {dbarrier work -stop_when_hit process}]
set second [dfocus {pr0 pr1} {dbarrier after -stop_when_hit process}]
ddisable $first
dfocus r1 dcont
denable $first
dfocus r0 dcont
check {members held(gr0)} [members pr0|pr1]
puts "STUCK $first $second"
puts [info barrier -points]
puts "END"
ddelete $second
check {members held(gr0)} [members r0]
check {dict get [lindex [info barrier -points -list] 0] stuck} 0
ddelete $first
check {members held(gr0)} ""
gather_ranks

# ---- what a breakpoint stops
set bystander tr0.[lindex $of(0) 2]
foreach {option width running} {-t none "2 4" -p process "1 1" -g group "0 0"} {
    dfocus $bystander dgo
    dfocus gSr0 [list dbreak work $option -if "\$round_number == $round && \$rdi == 1 && \$rank == 1"]
    dfocus pWr1 dgo
    dfocus pWr1 [list dwait {*}[expr {$option eq "-t" ? "-any" : ""}]]
    if {$option eq "-g"} {dfocus gr0 dwait}
    check {count running($team)} $running
    check {count breakpoint(pWr1)} [expr {$option eq "-t" ? "1 1" : [count breakpoint(pWr1)]}]
    clear
    gather_ranks
}
quit -kill 0
