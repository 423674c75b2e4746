//! Every algorithm of every collective over threads: alone at the limits of sizes, in random
//! sequences, in two groups at once, and the bytes that it moves.

mod alltoall;
mod broadcast;
mod collect;
mod gather;
mod intergroup;
mod mixed;
mod reduce_parts;
mod reproducible;
mod scan;
mod sockets;
mod sum;
mod traffic;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex};

use ferroshmem_core::group::threads::{Array, Member, run};
use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_core::wait::POLICY;
use ferroshmem_layout::RING_BYTES;
use ferroshmem_tuning::{Choice, Collective, DecisionTable, EAGER};

/// Numbers of members: all small ones, powers of two and their neighbours.
const SIZES: [usize; 9] = [1, 2, 3, 4, 5, 7, 8, 13, 16];
/// Bytes around the limits of the algorithms.
const BYTES: [usize; 10] = [0, 1, 7, 8, RING_BYTES, RING_BYTES + 8, EAGER - 1, EAGER, EAGER + 1, MOST];
/// Most bytes of one member's block.
const MOST: usize = 40_000;
/// The value of bytes that no member may write.
const UNTOUCHED: u8 = 0xA5;
/// Bytes behind each array that are looked at.
const GUARD: usize = 64;

/// One call as all members make it.
#[derive(Debug, Clone, Copy)]
struct TestCall {
    collective: Collective,
    choice: Choice,
    barrier: Choice,
    /// Of a block, in bytes.
    bytes: usize,
    root: usize,
    in_place: bool,
    /// Makes the data of one call differ from the next's.
    salt: usize,
}

impl TestCall {
    fn decisions(&self) -> DecisionTable {
        DecisionTable::fixed(self.collective, self.choice).with(Collective::Barrier, self.barrier)
    }

    /// Makes the call and checks its result; bytes that it read and wrote for this member.
    fn check(&self, arrays: &Arrays, member: &Member) -> (usize, usize) {
        let decisions = self.decisions();
        let group = member.group(&decisions);
        self.check_on(arrays, &group);
        group.traffic().total()
    }

    /// The same; bytes and flags that crossed between sockets.
    fn crossed(&self, arrays: &Arrays, member: &Member) -> (usize, usize) {
        let decisions = self.decisions();
        let group = member.group(&decisions);
        self.check_on(arrays, &group);
        group.traffic().crossed()
    }

    fn check_on(&self, arrays: &Arrays, group: &Group<'_>) {
        match self.collective {
            Collective::Barrier => group.sync(),
            Collective::Reduce => sum::check(arrays, group, self),
            Collective::Broadcast => broadcast::check(arrays, group, self),
            Collective::Collect => collect::check_collect(arrays, group, &self.apart()),
            Collective::Fcollect => collect::check_fcollect(arrays, group, &self.apart()),
            Collective::Alltoall => alltoall::check(arrays, group, &self.apart()),
            Collective::Alltoalls => alltoall::check_strided(arrays, group, &self.apart()),
            Collective::Scan => scan::check(arrays, group, self),
        }
    }

    /// The same not in place: for collectives that cannot be.
    fn apart(&self) -> Self {
        Self { in_place: false, ..*self }
    }
}

/// The members' sources and destinations.
struct Arrays {
    source: Array<u64>,
    dest: Array<u64>,
    /// Where that ends in each member's source and destination which may differ from [`UNTOUCHED`].
    ends: Vec<[AtomicUsize; 2]>,
    /// The last sum, by its call's salt and bytes.
    sum: Mutex<(SumKey, Arc<[u8]>)>,
}

type SumKey = (usize, usize);

impl Arrays {
    /// Arrays of `bytes` bytes for each of `size` members, and the guards behind.
    fn new(size: usize, bytes: usize) -> Self {
        let n = (bytes + GUARD).div_ceil(8);
        Self {
            source: Array::new(size, n),
            dest: Array::new(size, n),
            ends: (0..size).map(|_| [n * 8, n * 8].map(AtomicUsize::new)).collect(),
            sum: Mutex::new(((0, 0), [].into())),
        }
    }

    fn array(&self, call: &TestCall) -> &Array<u64> {
        if call.in_place { &self.source } else { &self.dest }
    }

    /// A member's own source.
    fn source(&self, me: usize) -> &mut [u8] {
        bytes_of(self.source.of(me))
    }

    /// A member's own destination, which is its source in place.
    fn dest(&self, call: &TestCall, me: usize) -> &mut [u8] {
        bytes_of(self.array(call).of(me))
    }

    /// Destinations and sources as elements.
    fn addresses<T>(&self, call: &TestCall, me: usize) -> (MemberAddresses<'static, T>, MemberAddresses<'static, T>) {
        let cast = |array: &Array<u64>| {
            let addresses = array.addresses(me);
            let step = addresses.of(1).addr() - addresses.of(0).addr();
            MemberAddresses::at_stride(addresses.of(me).cast(), step as isize, me)
        };
        (cast(self.array(call)), cast(&self.source))
    }

    /// Makes the arrays ready: `data` in the source, nothing else in the destination.
    fn prepare(&self, call: &TestCall, me: usize, data: &[u8]) {
        let [source_end, dest_end] = &self.ends[me];
        if !call.in_place {
            self.dest(call, me)[..dest_end.swap(0, Relaxed)].fill(UNTOUCHED);
        }
        let (source, behind) = self.source(me).split_at_mut(data.len());
        source.copy_from_slice(data);
        let last = source_end.swap(data.len(), Relaxed);
        behind[..last.saturating_sub(data.len())].fill(UNTOUCHED);
    }

    /// Checks what the call has left: `result` in the destination and nothing behind it, the
    /// source as it was.
    fn check(&self, call: &TestCall, me: usize, data: &[u8], result: &[u8]) {
        let (dest, behind) = self.dest(call, me).split_at(result.len());
        if dest != result {
            let at = dest.iter().zip(result).position(|(a, b)| a != b).unwrap();
            panic!("byte {at} of {} is {:#x}, not {:#x}: member {me}, {call:?}", result.len(), dest[at], result[at]);
        }
        let [source_end, dest_end] = &self.ends[me];
        let end = if call.in_place { source_end } else { dest_end };
        end.fetch_max(result.len(), Relaxed);
        if !call.in_place {
            let behind = &behind[..behind.len().min(GUARD)];
            assert!(behind.iter().all(|b| *b == UNTOUCHED), "behind: {call:?}");
            assert!(&self.source(me)[..data.len()] == data, "source: {call:?}");
        }
    }
}

fn bytes_of(array: &mut [u64]) -> &mut [u8] {
    // SAFETY: the same memory; every byte is a value.
    unsafe { std::slice::from_raw_parts_mut(array.as_mut_ptr().cast(), size_of_val(array)) }
}

/// `bytes` bytes, at most 64 KiB, that are those of number `which` in a call alone.
fn data(call: &TestCall, which: usize, bytes: usize) -> &'static [u8] {
    /// Numbers of data; each begins at another byte of the table.
    const NUMBERS: usize = 1 << 16;
    static TABLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut random = Random::new(1);
        let words = (0..2 * NUMBERS / 8).map(|_| random.next().to_le_bytes());
        words.flatten().collect()
    });
    let mut random = Random::new((call.salt * 1000 + which) as u64);
    &TABLE[random.below(NUMBERS)..][..bytes]
}

/// Calls of `collective` by each of its algorithms, for each of `bytes`, with the barriers in turn: over some sizes,
/// each algorithm and each length have each barrier.
fn calls(collective: Collective, bytes: &[usize], size: usize) -> Vec<TestCall> {
    let barriers = Collective::Barrier.choices();
    let mut all = Vec::new();
    for (number, &choice) in collective.choices().iter().enumerate() {
        for (place, &bytes) in bytes.iter().enumerate() {
            let salt = all.len();
            all.push(TestCall {
                collective,
                choice,
                barrier: barriers[(number + place + size) % barriers.len()],
                bytes,
                root: (salt * 7 + 3) % size,
                in_place: (number + place + size / 2) % 2 == 1,
                salt,
            });
        }
    }
    all
}

/// Makes all the calls of a collective in groups of all sizes.
fn everywhere(collective: Collective) {
    for size in SIZES {
        let arrays = Arrays::new(size, longest(collective, size) * MOST);
        let calls = calls(collective, &BYTES, size);
        run_oversubscribed(size, |member| {
            for call in &calls {
                call.check(&arrays, &member);
            }
        });
    }
}

/// Length of a collective's longest array, in blocks, in a group of so many.
fn longest(collective: Collective, size: usize) -> usize {
    use Collective::{Barrier, Broadcast, Reduce, Scan};
    match collective {
        Barrier | Reduce | Broadcast | Scan => 1,
        _ => size,
    }
}

/// As [`run`], with waits as they are where PEs outnumber cores: it is many threads on few.
fn run_oversubscribed(size: usize, body: impl Fn(Member) + Sync) {
    POLICY.set(16, 2, None);
    run(size, body);
}

/// Random numbers (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
/// 2014).
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
