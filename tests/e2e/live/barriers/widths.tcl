# What else stops when somebody comes ($hit) and when all are there ($done). Bystanders are threads that were let go and
# wait, in pthread_join, for those that stand: they run until something stops them.
gather "1-3.1-3"

# A thread barrier over 2.2 and 2.3; 2.1 is a bystander of the process, 1.1 of the group.
foreach bystander {1.1 2.1} {dfocus t$bystander dgo}
dfocus {{t2.2 t2.3}} {dbarrier work -stop_when_hit $hit -stop_when_done $done}
dfocus t2.2 dcont
if {$hit ne "none"} {dfocus t2.1 dwait}
if {$hit eq "group"} {dfocus t1.1 dwait}
set running [dict create none "1-2.1" process "1.1" group ""]
check {members running(g)} [dict get $running $hit]
check {members held(g)} "2.2"
foreach bystander {1.1 2.1} {dfocus t$bystander dgo}
dfocus t2.3 dcont
set width [expr {$hit eq "none" ? $done : $hit}]
if {$width ne "none"} {dfocus t2.1 dwait}
if {$width eq "group"} {dfocus t1.1 dwait}
check {members running(g)} [dict get $running $width]
check {members held(g)} ""
check {members breakpoint(p2)} [expr {$width eq "none" ? "2.2-3" : [members breakpoint(p2)]}]
ddelete 2

# A process barrier over 1 and 2; 3.1 is a bystander. Their own threads stop in any case.
dfocus g dhalt
dfocus g dwait
dfocus t3.1 dgo
dfocus {{p1 p2}} {dbarrier after -stop_when_hit $hit -stop_when_done $done}
dfocus p1 dcont
if {$hit eq "group"} {dfocus p3 dwait}
check {members running(g)} [expr {$hit eq "group" ? "" : "3.1"}]
check {members held(g)} "1.1-3"
dfocus t3.1 dgo
dfocus p2 dcont
if {$width eq "group"} {dfocus p3 dwait}
check {members running(g)} [expr {$width eq "group" ? "" : "3.1"}]
check {members held(g)} ""
ddelete 3
dfocus g dcont
