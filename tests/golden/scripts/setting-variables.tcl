# Settings are Tcl variables: read, written, unset; what dset refuses, they refuse.
puts $MAX_LIST
set MAX_LIST 5
puts [dset MAX_LIST]
dset MAX_LIST 7
puts $MAX_LIST
incr MAX_LIST
puts [dset MAX_LIST]
puts [catch {set MAX_LIST five} why]
puts $why
puts $MAX_LIST
proc of_procedure {} {
    global MAX_LIST
    return [list $MAX_LIST $::ASSEMBLER_SYNTAX]
}
puts [of_procedure]
unset MAX_LIST
puts $MAX_LIST
set MAX_LIST 6
puts [dset MAX_LIST]
puts [catch {set BARRIER_STOP_ALL none; dset BARRIER_STOP_ALL} why]
puts $why
# those of a running job are no variables here
puts [info exists TV::dlopen_always_recalculate]
