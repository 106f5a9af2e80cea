# Breakpoints with conditions in libraries that are not there yet: they come with dlopen under each of the filter's modes,
# and rank 2 alone stops.
proc set_mode {always match} {
    dset TV::dlopen_recalculate_on_match $match
    dset TV::dlopen_always_recalculate $always
}
dgo
dwait -ranks 4
set_mode true ""
foreach library {slow medium fast} condition {{$rdi == 2} {$rank == 2} {$rdi == 2 && $rank == 2}} {
    set point($library) [dfocus gSr0 [list dbreak -pending lib$library.so`plug -t -if $condition]]
    check_match {ac $point($library)} "*(pending)*"
}
set ranks pWr0-3
set loaded [dfocus gSr0 {dbreak loaded -t}]
foreach library {slow medium fast} next {{false */libmedium.so} {false ""} {true ""}} {
    dfocus $ranks dcont
    check {count breakpoint($ranks)} "4 4"
    check {string match "*(pending)*" [ac $point($library)]} 0
    check_match {dfocus tr2.1 {dstatus -group_by function}} "*loaded*"
    set_mode {*}$next
    dfocus tr2.1 dcont
    check_match {dfocus tr2.1 {dstatus -group_by function}} "*plug*"
}
quit -kill 0
