module sums
  implicit none
contains
  ! Its symbol is __sums_MOD_plain_sum.
  integer function plain_sum(x, y)
    integer, intent(in) :: x, y
    integer :: sum
    sum = 0
    !$omp parallel num_threads(2) reduction(+: sum)
    sum = sum + 1 ! this is __sums_MOD_plain_sum._omp_fn.0, and not what plain_sum means
    !$omp end parallel
    plain_sum = x + y + sum - sum
  end function plain_sum
end module sums

! Its symbol is fortran_sum_.
integer function fortran_sum(x, y)
  use sums
  integer, intent(in) :: x, y
  fortran_sum = same(plain_sum(x, y))
contains
  ! Its symbol is same.0, or with another number.
  integer function same(z)
    integer, intent(in) :: z
    same = z
  end function same
end function fortran_sum
