# The third example of the documentation: threads that are not at the line go on. And the alias BAW.
gather "1-2.1-3"
dfocus gW {dbarrier work -stop_when_hit none}
foreach thread {1.2 2.1} {dfocus t$thread dcont}
check {members held(g)} "1.2, 2.1"
foreach thread {1.1 1.3 2.2} {dfocus t$thread dgo}
dfocus {{t1.1 t1.3 t2.2}} dwait
check {members held(g)} "1.1-3, 2.1-2"
dfocus t2.3 dcont
check {members held(g)} ""
check {members stopped(g)} "1-2.1-3"
ddelete 2
BAW after -stop_when_hit none
dfocus g dcont
check {members held(g)} ""
check {members breakpoint(g)} "1-2.1-3"
ddelete 3
dfocus g dcont
