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
dfocus 1.2 {opm sequence --show --sync}
opm sequence --no-gen --output here.diag
foreach bad {--team --bogus {--format pdf} {--by day} {--team 0} {--print --open} {--team 77} {--output hung.tgt}} {
    puts [catch {opm sequence {*}$bad} why]
    puts $why
}
