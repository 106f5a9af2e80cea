# at every step of the protocol, there and back again
goto 9.2ms
info mpi
goto 15ms
info mpi
goto end
info mpi
goto 9.2ms
info mpi
find mpir_rank state=remote
info event
find mpir_state state=aborting
info event
