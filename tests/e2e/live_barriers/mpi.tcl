# Barriers over the ranks of an MPI job: processes at main, all workers of all ranks inside of an OpenMP region, the
# workers of one rank. Helper threads of the MPI library are no workers.
proc count {set} {
    regexp {(\d+):(\d+)} [dptsets $set] whole processes threads
    return "$processes $threads"
}
dgo
dwait -ranks 4
dfocus gSr0
check {dptsets gSr0} "gSr0: 4:4\[0-3.1]"
dbarrier main -stop_when_hit process
dcont
check {dptsets held(gSr0)} "held(gSr0): 0:0\[]"
check {dptsets breakpoint(gSr0)} "breakpoint(gSr0): 4:4\[0-3.1]"
ddelete 1
# all workers of all ranks, from now on and with all threads to come; all that share the program stop when it is done
dfocus gWr0 {dbarrier work -stop_when_hit none -stop_when_done process}
dcont
check {count held(gSr0)} "0 0"
check {count gWr0&gSr0} "4 16"
check {count breakpoint(gSr0)} "4 16"
if {[dptsets gSr0] eq [dptsets gWr0&gSr0]} {error "no helper thread: [dptsets gSr0]"}
ddelete 2
# the workers of rank 1 alone
dfocus r1 {baw after -stop_when_hit none}
dfocus dr1 dcont
check {count breakpoint(dr1)} "1 4"
quit -kill 0
