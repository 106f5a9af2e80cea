next
next 4
step
back 2
back 100
goto 10
goto 0.002
goto 3.5ms
goto 2.05ms
goto end
goto start
find omp_*
find mpi_enter call=MPI_Barrier
find -back omp_mutex_enter mutex=critical
goto 1000000
goto 60s
goto 5.005402s
info event
back
find -back mpi_enter
set e [info event -dict]
puts "kind [dict get $e kind] call [dict get $e call] peer [dict get $e peer]"
next 2
