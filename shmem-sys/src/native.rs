//! The words that `shmem/native.h` reads: inlined operations find the local PEs by them.
//!
//! They are written by `shmem_init` before it returns, and by `shmem_finalize`. A tag is
//! written after its offset and cleared before it, so that another thread never sees a tag without
//! its offset.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ferroshmem_api::hooks::Native;
use ferroshmem_api::rma;
use ferroshmem_core::wait::ticket;

/// `SHMEMI_PES`: power of two; most PEs of a node that are described.
const PES: usize = 4096;

/// No address plus this is canonical: with `SHMEM_NATIVE_ONLY`, which tests nothing, an
/// operation before `shmem_init`, after `shmem_finalize` or on a PE that does not exist
/// faults instead of hitting some memory.
const NOWHERE: u64 = 1 << 62;

/// `struct shmemi_native`: part of the ABI, since it is compiled into programs.
#[repr(C, align(64))]
struct Words {
    my_pe: AtomicU64,
    n_pes: AtomicU64,
    ordered: AtomicU64,
    locks: AtomicU64,
    reserved: [AtomicU64; 4],
    tag: [AtomicU64; PES],
    offset: [AtomicU64; PES],
}

// All zeros, so that it takes no room in the file and untouched elements none in memory.
#[unsafe(export_name = "shmemi_native")]
static WORDS: Words = Words {
    my_pe: AtomicU64::new(0),
    n_pes: AtomicU64::new(0),
    ordered: AtomicU64::new(0),
    locks: AtomicU64::new(0),
    reserved: [const { AtomicU64::new(0) }; 4],
    tag: [const { AtomicU64::new(0) }; PES],
    offset: [const { AtomicU64::new(0) }; PES],
};

/// The job that the words describe now.
static DESCRIBED: Mutex<Option<Native>> = Mutex::new(None);

/// Why CPU fences do not suffice, a bit for each reason.
static UNORDERED: AtomicU32 = AtomicU32::new(0);
/// PEs are on other nodes.
const REMOTE: u32 = 1;
/// PEs of other jobs are on other nodes.
const CONNECTED: u32 = 2;
/// Copies go on after their calls.
const PENDING: u32 = 4;

/// What a lock is while this PE holds it and none waits.
static HELD: AtomicU64 = AtomicU64::new(ticket::HELD);

/// Turns the fast path on or off.
pub(crate) fn changed(native: Option<Native>) {
    let native = native.filter(|native| native.pes.len() <= PES);
    let mut described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(old) = described.take() {
        disable(old);
    }
    if let Some(new) = native {
        enable(new);
    }
    *described = native;
}

fn enable(native: Native) {
    let Native { pes, n_pes, me, log2_stride, own_by_calls } = native;
    assert!(log2_stride >= 32, "a tag's low half is the number");
    for (i, &pe) in pes.iter().enumerate() {
        let offset = (i as i64 - i64::from(me)) << log2_stride;
        let element = pe as usize % PES;
        publish(&WORDS.offset[element], offset as u64);
        if !(own_by_calls && i == me as usize) {
            publish(&WORDS.tag[element], offset as u64 | number_of(pe));
        }
    }
    publish(&WORDS.my_pe, u64::from(pes[me as usize]) + 1);
    publish(&WORDS.n_pes, n_pes.into());
    let remote = if pes.len() == n_pes as usize { 0 } else { REMOTE };
    HELD.store(ticket::HELD, Ordering::Relaxed);
    publish_order(remote);
}

fn disable(native: Native) {
    for word in [&WORDS.my_pe, &WORDS.n_pes, &WORDS.ordered, &WORDS.locks] {
        publish(word, 0);
    }
    for &pe in native.pes {
        let element = pe as usize % PES;
        publish(&WORDS.tag[element], 0);
        publish(&WORDS.offset[element], NOWHERE);
    }
}

/// Describes PEs of other jobs, if the fast path is on. A PE whose element describes another one is reached
/// by calls.
pub(crate) fn added(pes: &[(u32, u64)]) {
    let described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(native) = &*described else {
        return;
    };
    for &(pe, offset) in pes {
        let element = pe as usize % PES;
        let is_own = offset == 0;
        if WORDS.tag[element].load(Ordering::Relaxed) == 0 && !(is_own && native.own_by_calls) {
            publish(&WORDS.offset[element], offset);
            publish(&WORDS.tag[element], offset | number_of(pe));
        }
    }
}

/// Forgets PEs of other jobs.
pub(crate) fn removed(pes: &[u32]) {
    let _described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    for &pe in pes {
        let element = pe as usize % PES;
        let tag = WORDS.tag[element].load(Ordering::Relaxed);
        if tag as u32 == number_of(pe) as u32 {
            publish(&WORDS.tag[element], 0);
            publish(&WORDS.offset[element], NOWHERE);
        }
    }
}

/// Whether CPU fences suffice as far as PEs of other jobs are concerned, of which some may be on other nodes.
pub(crate) fn ordered(by_cpu: bool) {
    set_unordered(CONNECTED, !by_cpu);
}

/// Whether copies go on after their calls, of which CPU fences know nothing.
pub(crate) fn pending(any: bool) {
    set_unordered(PENDING, any);
}

/// From now on, locks have owners: a lock is this while this PE holds it.
pub(crate) fn resilient(held: u64) {
    let described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    if described.is_some() {
        HELD.store(held, Ordering::Relaxed);
        publish_order(UNORDERED.load(Ordering::Relaxed));
    }
}

fn set_unordered(reason: u32, holds: bool) {
    let described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    if described.is_some() {
        let others = UNORDERED.load(Ordering::Relaxed) & !reason;
        let reasons = if holds { others | reason } else { others };
        publish_order(reasons);
    }
}

fn publish_order(reasons: u32) {
    UNORDERED.store(reasons, Ordering::Relaxed);
    publish(&WORDS.ordered, (reasons == 0).into());
    publish(&WORDS.locks, if reasons == 0 { HELD.load(Ordering::Relaxed) } else { 0 });
}

/// The low half of a PE's tag.
fn number_of(pe: u32) -> u64 {
    u64::from(pe) | (PES as u64 - 1)
}

fn publish(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Release);
}

/// Makes operations that do not test the tag fault for PEs that the table does not describe. Called
/// while it describes none.
pub(crate) fn fault_without_test() {
    for (tag, offset) in WORDS.tag.iter().zip(&WORDS.offset) {
        if tag.load(Ordering::Relaxed) == 0 {
            publish(offset, NOWHERE);
        }
    }
}

/// Whether the fast path is on.
pub(crate) fn is_on() -> bool {
    WORDS.my_pe.load(Ordering::Relaxed) != 0
}

/// The copies of inlined puts and gets, but those of few bytes whose number is a constant. Returns `dest`, as
/// `memmove` does: gcc allocates registers then as it does for that.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_copy(dest: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes.
    unsafe { rma::copy(dest, source, bytes) }
}

/// As [`shmemi_copy`], of operations that are complete after a quiet.
///
/// # Safety
/// As [`shmemi_copy`]; until a quiet, `source` does not change and `dest` is not relied on.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_copy_nbi(dest: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes until a quiet.
    unsafe { rma::copy_nbi(dest, source, bytes) }
}
