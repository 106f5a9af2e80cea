# MPI capture, under both implementations where they are installed.
foreach(flavour openmpi mpich)
  tg_e2e_test(mpi_abi_${flavour} mpi_abi.py ${flavour})
  foreach(family point requests collective nonblocking communicators topologies windows files)
    tg_e2e_test(mpi_calls_${family}_${flavour} mpi_calls.py ${flavour} rings ${family})
  endforeach()
  tg_e2e_test(mpi_calls_recorded_${flavour} mpi_calls.py ${flavour} trace point requests collective nonblocking
              communicators topologies windows files)
  foreach(case linked library preloaded_behind preloaded_before recorded)
    tg_e2e_test(mpi_tool_${case}_${flavour} mpi_tool.py ${flavour} ${case})
  endforeach()
endforeach()
