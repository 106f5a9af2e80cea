! Static loops and master constructs of gfortran: for these the runtime is not called.
module told
  use iso_c_binding
  implicit none
  interface
     function log_new() bind(c)
       import
       integer(c_long) :: log_new
     end function
     subroutine tell_begin(team, parent) bind(c)
       import
       integer(c_long), value :: team, parent
     end subroutine
     subroutine tell_barrier(kind, instance) bind(c)
       import
       character(kind=c_char) :: kind(*)
       integer(c_int), value :: instance
     end subroutine
     subroutine say(text) bind(c, name="tell_text")
       import
       character(kind=c_char) :: text(*)
     end subroutine
     subroutine say_number(text, number) bind(c, name="tell_number")
       import
       character(kind=c_char) :: text(*)
       integer(c_long), value :: number
     end subroutine
  end interface
contains
  subroutine begin_loop()
    call say("zone loop static"//c_null_char)
  end subroutine
  subroutine end_loop()
    call say("end zone loop"//c_null_char)
    call tell_barrier("barrier_implicit"//c_null_char, 1)
  end subroutine
  function new_region() result(team)
    integer(c_long) :: team
    team = log_new()
    call say_number("parallel @%ld 3"//c_null_char, team)
  end function
  subroutine begin(team)
    integer(c_long), intent(in) :: team
    call tell_begin(team, 0_c_long)
  end subroutine
  subroutine end_region(team)
    integer(c_long), intent(in) :: team
    call say_number("end parallel @%ld"//c_null_char, team)
  end subroutine
end module

program inferred_fortran
  use told
  implicit none
  integer(c_long) :: team
  integer :: a(60), b(8, 8), i, j, n, total
  a = 1
  b = 0
  n = 60
  total = 0

  team = new_region()
  !$omp parallel num_threads(3) private(i)
  call begin(team)
  call begin_loop()
  !$omp do
  do i = 1, n
     a(i) = a(i) + i
  end do
  !$omp end do
  call end_loop()
  call say("end"//c_null_char)
  !$omp end parallel
  call end_region(team)

  team = new_region()
  !$omp parallel num_threads(3) private(i)
  call begin(team)
  call begin_loop()
  !$omp do schedule(static, 4)
  do i = n, 1, -1
     a(i) = a(i) + i
  end do
  !$omp end do
  call end_loop()
  call say("end"//c_null_char)
  !$omp end parallel
  call end_region(team)

  team = new_region()
  !$omp parallel num_threads(3) private(i, j)
  call begin(team)
  call begin_loop()
  !$omp do collapse(2)
  do i = 1, 8
     do j = 1, 8
        b(j, i) = b(j, i) + i * j
     end do
  end do
  !$omp end do
  call end_loop()
  call say("end"//c_null_char)
  !$omp end parallel
  call end_region(team)

  team = new_region()
  !$omp parallel num_threads(3) private(i)
  call begin(team)
  call begin_loop()
  !$omp do reduction(+ : total)
  do i = 1, n
     total = total + a(i)
  end do
  !$omp end do
  call end_loop()
  call say("end"//c_null_char)
  !$omp end parallel
  call end_region(team)

  team = new_region()
  !$omp parallel num_threads(3)
  call begin(team)
  call begin_loop()
  !$omp workshare
  a = a * 2
  !$omp end workshare
  call end_loop()
  call say("end"//c_null_char)
  !$omp end parallel
  call end_region(team)

  team = new_region()
  !$omp parallel num_threads(3)
  call begin(team)
  !$omp master
  call say("zone masked"//c_null_char)
  total = total + 1
  call say("end zone masked"//c_null_char)
  !$omp end master
  call tell_barrier("barrier"//c_null_char, 1)
  !$omp barrier
  call say("end"//c_null_char)
  !$omp end parallel
  call end_region(team)

  print *, sum(a), sum(b), total
end program
