! Calls every routine of the module shmem, and checks what it does.
module testing
  use shmem
  implicit none
  integer :: me, n_pes, next, before, failures = 0
  integer, volatile :: flag
  integer(c_long) :: lock = 0
  integer(c_int64_t), volatile :: signal
  ! Of the elements 1 to 4, the second and the fourth are waited for.
  integer, parameter :: status(4) = [1, 0, 1, 0]
  integer(c_size_t) :: indices(4), found
  type(shmem_ctx_t) :: ctx
{variables}
contains

subroutine expect(holds, name)
  logical, intent(in) :: holds
  character(*), intent(in) :: name
  if (.not. holds) then
    print '(a, i0, 2a)', 'PE ', me, ': wrong: ', name
    failures = failures + 1
  end if
end

! The elements that a PE sends. None is -1, which no element is that is not sent.
elemental integer function of(pe, i)
  integer, intent(in) :: pe, i
  of = mod(i * 7 + pe * 31, 127)
end

subroutine complete
  call shmem_quiet(ctx)
  call shmem_quiet
  call shmem_barrier_all
end

subroutine setup
  integer :: provided, major, minor
  character(SHMEM_MAX_NAME_LEN) :: name
  character(3) :: short
  call shmem_query_initialized(provided)
  call expect(provided == 0, 'shmem_query_initialized')
  call expect(shmem_init_thread(SHMEM_THREAD_FUNNELED, provided) == 0, 'shmem_init_thread')
  call expect(provided >= SHMEM_THREAD_FUNNELED, 'shmem_init_thread')
  ! The program's references are counted.
  call shmem_init
  call shmem_finalize
  call shmem_query_thread(major)
  call expect(major == provided, 'shmem_query_thread')
  call shmem_query_initialized(provided)
  call expect(provided == 1, 'shmem_query_initialized')
  call shmem_info_get_version(major, minor)
  call expect(major == SHMEM_MAJOR_VERSION .and. minor == SHMEM_MINOR_VERSION, 'shmem_info_get_version')
  call shmem_info_get_name(name)
  call expect(name == SHMEM_VENDOR_STRING, 'shmem_info_get_name')
  call shmem_info_get_name(short)
  call expect(short == SHMEM_VENDOR_STRING(1:3), 'shmem_info_get_name, cut')
  call shmem_pcontrol(1)
end

subroutine teams
  type(shmem_team_t) :: team, column, row
  type(shmem_team_config_t) :: config
  type(shmem_ctx_t) :: of_team
  integer :: root
  call expect(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me, 'shmem_team_my_pe')
  call expect(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, config_mask=0_c_long, new_team=team) == 0, &
    'shmem_team_split_strided')
  call expect(logical(team /= SHMEM_TEAM_INVALID .and. .not. team == SHMEM_TEAM_WORLD), 'operators of teams')
  call expect(shmem_team_n_pes(team) == n_pes, 'shmem_team_n_pes')
  call expect(shmem_team_translate_pe(team, next, SHMEM_TEAM_WORLD) == next, 'shmem_team_translate_pe')
  config%num_contexts = 2
  call expect(shmem_team_split_2d(team, n_pes, config, SHMEM_TEAM_NUM_CONTEXTS, row, config, 0_c_long, column) == 0, &
    'shmem_team_split_2d')
  config%num_contexts = 0
  call expect(shmem_team_get_config(row, SHMEM_TEAM_NUM_CONTEXTS, config) == 0, 'shmem_team_get_config')
  call expect(config%num_contexts == 2, 'shmem_team_get_config')
  call expect(shmem_team_n_pes(row) == n_pes .and. shmem_team_n_pes(column) == 1, 'shmem_team_split_2d')
  call expect(shmem_team_create_ctx(row, 0_c_long, of_team) == 0, 'shmem_team_create_ctx')
  call expect(shmem_ctx_get_team(of_team, column) == 0, 'shmem_ctx_get_team')
  call expect(logical(column == row), 'shmem_ctx_get_team')
  call shmem_ctx_destroy(of_team)
  call expect(c_associated(shmem_team_ptr(team, flag, me), shmem_ptr(flag, me)), 'shmem_team_ptr')
  call expect(shmem_team_sync(team) == 0 .and. shmem_sync(team) == 0, 'shmem_sync')
  call shmem_sync_all
  root = shmem_broadcastmem(team, flag, flag, 0, 0)
  call shmem_team_destroy(team)
end

subroutine contexts
  type(shmem_ctx_session_config_t) :: config
  call expect(shmem_ctx_create(SHMEM_CTX_PRIVATE, ctx) == 0, 'shmem_ctx_create')
  call expect(logical(ctx /= SHMEM_CTX_INVALID .and. .not. ctx == SHMEM_CTX_DEFAULT), 'operators of contexts')
  config%total_ops = 4
  call shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, config, SHMEM_CTX_SESSION_TOTAL_OPS)
  call shmem_ctx_session_stop(ctx)
  call shmem_ctx_session_start(ctx, 0_c_long, config_mask=0_c_long)
  call shmem_ctx_session_stop(ctx)
end

subroutine memory
  type(c_ptr) :: block, blocks(4)
  integer, pointer :: elements(:), theirs
  integer :: on_stack, i
  blocks(1) = shmem_malloc(100_c_size_t)
  blocks(2) = shmem_calloc(25_c_size_t, 4_c_size_t)
  blocks(3) = shmem_align(4096_c_size_t, 100_c_size_t)
  blocks(4) = shmem_malloc_with_hints(100_c_size_t, SHMEM_MALLOC_SIGNAL_REMOTE)
  block = shmem_realloc(shmem_malloc(8_c_size_t), 100_c_size_t)
  call expect(mod(transfer(blocks(3), 0_c_intptr_t), 4096_c_intptr_t) == 0, 'shmem_align')
  call c_f_pointer(blocks(2), elements, [25])
  call expect(all(elements == 0), 'shmem_calloc')
  do i = 1, 4
    call c_f_pointer(blocks(i), elements, [25])
    elements = me
    call shmem_barrier_all
    call shmem_put(elements, elements(2:3), 1, next)
    call shmem_barrier_all
    call expect(elements(1) == before, 'shmem_malloc')
    call shmem_free(blocks(i))
  end do
  call shmem_free(block)
  call expect(shmem_pe_accessible(next) == 1 .and. shmem_pe_accessible(n_pes) == 0, 'shmem_pe_accessible')
  call expect(shmem_addr_accessible(flag, next) == 1 .and. shmem_addr_accessible(on_stack, next) == 0, &
    'shmem_addr_accessible')
  flag = me
  call shmem_barrier_all
  block = shmem_ptr(flag, next)
  ! There is none for a PE of another host.
  if (c_associated(block)) then
    call c_f_pointer(block, theirs)
    call expect(theirs == next, 'shmem_ptr')
  end if
  call shmem_barrier_all
end

! Adds to a counter of PE 0 under the lock.
subroutine locks
  integer :: i
  flag = 0
  call shmem_barrier_all
  do i = 1, 10
    if (mod(i, 2) == 0) then
      call shmem_set_lock(lock)
    else
      do while (shmem_test_lock(lock) /= 0)
      end do
    end if
    call shmem_p(flag, shmem_g(flag, 0) + 1, 0)
    call shmem_clear_lock(lock)
  end do
  call shmem_barrier_all
  if (me == 0) call expect(flag == 10 * n_pes, 'shmem_set_lock')
end

subroutine signals
  signal = 0
  call shmem_barrier_all
  call shmem_signal_set(signal, 5_c_int64_t, next)
  call expect(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 5_c_int64_t) == 5, 'shmem_signal_wait_until')
  call shmem_barrier_all
  call shmem_signal_add(ctx, signal, 2_c_int64_t, next)
  call expect(shmem_signal_wait_until(signal, SHMEM_CMP_GT, 6_c_int64_t) == 7, 'shmem_signal_add')
  call shmem_barrier_all
  call shmem_signal_set(ctx, signal, 0_c_int64_t, next)
  call shmem_fence(ctx)
  call shmem_fence
  call shmem_pe_quiet([next], 1)
  call shmem_pe_quiet([next, me], 2_c_size_t)
  call shmem_pe_quiet(ctx, [next], 1)
  call shmem_pe_quiet(ctx, [next, me], 2_c_size_t)
  call shmem_barrier_all
  call expect(shmem_signal_fetch(signal) == 0, 'shmem_signal_fetch')
  call shmem_barrier_all
  call shmem_signal_add(signal, 3_c_int64_t, next)
  call shmem_wait_until_all(into_int64, 0, cmp=SHMEM_CMP_EQ, cmp_value=9_c_int64_t)
  call expect(shmem_signal_wait_until(signal, SHMEM_CMP_NE, 0_c_int64_t) == 3, 'shmem_signal_add')
  call shmem_barrier_all
end

! Untyped routines take what no type of C is; and what a routine gets may be of any rank.
subroutine shapes
  type pair
    integer :: first
    character(4) :: second
  end type
  type(pair), save :: pairs(2)
  character(5), save :: texts(2)
  logical, save :: switches(2, 2)
  complex(8), allocatable :: none(:)
  pairs = pair(0, '')
  texts = ''
  switches = .false.
  call shmem_barrier_all
  call shmem_putmem(pairs(2), pair(me, 'text'), storage_size(pairs) / 8, next)
  call shmem_putmem(texts(2), 'of ' // achar(48 + me), 4, next)
  call shmem_put32(switches(:, 2), [.true., .true.], 2, next)
  allocate(none(0))
  call shmem_put(into_complexd, none, 0, next)
  call shmem_barrier_all
  call expect(pairs(1)%first == 0 .and. pairs(2)%first == before .and. pairs(2)%second == 'text', 'a derived type')
  call expect(texts(2) == 'of ' // achar(48 + before), 'a text')
  call expect(all(switches(:, 2)) .and. .not. any(switches(:, 1)), 'logicals')
end

{tests}
end module

program every_interface
  use testing
  implicit none
  call setup
  me = shmem_my_pe()
  n_pes = shmem_n_pes()
  next = mod(me + 1, n_pes)
  before = mod(me + n_pes - 1, n_pes)
  call contexts
  call teams
  call memory
  call locks
  call signals
  call shapes
{calls}
  if (command_argument_count() > 0) call shmem_global_exit(7)
  call shmem_ctx_destroy(ctx)
  call shmem_finalize
  if (failures > 0) stop 1
  if (me == 0) print '(a)', 'every interface: passed'
end
== shmem_put
  call begin_{T}
  call {name}({ctx}into_{T}(2), from_{T}(3:), {3}, next)
  call expect_{T}(2, before, 3, 3)
  call finish_{T}(routine)
== shmem_put_signal
  call begin_{T}
  call {name}({ctx}into_{T}(2), from_{T}(3:), {3}, signal, 5_c_int64_t, SHMEM_SIGNAL_OP_ADD, next)
  call expect(shmem_signal_wait_until(signal, SHMEM_CMP_NE, 0_c_int64_t) == 5, routine)
  call expect_{T}(2, before, 3, 3)
  call finish_{T}(routine)
== shmem_get
  call begin_{T}
  call {name}({ctx}into_{T}(2:), from_{T}(3), {3}, next)
  call expect_{T}(2, next, 3, 3)
  call finish_{T}(routine)
== shmem_iput
  call begin_{T}
  call {name}({ctx}into_{T}, from_{T}, {2}, {3}, {4}, next)
  call expect_{T}([1, 3, 5, 7], before, [1, 4, 7, 10], 1)
  call finish_{T}(routine)
== shmem_iget
  call begin_{T}
  call {name}({ctx}into_{T}, from_{T}, {2}, {3}, {4}, next)
  call expect_{T}([1, 3, 5, 7], next, [1, 4, 7, 10], 1)
  call finish_{T}(routine)
== shmem_ibput
  call begin_{T}
  call {name}({ctx}into_{T}, from_{T}, {3}, {4}, {2}, {3}, next)
  call expect_{T}([1, 4, 7], before, [1, 5, 9], 2)
  call finish_{T}(routine)
== shmem_ibget
  call begin_{T}
  call {name}({ctx}into_{T}, from_{T}, {3}, {4}, {2}, {3}, next)
  call expect_{T}([1, 4, 7], next, [1, 5, 9], 2)
  call finish_{T}(routine)
== shmem_p
  call start_{T}(100)
  call {name}({ctx}value_{T}, {=7}, next)
  call stop_{T}(routine, 7)
== shmem_g
  call start_{T}(100 + me)
  call expect({name}({ctx}value_{T}, next) == 100 + next, routine)
  call stop_{T}(routine, 100 + me)
== atomic
  call start_{T}(100)
  call {name}({ctx}value_{T}, {operands}next)
  call stop_{T}(routine, {after})
== atomic_fetching
  call start_{T}(100)
  call expect({name}({ctx}value_{T}, {operands}next) == 100, routine)
  call stop_{T}(routine, {after})
== atomic_nbi
  call start_{T}(100)
  call {name}({ctx}fetched_{T}, value_{T}, {operands}next)
  call stop_{T}(routine, {after})
  call expect(fetched_{T} == 100, routine)
== shmem_wait_until
  call start_{T}(100)
  call shmem_p(value_{T}, {=7}, next)
  call {name}(value_{T}, SHMEM_CMP_LT, {=8})
  call stop_{T}(routine, 7)
== shmem_test
  call start_{T}(100)
  call shmem_p(value_{T}, {=7}, next)
  do while ({name}(value_{T}, SHMEM_CMP_LE, {=7}) == 0)
  end do
  call stop_{T}(routine, 7)
== shmem_wait_until_all
  call arrive_{T}
  call {name}(into_{T}, {4}, status, SHMEM_CMP_GE, {=2})
  call expect(into_{T}(2) == 2 .and. into_{T}(4) == 4, routine)
== shmem_wait_until_all_vector
  {type}, parameter :: values(4) = [{=9}, {=2}, {=9}, {=4}]
  call arrive_{T}
  call {name}(into_{T}, {4}, status, SHMEM_CMP_EQ, values)
  call expect(into_{T}(2) == 2 .and. into_{T}(4) == 4, routine)
== shmem_test_all
  call arrive_{T}
  do while ({name}(into_{T}, {4}, status, SHMEM_CMP_GE, {=2}) == 0)
  end do
  call expect(into_{T}(2) == 2 .and. into_{T}(4) == 4, routine)
== shmem_test_all_vector
  {type}, parameter :: values(4) = [{=9}, {=2}, {=9}, {=4}]
  call arrive_{T}
  do while ({name}(into_{T}, {4}, status, SHMEM_CMP_EQ, values) == 0)
  end do
  call expect(into_{T}(2) == 2 .and. into_{T}(4) == 4, routine)
== shmem_wait_until_any
  call arrive_{T}
  call expect({name}(into_{T}, {4}, status, SHMEM_CMP_EQ, {=4}) == 3, routine)
== shmem_wait_until_any_vector
  {type}, parameter :: values(4) = [{=1}, {=9}, {=3}, {=4}]
  call arrive_{T}
  call expect({name}(into_{T}, {4}, status, SHMEM_CMP_EQ, values) == 3, routine)
== shmem_test_any
  call arrive_{T}
  do
    found = {name}(into_{T}, {4}, status, SHMEM_CMP_EQ, {=4})
    if (found /= -1) exit
  end do
  call expect(found == 3, routine)
== shmem_test_any_vector
  {type}, parameter :: values(4) = [{=1}, {=9}, {=3}, {=4}]
  call arrive_{T}
  do
    found = {name}(into_{T}, {4}, status, SHMEM_CMP_EQ, values)
    if (found /= -1) exit
  end do
  call expect(found == 3, routine)
== shmem_wait_until_some
  call arrive_{T}
  call expect({name}(into_{T}, {4}, indices, status, SHMEM_CMP_EQ, {=4}) == 1, routine)
  call expect(indices(1) == 3, routine)
== shmem_wait_until_some_vector
  {type}, parameter :: values(4) = [{=1}, {=9}, {=3}, {=4}]
  call arrive_{T}
  call expect({name}(into_{T}, {4}, indices, status, SHMEM_CMP_EQ, values) == 1, routine)
  call expect(indices(1) == 3, routine)
== shmem_test_some
  call arrive_{T}
  do while ({name}(into_{T}, {4}, indices, status, SHMEM_CMP_EQ, {=4}) == 0)
  end do
  call expect(indices(1) == 3, routine)
== shmem_test_some_vector
  {type}, parameter :: values(4) = [{=1}, {=9}, {=3}, {=4}]
  call arrive_{T}
  do while ({name}(into_{T}, {4}, indices, status, SHMEM_CMP_EQ, values) == 0)
  end do
  call expect(indices(1) == 3, routine)
== shmem_broadcast
  call begin_{T}
  call expect({name}(SHMEM_TEAM_WORLD, into_{T}, from_{T}, {5}, n_pes - 1) == 0, routine)
  call expect_{T}(1, n_pes - 1, 1, 5)
  call finish_{T}(routine)
== shmem_collect
  integer :: pe
  call begin_{T}
  call expect({name}(SHMEM_TEAM_WORLD, into_{T}, from_{T}, 1 + {me}) == 0, routine)
  do pe = 0, n_pes - 1
    call expect_{T}(1 + pe * (pe + 1) / 2, pe, 1, 1 + pe)
  end do
  call finish_{T}(routine)
== shmem_fcollect
  integer :: pe
  call begin_{T}
  call expect({name}(SHMEM_TEAM_WORLD, into_{T}, from_{T}, {3}) == 0, routine)
  do pe = 0, n_pes - 1
    call expect_{T}(1 + 3 * pe, pe, 1, 3)
  end do
  call finish_{T}(routine)
== shmem_alltoall
  integer :: pe
  call begin_{T}
  call expect({name}(SHMEM_TEAM_WORLD, into_{T}, from_{T}, {3}) == 0, routine)
  do pe = 0, n_pes - 1
    call expect_{T}(1 + 3 * pe, pe, 1 + 3 * me, 3)
  end do
  call finish_{T}(routine)
== shmem_alltoalls
  integer :: pe
  call begin_{T}
  call expect({name}(SHMEM_TEAM_WORLD, into_{T}, from_{T}, {2}, {3}, {2}) == 0, routine)
  do pe = 0, n_pes - 1
    call expect_{T}(1 + 4 * pe + [0, 2], pe, 1 + 6 * me + [0, 3], 1)
  end do
  call finish_{T}(routine)
== reduction
  call begin_{T}
  from_{T}(:2) = [{operands}]
  call expect({name}(SHMEM_TEAM_WORLD, into_{T}, from_{T}, {2}) == 0, routine)
  call expect(all(into_{T}(:3) == [{after}]), routine)
== common
subroutine begin_{T}
  integer :: i
  call shmem_barrier_all
  from_{T} = of(me, [(i, i = 1, size(from_{T}))])
  into_{T} = -1
  expected_{T} = -1
  signal = 0
  call shmem_barrier_all
end

! Elements of PE `pe` from `start` on are expected from `at` on.
elemental impure subroutine expect_{T}(at, pe, start, count)
  integer, intent(in) :: at, pe, start, count
  integer :: i
  do i = 0, count - 1
    expected_{T}(at + i) = of(pe, start + i)
  end do
end

subroutine finish_{T}(name)
  character(*), intent(in) :: name
  call complete
  call expect(all(into_{T} == expected_{T}), name)
end

! The value of the next PE is `value`.
subroutine start_{T}(value)
  integer, intent(in) :: value
  call shmem_barrier_all
  value_{T} = value
  call shmem_barrier_all
end

! That of this PE is `value`, as the one before it did the same.
subroutine stop_{T}(name, value)
  character(*), intent(in) :: name
  integer, intent(in) :: value
  call complete
  call expect(value_{T} == value, name)
end

! The elements of the next PE become 1 to 4.
subroutine arrive_{T}
  call begin_{T}
  from_{T}(:4) = [1, 2, 3, 4]
  call shmem_put(into_{T}, from_{T}, 4, next)
end
