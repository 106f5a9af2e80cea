# What is unshared, in process 1, stops none of its children, which have its memory, and asks no condition there.
set id [dfocus p1 {dbreak after -t}]
dfocus p1 {dbreak work -t -if {*(int *)8 == 1}}
dfocus p1 dcont
check {members breakpoint(g)} 1.1
ddelete 2
dfocus p1 dcont
check {members breakpoint(g)} 1.1
dfocus p2 dwait
check {members existent(g)} 1.1
check {string match "*Enabled, hit 1 time" [dactions]} 1
dfocus p1 dcont
