# The process goes on without its first thread: functions, lines and variables of the others are known as before, and a function
# is its first line.
dfocus gW {dbarrier work -stop_when_hit none}
dfocus g dcont
check {members existent(p1)} 1.2-3
check {members breakpoint(p1)} 1.2-3
check_match {dfocus t1.2 {dwhere 1}} "*work*live_team.c#*"
check_match {dfocus t1.2 {dprint thread}} "thread = 1"
ddelete 1
dfocus g dcont
