# A child of vfork has its parent's memory: a point is at the same place in both, and nobody comes to it twice.
gather "1.1-2"
dbreak work -t
dfocus g dcont
check {members breakpoint(p1)} 1.1-2
dfocus g dcont
check {members existent(g)} ""
