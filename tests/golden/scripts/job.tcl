goto 61ms
info processes
info libraries *libm*
goto end
info libraries
where
info workers
info barrier
info mpi
