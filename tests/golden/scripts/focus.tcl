focus
goto 44
focus rank 1 worker 3
info workers
dfocus
dfocus 0 {info mpi}
dfocus 0
info workers
where
dfocus 1.<
back
step
step
dfocus .2
find -back -worker omp_*
focus pid 2002
step
dfocus all
foreach bad {1.9 9 x 1.2.3 .1 {} 99999999999999999999} {
    puts [catch {dfocus $bad} why]
    puts $why
}
goto start
puts [catch {focus rank 0} why]
puts $why
