# A member that executes another program while others wait leaves the share group, and the barrier with it: nobody else
# is to come, so who waits is released.
gather "1-2.1"
dfocus p2 {dbreak execv}
dfocus p2 dcont
dbarrier work -stop_when_hit process -stop_when_done process
dfocus p1 dcont
check {members held(g)} "1.1"
dfocus p2 dcont
dfocus p1 dwait
check {members held(g)} ""
ddelete -a
dfocus g dcont
