# A thread that begins while others wait is waited for too.
gather "1.1-3"
dfocus pW1 {baw after -stop_when_hit none}
dfocus t1.2 dcont
dfocus t1.3 dcont
check {members held(p1)} 1.2-3
dfocus t1.1 dgo
dfocus p1 dwait
check {members existent(p1)} 1.1-4
check {members breakpoint(p1)} 1.1-4
check {members held(p1)} ""
dfocus p1 dcont
