//! Small collectives in one exchange, which two calls execute without a coroutine.
//!
//! Each member sends its values in the flags of all others, and is complete when it has theirs. So it has room in
//! library memory for what it gets, and reads its own values when it completes. Both rules of epochs hold: a member
//! completes when all have entered, and each of its flags has one poster.
//!
//! Values that do not fit a flag are copied to the own eager buffer, or, if they are longer, read where they are, once
//! all members have begun. Then a second exchange, of nothing, follows: when it completes, all have read them.
//!
//! A broadcast of few bytes goes through the root's ring, as the blocking one does: its root is complete at once.

use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_layout::{FLAG_BYTES, FlagValue, RING_BYTES};
use ferroshmem_simd::Operator;
use ferroshmem_tuning::{Algorithm, Collective};

use crate::broadcast::RING_MEMBERS;

/// Most members, but for broadcasts by a ring: each sends to all others, one after the other.
const MEMBERS: usize = 4;

/// Most bytes for a buffer: a second exchange takes as long as to copy more.
const COPIED: usize = 4 * FLAG_BYTES;

/// Most bytes that a member reads of others' arrays, or copies of its own: from about there on, members that share the
/// work are faster, and workers are not far.
const READ: usize = 16 << 10;

/// Elements of a part of a reduction: a multiple of these.
const PART: usize = 8;

/// What comes of the values.
#[derive(Debug, Clone, Copy)]
pub enum Combination {
    /// All blocks in the members' order; nothing, if they have no bytes.
    Blocks {
        /// Whether a member sends another block to each.
        differ: bool,
    },
    /// One combination of all.
    Reduction(&'static Operator),
    /// The value of this member.
    Broadcast(usize),
}

/// The arrays of an exchange.
#[allow(missing_docs, reason = "the names of the routines' parameters")]
#[derive(Debug, Clone, Copy)]
pub struct Arrays {
    pub dest: *mut u8,
    pub source: *const u8,
    /// Bytes that a member sends to another one.
    pub bytes: usize,
}

/// By what values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Flags,
    Buffers,
    Arrays,
    Ring,
}

/// An exchange, which may begin and end many times. Its group is always the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// C name of the routine.
    pub(super) name: &'static str,
    result: Combination,
    arrays: Arrays,
    protocol: Protocol,
}

// SAFETY: what a thread does with it, it does with the lock of its queue; the arrays are symmetric memory, which no
// thread owns.
unsafe impl Send for Exchange {}
// SAFETY: as above.
unsafe impl Sync for Exchange {}

/// Gives the addresses of the members' copies of an array of so many bytes.
pub(super) type Addresses<'a> = dyn Fn(&Group<'a>, *const u8, usize) -> MemberAddresses<'a, u8> + 'a;

impl Exchange {
    /// None if another algorithm is faster, or values do not fit: the same on all members.
    #[inline]
    pub(super) fn new(group: &Group<'_>, result: Combination, arrays: Arrays) -> Option<Self> {
        let bytes = arrays.bytes;
        let (is_aligned, blocks) = match result {
            Combination::Reduction(op) => (op.size() <= align_of::<FlagValue>(), 1),
            Combination::Blocks { differ } => (true, if differ { group.size } else { 1 }),
            Combination::Broadcast(_) => (false, 1),
        };
        let is_by_ring = || {
            matches!(result, Combination::Broadcast(_))
                && bytes <= RING_BYTES
                && group.size <= RING_MEMBERS
                && group.choose(Collective::Broadcast, bytes).algorithm == Algorithm::Eager
        };
        // Where PEs outnumber cores, each flag of more than one may take another turn of its poster.
        let members = if group.oversubscribed { 2 } else { MEMBERS };
        let fits = |times: usize, most| bytes.saturating_mul(times) <= most;
        let protocol = match () {
            () if group.size > 1 && is_by_ring() => Some(Protocol::Ring),
            () if group.size > members => None,
            () if bytes <= FLAG_BYTES && is_aligned => Some(Protocol::Flags),
            () if fits(blocks, COPIED) => Some(Protocol::Buffers),
            () => fits(group.size.saturating_sub(1).max(1), READ).then_some(Protocol::Arrays),
        };
        protocol.map(|protocol| Self { name: group.name, result, arrays, protocol })
    }

    /// Where this member's values for a member are.
    fn own(&self, member: usize) -> *const u8 {
        let block = if let Combination::Blocks { differ: true } = self.result { member } else { 0 };
        self.arrays.source.wrapping_add(block * self.arrays.bytes)
    }

    /// Sends this member's values: a number by which it goes on. None if it has to wait for room in a ring and may not.
    ///
    /// # Safety
    /// As for all methods below: the arrays are as the collective needs them.
    #[inline(never)]
    pub(super) unsafe fn begin(&self, group: &Group<'_>, may_wait: bool) -> Option<u32> {
        let bytes = self.arrays.bytes;
        if let (Protocol::Ring, Combination::Broadcast(root)) = (self.protocol, self.result) {
            // SAFETY: the caller promises that the source is readable; the bytes fit a ring.
            return unsafe { group.begin_broadcast(root, self.arrays.source, bytes, may_wait) };
        }
        let epoch = group.epoch();
        let differ = matches!(self.result, Combination::Blocks { differ: true });
        for (i, member) in others(group).enumerate() {
            let own = self.own(member);
            // SAFETY: the caller promises that the source is readable; the bytes fit a flag, or a buffer, where no
            // member reads any more.
            unsafe {
                if self.protocol == Protocol::Buffers && (differ || i == 0) {
                    let at = own.addr() - self.arrays.source.addr();
                    own.copy_to_nonoverlapping(epoch.eager(group.me).add(at), bytes);
                }
                epoch.send(member, group.me, own, if self.protocol == Protocol::Flags { bytes } else { 0 });
            }
        }
        Some(epoch.number())
    }

    /// Whether the values of all members are there, so that [`end`](Self::end) does not wait.
    pub(super) fn is_complete(&self, group: &Group<'_>, number: u32) -> bool {
        let is_there = match (self.protocol, self.result) {
            (Protocol::Ring, Combination::Broadcast(root)) => {
                root == group.me || group.is_broadcast(root, number, self.arrays.bytes)
            }
            _ => {
                let epoch = group.resume(number);
                others(group).all(|member| epoch.is_posted(member))
            }
        };
        is_there || group.has_failed()
    }

    /// Waits for the values of all members, and makes the result: the exchange that follows, which has begun, and its
    /// number.
    #[inline(never)]
    pub(super) unsafe fn end<'a>(
        &self,
        group: &Group<'a>,
        addresses: &Addresses<'a>,
        number: u32,
    ) -> Option<(Self, u32)> {
        let (me, size) = (group.me, group.size);
        let Arrays { dest, source, bytes } = self.arrays;
        let epoch = group.resume(number);
        match (self.protocol, self.result) {
            (Protocol::Ring, Combination::Broadcast(root)) if root != me => {
                // SAFETY: the caller promises room at `dest`.
                unsafe { group.end_broadcast(root, number, dest, bytes) };
                return None;
            }
            (Protocol::Ring, _) => {}
            _ if size == 1 => {}
            (protocol, _) => {
                others(group).for_each(|member| epoch.wait(member));
                let buffer = if protocol == Protocol::Buffers { COPIED } else { 0 };
                epoch.prepare_next(others(group), buffer);
            }
        }
        if bytes == 0 {
            return None;
        }
        let are_read = self.protocol == Protocol::Arrays && size > 1;
        let arrays = are_read.then(|| [dest.cast_const(), source].map(|at| addresses(group, at, bytes)));
        let own = self.own(me);
        let value = |member| match &arrays {
            _ if member == me => own,
            Some([_, sources]) => sources.of(member).cast_const().wrapping_add(own.addr() - source.addr()),
            None if self.protocol == Protocol::Flags => epoch.value(member),
            None => epoch.eager(member).cast_const().wrapping_add(own.addr() - source.addr()),
        };
        // SAFETY: the caller promises arrays as the collective needs them, and the values are there. They are aligned
        // for elements, as `new` has seen. The own block comes first: the next may be written over it.
        unsafe {
            match self.result {
                Combination::Blocks { .. } => {
                    for i in me..me + size {
                        let member = if i < size { i } else { i - size };
                        value(member).copy_to(dest.add(member * bytes), bytes);
                    }
                }
                Combination::Broadcast(root) => value(root).copy_to(dest, bytes),
                Combination::Reduction(_) if size == 1 => own.copy_to(dest, bytes),
                Combination::Reduction(op) => {
                    let n = bytes / op.size();
                    match &arrays {
                        None if size == 2 && !group.reproducible => {
                            let other = value(1 - me);
                            let (first, second) = if me == 0 { (own, other) } else { (other, own) };
                            (op.combine)(dest, first, second, n);
                        }
                        None => op.fold(group.reproducible, (&|_| dest, 1), (&value, size), n, false),
                        // Each member a part, for all: a source may be a destination.
                        Some([dests, _]) => {
                            let part = n.div_ceil(size).next_multiple_of(PART);
                            let start = (part * me).min(n);
                            let (at, n) = (start * op.size(), part.min(n - start));
                            let to = |member: usize| dests.of(member).add(at);
                            let from = |member| value(member).add(at);
                            op.fold(group.reproducible, (&to, size), (&from, size), n, false);
                        }
                    }
                }
            }
            if !are_read {
                return None;
            }
            let next = Self { protocol: Protocol::Flags, arrays: Arrays { bytes: 0, ..self.arrays }, ..*self };
            Some((next, next.begin(group, true)?))
        }
    }

    /// Executes it whole.
    pub(super) unsafe fn execute<'a>(&self, group: &Group<'a>, addresses: &Addresses<'a>) {
        // SAFETY: the caller's promises.
        unsafe {
            let mut begun = self.begin(group, true).map(|number| (*self, number));
            while let Some((exchange, number)) = begun {
                begun = exchange.end(group, addresses, number);
            }
        }
    }
}

/// The other members.
fn others(group: &Group<'_>) -> impl Iterator<Item = usize> + use<> {
    let me = group.me;
    (0..group.size).filter(move |member| *member != me)
}

#[cfg(test)]
mod tests {
    use ferroshmem_core::group::Group;
    use ferroshmem_core::group::threads::{Array, Member, run};
    use ferroshmem_layout::{FLAG_BYTES, RING_BYTES};
    use ferroshmem_simd::{Complex, Operator, ops};
    use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable, Form, RING_ENTRIES};

    use super::{Arrays, COPIED, Combination, Exchange, MEMBERS, Protocol, READ};

    const ROUNDS: u64 = 20;
    const WORD: usize = size_of::<u64>();
    /// Words of the longest array.
    const MOST: usize = MEMBERS * READ / WORD;

    fn value(member: usize, word: usize, round: u64) -> u64 {
        member as u64 * 1_000_003 + word as u64 * 31 + round
    }

    fn decisions((barrier, broadcast): (Algorithm, Algorithm)) -> DecisionTable {
        let choice = |algorithm| Choice { algorithm, form: Form::Direct };
        DecisionTable::fixed(Collective::Barrier, choice(barrier)).with(Collective::Broadcast, choice(broadcast))
    }

    /// Without and with broadcasts through the ring.
    const USUAL: (Algorithm, Algorithm) = (Algorithm::Dissemination, Algorithm::Push);
    const RING: (Algorithm, Algorithm) = (Algorithm::Dissemination, Algorithm::Eager);

    /// Each round with the next one's values from the moment at which a member has its result; the element after the
    /// result stays.
    #[test]
    fn members_exchange_their_values() {
        let add = Operator::of::<u64, ops::Sum>();
        let (same, differ) = (Combination::Blocks { differ: false }, Combination::Blocks { differ: true });
        let all = [same, differ, Combination::Reduction(add), Combination::Broadcast(0)];
        for (size, words) in
            (1..=MEMBERS).flat_map(|size| [1, 7, 14, 100, READ / WORD / size].map(|words| (size, words)))
        {
            for (combination, algorithms) in all.iter().flat_map(|all| [USUAL, RING].map(|by| (*all, by))) {
                let (all_dests, all_sources) = (Array::<u64>::new(size, MOST + 1), Array::<u64>::new(size, MOST));
                run(size, |member| {
                    let decisions = decisions(algorithms);
                    let group = member.group(&decisions);
                    let me = member.me;
                    let (dest, source) = (all_dests.addresses(me).of(me), all_sources.addresses(me).of(me));
                    let bytes = words * WORD;
                    let arrays = Arrays { dest: dest.cast(), source: source.cast_const().cast(), bytes };
                    all_dests.of(me).fill(u64::MAX);
                    let addresses = |_: &Group<'_>, array: *const u8, _| {
                        let all = if array == arrays.source { &all_sources } else { &all_dests };
                        assert_eq!(array, all.addresses(me).of(me).cast());
                        all.addresses(me).cast()
                    };
                    for round in 0..ROUNDS {
                        let root = round as usize % size;
                        let result = match combination {
                            Combination::Broadcast(_) => Combination::Broadcast(root),
                            other => other,
                        };
                        let is_in_place = matches!(combination, Combination::Reduction(_)) && round % 4 > 1;
                        let arrays = Arrays { dest: if is_in_place { source } else { dest }.cast(), ..arrays };
                        let exchange = Exchange::new(&group, result, arrays).unwrap();
                        // SAFETY: the arrays have room for as many members; the exchange uses them until its end.
                        let found = unsafe {
                            (0..size * words).for_each(|i| source.add(i).write(value(member.me, i, round)));
                            let mut begun = None;
                            match round % 5 {
                                0 => exchange.execute(&group, &addresses),
                                _ => begun = exchange.begin(&group, true).map(|number| (exchange, number)),
                            }
                            while let Some((exchange, number)) = begun {
                                while round % 2 == 1 && !exchange.is_complete(&group, number) {
                                    std::thread::yield_now();
                                }
                                begun = exchange.end(&group, &addresses, number);
                            }
                            std::slice::from_raw_parts(arrays.dest.cast::<u64>(), MOST)
                        };
                        let length = if let Combination::Blocks { .. } = combination { size * words } else { words };
                        for (i, found) in found[..length].iter().enumerate() {
                            let (member_of, word) = (i / words, i % words);
                            let right = match combination {
                                Combination::Blocks { differ: false } => value(member_of, word, round),
                                Combination::Blocks { differ: true } => {
                                    value(member_of, member.me * words + word, round)
                                }
                                Combination::Reduction(_) => (0..size).map(|m| value(m, i, round)).sum(),
                                Combination::Broadcast(_) => value(root, i, round),
                            };
                            assert_eq!(*found, right, "{exchange:?} of {size}, round {round}, element {i}");
                        }
                        assert!(is_in_place || all_dests.of(me)[length] == u64::MAX);
                    }
                });
            }
        }
    }

    /// A root that is ahead of the others has room for some broadcasts, and then none: it would have to wait.
    #[test]
    fn a_root_begins_as_many_broadcasts_as_its_ring_has_room_for() {
        let members: Vec<_> = Member::all(2, 0).collect();
        let decisions = decisions(RING);
        let [root, other] = [0, 1].map(|i| members[i].group(&decisions));
        let (mut dest, source) = ([0_u8; RING_BYTES], [7_u8; RING_BYTES]);
        let arrays = Arrays { dest: dest.as_mut_ptr(), source: source.as_ptr(), bytes: RING_BYTES };
        let exchange = Exchange::new(&root, Combination::Broadcast(0), arrays).unwrap();
        // SAFETY: the arrays are as long as said, and one thread uses them.
        unsafe {
            let begun: Vec<_> = std::iter::from_fn(|| exchange.begin(&root, false)).take(2 * RING_ENTRIES).collect();
            assert_eq!(begun.len(), RING_ENTRIES);
            let addresses = |_: &Group<'_>, _, _| unreachable!("a ring has the values");
            for number in begun {
                assert!(exchange.is_complete(&root, number));
                assert_eq!(exchange.begin(&other, false), Some(number));
                assert!(exchange.is_complete(&other, number));
                assert!(exchange.end(&other, &addresses, number).is_none());
            }
            assert!(exchange.begin(&root, false).is_some());
        }
        assert_eq!(dest, source);
    }

    /// All members choose alike, by what they all know.
    #[test]
    fn only_small_ones_are_exchanges() {
        const CENTRAL: (Algorithm, Algorithm) = (Algorithm::Central, Algorithm::Push);

        let protocol = |size: usize, algorithms, combination, bytes| {
            let all = std::sync::Mutex::new(Vec::new());
            run(size, |member| {
                let decisions = decisions(algorithms);
                let arrays = Arrays { dest: std::ptr::null_mut(), source: std::ptr::null(), bytes };
                let exchange = Exchange::new(&member.group(&decisions), combination, arrays);
                all.lock().unwrap().push(exchange.map(|exchange| exchange.protocol));
            });
            let all = all.into_inner().unwrap();
            assert!(all.iter().all(|one| *one == all[0]));
            all[0]
        };
        let (same, differ) = (Combination::Blocks { differ: false }, Combination::Blocks { differ: true });
        let from_first = Combination::Broadcast(0);
        assert_eq!(protocol(MEMBERS, USUAL, same, FLAG_BYTES), Some(Protocol::Flags));
        assert_eq!(protocol(MEMBERS, USUAL, same, FLAG_BYTES + 1), Some(Protocol::Buffers));
        assert_eq!(protocol(MEMBERS, USUAL, same, COPIED), Some(Protocol::Buffers));
        assert_eq!(protocol(MEMBERS, USUAL, same, COPIED + 1), Some(Protocol::Arrays));
        assert_eq!(protocol(2, USUAL, differ, COPIED / 2), Some(Protocol::Buffers));
        assert_eq!(protocol(MEMBERS, USUAL, differ, COPIED / MEMBERS + 1), Some(Protocol::Arrays));
        let most = READ / (MEMBERS - 1);
        for combination in [same, differ, from_first] {
            assert_eq!(protocol(MEMBERS, USUAL, combination, most), Some(Protocol::Arrays));
            assert_eq!(protocol(MEMBERS, USUAL, combination, most + 1), None);
        }
        assert_eq!(protocol(MEMBERS + 1, USUAL, same, 8), None);
        assert_eq!(protocol(2, CENTRAL, same, 8), Some(Protocol::Flags));
        assert_eq!(protocol(3, CENTRAL, same, 8), None);
        let complex = Combination::Reduction(Operator::of::<Complex<f64>, ops::Sum>());
        // A flag's value is not aligned for it.
        assert_eq!(protocol(2, USUAL, complex, 16), Some(Protocol::Buffers));
        assert_eq!(protocol(MEMBERS + 1, RING, from_first, RING_BYTES), Some(Protocol::Ring));
        assert_eq!(protocol(MEMBERS + 1, RING, from_first, RING_BYTES + 1), None);
        assert_eq!(protocol(MEMBERS, RING, from_first, RING_BYTES + 1), Some(Protocol::Arrays));
        assert_eq!(protocol(1, RING, from_first, READ + 1), None);
    }
}
