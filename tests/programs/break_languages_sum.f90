! Its symbol is fortran_sum_.
integer function fortran_sum(x, y)
  integer, intent(in) :: x, y
  fortran_sum = x + y
end function fortran_sum
