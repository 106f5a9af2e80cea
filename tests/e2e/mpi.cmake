# MPI capture, under both implementations where they are installed.
foreach(flavour openmpi mpich)
  tg_e2e_test(mpi_abi_${flavour} mpi_abi.py ${flavour})
  foreach(family point requests collective nonblocking communicators topologies windows files)
    tg_e2e_test(mpi_calls_${family}_${flavour} mpi_calls.py ${flavour} ${family})
  endforeach()
endforeach()
