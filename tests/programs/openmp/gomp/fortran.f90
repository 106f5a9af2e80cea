! What gfortran makes of constructs where that differs from C: workshare, its own names of the lock routines,
! the old form of tasks and sections.
program fortran
  use omp_lib
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
     subroutine tell_wait(mutex, lock) bind(c)
       import
       character(kind=c_char) :: mutex(*)
       integer(c_long), value :: lock
     end subroutine
     subroutine tell_enter(mutex, lock) bind(c)
       import
       character(kind=c_char) :: mutex(*)
       integer(c_long), value :: lock
     end subroutine
     subroutine tell_leave(mutex, lock) bind(c)
       import
       character(kind=c_char) :: mutex(*)
       integer(c_long), value :: lock
     end subroutine
     subroutine tell_barrier(kind, instance) bind(c)
       import
       character(kind=c_char) :: kind(*)
       integer(c_int), value :: instance
     end subroutine
     subroutine tell_task(task) bind(c)
       import
       integer(c_long), value :: task
     end subroutine
     subroutine tell_task_end(task, how) bind(c)
       import
       integer(c_long), value :: task
       character(kind=c_char) :: how(*)
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
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer(omp_event_handle_kind) :: event
  integer(c_long) :: team, task
  integer :: a(100), i, mine, counters(4)
  counters = 0 ! one for each way of excluding others
  a = 1
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  team = log_new()
  call say_number("parallel @%ld 3"//c_null_char, team)
  !$omp parallel num_threads(3) private(i, mine, task, event)
  call tell_begin(team, 0_c_long)
  ! a static loop, as far as the compiled code goes
  call say("zone loop static"//c_null_char)
  !$omp workshare
  a = a + 1
  !$omp end workshare
  call say("end zone loop"//c_null_char)
  call tell_barrier("barrier_implicit"//c_null_char, 1)
  call tell_wait("lock"//c_null_char, 1_c_long)
  call omp_set_lock(lock)
  call tell_enter("lock"//c_null_char, 1_c_long)
  counters(1) = counters(1) + 1
  call tell_leave("lock"//c_null_char, 1_c_long)
  call omp_unset_lock(lock)
  call tell_wait("nest_lock"//c_null_char, 2_c_long)
  call omp_set_nest_lock(nest)
  call tell_enter("nest_lock"//c_null_char, 2_c_long)
  counters(2) = counters(2) + 1
  call tell_leave("nest_lock"//c_null_char, 2_c_long)
  call omp_unset_nest_lock(nest)
  call say("zone loop dynamic"//c_null_char)
  !$omp do schedule(dynamic)
  do i = 1, 100
     a(i) = a(i) + i
  end do
  !$omp end do
  call say("end zone loop"//c_null_char)
  call tell_barrier("barrier_implicit"//c_null_char, 2)
  mine = 0
  call say("arrive copyprivate 0"//c_null_char)
  !$omp single
  call say("leave copyprivate 0"//c_null_char)
  call say("zone single"//c_null_char)
  mine = 1
  task = 77
  call say("end zone single"//c_null_char)
  call say("arrive copyprivate 0"//c_null_char)
  !$omp end single copyprivate(task)
  call say("leave copyprivate 0"//c_null_char)
  if (mine == 0) then
     call say("zone single_other"//c_null_char)
     call say("end zone single_other"//c_null_char)
  end if
  call tell_barrier("barrier_implicit"//c_null_char, 3)
  ! who is still in that barrier may execute a task already, and could tell of it only behind the barrier
  call say("arrive barrier 4"//c_null_char)
  !$omp barrier
  call say("leave barrier 4"//c_null_char)
  call tell_wait("critical_named"//c_null_char, 3_c_long)
  !$omp critical (name)
  call tell_enter("critical_named"//c_null_char, 3_c_long)
  counters(3) = counters(3) + int(task)
  call tell_leave("critical_named"//c_null_char, 3_c_long)
  !$omp end critical (name)
  if (omp_get_thread_num() == 1) then
     do i = 1, 5
        task = log_new()
        call say_number("create #%ld of #0"//c_null_char, task)
        !$omp task firstprivate(task, i) shared(counters)
        call tell_task(task)
        !$omp atomic
        counters(4) = counters(4) + i
        call tell_task_end(task, "completed"//c_null_char)
        !$omp end task
     end do
     call say("arrive taskwait 0"//c_null_char)
     !$omp taskwait
     call say("leave taskwait 0"//c_null_char)
  end if
  if (omp_get_thread_num() == 2) then
     task = log_new()
     call say_number("create #%ld of #0 detachable"//c_null_char, task)
     !$omp task firstprivate(task) detach(event)
     call tell_task(task)
     call tell_task_end(task, "detached"//c_null_char)
     !$omp end task
     call say_number("end task #%ld fulfilled"//c_null_char, task)
     call omp_fulfill_event(event)
     call say("arrive taskwait 0"//c_null_char)
     !$omp taskwait
     call say("leave taskwait 0"//c_null_char)
  end if
  call say("end"//c_null_char)
  !$omp end parallel
  call say_number("end parallel @%ld"//c_null_char, team)
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  print *, sum(a), counters
end program
