focus
goto 44
focus rank 1 worker 3
info workers
dfocus
dfocus r0 {info mpi}
dfocus r0
info workers
where
dfocus r1.<
back
step
step
dfocus .2
find -back -worker omp_*
focus pid 2002
step
dfocus all
foreach bad {r1.9 r9 9 x r1.2.3 .1 {} 99999999999999999999 {t} {r1 r9} {r1|} {(r1} gS9 held(} {
    puts [catch {dfocus $bad} why]
    puts $why
}
goto start
puts [catch {focus rank 0} why]
puts $why
dfocus all
goto 44
# Sets: all forms of arenas, lists, operators and functions.
foreach set {
    a g2 gS2 p2 pW2 t2.2 tr1.2 pL2.1 gL2.1 {r0 r1} "{p2 p3}" r0|tr1.2 p2-t2.2 g2&p2 existent(g2) running(g2) stopped(g2)
    nonexistent(g2) unheld(p2) held(p2) 1/2
} {
    puts "[dfocus $set]: [llength [info workers -list]] workers"
    dfocus all
}
foreach set {t2.2 {p1 t2.3} pL2.1 a-p3} {
    puts "== $set"
    puts [dfocus $set]
    puts [info workers]
    puts [info processes]
    dfocus all
}
# What is not there yet: nobody is in it; then it is.
dfocus tr1.2
goto start
puts [info workers]
find omp_implicit_begin
puts [info workers]
step
dfocus r2
goto start
find mpi_enter
