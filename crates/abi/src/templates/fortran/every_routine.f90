! Calls every routine of the Fortran interface, and checks what it does.
module testing
  implicit none
  include 'shmem.fh'
  integer, external :: shmem_my_pe, shmem_n_pes, shmem_swap, shmem_test_lock, my_pe, num_pes
  integer :: me, n_pes, next, before, failures = 0
  integer :: psync(SHMEM_SYNC_SIZE) = SHMEM_SYNC_VALUE
  ! Bytes, and what they should be, of elements of up to 16 bytes.
  integer(1) into(2048), from(2048), expected(2048)
  ! Work arrays may begin at any INTEGER.
  integer :: shift, shifted_psync(SHMEM_SYNC_SIZE) = SHMEM_SYNC_VALUE
  common /shifted/ shift, shifted_psync
  common /symmetric/ into, from
  integer flag, lock
  logical switch
  character(7) text
  real(16) into_real16(2), source_real16(2)
{variables}
contains

subroutine expect(holds, name)
  logical holds
  character(*) name
  if (.not. holds) then
    print '(a, i0, 2a)', 'PE ', me, ': wrong: ', name
    failures = failures + 1
  end if
end

! The bytes that a PE sends: none is -1, which no byte is that is not sent.
pure integer(1) function byte(pe, i)
  integer, intent(in) :: pe, i
  byte = int(mod(i * 7 + pe * 31, 127), 1)
end

subroutine begin
  integer i
  from = [(byte(me, i), i = 1, size(from))]
  into = -1
  expected = -1
  call shmem_barrier_all
end

subroutine finish(name)
  character(*) name
  call shmem_quiet
  call shmem_barrier_all
  call expect(all(into == expected), name)
  call shmem_barrier_all
end

! The bytes after `from` of PE `pe` are expected after `to`.
subroutine expect_copy(to, pe, start, bytes)
  integer to, pe, start, bytes, i
  expected(to + 1:to + bytes) = [(byte(pe, start + i), i = 1, bytes)]
end

subroutine put(routine, name, bytes)
  external routine
  character(*) name
  integer bytes
  call begin
  call routine(into(bytes + 1), from(2 * bytes + 1), 3, next)
  call expect_copy(bytes, before, 2 * bytes, 3 * bytes)
  call finish(name)
end

subroutine get(routine, name, bytes)
  external routine
  character(*) name
  integer bytes
  call begin
  call routine(into(bytes + 1), from(2 * bytes + 1), 3, next)
  call expect_copy(bytes, next, 2 * bytes, 3 * bytes)
  call finish(name)
end

subroutine iput(routine, name, bytes)
  external routine
  character(*) name
  integer bytes, i
  call begin
  call routine(into, from, 2, 3, 4, next)
  do i = 0, 3
    call expect_copy(2 * i * bytes, before, 3 * i * bytes, bytes)
  end do
  call finish(name)
end

subroutine iget(routine, name, bytes)
  external routine
  character(*) name
  integer bytes, i
  call begin
  call routine(into, from, 2, 3, 4, next)
  do i = 0, 3
    call expect_copy(2 * i * bytes, next, 3 * i * bytes, bytes)
  end do
  call finish(name)
end

subroutine broadcast(routine, name, bytes)
  external routine
  character(*) name
  integer bytes
  call begin
  call routine(into, from, 5, n_pes - 1, 0, 0, n_pes, psync)
  if (me /= n_pes - 1) call expect_copy(0, n_pes - 1, 0, 5 * bytes)
  call finish(name)
end

subroutine collect(routine, name, bytes)
  external routine
  character(*) name
  integer bytes, pe, at
  call begin
  call routine(into, from, 1 + me, 0, 0, n_pes, shifted_psync)
  at = 0
  do pe = 0, n_pes - 1
    call expect_copy(at, pe, 0, (1 + pe) * bytes)
    at = at + (1 + pe) * bytes
  end do
  call finish(name)
end

subroutine fcollect(routine, name, bytes)
  external routine
  character(*) name
  integer bytes, pe
  call begin
  call routine(into, from, 3, 0, 0, n_pes, psync)
  do pe = 0, n_pes - 1
    call expect_copy(3 * pe * bytes, pe, 0, 3 * bytes)
  end do
  call finish(name)
end

subroutine alltoall(routine, name, bytes)
  external routine
  character(*) name
  integer bytes, pe
  call begin
  call routine(into, from, 3, 0, 0, n_pes, psync)
  do pe = 0, n_pes - 1
    call expect_copy(3 * pe * bytes, pe, 3 * me * bytes, 3 * bytes)
  end do
  call finish(name)
end

subroutine alltoalls(routine, name, bytes)
  external routine
  character(*) name
  integer bytes, pe, i
  call begin
  call routine(into, from, 2, 3, 2, 0, 0, n_pes, psync)
  do pe = 0, n_pes - 1
    do i = 0, 1
      call expect_copy((4 * pe + 2 * i) * bytes, pe, (6 * me + 3 * i) * bytes, bytes)
    end do
  end do
  call finish(name)
end

! Adds to a counter of PE 0 under the lock.
subroutine locks
  integer i, mine, taken
  flag = 0
  ! The tickets begin anew on the way, with the carry that must not reach the other half.
  lock = ior(ishft(65533, 16), 65533)
  call shmem_barrier_all
  do i = 1, 10
    if (mod(i, 2) == 0) then
      call shmem_set_lock(lock)
    else
      do
        taken = shmem_test_lock(lock)
        if (taken == 0) exit
        call expect(taken == 1, 'shmem_test_lock')
      end do
    end if
    call shmem_get4(mine, flag, 1, 0)
    call shmem_put4(flag, mine + 1, 1, 0)
    call shmem_clear_lock(lock)
  end do
  call shmem_barrier_all
  if (me == 0) call expect(flag == 10 * n_pes, 'shmem_set_lock')
end

subroutine memory
  real block(*)
  pointer (address, block)
  integer(8) kept
  integer code
  call shpalloc(address, 0, code, 0)
  call expect(code == -1, 'SHPALLOC of nothing')
  call shpalloc(address, 100, code, 1)
  call expect(code == 0, 'SHPALLOC')
  block(100) = me
  call shmem_barrier_all
  call shmem_real_put(block(1), block(100), 1, next)
  call shmem_barrier_all
  call expect(block(1) == before, 'SHPALLOC is symmetric')
  kept = address
  call shpclmove(address, 1000000, code, 1)
  call expect(merge(1, 0, address /= kept) == code, 'SHPCLMOVE')
  call expect(block(1) == before .and. block(100) == me, 'SHPCLMOVE keeps what is there')
  call shpclmove(address, -1, code, 0)
  call expect(code == -1, 'SHPCLMOVE to nothing')
  call shpdeallc(address, code, 1)
  call expect(code == 0, 'SHPDEALLC')
  kept = loc(code)
  call shpdeallc(kept, code, 0)
  call expect(code == -3, 'SHPDEALLC of another address')
end

subroutine pointers
  integer theirs, on_stack
  pointer (address, theirs)
  call expect(shmem_pe_accessible(next) .and. .not. shmem_pe_accessible(n_pes), 'shmem_pe_accessible')
  call expect(shmem_addr_accessible(flag, next) .and. .not. shmem_addr_accessible(on_stack, next), &
    'shmem_addr_accessible')
  flag = me
  call shmem_barrier_all
  address = shmem_ptr(flag, next)
  ! It is 0 for a PE of another host.
  if (address /= 0) call expect(theirs == next, 'shmem_ptr')
  if (next == me) call expect(address == loc(flag), 'shmem_ptr')
  call shmem_barrier_all
  call expect(shmem_swap(flag, 50 + me, next) == next, 'shmem_swap')
  call shmem_barrier_all
  call expect(flag == 50 + before, 'shmem_swap')
end

subroutine waits
  flag = 0
  call shmem_barrier(0, 0, n_pes, psync)
  call shmem_put4(flag, 1, 1, next)
  call shmem_fence
  call shmem_put4(flag, 2, 1, next)
  call shmem_wait(flag, 0)
  call shmem_wait_until(flag, SHMEM_CMP_EQ, 2)
  call shmem_barrier(0, 0, n_pes, shifted_psync)
end

! Arguments with a hidden length, and one of another type than the other calls have.
subroutine texts
  character(SHMEM_MAX_NAME_LEN) name
  character(3) short
  integer major, minor
  text = 'of ' // achar(48 + me)
  switch = .false.
  call shmem_barrier_all
  call shmem_logical_put(switch, .true., 1, next)
  call shmem_character_get(short, text(4:), 1, next)
  call expect(short(1:1) == achar(48 + next), 'shmem_character_get')
  call shmem_barrier_all
  call expect(switch, 'shmem_logical_put')
  call shmem_info_get_name(name)
  call expect(name == SHMEM_VENDOR_STRING, 'shmem_info_get_name')
  call shmem_info_get_name(short)
  call expect(short == SHMEM_VENDOR_STRING(1:3), 'shmem_info_get_name, cut')
  call shmem_info_get_version(major, minor)
  call expect(major == SHMEM_MAJOR_VERSION .and. minor == SHMEM_MINOR_VERSION, 'shmem_info_get_version')
end

subroutine real16s
  real(16), save :: work(2)
  real(16), parameter :: third = 1 / 3.0_16
  external shmem_real16_max_to_all, shmem_real16_min_to_all, shmem_real16_sum_to_all, shmem_real16_prod_to_all
  source_real16 = [third * me, -third]
  call shmem_barrier_all
  call shmem_real16_max_to_all(into_real16, source_real16, 2, 0, 0, n_pes, work, psync)
  call expect(all(into_real16 == [third * (n_pes - 1), -third]), 'shmem_real16_max_to_all')
  call shmem_real16_min_to_all(into_real16, source_real16, 2, 0, 0, n_pes, work, psync)
  call expect(all(into_real16 == [0.0_16, -third]), 'shmem_real16_min_to_all')
  call shmem_real16_sum_to_all(into_real16, source_real16, 2, 0, 0, n_pes, work, psync)
  call expect(abs(into_real16(2) + third * n_pes) < 1e-30_16 * n_pes, 'shmem_real16_sum_to_all')
  call shmem_real16_prod_to_all(into_real16, source_real16, 2, 0, 0, n_pes, work, psync)
  call expect(abs(into_real16(2) - (-third)**n_pes) < 1e-30_16, 'shmem_real16_prod_to_all')
end

{typed}
end module

program every_routine
  use testing
  implicit none
{externals}
  call start_pes(0)
  call shmem_init
  me = shmem_my_pe()
  n_pes = shmem_n_pes()
  next = mod(me + 1, n_pes)
  before = mod(me + n_pes - 1, n_pes)
  call expect(my_pe() == me .and. num_pes() == n_pes, 'my_pe, num_pes')
  call locks
  call memory
  call pointers
  call waits
  call texts
  call real16s
  call shmem_set_cache_inv
  call shmem_clear_cache_inv
  call shmem_set_cache_line_inv(flag)
  call shmem_clear_cache_line_inv(flag)
  call shmem_udcflush
  call shmem_udcflush_line(flag)
{calls}
  if (command_argument_count() > 0) call shmem_global_exit(7)
  call shmem_finalize
  if (failures > 0) stop 1
  if (me == 0) print '(a)', 'every routine: passed'
end
