! Calls MPI from Fortran, as MODERN by "use mpi_f08", as OLD by mpif.h, else by "use mpi".
module numbers
#ifdef MODERN
  use mpi_f08
#elif !defined(OLD)
  use mpi
#endif
  implicit none
#ifdef OLD
  include 'mpif.h'
#endif
#ifdef MODERN
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
contains
  subroutine exchange(comm, rank, size)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: rank, size
    HANDLE(MPI_Request) :: requests(2)
    integer :: sent(3), received(3), error
    sent = rank
    call MPI_Irecv(received, 3, MPI_INTEGER, MPI_ANY_SOURCE, 3, comm, requests(1), error)
    call MPI_Isend(sent, 3, MPI_INTEGER, mod(rank + 1, size), 3, comm, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_Send(sent, 1, MPI_INTEGER, MPI_PROC_NULL, 4, comm, error)
  end subroutine exchange

  subroutine collect(comm, rank)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: rank
    integer :: error
    double precision :: value(2), total(2)
    value = rank
    call MPI_Barrier(comm, error)
    call MPI_Bcast(value, 2, MPI_DOUBLE_PRECISION, 1, comm, error)
    call MPI_Allreduce(value, total, 2, MPI_DOUBLE_PRECISION, MPI_SUM, comm, error)
    call MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_DOUBLE_PRECISION, MPI_SUM, comm, error)
    if (rank == 0) print '(F6.1)', total(1)
  end subroutine collect
end module numbers

program main
  use numbers
  implicit none
  HANDLE(MPI_Comm) :: comm
  integer :: rank, size, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comm, error)
  call exchange(MPI_COMM_WORLD, rank, size)
  call collect(comm, rank)
  call MPI_Comm_free(comm, error)
  call MPI_Finalize(error)
end program main
