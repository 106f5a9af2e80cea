# Holds by command and by a barrier, one in the other; a barrier that is deleted, disabled or suppressed while it holds.
gather "1.1-4"
dfocus pW1 {baw work -stop_when_hit none}
dfocus t1.2 dcont
check {members held(p1)} 1.2
dfocus t1.2 {dhold -thread}
dfocus t1.3 {dhold -thread}
check {members held(p1)} 1.2-3
check {dfocus t1.3 dgo} "1 thread is held and stays stopped"
check {members stopped(p1)} 1.1-4
# what the barrier held its deletion releases, the command's hold stays
ddelete 2
check {members held(p1)} 1.2-3
dfocus t1.2 {dunhold -thread}
check {members held(p1)} 1.3
# a process's hold is another thing than its threads'
check {dfocus p1 dunhold} "1 thread is still held by a thread hold; `dunhold -thread` releases it"
check {members held(p1)} 1.3
check_error {dfocus p1.3 dnext} {is held; dunhold -thread releases it}
dfocus p1 {dhold -process}
check {members held(p1)} 1.1-4
check {dfocus t1.3 {dunhold -thread}} "1 thread is still held by a process hold; `dunhold -process` releases it"
check_error {dfocus p1.3 dnext} {is held; dunhold -process releases it}
check {members held(p1)} 1.1-4
dfocus p1 {dunhold -process}
check {members held(p1)} ""
# released is not continued
check {members stopped(p1)} 1.1-4
# disabled and enabled: a new round
dfocus pW1 {baw after -stop_when_hit none}
dfocus t1.1 dcont
dfocus t1.2 dcont
check {members held(p1)} 1.1-2
ddisable 3
check {members held(p1)} ""
check {string match "*3 * Disabled (barrier)*" [dactions -disabled]} 1
check {dactions -enabled} "no enabled breakpoints, watchpoints or barriers"
denable 3
dfocus t1.3 dcont
check {members held(p1)} 1.3
# suppressed and in force again
dactions -suppress
check {members held(p1)} ""
check {string match "Action points are suppressed*" [dactions]} 1
dactions -unsuppress
# who is let go by hand has arrived all the same
dfocus t1.4 dcont
check {members held(p1)} 1.4
dfocus t1.4 {dunhold -thread}
check {members held(p1)} ""
check_error {ddelete 77} {no action point 77}
# saved, deleted and loaded: the same again, by another number
dactions -save points
ddelete -a
check {dactions} "no breakpoints, watchpoints or barriers"
check {dactions -load points} "1 action point"
check {regsub -all {\d+ (addr)} [ac 4] {N \1}} [regsub -all {\d+ (addr)} [ac 4] {N \1}]
check {string match "*4 *#* Enabled (barrier)*" [dactions]} 1
ddelete 4
dfocus p1 dcont
