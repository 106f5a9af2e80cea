# What the scripts here begin with. All of it goes by events, nothing waits for a time.
proc check {what expected} {
    set got [uplevel 1 $what]
    if {$got ne $expected} {error "$what: '$got', not '$expected'"}
}
proc check_match {what pattern} {
    set got [uplevel 1 $what]
    if {![string match $pattern $got]} {error "$what: '$got' does not match '$pattern'"}
}
proc check_error {what pattern} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error"}
    if {![regexp -- $pattern $message]} {error "$what: '$message' has not '$pattern'"}
}
# The members of a set: "1.1-2, 2.1", without the counts and the p that marks numbers of processes.
proc members {set} {
    regexp {\[(.*)\]} [dptsets $set] whole list
    return [string map {p ""} $list]
}
# All threads of all processes of the group in front of before(), nothing held.
proc gather {threads} {
    dfocus gW {dbarrier before -stop_when_hit none -stop_when_done none}
    dfocus g dcont
    check {members held(g)} ""
    check {members breakpoint(g)} $threads
    ddelete 1
}
