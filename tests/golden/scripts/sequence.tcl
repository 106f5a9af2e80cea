puts [catch {opm sequence --print} why]
puts $why
goto 45
opm sequence --print
opm sequence
puts [catch {opm sequence} why]
puts $why
opm sequence --force --format mermaid --by rank
goto 43
opm sequence --print --by rank
goto 39
dfocus r1.2 {opm sequence --show --sync}
opm sequence --no-gen --output here.diag
foreach bad {--team --bogus {--format pdf} {--by day} {--team 0} {--print --open} {--team 77} {--output hung.tgt}} {
    puts [catch {opm sequence {*}$bad} why]
    puts $why
}
unset -nocomplain env(DISPLAY) env(WAYLAND_DISPLAY)
puts [catch {opm sequence --gui} why]
puts $why
# Drawn before each prompt: those of a script are none.
set opm opm-auto-sequence on
foreach bad {{set opm opm-auto-sequence maybe} {set opm-auto-sequence maybe} {set opm colour blue} {set a b c}} {
    puts [catch $bad why]
    puts $why
}
set opm opm-auto-sequence off
puts [set opm-graph-auto on]
puts [catch {set opm-graph-auto maybe} why]
puts $why
puts [set opm-graph-auto off]
set opm 5
puts $opm
