# The last moment before the job was killed, then its end.
find signal
back
info workers
info barrier
info mpi
where
goto end
info workers
info mpi
info processes
