# A step of a list is one of each arena's thread of interest, wherever they are; who is held is left out.
proc at {thread} {regexp {^ *(\w+#?\d*): 1:1} [dfocus t$thread {dstatus -group_by function}] whole name; return $name}
gather "1-2.1-3"
dfocus t2.3 {dnext 2}
dfocus g {dbreak after -t}
dfocus {{p1.2 p2.3}} dnext
check {at 1.2} before
check {at 2.3} take_part
dfocus t2.3 {dhold -thread}
dfocus {{p2.3 p1.2}} {dnext 2}
check {at 1.2} take_part
check {at 2.3} take_part
dfocus t1.2 {dhold -thread}
check_error {dfocus {{p2.3 p1.2}} dnext} {is held}
quit -kill 0
