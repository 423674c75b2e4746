//! PEs that reach each other's memory by the fabric alone, all pairs of them: what the library
//! does between nodes, without the library.

use std::env;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use ferroshmem_bootstrap::{Bootstrap, detect};
use ferroshmem_fabric::{AtomicOp, Blocks, Config, Context, Events, Fabric, Op, Remote, Width};

const MIB: usize = 1 << 20;
/// Bytes of the segment. Providers that pin memory register it in parts.
const LENGTH: usize = 64 * MIB;
/// In use at first, and later.
const READY: [usize; 2] = [MIB, 40 * MIB];
/// What each PE has of the others' segments to write to: at its number times this.
const PART: usize = 4 * MIB;
/// Words that all write to, behind the parts.
const COUNTER: usize = READY[1] - 4096;
const SIZES: [usize; 9] = [0, 1, 8, 63, 1000, 8192, 8193, 65_536, MIB + 5];

/// Events of the fabric: the failure of a PE ends this one.
struct Watch;

impl Events for Watch {
    fn peer_failed(&self, pe: usize, reason: &str) {
        eprintln!("PE {pe} is lost: {reason}");
        std::process::exit(3);
    }
    fn memory_changed(&self) {}
    fn tick(&self) {}
}

struct Pe {
    client: Box<dyn Bootstrap>,
    fabric: Fabric,
    context: Context,
    /// The segment of this PE.
    base: *mut u8,
    me: usize,
    n: usize,
}

/// A part of the test, which all PEs enter together.
type Step = fn(&Pe) -> Result<()>;

/// The argument by which this program is such a PE.
pub(crate) const ARGUMENT: &str = "--peer";

/// What a PE does.
pub(crate) fn main() -> Result<()> {
    let pe = Pe::start()?;
    let steps: [(&str, Step); 6] = [
        ("sizes", Pe::sizes),
        ("blocks", Pe::blocks),
        ("growth", Pe::growth),
        ("atomics", Pe::atomics),
        ("contention", Pe::contention),
        ("order", Pe::order),
    ];
    for (name, step) in steps {
        let started = Instant::now();
        step(&pe).map_err(|error| error.context(name))?;
        pe.barrier()?;
        if pe.me == 0 {
            println!("{name}: passed, {:.0?}", started.elapsed());
        }
    }
    pe.client.finalize();
    Ok(())
}

/// What PE `from` writes for PE `to` at this place.
fn byte(from: usize, to: usize, at: usize) -> u8 {
    (from * 31 + to * 17 + at * 7 + at / 251) as u8
}

impl Pe {
    fn start() -> Result<Self> {
        let client = detect(&ferroshmem_bootstrap::Config::default())?.ok_or_else(|| anyhow!("no launcher"))?;
        let (me, n) = (client.rank(), client.size());
        ensure!(n * PART <= COUNTER, "at most {} PEs", COUNTER / PART);
        let config =
            Config { provider: env::var("SHMEM_FABRIC").ok(), n_pes: n, spin: Duration::ZERO, ..Config::default() };
        let fabric = Fabric::open(&config, Arc::new(Watch))?;
        // SAFETY: new memory, of which nothing is there until it is touched.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                LENGTH,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        ensure!(base != libc::MAP_FAILED, "no memory");
        let base = base.cast();
        // SAFETY: it stays mapped until the process ends.
        unsafe { fabric.share(0, base, LENGTH, READY[0])? };
        let tickets = client.exchange(&fabric.address())?;
        let mut tickets = tickets.iter().map(Vec::as_slice).enumerate();
        fabric.connect(n, &mut tickets)?;
        if me == 0 {
            println!("{} by {}", fabric.name(), client.launcher());
        }
        client.barrier()?;
        let context = Context::default();
        Ok(Self { client, fabric, context, base, me, n })
    }

    fn barrier(&self) -> Result<()> {
        Ok(self.client.barrier()?)
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let (me, n) = (self.me, self.n);
        (1..n).map(move |distance| (me + distance) % n)
    }

    fn put(&self, to: usize, offset: usize, bytes: &[u8]) {
        // SAFETY: the place is in the segment; the slice is readable.
        unsafe {
            self.fabric.put(&self.context, at(to, offset), bytes.as_ptr(), bytes.len());
        }
    }

    fn get(&self, from: usize, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0xee; length];
        // SAFETY: the place is in the segment; the vector has as many bytes.
        unsafe {
            self.fabric.get(&self.context, bytes.as_mut_ptr(), at(from, offset), length);
        }
        bytes
    }

    fn fetch(&self, place: Remote, op: Op, width: Width, operand: u64, compare: u64) -> u64 {
        self.fabric.fetch(&self.context, place, AtomicOp { op, width, operand, compare })
    }

    /// A word of this PE's segment, which others change.
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: mapped, aligned, and all accesses to it are atomic.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast()) }
    }

    /// Puts and gets of all sizes, from and to memory that is not shared.
    fn sizes(&self) -> Result<()> {
        self.fabric.extend(0, READY[1])?;
        self.barrier()?;
        for length in SIZES {
            for to in self.others() {
                let start = self.me * PART + 3;
                let bytes: Vec<_> = (0..length).map(|i| byte(self.me, to, i)).collect();
                self.put(to, start, &bytes);
                self.fabric.quiet(&self.context);
                ensure!(self.get(to, start, length) == bytes, "{length} bytes to PE {to}");
            }
        }
        // What the others put here is what I see.
        self.barrier()?;
        for from in self.others() {
            for i in 0..SIZES[SIZES.len() - 1] {
                // SAFETY: in the segment, and no PE writes now.
                let seen = unsafe { self.base.add(from * PART + 3 + i).read_volatile() };
                ensure!(seen == byte(from, self.me, i), "byte {i} from PE {from}");
            }
        }
        Ok(())
    }

    /// Every third word there from every second here, and back.
    fn blocks(&self) -> Result<()> {
        const N: usize = 500;
        for to in self.others() {
            let place = at(to, self.me * PART);
            let from: Vec<u64> = (0..2 * N as u64).map(|i| i + 1000 * self.me as u64).collect();
            let mut back = vec![0_u64; N];
            // SAFETY: N blocks of 8 bytes are in the part, in the vector, and in the other one.
            unsafe {
                let s = &self.context;
                self.fabric.put_blocks(
                    s,
                    place,
                    from.as_ptr().cast(),
                    Blocks { bytes: 8, count: N, local_stride: 16, remote_stride: 24 },
                );
                self.fabric.quiet(s);
                self.fabric.get_blocks(
                    s,
                    back.as_mut_ptr().cast(),
                    place,
                    Blocks { bytes: 8, count: N, local_stride: 8, remote_stride: 24 },
                );
            }
            let right = back.iter().zip(from.iter().step_by(2)).all(|(a, b)| a == b);
            ensure!(right, "blocks at PE {to}");
        }
        Ok(())
    }

    /// What is added to the segment after others have learnt of it, over the ends of parts that
    /// providers register on their own.
    fn growth(&self) -> Result<()> {
        self.fabric.extend(0, 48 * MIB)?;
        self.barrier()?;
        for to in self.others() {
            for edge in [16 * MIB, 32 * MIB] {
                // Everybody its own bytes.
                let start = edge - 4096 + self.me * 512;
                let bytes: Vec<_> = (0..512).map(|i| byte(self.me, to, i)).collect();
                self.put(to, start, &bytes);
                self.fabric.quiet(&self.context);
                ensure!(self.get(to, start, 512) == bytes, "bytes at {edge} of PE {to}");
            }
        }
        self.barrier()?;
        // Across the edge, in one piece.
        for from in self.others() {
            let seen = self.get(from, 16 * MIB - 4096, 8192);
            let mine: Vec<_> = (0..512).map(|i| byte(self.me, from, i)).collect();
            ensure!(seen[self.me * 512..][..512] == mine, "bytes of PE {from}");
        }
        Ok(())
    }

    /// Every operator, on words of one's own.
    fn atomics(&self) -> Result<()> {
        for width in [Width::W64, Width::W32] {
            for to in self.others() {
                let place = at(to, self.me * PART);
                self.fabric.post(&self.context, place, AtomicOp::new(Op::Write, width, 12));
                self.fabric.quiet(&self.context);
                let steps = [
                    (Op::Add, 5, 0, 12),
                    (Op::And, 0x1e, 0, 17),
                    (Op::Or, 0x101, 0, 16),
                    (Op::Xor, 0x111, 0, 0x111),
                    (Op::Swap, 77, 0, 0),
                    (Op::CompareSwap, 88, 76, 77),
                    (Op::CompareSwap, 88, 77, 77),
                    (Op::Read, 0, 0, 88),
                ];
                for (op, operand, compare, before) in steps {
                    let got = self.fetch(place, op, width, operand, compare);
                    ensure!(got == before, "{op:?} {width:?} at PE {to}: {got}, not {before}");
                }
            }
        }
        Ok(())
    }

    /// All count in the same word, its PE by CPU atomics if the fabric says that it may.
    fn contention(&self) -> Result<()> {
        const TIMES: u64 = 100;
        let here = self.fabric.atomics_by_cpu();
        for _ in 0..TIMES {
            for pe in 0..self.n {
                if pe == self.me && here {
                    self.word(COUNTER).fetch_add(1, Ordering::Relaxed);
                } else {
                    self.fabric.post(&self.context, at(pe, COUNTER), AtomicOp::new(Op::Add, Width::W64, 1));
                }
            }
        }
        self.fabric.quiet(&self.context);
        self.barrier()?;
        let count = self.fetch(at(self.me, COUNTER), Op::Read, Width::W64, 0, 0);
        ensure!(count == TIMES * self.n as u64, "counted to {count}");
        Ok(())
    }

    /// Who sees the signal sees what was put before.
    fn order(&self) -> Result<()> {
        let signal = |from: usize| COUNTER + 64 + from * 8;
        for round in 1..=20 {
            for to in self.others() {
                let bytes = [byte(self.me, to, round); 9000];
                self.put(to, self.me * PART, &bytes);
                self.fabric.fence(&self.context);
                let place = at(to, signal(self.me));
                self.fabric.post(&self.context, place, AtomicOp::new(Op::Write, Width::W64, round as u64));
            }
            for from in self.others() {
                while self.word(signal(from)).load(Ordering::Acquire) < round as u64 {
                    self.fabric.progress();
                }
                // SAFETY: in the segment; its writer waits at the barrier.
                let last = unsafe { self.base.add(from * PART + 8999).read_volatile() };
                ensure!(last == byte(from, self.me, round), "round {round} from PE {from}");
            }
            self.fabric.quiet(&self.context);
            self.barrier()?;
        }
        Ok(())
    }
}

fn at(pe: usize, offset: usize) -> Remote {
    Remote { pe, segment: 0, offset }
}
