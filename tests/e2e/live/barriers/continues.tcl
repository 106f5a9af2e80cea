# dcont -any ends once one of those that were resumed has stopped, whoever was stopped before; dcont -timeout leaves who runs.
gather "1.1-3"
dfocus t1.3 {dhold -thread}
dfocus p1 {dbreak work -t}
dfocus t1.2 {dhold -thread}
dfocus p1 {dcont -any}
check_match {dfocus t1.1 {dstatus -group_by function}} *work*
check {members running(p1)} ""
dfocus t1.2 {dunhold -thread}
dfocus t1.2 dcont
ddelete -a
# 1.1 waits in pthread_join for 1.3
check_error {dfocus p1 {dcont -timeout 0.3}} {still running after 0.3 seconds}
check {members running(p1)} 1.1
check_error {dfocus p1 {dcont -timeout soon}} {-timeout}
dfocus t1.3 {dunhold -thread}
dfocus t1.3 dcont
