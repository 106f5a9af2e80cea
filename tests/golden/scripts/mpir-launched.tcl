info mpi
goto 10ms
info mpi
goto end
info mpi
info processes
info mpir
