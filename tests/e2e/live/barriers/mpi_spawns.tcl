# A rank that is spawned while others wait is waited for, too: it joins the share group, and stands at its first
# instruction as every rank does.
dgo
dwait -ranks 4
set id [dfocus gSr0 {dbarrier meet -stop_when_hit process}]
dfocus gSr0 dgo
dfocus pr1-3 dwait
check {members held(gr0)} [members pr1-3]
while {[lindex [count gSr0] 0] < 5} {catch {dfocus pr0 dwait -timeout 0.02}}
check {members held(gr0)} [members pr1-3]
check {regexp -all -line {^job } [dfocus gSr0 dstatus]} 2
check {llength [dict get [lindex [info barrier -points -list] 0] missing]} 2
dfocus gSr0 dcont
check {members held(gr0)} ""
check {dict get [lindex [info barrier -points -list] 0] satisfied} 1
quit -kill 0
