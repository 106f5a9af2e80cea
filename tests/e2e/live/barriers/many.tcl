# Many barriers at once: process and thread barriers over sets that overlap, of every width, each line twice over. All
# come everywhere; no barrier is found to be a dead end on the way.
gather "1-3.1-3"
set made 0
foreach place {work after} {
    foreach set {p1 g gW pW1 pW2 {{p1 p2}} {{p2 p3}} {{t1.1 t2.1}} {{t1.2 t2.2 t3.2}} gW gW-t1.3 {{t2.1 t2.3}} pW3} {
        set widths [lindex {{none none} {process none} {none process} {group group}} [expr {$made % 4}]]
        dfocus $set [list dbarrier $place -stop_when_hit [lindex $widths 0] -stop_when_done [lindex $widths 1]]
        incr made
    }
}
check {llength [info barrier -points -list]} $made
# One thread at a time, so that the threads of each process come to its barriers in as many rounds as the others'.
foreach place {work after} {
    foreach thread {1 2 3} {
        foreach process {1 2 3} {
            check {members stopped(t$process.$thread)-held(t$process.$thread)} $process.$thread
            dfocus t$process.$thread dcont
            foreach barrier [info barrier -points -list] {check {dict get $barrier stuck} 0}
        }
    }
    check {members held(g)} ""
    check {members breakpoint(g)} "1-3.1-3"
}
quit -kill 0
