# Barriers that cannot be.
gather "1-2.1-2"
check_error {dfocus {{pW1 p2}} {dbarrier work}} {inconsistent.*\n\{pW1.< p2.<\}\n       \^$}
check_error {dbarrier -address 0x10} {no process has code at 0x10}
check_error {dfocus r0-1 dstatus} {no rank 0}
check_error {dfocus p9 {dbarrier work}} {no process 9}
# the mark is below the part that is wrong, of what was typed
check_error {dptsets p1|p9} {no process 9.*\np1\|p9\n    \^$}
check_error {dptsets .7} {no thread 7.*\n\.7\n \^$}
check_error {dfocus gW2.7 dgo} {no thread 7.*\ngW2\.7\n    \^$}
check {dfocus all {members .}} "1-2.1-2"
check_error {dbarrier no_such_function} {no_such_function}
check_error {dbarrier work -stop_when_hit sometimes} {-stop_when_hit}
check_error {dbarrier work -stop_when_done} {dbarrier}
check_error {dbarrier} {dbarrier}
check_error {ddelete 5} {no action point 5}
check_error {dbreak work -if {$thread ==}} {missing operand\n\$thread ==\n          \^$}
check_error {dbreak work -if {$a == 1 +* 2}} {missing operand\n\$a == 1 \+\* 2\n         \^$}
check {dactions} "no breakpoints, watchpoints or barriers"
dfocus g dcont
