! Arrays and derived types, to be looked at when stop_here is called.
module arrays
  implicit none
  type :: point
    real(8) :: x, y
  end type
  type, extends(point) :: named
    character(len=4) :: name
    real, allocatable :: data(:)
    type(point), pointer :: next => null()
  end type
  integer :: counter = 17
  real(8), allocatable :: global(:, :)
contains
  subroutine stop_here()
    counter = counter + 1
  end subroutine
  subroutine work(a, n, assumed, text, z)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n, 0:n)
    real(4), intent(in) :: assumed(:, 2:)
    character(len=*), intent(in) :: text
    complex(8) :: z
    integer :: i
    logical :: flag
    real(8), allocatable :: local(:), never(:)
    integer, pointer :: every_other(:)
    type(named) :: who
    character(len=:), allocatable :: deferred
    integer, target :: numbers(10)
    allocate(local(-1:3))
    local = [(i*1.5d0, i=1, 5)]
    numbers = [(i, i=1, 10)]
    every_other => numbers(10:2:-2)
    who%name = 'bob'
    allocate(who%data(2))
    who%data = [1.0, 2.0]
    who%x = 3
    who%y = 4
    deferred = 'late'
    flag = .true.
    a(1, 0) = 42
    if (n > 5) allocate(never(n))
    call stop_here()
    print *, sum(local), every_other(1), who%x, flag, deferred, text, z, assumed(1, 2), a(1, 0), allocated(never)
  end subroutine
end module
program main
  use arrays
  real(8) :: a(2, 0:2)
  real(4) :: b(3, 4)
  integer :: k
  a = 0
  b = reshape([(real(k), k=1, 12)], [3, 4])
  allocate(global(2, 3))
  global = 7
  call work(a, 2, b(:, 1:3), 'hello', (1d0, 2d0))
end program
