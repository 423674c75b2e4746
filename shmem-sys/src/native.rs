//! The words that `shmem/native.h` reads: how callers reach the PEs of this node themselves.
//!
//! They are written by `shmem_init` before it returns, and by `shmem_finalize`. A tag is
//! written after, and cleared before, what it stands for, so that another thread never sees
//! a tag without its offset.

use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem::api::hooks::Native;
use ferroshmem::api::setup;

/// `SHMEMI_PES`: power of two; most PEs of a node that are described.
const PES: usize = 4096;

/// No address plus this is canonical: with `SHMEM_NATIVE_ONLY`, which tests nothing, an
/// operation outside `shmem_init` … `shmem_finalize` faults instead of hitting this PE.
const NOWHERE: u64 = 1 << 62;

/// `struct shmemi_pe`.
#[repr(C)]
struct Pe {
    tag: AtomicU64,
    offset: AtomicU64,
}

/// `struct shmemi_native`: part of the ABI, since it is compiled into programs.
#[repr(C, align(64))]
struct Words {
    my_pe: AtomicU64,
    n_pes: AtomicU64,
    ordered: AtomicU64,
    stride: AtomicU64,
    bias: AtomicU64,
    reserved: [AtomicU64; 3],
    pe: [Pe; PES],
}

// All zeros, so that it takes no room in the file and untouched elements none in memory.
#[unsafe(export_name = "shmemi_native")]
static WORDS: Words = Words {
    my_pe: AtomicU64::new(0),
    n_pes: AtomicU64::new(0),
    ordered: AtomicU64::new(0),
    stride: AtomicU64::new(0),
    bias: AtomicU64::new(0),
    reserved: [const { AtomicU64::new(0) }; 3],
    pe: [const {
        Pe {
            tag: AtomicU64::new(0),
            offset: AtomicU64::new(0),
        }
    }; PES],
};

/// Turns the fast path on or off.
pub(crate) fn changed(native: Option<Native>) {
    disable();
    if let Some(native) = native
        && native.n as usize <= PES
    {
        enable(native);
    }
}

fn enable(native: Native) {
    let n_pes = setup::n_pes("shmem_init") as u64;
    let stride = 1 << native.log2_stride;
    for pe in native.first..native.first + native.n {
        let words = &WORDS.pe[pe as usize % PES];
        let offset = (i64::from(pe) - i64::from(native.me)) << native.log2_stride;
        words.offset.store(offset as u64, Ordering::Release);
        words
            .tag
            .store(u64::from(pe) | (PES as u64 - 1), Ordering::Release);
    }
    WORDS.bias.store(
        u64::from(native.me) << native.log2_stride,
        Ordering::Release,
    );
    WORDS.stride.store(stride, Ordering::Release);
    WORDS
        .my_pe
        .store(u64::from(native.me) + 1, Ordering::Release);
    WORDS.n_pes.store(n_pes, Ordering::Release);
    // CPU fences are all that is needed only if no PE is elsewhere.
    WORDS
        .ordered
        .store((u64::from(native.n) == n_pes).into(), Ordering::Release);
}

fn disable() {
    for word in [&WORDS.my_pe, &WORDS.n_pes, &WORDS.ordered, &WORDS.stride] {
        word.store(0, Ordering::Release);
    }
    fault_without_test();
    // An element that was never used stays untouched: the table spans many pages.
    for words in WORDS
        .pe
        .iter()
        .filter(|w| w.tag.load(Ordering::Relaxed) != 0)
    {
        words.tag.store(0, Ordering::Release);
    }
}

/// Makes operations that test nothing fault until the fast path is on.
pub(crate) fn fault_without_test() {
    WORDS.bias.store(NOWHERE, Ordering::Release);
}

/// Whether the fast path is on.
pub(crate) fn is_on() -> bool {
    WORDS.my_pe.load(Ordering::Relaxed) != 0
}
