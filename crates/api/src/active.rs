//! Collectives over active sets (deprecated by the standard, "Active-set-based
//! collectives"): the team collectives' code over a work array.

use std::ffi::{c_int, c_long, c_void};
use std::ptr;

use ferroshmem_collective::active_set;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_runtime as runtime;
use ferroshmem_simd::Operator;

use super::Reduce;
use super::on_group::{Arrays, Collective, OnGroup};

/// The first PE of an active set, log2 of the stride, the number of its PEs, and the work array.
type ActiveSet = (c_int, c_int, c_int, *mut c_long);

/// # Safety
/// `dest` and `source` are as the collective needs them.
unsafe fn on_set(name: &'static str, set: ActiveSet, dest: *mut u8, source: *const u8, collective: &Collective) {
    let (start, log_stride, size, psync) = set;
    let rt = runtime::get(name);
    let group = active_set::enter(&rt.node, &rt.teams, &rt.active_sets, name, (start, log_stride, size), psync);
    // SAFETY: the caller promises arrays as the collective needs them.
    unsafe { OnGroup { node: &rt.node, group: &group }.execute(collective, Arrays { dest, source }) };
}

/// Collectives of bytes, by what comes between the arrays and the set.
macro_rules! of_bytes {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) = $collective:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As [`sync`]; `dest` and `source` are symmetric, valid for the lengths that the standard demands.
        #[allow(clippy::too_many_arguments, reason = "C's signature")]
        pub unsafe fn $name(
            name: &'static str,
            dest: *mut c_void,
            source: *const c_void,
            $($argument: $type,)*
            set: ActiveSet,
        ) {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            unsafe { on_set(name, set, dest.cast(), source.cast(), &$collective) }
        }
    )*};
}

of_bytes! {
    /// Copies the root's `source` to the `dest` of every other member.
    broadcast(bytes: usize, root: c_int) = Collective::Broadcast { bytes, root, to_root: false };
    /// Gathers all sources, which may differ in length, on every member.
    collect(bytes: usize) = Collective::Collect { bytes };
    /// Gathers all sources, of one length, on every member.
    fcollect(bytes: usize) = Collective::Fcollect { bytes };
    /// Exchanges blocks of `bytes` bytes between all members.
    alltoall(bytes: usize) = Collective::Alltoall { bytes };
    /// Exchanges blocks of `n` elements of `elem` bytes that are `dst` and `sst` elements apart.
    alltoalls(dst: isize, sst: isize, n: usize, elem: usize) = Collective::Alltoalls { dst, sst, n, elem };
}

/// Reduces element by element over all members, with the result on every member.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn reduce<T: Reduce<Op>, Op>(
    name: &'static str,
    dest: *mut T,
    source: *const T,
    nreduce: c_int,
    set: ActiveSet,
) {
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { reduce_by(name, dest.cast(), source.cast(), nreduce, Operator::of::<T, Op>(), set) }
}

/// [`reduce`], compiled once for all types and operators.
unsafe fn reduce_by(
    name: &'static str,
    dest: *mut u8,
    source: *const u8,
    nreduce: c_int,
    op: &'static Operator,
    set: ActiveSet,
) {
    let Ok(n) = usize::try_from(nreduce) else {
        fatal(name, format_args!("nreduce = {nreduce} is negative: give 0 or more"));
    };
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { on_set(name, set, dest, source, &Collective::Reduce { n, op }) }
}

/// Completes this PE's puts and synchronises the set.
///
/// # Safety
/// As [`sync`].
pub unsafe fn barrier(name: &'static str, set: ActiveSet) {
    runtime::get(name).node.transport.quiet_default();
    // SAFETY: as `sync`.
    unsafe { sync(name, set) }
}

/// Synchronises the set.
///
/// # Safety
/// The work array is symmetric, of the length that the standard demands.
pub unsafe fn sync(name: &'static str, set: ActiveSet) {
    // SAFETY: it has no arrays.
    unsafe { on_set(name, set, ptr::null_mut(), ptr::null(), &Collective::Sync) }
}
