# A thread that ends before it came is waited for no longer.
gather "1.1-3"
dfocus pW1 {baw work -stop_when_hit none}
dfocus t1.1 dcont
dfocus t1.2 dcont
check {members held(p1)} 1.1-2
dfocus t1.3 dcont
check {members existent(p1)} 1.1-2
check {members held(p1)} ""
check {members stopped(p1)} 1.1-2
dfocus p1 dcont
