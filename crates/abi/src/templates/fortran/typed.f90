== add
  call begin_{T}(100)
  call routine(value_{T}, {one} * 5, next)
  call finish_{T}(name, 105)
== fadd
  call begin_{T}(100)
  call expect(routine(value_{T}, {one} * 5, next) == 100, name)
  call finish_{T}(name, 105)
== inc
  call begin_{T}(100)
  call routine(value_{T}, next)
  call finish_{T}(name, 101)
== finc
  call begin_{T}(100)
  call expect(routine(value_{T}, next) == 100, name)
  call finish_{T}(name, 101)
== cswap
  call begin_{T}(100)
  call expect(routine(value_{T}, {one} * 99, {one} * 7, next) == 100, name)
  call expect(routine(value_{T}, {one} * 100, {one} * 8, next) == 100, name)
  call finish_{T}(name, 8)
== swap
  call begin_{T}(100)
  call expect(routine(value_{T}, {one} * (-9), next) == 100, name)
  call finish_{T}(name, -9)
== fetch
  call begin_{T}(100 + me)
  call expect(routine(value_{T}, next) == 100 + next, name)
  call finish_{T}(name, 100 + me)
== set
  call begin_{T}(100)
  call routine(value_{T}, {one} * (-10), next)
  call finish_{T}(name, -10)
== wait
  call begin_{T}(100)
  if (me == 0) call pass_{T}({one} * 3)
  call routine(value_{T}, {one} * 100)
  call expect(value_{T} == 3, name)
  if (me /= 0) call pass_{T}({one} * 3)
  call finish_{T}(name, 3)
== wait_until
  call begin_{T}(100)
  if (me == 0) call pass_{T}({one} * 203)
  call routine(value_{T}, SHMEM_CMP_GE, {one} * 101)
  call expect(value_{T} == 203, name)
  if (me /= 0) call pass_{T}({one} * 203)
  call finish_{T}(name, 203)
== and
  call reduce_{T}(routine, [not(ishft({one}, me)), {one} * 6])
  call expect(all(into_{T} == [not(ishft({one}, n_pes) - 1), {one} * 6]), name)
== or
  call reduce_{T}(routine, [ishft({one}, me), {one} * 6])
  call expect(all(into_{T} == [ishft({one}, n_pes) - 1, {one} * 6]), name)
== xor
  call reduce_{T}(routine, [ishft({one}, me), {one} * 6])
  call expect(all(into_{T} == [ishft({one}, n_pes) - 1, {one} * 6 * mod(n_pes, 2)]), name)
== max
  call reduce_{T}(routine, [{one} * me, -{one} * me])
  call expect(all(into_{T} == [n_pes - 1, 0]), name)
== min
  call reduce_{T}(routine, [{one} * me, -{one} * me])
  call expect(all(into_{T} == [0, 1 - n_pes]), name)
== sum
  call reduce_{T}(routine, [{one} * me, -{one}])
  call expect(all(into_{T} == [{one} * (n_pes * (n_pes - 1) / 2), -{one} * n_pes]), name)
== prod
  call reduce_{T}(routine, [{one} * 2, -{one}])
  call expect(all(into_{T} == [{one} * 2**n_pes, (-{one})**n_pes]), name)
== common
! The value of the next PE is `start`.
subroutine begin_{T}(start)
  integer start
  value_{T} = start
  call shmem_barrier_all
end

! That of this PE is `value`, as the one before it did the same.
subroutine finish_{T}(name, value)
  character(*) name
  integer value
  call shmem_barrier_all
  call expect(value_{T} == value, name)
  call shmem_barrier_all
end

! Puts a value to the next PE; from PE 0 on, each does when it has that of the one before.
subroutine pass_{T}(value)
  {type} value
  call shmem_putmem(value_{T}, value, storage_size(value) / 8, next)
end

subroutine reduce_{T}(routine, values)
  external routine
  {type} values(2)
  {type}, save :: work(2)
  source_{T} = values
  into_{T} = 77
  call shmem_barrier_all
  call routine(into_{T}, source_{T}, 2, 0, 0, n_pes, work, psync)
  call shmem_barrier_all
end
