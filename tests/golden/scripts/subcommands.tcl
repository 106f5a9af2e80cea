# a word of several commands, alone: the others are named, and not in Tcl's words
foreach word {opm info dinfo gui} {
    catch $word answer
    puts $answer
}
# Tcl's own subcommands are as they were
proc level {} {info level}
puts "[info exists answer] [info exists nothing] [level]"
catch {info level 9} answer
puts $answer
catch {opm nonsense} answer
puts $answer
opm
