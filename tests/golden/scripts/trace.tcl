# Errors are told where they are: in loops, in procedures, in scripts within scripts.
proc inner {x} {
    if {$x > 1} {
        next

        find mpi_enter nothing=$x
    }
}
proc outer {} {
    foreach x {1 2 3} {
        inner $x
    }
}
next
if 1 {
    eval {
        outer
    }
}
