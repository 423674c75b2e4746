! The five-point stencil on a square of points, its columns divided among the PEs; border columns are sent by puts with
! signals.
!
!     oshfort -O3 stencil.f90 -o stencil && oshrun -n 4 ./stencil [ITERATIONS [SIZE]]
!
! Each iteration replaces every inner point by the mean of its four neighbours; the border stays as it is. The square
! begins as a wave that vanishes at the border: an iteration then multiplies every point by the same factor, so each PE
! knows what its points must be in the end.
program stencil
  use shmem
  implicit none
  integer, parameter :: half_waves_down = 3, half_waves_across = 5
  real(c_double), parameter :: pi = 3.14159265358979323846_c_double
  integer(c_int64_t), save, target :: from_left = 0, from_right = 0
  integer, save, target :: wrong, all_wrong
  real(c_double), pointer, contiguous :: squares(:, :, :), old(:, :), new(:, :)
  real(c_double) :: factor, error
  type(c_ptr) :: block
  integer(c_int64_t) :: step, seen
  integer :: iterations, n, me, pes, first, columns, most, of_left, column

  iterations = argument(1, 100)
  n = argument(2, 1282)
  call shmem_init
  me = shmem_my_pe()
  pes = shmem_n_pes()
  if (n - 2 < pes) error stop 'each PE needs a column'
  first = begin(me)
  columns = begin(me + 1) - first
  of_left = first - begin(me - 1)
  most = (n - 2 + pes - 1) / pes

  ! One square is read while the other one is written. A neighbour is at most one iteration ahead, so it writes where
  ! nobody reads.
  block = shmem_malloc(2_c_size_t * n * (most + 2) * c_sizeof(factor))
  call c_f_pointer(block, squares, [n, most + 2, 2])
  do column = 1, columns + 2
    squares(:, column, 1) = wave(first + column - 2)
    squares(:, column, 2) = squares(:, column, 1)
  end do
  call shmem_barrier_all

  do step = 1, iterations
    old => squares(:, :, 2 - int(mod(step, 2_c_int64_t)))
    new => squares(:, :, 1 + int(mod(step, 2_c_int64_t)))
    if (me > 0) seen = shmem_signal_wait_until(from_left, SHMEM_CMP_GE, step - 1)
    if (me < pes - 1) seen = shmem_signal_wait_until(from_right, SHMEM_CMP_GE, step - 1)
    new(2:n - 1, 2:columns + 1) = (old(1:n - 2, 2:columns + 1) + old(3:n, 2:columns + 1) &
        + old(2:n - 1, 1:columns) + old(2:n - 1, 3:columns + 2)) / 4
    if (me > 0) then
      call shmem_put_signal(new(1, of_left + 2), new(1, 2), n, from_right, step, SHMEM_SIGNAL_OP_SET, me - 1)
    end if
    if (me < pes - 1) then
      call shmem_put_signal(new(1, 1), new(1, columns + 1), n, from_left, step, SHMEM_SIGNAL_OP_SET, me + 1)
    end if
  end do

  factor = ((cos(pi * half_waves_down / (n - 1)) + cos(pi * half_waves_across / (n - 1))) / 2)**iterations
  new => squares(:, :, 1 + mod(iterations, 2))
  wrong = 0
  do column = 2, columns + 1
    error = maxval(abs(new(:, column) - factor * wave(first + column - 2)))
    if (.not. error < 1e-9_c_double) wrong = wrong + 1
  end do
  if (shmem_sum_reduce(SHMEM_TEAM_WORLD, all_wrong, wrong, 1) /= 0) error stop 'no sum'
  if (me == 0) then
    print '(4(i0, a))', iterations, ' iterations of ', n, ' x ', n, ' points: ', all_wrong, ' columns are wrong'
  end if
  call shmem_free(block)
  if (all_wrong /= 0) call shmem_global_exit(1)
  call shmem_finalize

contains

  ! The first inner column of a PE, counted from 0, which is the border.
  pure integer function begin(pe)
    integer, intent(in) :: pe
    begin = 1 + int(int(n - 2, c_int64_t) * max(pe, 0) / pes)
  end function

  ! A column of the square at the beginning.
  function wave(column)
    integer, intent(in) :: column
    real(c_double) :: wave(n)
    integer :: row
    do row = 1, n
      wave(row) = sin(pi * half_waves_down * (row - 1) / (n - 1)) * sin(pi * half_waves_across * column / (n - 1))
    end do
  end function

  integer function argument(position, default)
    integer, intent(in) :: position, default
    character(20) :: text
    argument = default
    call get_command_argument(position, text)
    if (text /= '') read (text, *) argument
  end function
end program
