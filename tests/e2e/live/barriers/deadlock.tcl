# Two barriers over the same two processes, one waiting at each: told of as dead ends, with who and why.
gather "1-2.1"
dbarrier work -stop_when_hit process
dbarrier after -stop_when_hit process
ddisable 2
dfocus p2 dcont
check {members held(g)} "2.1"
denable 2
dfocus p1 dcont
check {members held(g)} "1-2.1"
if {$leave} {quit -kill 0}
# one of them out of the way, and what it held is released
ddelete 3
check {members held(g)} "1.1"
check {members stopped(g)} "1-2.1"
ddelete 2
dfocus g dcont
