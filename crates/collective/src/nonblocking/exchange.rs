//! Small collectives in one exchange, which two calls execute without a coroutine: what a persistent request starts.
//!
//! Each member sends its values in the flags of all others, and is complete when it has theirs. So it has room in
//! library memory for what it gets, and reads its own values when it completes. Both rules of epochs hold: a member
//! completes when all have entered, and each of its flags has one poster.

use std::sync::atomic::{AtomicU32, Ordering};

use ferroshmem_core::group::Group;
use ferroshmem_layout::{FLAG_BYTES, FlagValue};
use ferroshmem_simd::Operator;

/// Most members: each sends to all others, one after the other.
const MEMBERS: usize = 4;

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

/// An exchange, which begins and ends many times.
#[derive(Debug)]
pub(super) struct Exchange<'g> {
    group: Group<'g>,
    result: Combination,
    arrays: Arrays,
    /// The number of its epoch.
    epoch: AtomicU32,
}

// SAFETY: what a thread does with it, it does with the lock of its queue; the arrays are symmetric memory, which no
// thread owns.
unsafe impl Send for Exchange<'_> {}
// SAFETY: as above.
unsafe impl Sync for Exchange<'_> {}

impl<'g> Exchange<'g> {
    /// None if another algorithm is faster, or values do not fit: the same on all members.
    pub(super) fn new(group: Group<'g>, result: Combination, arrays: Arrays) -> Option<Self> {
        let is_aligned = match result {
            Combination::Reduction(op) => op.size() <= align_of::<FlagValue>(),
            Combination::Blocks { .. } => true,
        };
        // Where PEs outnumber cores, each flag of more than one may take another turn of its poster.
        let members = if group.oversubscribed { 2 } else { MEMBERS };
        let is_small = group.has_slots() && group.size <= members && arrays.bytes <= FLAG_BYTES;
        (is_small && is_aligned).then(|| Self { group, result, arrays, epoch: AtomicU32::new(0) })
    }

    /// Whether there is no other member: nothing needs to be sent.
    pub(super) fn is_of_one(&self) -> bool {
        self.group.size == 1
    }

    /// The other members.
    fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.group.size).filter(|member| *member != self.group.me)
    }

    /// Where this member's values for a member are.
    fn own(&self, member: usize) -> *const u8 {
        let block = if let Combination::Blocks { differ: true } = self.result { member } else { 0 };
        self.arrays.source.wrapping_add(block * self.arrays.bytes)
    }

    /// Sends this member's values.
    ///
    /// # Safety
    /// As for all methods below: the arrays are as the collective needs them.
    pub(super) unsafe fn begin(&self) {
        let epoch = self.group.epoch();
        for member in self.others() {
            match self.arrays.bytes {
                0 => epoch.post(member, self.group.me),
                // SAFETY: the caller promises that the source is readable; the bytes fit a flag.
                bytes => unsafe { epoch.send(member, self.group.me, self.own(member), bytes) },
            }
        }
        self.epoch.store(epoch.number(), Ordering::Relaxed);
    }

    /// Whether the values of all members are there.
    pub(super) fn is_complete(&self) -> bool {
        let epoch = self.group.resume(self.epoch.load(Ordering::Relaxed));
        self.others().all(|member| epoch.is_posted(member)) || self.group.has_failed()
    }

    /// Waits for the values of all members.
    pub(super) fn wait(&self) {
        let epoch = self.group.resume(self.epoch.load(Ordering::Relaxed));
        self.others().for_each(|member| epoch.wait(member));
    }

    /// Makes the result, once the values of all members are there.
    pub(super) unsafe fn end(&self) {
        let (me, size) = (self.group.me, self.group.size);
        let Arrays { dest, bytes, .. } = self.arrays;
        let epoch = self.group.resume(self.epoch.load(Ordering::Relaxed));
        let value = |member| if member == me { self.own(me) } else { epoch.value(member) };
        // SAFETY: the caller promises arrays as the collective needs them, and that the values are there. They are
        // aligned for elements, as `new` has seen. The own block comes first: the next may be written over it.
        unsafe {
            match self.result {
                Combination::Blocks { .. } if bytes == 0 => {}
                Combination::Blocks { .. } => {
                    for member in std::iter::once(me).chain(self.others()) {
                        value(member).copy_to(dest.add(member * bytes), bytes);
                    }
                }
                Combination::Reduction(_) if size == 1 => value(me).copy_to(dest, bytes),
                Combination::Reduction(op) if size == 2 && !self.group.reproducible => {
                    (op.combine)(dest, value(0), value(1), bytes / op.size());
                }
                Combination::Reduction(op) => {
                    op.fold(self.group.reproducible, (&|_| dest, 1), (&value, size), bytes / op.size(), false);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ferroshmem_core::group::threads::run;
    use ferroshmem_simd::{Operator, ops};
    use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable, Form};

    use super::{Arrays, Combination, Exchange, MEMBERS};

    const ROUNDS: u64 = 100;

    fn value(member: usize, block: usize, round: u64) -> u64 {
        member as u64 * 1_000_003 + block as u64 * 31 + round
    }

    fn decisions(barrier: Algorithm) -> DecisionTable {
        DecisionTable::fixed(Collective::Barrier, Choice { algorithm: barrier, form: Form::Direct })
    }

    /// Each round with the next one's values from the moment at which a member has its result; the element after the
    /// result stays.
    #[test]
    fn members_exchange_their_values() {
        let add = Operator::of::<u64, ops::Sum>();
        let all =
            [Combination::Blocks { differ: false }, Combination::Blocks { differ: true }, Combination::Reduction(add)];
        for size in 1..=MEMBERS {
            for combination in all {
                run(size, |member| {
                    let decisions = decisions(Algorithm::Dissemination);
                    let (mut dest, mut source) = ([u64::MAX; MEMBERS + 1], [0; MEMBERS]);
                    let arrays = Arrays { dest: dest.as_mut_ptr().cast(), source: source.as_ptr().cast(), bytes: 8 };
                    let (dest, source) = (&raw mut dest, &raw mut source);
                    let exchange = Exchange::new(member.group(&decisions), combination, arrays).unwrap();
                    for round in 0..ROUNDS {
                        // SAFETY: the arrays have room for as many members; the exchange uses them until its end.
                        let (dest, length) = unsafe {
                            source.write(std::array::from_fn(|block| value(member.me, block, round)));
                            exchange.begin();
                            match round % 2 {
                                0 => exchange.wait(),
                                _ => {
                                    while !exchange.is_complete() {
                                        std::thread::yield_now();
                                    }
                                }
                            }
                            exchange.end();
                            match combination {
                                Combination::Blocks { .. } => (*dest, size),
                                Combination::Reduction(_) => (*dest, 1),
                            }
                        };
                        for (i, found) in dest[..length].iter().enumerate() {
                            let right = match combination {
                                Combination::Blocks { differ: false } => value(i, 0, round),
                                Combination::Blocks { differ: true } => value(i, member.me, round),
                                Combination::Reduction(_) => (0..size).map(|m| value(m, 0, round)).sum(),
                            };
                            assert_eq!(*found, right, "{combination:?} of {size}, round {round}, element {i}");
                        }
                        assert_eq!(dest[length], u64::MAX);
                    }
                });
            }
        }
    }

    /// All members choose alike, by what they all know.
    #[test]
    fn only_small_ones_are_exchanges() {
        let is_exchange = |size: usize, barrier, combination, bytes| {
            let all = std::sync::Mutex::new(Vec::new());
            run(size, |member| {
                let decisions = decisions(barrier);
                let arrays = Arrays { dest: std::ptr::null_mut(), source: std::ptr::null(), bytes };
                let is_some = Exchange::new(member.group(&decisions), combination, arrays).is_some();
                all.lock().unwrap().push(is_some);
            });
            let all = all.into_inner().unwrap();
            assert!(all.iter().all(|one| *one == all[0]));
            all[0]
        };
        let blocks = Combination::Blocks { differ: false };
        assert!(is_exchange(MEMBERS, Algorithm::Dissemination, blocks, 56));
        assert!(!is_exchange(MEMBERS, Algorithm::Dissemination, blocks, 57));
        assert!(!is_exchange(MEMBERS + 1, Algorithm::Dissemination, blocks, 8));
        assert!(is_exchange(2, Algorithm::Central, blocks, 8));
        assert!(!is_exchange(3, Algorithm::Central, blocks, 8));
        let complex = Operator::of::<ferroshmem_simd::Complex<f64>, ops::Sum>();
        assert!(!is_exchange(2, Algorithm::Dissemination, Combination::Reduction(complex), 16));
    }
}
