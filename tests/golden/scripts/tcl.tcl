# Tcl's own info keeps working beside the new subcommands, also compiled in procedures.
proc both {} {
    set here 1
    return [list [info exists here] [info exists there] [llength [info level 0]] [string length [info workers]]]
}
puts [both]
goto 45
puts [llength [info workers -list]]
foreach worker [info workers -list] {
    puts "worker [dict get $worker worker] alive [dict get $worker alive] in [llength [dict get $worker places]]"
    foreach place [dict get $worker places] {
        puts "  [dict get $place kind] [expr {[dict exists $place what] ? [dict get $place what] : ""}]"
    }
}
set barrier [lindex [info barrier -list] 0]
puts "waiting [dict get $barrier waiting] missing [dict get $barrier missing] open [dict get $barrier open]"
# What a trace says is data: a loop over all events runs nothing of it.
goto start
set n 0
while {![catch next]} {
    incr n
}
puts $n
info event; set x 5; info processes
