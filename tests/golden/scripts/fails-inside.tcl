next
foreach n {1 2 3} {
    next
    find mpi_enter nothing=1
}
