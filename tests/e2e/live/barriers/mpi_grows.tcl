# A thread and a process that begin while others wait are waited for, too.
dgo
dwait -ranks 4
dfocus gSr0 {dbarrier main -stop_when_hit process; dcont}
ddelete 1
gather_ranks
set late [dfocus gSr0 {dbreak come_late -t}]
set anew [dfocus gSr0 {dbreak come_anew -t}]
set id [dfocus gWr0 {dbarrier after -stop_when_hit none}]
dfocus $team-tr1.1 dcont
check {count held(gr0)} "4 15"
dfocus tr1.1 dgo
dfocus $team dwait
check {count $team} "5 18"
check {count held(gr0)} "4 16"
set barrier [lindex [info barrier -points -list] 0]
check {llength [dict get $barrier arrived]} 16
check {llength [dict get $barrier missing]} 2
dfocus $team dcont
check {count held(gr0)} "0 0"
check {count stopped($team)} "5 18"
quit -kill 0
