# The documentation's three examples, on three processes with two threads each.
gather "1-3.1-2"
# each process stops as it arrives, and with it, by BARRIER_STOP_ALL, whoever else runs; all are released in the end
dfocus g
dbarrier work
while {![string match "*hit * times*" [dactions]] || [members held(g)] ne ""} dcont
check {members stopped(g)} "1-3.1-2"
ddelete 2
# holds each of the processes 1, 2 and 3 as it arrives
dfocus {{p1 p2 p3}} {dbarrier after -stop_when_hit process}
dcont
check {members held(g)} ""
check {members stopped(g)} "1-3.1-2"
ddelete 3
quit -kill 0
