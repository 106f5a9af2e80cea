# MPIR with starters that do what real ones do not.
foreach(scenario gates layouts narrow chains oddities absurd selected strangers users killed attached refused)
  tg_e2e_test(mpir_starter_${scenario} mpir_starter.py ${scenario})
endforeach()

# MPIR with real launchers: Open MPI, MPICH, Slurm of the test's own; ranks on other hosts; the recorder killed.
foreach(case openmpi slurm attach_openmpi attach_slurm)
  tg_e2e_test(mpir_${case} mpir_launchers.py ${case})
endforeach()
# What goes through the same code again; and a killed recorder cannot say that it leaked.
if(NOT TG_SANITIZE)
  foreach(case openmpi_not_mpi spawned hosts mpich slurm_hosts killed killed_slurm killed_attached)
    tg_e2e_test(mpir_${case} mpir_launchers.py ${case})
  endforeach()
endif()
