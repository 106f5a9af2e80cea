! A ring of ranks that exchange messages with both neighbours. Rank 1 stops doing so, and says that it is there.
program halo
  use mpi
  implicit none
  integer :: rank, ranks, left, right, requests(4), sent, received(2), round, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  sent = rank
  do round = 0, 9
    if (rank == 1 .and. round == 3) then
      print '(a)', 'rank 1 is there'
      flush (6)
      call sleep(600)
    end if
    call MPI_Irecv(received(1), 1, MPI_INTEGER, left, 10 + round, MPI_COMM_WORLD, requests(1), error)
    call MPI_Irecv(received(2), 1, MPI_INTEGER, right, 20 + round, MPI_COMM_WORLD, requests(2), error)
    call MPI_Isend(sent, 1, MPI_INTEGER, right, 10 + round, MPI_COMM_WORLD, requests(3), error)
    call MPI_Isend(sent, 1, MPI_INTEGER, left, 20 + round, MPI_COMM_WORLD, requests(4), error)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
  end do
  call MPI_Finalize(error)
end program halo
