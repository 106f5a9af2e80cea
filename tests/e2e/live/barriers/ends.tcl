# A member that is killed while others wait is waited for no longer.
gather "1-3.1-2"
dbarrier after -stop_when_hit process -stop_when_done process
dfocus p1 dcont
dfocus p2 dcont
check {members held(g)} "1-2.1-2"
dfocus p3 dkill
dfocus p3 dwait
check {members held(g)} ""
check {members stopped(g)} "1-2.1-2"
ddelete 2
dfocus g dcont
