# Satisfaction while members die: a rank that leaves early, one that is killed, one that executes another program while
# others wait. Who started them stands meanwhile, and ends nobody for that.
dgo
dwait -ranks 4
dfocus gSr0 {dbarrier main -stop_when_hit process; dcont}
ddelete 1
gather_ranks
dfocus $launchers {dhalt; dwait}

set id [dfocus {pr0 pr3} {dbarrier work -stop_when_hit process}]
dfocus pr0 dcont
check {members held(gr0)} [members pr0]
dfocus tr3.1 dgo
dfocus pr3 dwait
until_gone pr3
check {members held(gr0)} ""
ddelete $id

set id [dfocus gWr0 {dbarrier after -stop_when_hit none}]
dfocus pWr0 dcont
check {count held(gr0)} "1 4"
dfocus pr2 dkill
dfocus pr2 dwait
check {count held(gr0)} "1 4"
check {llength [dict get [lindex [info barrier -points -list] 0] missing]} 4
dfocus tr1.1 dgo
dfocus pr1 dwait
check {count held(gr0)} "0 0"
check {count stopped(pWr0)} "1 4"
quit -kill 0
